import { createHash, randomBytes } from 'node:crypto';
import type { BatchPayload } from '#domain/jobs/payloads.js';
import { BatchTerms, type BatchRequest } from '#domain/personal/account-request.js';
import { plannedModel } from '#domain/documents/used-models.js';
import type { Finding } from '#domain/refusals/findings.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { checkShape } from '#domain/schema/shape.js';
import type { JobKind } from '#jobs/job-kind.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { reachedBy } from '../indices/index-questions.js';
import { onStoreOf } from '../indices/on-store.js';
import { assertOwnName, ownName } from '../operations/access.js';
import { reachableJobs } from '../operations/reachable-jobs.js';
import { readBlock } from '../runs/result-rows.js';
import { requireIndex } from '../stored/stored-indices.js';
import { plannedModels, requireModel } from '../stored/used-models.js';

export interface BatchesDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobSystem;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly markets: Markets;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly kind: JobKind<BatchPayload>;
  readonly engineVersion: string;
  /** Threads of the pool. */
  readonly workers: number;
  readonly now: () => number;
}

export interface Batches {
  /**
   * Queues a batch. Accounts are checked when they are solved.
   * @throws Refusal INDEX_NOT_FOUND, RISK_MODEL_NOT_FOUND, VALIDATION_FAILED, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED
   */
  start(request: BatchRequest, origin: Origin | null): Promise<JobStatus>;
  /** Reads a batch as lines of JSON: the terms, then an account a line. @throws Refusal VALIDATION_FAILED */
  requestFrom(lines: Uint8Array): BatchRequest;
  /** Returns a block of the results as JSON. @throws Refusal JOB_NOT_FOUND, VALIDATION_FAILED, DOCUMENT_UNREADABLE */
  accounts(batchId: string, block: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the common data as JSON. @throws Refusal JOB_NOT_FOUND, DOCUMENT_UNREADABLE */
  common(batchId: string): Promise<Uint8Array<ArrayBuffer>>;
}

/** Memory of a thread for common data and one account. */
const THREAD_BYTES = 64 * 2 ** 20;
/** Memory of an account as JSON: as sent, and its result when all are joined. */
const ACCOUNT_BYTES = 40_000;

export function createBatches(dependencies: BatchesDependencies): Batches {
  const { documents, jobs, artifacts, markets, stores, kind, engineVersion, workers, now } = dependencies;

  async function rowsOf(batchId: string) {
    const found = await reachableJobs(jobs).find(`batch:${batchId}`);
    const stored = found?.stored;
    if (stored != null && 'rows' in stored && stored.rows !== undefined) return stored.rows;
    const why = found === undefined ? 'no batch is stored under the id' : `it is ${found.status.status}`;
    throw new Refusal('JOB_NOT_FOUND', `The batch ${batchId} has no results: ${why}.`, { job_id: `batch:${batchId}` });
  }

  return {
    async start({ accounts, batch_id: asked, ...terms }, origin) {
      const { document } = await requireIndex(documents, terms.parent);
      const { document: model } = await requireModel(documents, terms.risk_model);
      const reached = await reachedBy(documents, document);
      const used = (await plannedModels(documents, reached)).models ?? {};
      if (asked !== null) assertOwnName(asked);
      const batchId = asked ?? ownName(newBatchId(now()));
      const digest = createHash('sha256').update(JSON.stringify(accounts)).digest('hex');
      const payload = {
        batch_id: batchId,
        terms,
        documents: reached,
        models: { ...used, [terms.risk_model]: plannedModel(model) },
        accounts,
        engine_version: engineVersion,
      };
      return onStoreOf({ documents, stores }, document, async () => {
        markets.require();
        return jobs.submit({
          kind,
          payload,
          request: { batch_id: batchId, ...terms, accounts: accounts.length, accounts_sha256: digest },
          estimatedBytes: workers * THREAD_BYTES + accounts.length * ACCOUNT_BYTES,
          message: 'waiting for a worker',
          origin,
        });
      });
    },
    requestFrom(bytes) {
      const [head, ...lines] = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString().split('\n');
      const parsed = parseLine(head!, 1);
      if ('finding' in parsed) throw refuseWithFindings('body', [parsed.finding]);
      const { value: terms, findings } = checkShape(BatchTerms, parsed.value);
      if (terms === undefined) throw refuseWithFindings('body', findings);
      const accounts = lines.flatMap((line, at) => {
        if (line.trim() === '') return [];
        const own = parseLine(line, at + 2);
        // A line that is not JSON becomes an account that is refused with this finding.
        return ['finding' in own ? { unreadable: own.finding.message } : own.value];
      });
      if (accounts.length === 0 || accounts.length > LIMITS.MAX_BATCH_ACCOUNTS)
        throw refuseWithFindings('body', [
          {
            severity: 'error',
            code: 'OUT_OF_RANGE',
            path: 'accounts',
            message: `The body has ${accounts.length} accounts; 1 to ${LIMITS.MAX_BATCH_ACCOUNTS} are accepted.`,
            value: accounts.length,
          },
        ]);
      return { ...terms, accounts };
    },
    async accounts(batchId, block) {
      const rows = await rowsOf(batchId);
      const own = { ...rows, blocks: rows.blocks.slice(0, -1) };
      const text = await readBlock(own, { kind: 'batch', block }, artifacts);
      const head = JSON.stringify({ batch_id: batchId, count: rows.count, block, blocks: own.blocks.length });
      return bytesOf(Buffer.concat([Buffer.from(`${head.slice(0, -1)},"accounts":[`), text, Buffer.from(']}')]));
    },
    async common(batchId) {
      const rows = await rowsOf(batchId);
      return bytesOf(await readBlock(rows, { kind: 'batch', block: rows.blocks.length - 1 }, artifacts));
    },
  };
}

const bytesOf = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);

/** Parses a line of JSON; a syntax error becomes a finding with line and column. */
function parseLine(text: string, line: number): { readonly value: unknown } | { readonly finding: Finding } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (thrown) {
    const { message } = thrown as SyntaxError;
    const column = Number(/position (\d+)/.exec(message)?.[1] ?? text.length) + 1;
    const path = `line ${line}, column ${column}`;
    return { finding: { severity: 'error', code: 'WRONG_TYPE', path, message: `${path}: not JSON: ${message}` } };
  }
}

/** `{yyyymmddThhmmss}-{8 hex}`. */
export function newBatchId(now: number): string {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  return `${stamp}-${randomBytes(4).toString('hex')}`;
}
