import { randomUUID } from 'node:crypto';
import type { CommitEvent } from '#domain/documents/commit-events.js';
import { Refusal, isUnavailable } from '#domain/refusals/refusal.js';
import { createCommitListeners } from '../commit-listeners.js';
import { isDocumentId, formatNumberedId, createNumberedRange, parseNumber } from '../document-id.js';
import type {
  BodyReader,
  DocumentEngine,
  DocumentEngineOptions,
  Listing,
  TransactionOptions,
  UnreadableCause,
} from '../port.js';
import type { CommitOrder, JobRow } from './commit-order.js';
import { createCommits } from './commit.js';
import type { Database } from './database.js';
import { createDraft } from './draft.js';
import { openEventReader, type EventReaderOptions, type PiggybackedEvents } from './event-reader.js';
import { createWorkQueue } from './line.js';
import { SCHEMA } from './migrate.js';
import { createRows, openRow, type DocumentRow } from './rows.js';
import { runBody, type JobTransactionBody } from './transaction.js';
import { readStored } from '../read-stored.js';

export interface PostgresStoreOptions extends DocumentEngineOptions, Pick<EventReaderOptions, 'readMs'> {
  /** Database with the schema of `divisor migrate`. It stays open when the store is closed. */
  readonly database: Database;
  readonly schema?: string;
}

/** Document engine with the functions that a job queue on the same database needs. */
export interface PostgresDocuments extends DocumentEngine {
  /** Reader of the events of other processes. */
  readonly events: PiggybackedEvents;
  /** Runs a transaction that includes job rows; see `transaction`. */
  jobTransaction<T>(change: JobTransactionBody<T>, options?: TransactionOptions): Promise<T>;
}

/** Opens documents in PostgreSQL, which any number of processes may share. @throws Refusal STORE_UNAVAILABLE */
export async function openPostgresDocuments(options: PostgresStoreOptions): Promise<PostgresDocuments> {
  const { database, onFailure, readMs } = options;
  const schema = `"${options.schema ?? SCHEMA}"`;
  const node = randomUUID();
  const rows = createRows(database, schema);
  const listeners = createCommitListeners((thrown) => onFailure?.(thrown));
  const runTransaction = createTransactions(options, { schema, node, rows, publish: listeners.call });
  const events = await openEventReader(database, { schema, node, readMs, onEvents: listeners.call });
  const runningTransactions = new Set<Promise<unknown>>();
  let isClosed = false;

  /** Runs work for which `close` waits. @throws Refusal STORE_UNAVAILABLE */
  async function runWhileOpen<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) throw new Refusal('STORE_UNAVAILABLE', 'The document store is closed.');
    const runningWork = work();
    runningTransactions.add(runningWork);
    return runningWork.finally(() => runningTransactions.delete(runningWork));
  }

  return {
    get: (kind, id) =>
      runWhileOpen(async () => {
        const row = isDocumentId(id) ? await rows.row(kind, id) : undefined;
        return row && openRow(row);
      }),
    ids: (kind) => runWhileOpen(() => rows.ids(kind)),
    lastNumber: (kind, owner) =>
      runWhileOpen(async () => {
        const [row] = await rows.several([{ kind, owner }]);
        return row === undefined ? 0 : parseNumber(row.id);
      }),
    numbers: (kind, owner, { below, limit }) =>
      runWhileOpen(async () => {
        const { from, until: end } = createNumberedRange(owner);
        const upperId = below === undefined ? end : formatNumberedId(owner, below);
        return (await rows.idsBetween(kind, { from, until: upperId, limit })).map(parseNumber);
      }),
    revision: (kind) => runWhileOpen(() => rows.revision(kind)),
    list: (kind, readBody) => runWhileOpen(async () => createListing(await rows.rows(kind), readBody)),
    transaction: (change) => runWhileOpen(() => runTransaction(change)),
    jobTransaction: (change) => runWhileOpen(() => runTransaction(change)),
    subscribe: listeners.add,
    events,
    referencedArtifacts: () => runWhileOpen(() => rows.artifacts()),
    referencedAmong: (names) => runWhileOpen(() => rows.artifactsAmong(names)),
    async close() {
      isClosed = true;
      await Promise.allSettled(runningTransactions);
      await events.stop();
    },
  };
}

