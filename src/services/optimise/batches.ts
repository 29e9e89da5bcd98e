import { createHash } from 'node:crypto';
import type { BatchView } from '#contract/batches.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';
import { toPlannedModel } from '#domain/definition/backtest-plan.js';
import { BATCH_TABLES, type BatchTable, createBatchRows, type ExportFormat } from '#domain/outputs/exports.js';
import type { AccountBacktestPayload, BatchPayload } from '#domain/outputs/jobs.js';
import type { AccountOutcome } from '#domain/personal/account-result.js';
import { parseAccountTable } from '#domain/personal/account-table.js';
import { type AccountBacktestRequest, type BatchRequest, BatchTerms } from '#domain/personal/account.js';
import { describeOptimality } from '#domain/personal/batch-summary.js';
import {
  type AccountsFile,
  BLOCK_ACCOUNTS,
  estimateDuration,
  measureAccounts,
  PART_ACCOUNTS,
  type PartLines,
  PARTS_PER_BLOCK,
  VOLUME_ACCOUNTS,
} from '#domain/personal/batch.js';
import { parseLine, splitLines } from '#domain/personal/read-account.js';
import { createJobKind, type JobKind } from '#jobs/port/job-kind.js';
import type { JobStatus, StoredResult } from '#jobs/port/life-cycle.js';
import type { JobOrigin, StoredInput } from '#jobs/port/queue.js';
import type { TaskInput } from '#jobs/tasks/catalogue.js';
import type { RowsInBlocks } from '#jobs/tasks/messages.js';
import { parseCsvRows } from '#market/formats/csv-rows.js';
import { createRowTableFile } from '#views/exports/files.js';
import { requireIndex, resolveReached, runOnStoreOf } from '../indices/documents.js';
import { assertOwnName, limitJobs, prefixName } from '../keys/access.js';
import type { Context } from '../shared/context.js';
import { createTimedId, readResultBlock, submitWithFile } from '../shared/jobs.js';
import { assertModelStore, listOptimisedModels, planModels, requireModel } from '../shared/model-documents.js';
import { readArrow, readParquet, storeAccounts, type UploadedLines } from './accounts.js';

/** Share of the progress that remains after all accounts are solved. */
const SUMMING_SHARE = 0.05;

/**
 * Creates the kind of job that optimises accounts in parts. Other nodes can compute parts, and their results are
 * bit-identical.
 */
export function createBatchJob(context: Context): JobKind<BatchPayload> {
  const { documents, artifacts, markets, dataVersions, workers } = context;

  async function createCommonOrder({ terms, documents: reachedDocuments, models, data_version }: BatchPayload) {
    await markets.settled();
    const { served } = await dataVersions.at(data_version);
    return {
      market: served.identity,
      documents: reachedDocuments,
      terms,
      ...(await listOptimisedModels(documents, artifacts, models)),
    };
  }

  /** Adds the estimation window to a refusal of securities for which the model has no estimate. */
  async function addWindow(failure: unknown, { terms }: BatchPayload): Promise<unknown> {
    if (!(failure instanceof Refusal) || failure.code !== 'MODEL_LACKS_NAMES') return failure;
    const { document } = await requireModel(documents, terms.risk_model);
    const { observed_start: start, observed_end: end } = document;
    const windowText = `The returns of the model are from ${start} to ${end}: estimate it with a start on which all securities of ${terms.parent} have prices, or exclude the security from ${terms.parent}.`;
    const detail = { ...failure.detail, observed_start: start, observed_end: end };
    return new Refusal(failure.code, `${failure.message} ${windowText}`, detail, { cause: failure });
  }

  async function createPartOrder({ accounts }: BatchPayload, positions: readonly number[]) {
    return Promise.all(
      positions.map((part) =>
        'parts' in accounts ? readPart(accounts.file, accounts.parts, part) : sendPart(accounts, part),
      ),
    );
  }

  function sendPart(accounts: readonly unknown[], part: number): PartLines {
    const position = part * PART_ACCOUNTS;
    const partAccounts = accounts.slice(position, position + PART_ACCOUNTS);
    return { text: partAccounts.map((account) => JSON.stringify(account)).join('\n'), line: null, position };
  }

  async function readPart(file: AccountsFile['file'], parts: AccountsFile['parts'], part: number): Promise<PartLines> {
    const earlierParts = parts.slice(0, part);
    const start = earlierParts.reduce((sum, { bytes }) => sum + bytes, 0);
    const { bytes: length, sha256, line } = parts[part]!;
    const bytes = length === 0 ? new Uint8Array(0) : await artifacts.read(file, { start, end: start + length });
    if (createHash('sha256').update(bytes).digest('hex') !== sha256)
      throw new Refusal('DOCUMENT_UNREADABLE', 'Accounts of the batch are damaged: submit it again.');
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
    return { text, line, position: earlierParts.reduce((sum, { accounts }) => sum + accounts, 0) };
  }

  return createJobKind(
    'batch',
    async (payload, attempt) => {
      const { batch_id: batchId, engine_version: engineVersion } = payload;
      const sizes = measureAccounts(payload.accounts);
      const commonOrder = await createCommonOrder(payload);
      const solution = attempt.inParts({
        count: sizes.length,
        atOnce: 2 * workers,
        share: 1 - SUMMING_SHARE,
        async here(part, share) {
          const lines = await createPartOrder(payload, [part]);
          const order: TaskInput<'batch-part'> = { ...commonOrder, lines, outputs: attempt.outputs(['outcomes']) };
          return (await attempt.compute('batch-part', order, share)).outcomes;
        },
      });
      const writtenParts = await solution.catch(async (failure: unknown) => {
        throw await addWindow(failure, payload);
      });
      const files = writtenParts.map(({ artifact: { name, sha256 }, parts: artifactParts }) => ({
        artifact: name,
        sha256,
        parts: artifactParts,
      }));
      const accounts = sizes.reduce((sum, size) => sum + size, 0);
      const names = Array.from({ length: Math.ceil(accounts / VOLUME_ACCOUNTS) }, (_, volume) => `accounts${volume}`);
      const outputs = attempt.outputs(['view', 'common', ...names]);
      const sum = { ...commonOrder, batchId, sizes, files, engineVersion, outputs };
      const { view, volumes, summary } = await attempt.compute('sum-batch', sum, SUMMING_SHARE);
      return {
        result: { artifact: view, volumes },
        message: `Done. ${describeOptimality(summary)}`,
      };
    },
    async (payload, parts, attempt) => {
      const commonOrder = await createCommonOrder(payload);
      const order = {
        ...commonOrder,
        lines: await createPartOrder(payload, parts),
        outputs: attempt.outputs(['outcomes']),
      };
      const { outcomes } = await attempt.compute('batch-part', order);
      return { result: { artifact: outcomes } };
    },
  );
}

