import { randomBytes } from 'node:crypto';
import type { BatchPayload } from '#domain/jobs/payloads.js';
import { BatchTerms, type BatchRequest } from '#domain/personal/account-request.js';
import { toPlannedModel } from '#domain/documents/used-models.js';
import { splitLines, parseLine } from '#domain/personal/account-lines.js';
import { estimateDuration, VOLUME_ACCOUNTS, type AccountsFile } from '#domain/personal/batch-parts.js';
import { parseAccountTable } from '#domain/personal/account-table.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { checkShape } from '#domain/schema/shape.js';
import { parseCsvRows } from '#market/formats/csv-rows.js';
import type { JobKind } from '#jobs/job-kind.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { resolveReached } from '../indices/reached-documents.js';
import { runOnStoreOf } from '../indices/on-store.js';
import { assertOwnName, prefixName } from '../operations/access.js';
import { requireIndex } from '../stored/stored-indices.js';
import { planModels, requireModel } from '../stored/used-models.js';
import { assertModelStore } from '../stored/model-stores.js';
import { readArrow } from './arrow-accounts.js';
import { readParquet } from './parquet-accounts.js';
import { storeAccounts, type UploadedLines } from './account-files.js';

export interface BatchesDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobSystem;
  readonly artifacts: Pick<ArtifactStore, 'claim' | 'file' | 'writeFile' | 'remove'>;
  readonly markets: Markets;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly kind: JobKind<BatchPayload>;
  readonly engineVersion: string;
  /** Number of threads of the pool. */
  readonly workers: number;
  readonly now: () => number;
}

export interface Batches {
  /**
   * Queues a batch. The accounts are checked when they are solved.
   * @throws Refusal INDEX_NOT_FOUND, RISK_MODEL_NOT_FOUND, VALIDATION_FAILED, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED,
   * STORAGE_FULL
   */
  start(request: BatchRequest, origin: Origin | null): Promise<JobStatus>;
  /** Queues a batch with accounts that arrive as a stream. @throws the refusals of `start` */
  startUpload(upload: Upload, terms: UploadTerms, origin: Origin | null): Promise<JobStatus>;
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

export function createBatches(dependencies: BatchesDependencies): Batches {
  const { documents, jobs, artifacts, markets, stores, kind, engineVersion, workers, now } = dependencies;

  async function submit(
    { batch_id: requestedId, ...terms }: BatchTerms,
    uploadedLines: UploadedLines,
    origin: Origin | null,
  ) {
    const { document } = await requireIndex(documents, terms.parent);
    const { document: model } = await requireModel(documents, terms.risk_model);
    const reachedDocuments = await resolveReached(documents, document);
    if (requestedId !== null) assertOwnName(requestedId);
    const batchId = requestedId ?? prefixName(createBatchId(now()));
    return runOnStoreOf({ documents, stores }, document, async () => {
      const { datasetId: storeId } = markets.require().identity;
      assertModelStore(model, { storeId, path: 'risk_model' });
      const { models = {} } = await planModels(documents, reachedDocuments, storeId);
      const storedAccounts = await storeAccounts(uploadedLines, artifacts);
      const accounts = (await findSameAccounts(batchId, storedAccounts)) ?? storedAccounts;
      const count = storedAccounts.parts.reduce((sum, part) => sum + part.accounts, 0);
      const hasSameAccounts = accounts !== storedAccounts;
      if (hasSameAccounts) await artifacts.remove([storedAccounts.file.name]);
      try {
        return await jobs.submit({
          kind,
          payload: {
            batch_id: batchId,
            terms,
            documents: reachedDocuments,
            models: { ...models, [terms.risk_model]: toPlannedModel(model) },
            accounts,
            engine_version: engineVersion,
          },
          request: { batch_id: batchId, ...terms, accounts: count, accounts_sha256: storedAccounts.file.sha256 },
          estimatedBytes: workers * THREAD_BYTES + Math.min(count, VOLUME_ACCOUNTS) * ACCOUNT_BYTES,
          message: estimateDuration(accounts, workers),
          origin,
        });
      } catch (failure) {
        if (!hasSameAccounts) await artifacts.remove([storedAccounts.file.name]);
        throw failure;
      }
    });
  }

  /**
   * Returns the stored accounts of a batch that is running or queued, if they equal the sent accounts. Both requests
   * are then the same job.
   */
  async function findSameAccounts(batchId: string, { file }: AccountsFile): Promise<AccountsFile | undefined> {
    if (!(await jobs.isLive(`batch:${batchId}`))) return undefined;
    const input = await documents.get('job-input', `batch:${batchId}`);
    if (input === undefined || 'unreadable' in input) return undefined;
    const accounts = kind.decode((input.body as { readonly payload?: unknown }).payload)?.accounts;
    return accounts !== undefined && 'file' in accounts && accounts.file.sha256 === file.sha256 ? accounts : undefined;
  }

  return {
    start: ({ accounts, ...terms }, origin) => submit(terms, { lines: encodeLines(accounts), line: null }, origin),
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

/** Creates an id of the form `{yyyymmddThhmmss}-{8 hex}`. */
export function createBatchId(now: number): string {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  return `${stamp}-${randomBytes(4).toString('hex')}`;
}
