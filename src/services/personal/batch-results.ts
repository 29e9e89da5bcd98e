import type { BatchView } from '#contract/batches.js';
import { BATCH_TABLES, createBatchRows, type BatchTable } from '#domain/exports/batch-tables.js';
import { BLOCK_ACCOUNTS, PARTS_PER_BLOCK, measureAccounts } from '#domain/personal/batch-parts.js';
import type { AccountOutcome } from '#domain/personal/solve-accounts.js';
import type { BatchPayload } from '#domain/jobs/payloads.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { StoredInput } from '#jobs/retained-parts.js';
import type { JobKind } from '#jobs/job-kind.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { StoredResult } from '#jobs/life-cycle.js';
import type { RowsInBlocks } from '#jobs/rows-in-blocks.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { createRowTableFile } from '#views/exports/row-table.js';
import { limitJobs } from '../operations/reachable-jobs.js';
import { readBlock } from '../runs/result-rows.js';

export interface BatchResultsDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly jobs: JobSystem;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly kind: Pick<JobKind<BatchPayload>, 'decode'>;
}

/** Batch and number of a block. A block has 100 accounts. */
interface BlockRequest {
  readonly batchId: string;
  readonly block: number;
}

export interface BatchResults {
  /**
   * Lists the results of the newest finished batches. The refused accounts are left out. @throws Refusal
   * DOCUMENT_UNREADABLE
   */
  list(limit: number): Promise<BatchView[]>;
  /**
   * Returns a block of the results as JSON. The batch may still be running.
   * @throws Refusal JOB_NOT_FOUND, VALIDATION_FAILED, DOCUMENT_UNREADABLE; JOB_RUNNING for a block that is not solved
   * yet
   */
  accounts(request: BlockRequest): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns a block as a table. @throws the refusals of `accounts` */
  table(
    request: BlockRequest & { readonly table: BatchTable; readonly format: Exclude<ExportFormat, 'json'> },
  ): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the data that all accounts share, as JSON. @throws Refusal JOB_NOT_FOUND, DOCUMENT_UNREADABLE */
  common(batchId: string): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Files with the results of a batch. The last block of the first file is the data that all accounts share. The other
 * files contain the blocks of accounts.
 */
type Volumes = readonly RowsInBlocks[];

export function createBatchResults({ documents, jobs, artifacts, kind }: BatchResultsDependencies): BatchResults {
  async function findBatch(batchId: string) {
    const locatedJob = await limitJobs(jobs).find(`batch:${batchId}`);
    return { status: locatedJob?.status.status, volumes: readVolumes(locatedJob?.stored ?? null) };
  }

  const createMissingResultsRefusal = (batchId: string, status: string | undefined): Refusal => {
    const reason = status === undefined ? 'no batch is stored under the id' : `it is ${status}`;
    return new Refusal('JOB_NOT_FOUND', `The batch ${batchId} has no results: ${reason}.`, {
      job_id: `batch:${batchId}`,
    });
  };

  /** Returns the text of a block. Commas separate its accounts. */
  async function readAccounts({ batchId, block }: BlockRequest) {
    const { status, volumes } = await findBatch(batchId);
    if (volumes !== undefined) return readFinishedBlock(volumes.slice(1), block);
    if (status !== 'pending' && status !== 'running') throw createMissingResultsRefusal(batchId, status);
    return readRunningBlock(batchId, block);
  }

  async function readFinishedBlock(volumes: Volumes, block: number) {
    const blocks = volumes.reduce((sum, volume) => sum + volume.blocks.length, 0);
    const count = volumes.reduce((sum, volume) => sum + volume.count, 0);
    let precedingCount = 0;
    for (const volume of volumes) {
      if (block < precedingCount + volume.blocks.length)
        return {
          blocks,
          count,
          text: await readBlock(volume, { kind: 'batch', block: block - precedingCount }, artifacts),
        };
      precedingCount += volume.blocks.length;
    }
    throw refuseBlock(block, blocks);
  }

  /** Returns a block of a running batch. It contains only the parts that are solved; their outputs survive a crash. */
  async function readRunningBlock(batchId: string, block: number) {
    const input = await documents.get('job-input', `batch:${batchId}`);
    if (input === undefined || 'unreadable' in input) throw createMissingResultsRefusal(batchId, 'ending');
    const { payload, kept } = input.body as StoredInput; // a submission wrote the input and the store checked its seal
    const sizes = measureAccounts(kind.decode(payload)?.accounts ?? []);
    const blocks = Math.ceil(sizes.length / PARTS_PER_BLOCK);
    if (block >= blocks) throw refuseBlock(block, blocks);
    const firstPart = block * PARTS_PER_BLOCK;
    const partPositions = sizes.slice(firstPart, firstPart + PARTS_PER_BLOCK).map((_, offset) => firstPart + offset);
    const texts = await Promise.all(
      partPositions.map(async (part) => {
        const file = kept?.parts.find((writtenParts) => writtenParts.parts.includes(part));
        if (file === undefined)
          throw new Refusal('JOB_RUNNING', `Block ${block} of the batch ${batchId} is not solved yet.`, {
            job_id: `batch:${batchId}`,
          });
        const lines = Buffer.from(await artifacts.read(file.artifact))
          .toString()
          .split('\n');
        const precedingAccounts = file.parts
          .slice(0, file.parts.indexOf(part))
          .reduce((sum, earlierPart) => sum + sizes[earlierPart]!, 0);
        return lines.slice(precedingAccounts, precedingAccounts + sizes[part]!).join(',');
      }),
    );
    const count = sizes.reduce((sum, size) => sum + size, 0);
    return { blocks, count, text: Buffer.from(texts.join(',')) };
  }

  return {
    async list(limit) {
      const reachableJobs = limitJobs(jobs);
      const listing = await reachableJobs.list({ kinds: ['batch'], statuses: ['succeeded'], limit });
      const views: BatchView[] = [];
      for (const { job_id: id } of listing.jobs) {
        const storedResult = (await reachableJobs.find(id))?.stored ?? null;
        if (storedResult === null || !('artifact' in storedResult)) continue; // It was deleted in the meantime.
        const bytes = await artifacts.read(storedResult.artifact);
        views.push({ ...(JSON.parse(Buffer.from(bytes).toString()) as BatchView), refused: [] }); // A worker wrote it.
      }
      return views;
    },
    async accounts(blockRequest) {
      const { blocks, count, text } = await readAccounts(blockRequest);
      const head = JSON.stringify({ batch_id: blockRequest.batchId, count, block: blockRequest.block, blocks });
      return getBytes(Buffer.concat([Buffer.from(`${head.slice(0, -1)},"accounts":[`), text, Buffer.from(']}')]));
    },
    async table({ table, format, ...wanted }) {
      const { text } = await readAccounts(wanted);
      const outcomes = JSON.parse(`[${Buffer.from(text).toString()}]`) as AccountOutcome[]; // a part wrote these lines
      const rows = createBatchRows(table, outcomes, wanted.block * BLOCK_ACCOUNTS);
      const file = await createRowTableFile(
        { runId: wanted.batchId, name: table, columns: BATCH_TABLES[table], rows },
        format,
      );
      return getBytes(file);
    },
    async common(batchId) {
      const { status, volumes } = await findBatch(batchId);
      if (volumes === undefined) throw createMissingResultsRefusal(batchId, status);
      const volume = volumes[0]!;
      return getBytes(await readBlock(volume, { kind: 'batch', block: volume.blocks.length - 1 }, artifacts));
    },
  };
}

/** Returns the files of the results. Release 0.4.0 wrote one file of rows, with the shared data as its last block. */
function readVolumes(storedResult: StoredResult | null): Volumes | undefined {
  if (storedResult === null || !('artifact' in storedResult)) return undefined;
  const { volumes, rows } = storedResult;
  if (volumes !== undefined || rows === undefined) return volumes;
  return [rows, { ...rows, blocks: rows.blocks.slice(0, -1) }];
}

const refuseBlock = (block: number, blocks: number): Refusal =>
  refuseWithFindings('query', [
    {
      severity: 'error',
      code: 'OUT_OF_RANGE',
      path: 'block',
      message: `The batch has ${blocks} blocks, 0 to ${blocks - 1}; block is ${block}.`,
      value: block,
    },
  ]);

const getBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