export interface Batches {
  /**
   * Queues a batch. The accounts are checked when they are solved.
   * @param lines accounts of a large request, as lines of JSON
   * @throws Refusal INDEX_NOT_FOUND, RISK_MODEL_NOT_FOUND, VALIDATION_FAILED, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED,
   * STORAGE_FULL
   */
  start(request: BatchRequest, lines: Uint8Array | undefined, origin: JobOrigin | null): Promise<JobStatus>;
  /** Queues a batch with accounts that arrive as a stream. @throws the refusals of `start` */
  startUpload(upload: Upload, terms: UploadTerms, origin: JobOrigin | null): Promise<JobStatus>;
}

/** Accounts as a stream. */
interface Upload {
  readonly media: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Terms that accompany a stream of accounts. */
interface UploadTerms {
  /** Terms as JSON; absent if the stream contains them. */
  readonly terms?: string | undefined;
  /** Id of the batch. It replaces the id in the terms. */
  readonly batchId?: string | undefined;
}

const ARROW_TYPE = 'application/vnd.apache.arrow.stream';
const PARQUET_TYPE = 'application/vnd.apache.parquet';
/** Memory in bytes that a thread needs for the shared data and the accounts of one part. */
const THREAD_BYTES = 64 * 2 ** 20;
/** Memory in bytes that the results of one account need while the file is joined. */
const ACCOUNT_BYTES = 80_000;

export function createBatches(context: Context, kind: JobKind<BatchPayload>): Batches {
  const { documents, jobs, artifacts, markets, engineVersion, workers, now } = context;

  async function submit(
    { batch_id: requestedId, ...terms }: BatchTerms,
    uploadedLines: UploadedLines,
    origin: JobOrigin | null,
  ) {
    const { document } = await requireIndex(documents, terms.parent);
    const { document: model } = await requireModel(documents, terms.risk_model);
    const reachedDocuments = await resolveReached(documents, document);
    if (requestedId !== null) assertOwnName(requestedId);
    const batchId = requestedId ?? prefixName(createTimedId(now()));
    return runOnStoreOf(context, document, async () => {
      const { datasetId: storeId } = markets.require().identity;
      assertModelStore(model, { storeId, path: 'risk_model' });
      const { models = {} } = await planModels(documents, reachedDocuments, storeId);
      const storedAccounts = await storeAccounts(uploadedLines, artifacts);
      const count = storedAccounts.parts.reduce((sum, part) => sum + part.accounts, 0);
      return submitWithFile(
        { documents, jobs, artifacts },
        {
          kind,
          input: storedAccounts,
          select: (payload) => ('file' in payload.accounts ? payload.accounts : undefined),
          createPayload: (accounts) => ({
            batch_id: batchId,
            terms,
            documents: reachedDocuments,
            models: { ...models, [terms.risk_model]: toPlannedModel(model) },
            accounts,
            engine_version: engineVersion,
          }),
          request: { batch_id: batchId, ...terms, accounts: count, accounts_sha256: storedAccounts.file.sha256 },
          estimatedBytes: workers * THREAD_BYTES + Math.min(count, VOLUME_ACCOUNTS) * ACCOUNT_BYTES,
          message: estimateDuration(storedAccounts, workers),
          origin,
        },
      );
    });
  }

  return {
    start: ({ accounts, ...terms }, lines, origin) =>
      submit(terms, { lines: lines === undefined ? encodeLines(accounts) : splitLines([lines]), line: null }, origin),
    async startUpload({ media, bytes }, { terms: text, batchId }, origin) {
      const send = (terms: BatchTerms, uploadedLines: UploadedLines) =>
        submit(batchId === undefined ? terms : { ...terms, batch_id: batchId }, uploadedLines, origin);
      const encodeUpload = (accounts: AsyncIterable<string>): UploadedLines => ({
        lines: encodeTexts(accounts),
        line: null,
      });
      if (media === ARROW_TYPE) {
        const table = await readArrow(bytes);
        const terms = text === undefined ? parseTerms(table.terms ?? '', 'body') : parseTerms(text, 'query');
        return send(terms, encodeUpload(table.accounts));
      }
      if (media === PARQUET_TYPE) {
        const terms = parseTerms(text ?? '', 'query');
        return readParquet(bytes, (accounts) => send(terms, encodeUpload(accounts)));
      }
      const lines = splitLines(bytes);
      if (media === 'text/csv') {
        const terms = parseTerms(text ?? '', 'query');
        return send(terms, encodeUpload(parseAccountTable(await parseCsvRows(lines))));
      }
      if (text !== undefined) return send(parseTerms(text, 'query'), { lines, line: 1 });
      const head = await lines.next();
      return send(parseTerms(head.done === true ? '' : head.value.toString(), 'body'), { lines, line: 2 });
    },
  };
}

async function* encodeLines(accounts: readonly unknown[]): AsyncGenerator<Uint8Array> {
  for (const account of accounts) yield Buffer.from(JSON.stringify(account));
}

async function* encodeTexts(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(line);
}

/** Parses the terms of a batch. @throws Refusal VALIDATION_FAILED */
function parseTerms(text: string, source: 'body' | 'query'): BatchTerms {
  const termsLine = parseLine(text, 1);
  if ('finding' in termsLine) throw refuseWithFindings(source, [termsLine.finding]);
  const { value, findings } = checkShape(BatchTerms, termsLine.value);
  if (value === undefined) throw refuseWithFindings(source, findings);
  return value;
}

/** Creates the kind of job that simulates one account over the history of an index. */
export function createAccountBacktestJob({
  documents,
  artifacts,
  markets,
  dataVersions,
}: Context): JobKind<AccountBacktestPayload> {
  return createJobKind('account', async (payload, attempt) => {
    await markets.settled();
    const { served } = await dataVersions.at(payload.data_version);
    const { view } = await attempt.compute('account-backtest', {
      market: served.identity,
      documents: payload.documents,
      ...(await listOptimisedModels(documents, artifacts, payload.models)),
      indexId: payload.index_id,
      backtestId: payload.backtest_id,
      request: payload.request,
      engineVersion: payload.engine_version,
      outputs: attempt.outputs(['view']),
    });
    return { result: { artifact: view } };
  });
}

/** Memory of a backtest in bytes: the shared data of a rebalance, and the entries of ten years. */
const BACKTEST_BYTES = 128 * 2 ** 20;

export function createAccountBacktests(context: Context, kind: JobKind<AccountBacktestPayload>) {
  const { documents, jobs, markets, engineVersion, now } = context;
  return {
    /** Queues a backtest. @throws Refusal INDEX_NOT_FOUND, RISK_MODEL_NOT_FOUND, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED */
    async start(
      indexId: string,
      { backtest_id: requestedId, ...request }: AccountBacktestRequest,
      origin: JobOrigin | null,
    ): Promise<JobStatus> {
      const { document } = await requireIndex(documents, indexId);
      const { document: model } = await requireModel(documents, request.risk_model);
      const reachedDocuments = await resolveReached(documents, document);
      if (requestedId !== null) assertOwnName(requestedId);
      const backtestId = requestedId ?? prefixName(createTimedId(now()));
      const { account, start, end } = request;
      return runOnStoreOf(context, document, async () => {
        const { datasetId: storeId } = markets.require().identity;
        assertModelStore(model, { storeId, path: 'risk_model' });
        const { models = {} } = await planModels(documents, reachedDocuments, storeId);
        const payload = {
          backtest_id: backtestId,
          index_id: indexId,
          request,
          documents: reachedDocuments,
          models: { ...models, [request.risk_model]: toPlannedModel(model) },
          engine_version: engineVersion,
        };
        return jobs.submit({
          kind,
          payload,
          request: { index_id: indexId, account_id: account.account_id, start, end },
          estimatedBytes: BACKTEST_BYTES,
          message: 'waiting for a worker',
          origin,
        });
      });
    },
  };
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

export function createBatchResults(
  { documents, jobs, artifacts }: Context,
  kind: Pick<JobKind<BatchPayload>, 'decode'>,
): BatchResults {
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
          text: await readResultBlock(volume, { kind: 'batch', block: block - precedingCount }, artifacts),
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
      return getBytes(await readResultBlock(volume, { kind: 'batch', block: volume.blocks.length - 1 }, artifacts));
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
