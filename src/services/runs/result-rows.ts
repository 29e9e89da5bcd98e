import { createHash } from 'node:crypto';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { RowsInBlocks } from '#jobs/rows-in-blocks.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { LocatedJob } from '#jobs/queue.js';
import type { ArtifactStore } from '#store/port.js';

/** Job whose result contains rows. The rows are stored in blocks. */
export interface RowsSource {
  readonly kind: 'sweep' | 'rerun' | 'study';
  readonly ident: string;
}

/** Block of rows to read. */
export interface RowsRequest extends RowsSource {
  readonly block: number;
}

/** Reads a block of the rows of a job, as JSON. @throws Refusal JOB_NOT_FOUND, VALIDATION_FAILED, DOCUMENT_UNREADABLE */
export async function readRows(
  { kind, ident, block }: RowsRequest,
  jobs: Pick<JobSystem, 'find'>,
  artifacts: Pick<ArtifactStore, 'read'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const match = await jobs.find(`${kind}:${ident}`);
  const storedResult = match?.stored;
  const rows = storedResult != null && 'rows' in storedResult ? storedResult.rows : undefined;
  if (rows === undefined) throw createMissingRowsRefusal({ kind, ident }, match);
  const rowsBytes = await readBlock(rows, { kind, block }, artifacts);
  const head = JSON.stringify({ [`${kind}_id`]: ident, count: rows.count, block, blocks: rows.blocks.length });
  const bytes = Buffer.concat([Buffer.from(`${head.slice(0, -1)},"rows":[`), rowsBytes, Buffer.from(']}')]);
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
}

function createMissingRowsRefusal({ kind, ident }: RowsSource, locatedJob: LocatedJob | undefined): Refusal {
  const reason =
    locatedJob === undefined
      ? `no ${kind} is stored under the id`
      : locatedJob.status.status === 'succeeded'
        ? 'an earlier version ran it, and its result has all rows'
        : `it is ${locatedJob.status.status} and has no result`;
  return new Refusal('JOB_NOT_FOUND', `The ${kind} ${ident} has no rows: ${reason}.`, { job_id: `${kind}:${ident}` });
}

/** Reads a block of rows. @throws Refusal VALIDATION_FAILED beyond the last block; DOCUMENT_UNREADABLE */
export async function readBlock(
  { artifact, blocks }: RowsInBlocks,
  { kind, block }: { readonly kind: string; readonly block: number },
  artifacts: Pick<ArtifactStore, 'read'>,
): Promise<Uint8Array> {
  const rowBlock = blocks[block];
  if (rowBlock === undefined)
    throw refuseWithFindings('query', [
      {
        severity: 'error',
        code: 'OUT_OF_RANGE',
        path: 'block',
        message: `The ${kind} has ${blocks.length} blocks, 0 to ${blocks.length - 1}; block is ${block}.`,
        value: block,
      },
    ]);
  const start = blocks.slice(0, block).reduce((sum, { bytes }) => sum + bytes, 0);
  const rowsBytes = await artifacts.read(artifact, { start, end: start + rowBlock.bytes });
  if (createHash('sha256').update(rowsBytes).digest('hex') !== rowBlock.sha256)
    throw new Refusal('DOCUMENT_UNREADABLE', `Block ${block} of the rows is damaged.`);
  return rowsBytes;
}