export function createListing<T>(rows: readonly DocumentRow[], readBody: BodyReader<T>): Listing<T> {
  const documents: T[] = [];
  const causes: Record<UnreadableCause, number> = { unreadable: 0, invalid: 0, unsupported: 0 };
  for (const row of rows) {
    const result = openRow(row);
    const document = readStored(result, readBody);
    if (document !== undefined) documents.push(document);
    else causes['unreadable' in result ? result.unreadable : 'invalid']++;
  }
  return { documents, skipped: causes.unreadable + causes.invalid + causes.unsupported, skipped_causes: causes };
}

interface Parts {
  readonly schema: string;
  readonly node: string;
  readonly rows: ReturnType<typeof createRows>;
  readonly publish: (events: readonly CommitEvent[]) => void;
}

/** Maximum number of attempts of a transaction with conflicts. */
const TRIES_MAX = 100;
/** Maximum random delay in ms before a retry after a conflict, multiplied by the number of earlier attempts. */
const BACKOFF_MS = 2;

/** Outcome of one run of a body. It is undefined if data that the body read has changed meanwhile. */
type Outcome<T> = { readonly result: T } | undefined;

/**
 * Returns a function that runs the body of a transaction. It repeats the body until the data that the body read is
 * unchanged at the commit.
 */
function createTransactions({ database, now = Date.now, onUnreferenced }: PostgresStoreOptions, parts: Parts) {
  const { schema, node, rows, publish } = parts;
  const commits = createCommits(database, { schema, node });
  /** Queue of commits with events. It keeps the order of the events. */
  const publishQueue = createWorkQueue();
  /** Queue of transactions that are repeated, so that transactions of one process do not conflict with each other. */
  const repeatQueue = createWorkQueue();

  async function run<T>(change: JobTransactionBody<T>, time: number): Promise<Outcome<T>> {
    const draft = createDraft();
    const events: CommitEvent[] = [];
    const jobs: JobRow[] = [];
    // a single read is always consistent
    const mayBeUnsound = (): boolean => draft.readCount > 1;
    let result: T;
    try {
      result = await runBody(change, { rows, draft, time, events, jobs });
    } catch (thrown) {
      const isOutage = isUnavailable(thrown);
      if (isOutage || !mayBeUnsound() || (await commits.holds(draft))) throw thrown;
      return undefined;
    }
    if (events.length > 0) return publishQueue.take(() => commit({ draft, events, jobs, time }, result));
    return draft.isWritten || mayBeUnsound() ? commit({ draft, events, jobs, time }, result) : { result };
  }

  async function commit<T>(order: CommitOrder, result: T): Promise<Outcome<T>> {
    const commitResult = await commits.commit(order);
    if (commitResult === undefined) return undefined;
    publish(order.events);
    if (commitResult.unreferenced.length > 0) onUnreferenced?.(commitResult.unreferenced);
    return { result };
  }

  async function repeat<T>(change: JobTransactionBody<T>, time: number): Promise<NonNullable<Outcome<T>>> {
    for (let tries = 1; tries < TRIES_MAX; tries++) {
      const outcome = await run(change, time);
      if (outcome !== undefined) return outcome;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * BACKOFF_MS * tries));
    }
    throw new Refusal('STORE_UNAVAILABLE', 'Too many other writes conflict with this change.');
  }

  return async <T>(change: JobTransactionBody<T>): Promise<T> => {
    const time = now();
    const { result } = (await run(change, time)) ?? (await repeatQueue.take(() => repeat(change, time)));
    return result;
  };
}
