import { randomUUID } from 'node:crypto';
import { isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import type { CommitEvent } from '#domain/definition/commit-events.js';
import {
  collectListing,
  createCommitListeners,
  createNumberedRange,
  type DocumentEngine,
  type DocumentEngineOptions,
  type EntryReader,
  formatNumberedId,
  isDocumentId,
  listDocument,
  type ListedDocument,
  type Listing,
  parseNumber,
  type TransactionOptions,
} from '../port.js';
import { workInTurns } from '../reach.js';
import { createWorkQueue } from './connections.js';
import { type Database, findSqlState, UnknownOutcomeError } from './database.js';
import { ADDED_COLUMNS, createJobStatement, formatJobNumber } from './job-commit.js';
import { SCHEMA } from './migrate.js';
import { createRows, type DocumentRow, openRow } from './rows.js';
import { STRIPES } from './schema.js';
import {
  type CommitOrder,
  createDraft,
  type JobRow,
  type JobTransactionBody,
  runBody,
  type TransactionDraft,
} from './transaction.js';

interface JobAdditions {
  /**
   * Writes a job with its row and its input. Jobs that are added at the same time share one commit.
   * @param values of `ADDED_COLUMNS`, in order
   * @returns the version of the write; null if the job has changed since it was read
   * @throws as `Database.query`, for all jobs of the commit: none was written
   */
  add(values: readonly unknown[]): Promise<string | null>;
}

interface Addition {
  readonly values: readonly unknown[];
  resolve(written: string | null): void;
  reject(reason: unknown): void;
}

interface AddedRow {
  readonly written: string | null;
}

/**
 * Maximum length of the text of a job that shares a statement with other jobs. The parameters of a statement have a
 * maximum size.
 */
const SHARED_LENGTH_MAX = 1_000_000;

const isLarge = (values: readonly unknown[]): boolean =>
  values.some((value) => typeof value === 'string' && value.length > SHARED_LENGTH_MAX);

/** Creates the writer. @param schema quoted identifier */
function createJobAdditions(database: Pick<Database, 'query'>, schema: string): JobAdditions {
  const columns = ADDED_COLUMNS.map(([name]) => name).join(', ');
  const parameterList = ADDED_COLUMNS.map((_, i) => `$${i + 1}`).join(', ');
  const arrayParameters = ADDED_COLUMNS.map(([, type], i) => `$${i + 1}::${type}[]`).join(', ');
  const idsParameter = `$${ADDED_COLUMNS.findIndex(([name]) => name === 'of_job') + 1}::text[]`;
  const insertOne = `SELECT ${schema}.add_job_1(${parameterList}) AS written`;
  // Acquires all locks first, in numeric order like every commit, so that no two commits wait for each other forever.
  const insertSeveral = `WITH locked AS MATERIALIZED (
      SELECT count(pg_advisory_xact_lock(hashtext('${schema}'), number)) FROM (
        SELECT DISTINCT ${formatJobNumber('id', STRIPES)} AS number FROM unnest(${idsParameter}) AS added(id) ORDER BY number
      ) AS numbers
    ) SELECT ${schema}.add_job_1(${columns}) AS written FROM locked, unnest(${arrayParameters}) AS added(${columns})`;
  let waitingAdditions: Addition[] = [];

  function writeWaiting(): void {
    const jointAdditions = waitingAdditions.filter(({ values }) => !isLarge(values));
    const singleBatches = waitingAdditions.filter(({ values }) => isLarge(values)).map((addition) => [addition]);
    waitingAdditions = [];
    for (const additions of [jointAdditions, ...singleBatches]) if (additions.length > 0) void write(additions);
  }

  async function write(additions: readonly Addition[]): Promise<void> {
    const [first, ...otherAdditions] = additions;
    try {
      const rows = await (otherAdditions.length === 0
        ? database.query<AddedRow>(insertOne, first!.values)
        : database.query<AddedRow>(
            insertSeveral,
            ADDED_COLUMNS.map((_, i) => additions.map(({ values }) => values[i])),
          ));
      for (const [i, { resolve }] of additions.entries()) resolve(rows[i]!.written); // the statement returns one row per job
    } catch (thrown) {
      for (const { reject } of additions) reject(thrown);
    }
  }

  return {
    add: (values) =>
      new Promise((resolve, reject) => {
        if (waitingAdditions.push({ values, resolve, reject }) === 1) setImmediate(writeWaiting);
      }),
  };
}

export interface WrittenVersion {
  /** Artifacts that have become orphaned. */
  readonly unreferenced: readonly string[];
}

/**
 * Outcome of a commit. It is undefined if a document or listing that the transaction read has changed; nothing was
 * written then.
 */
type CommitResult = WrittenVersion | undefined;

export interface Commits {
  /** Writes a transaction if everything that it read is unchanged. @throws Refusal like `Database.query` */
  commit(order: CommitOrder): Promise<CommitResult>;
  /** Returns true if everything that a transaction read is consistent with one snapshot. */
  holds(draft: TransactionDraft): Promise<boolean>;
}

interface CommitRow {
  /**
   * Version of the written documents and names of artifacts that no document refers to any more. Null if a document or
   * listing that the commit read has changed.
   */
  readonly written: string | null;
}

/** Time for which a broken connection is retried to determine the outcome of a commit. */
const OUTCOME_RETRY_MS = 15_000;
const ASK_AGAIN_MS = 200;

/** SQLSTATEs of a transaction that the server aborted in favour of another transaction. */
const CONFLICT_STATES = ['40001', '40P01'];
/** SQLSTATE of a duplicate key. */
const UNIQUE_VIOLATION = '23505';

/** Creates the commits of a process. @param node id of this process, which does not read its own events */
function createCommits(database: Database, { schema, node }: { schema: string; node: string }): Commits {
  const parameterList = Array.from({ length: 18 }, (_, i) => `$${i + 1}`).join(', ');
  const statement = `SELECT ${schema}.commit_3(${parameterList}) AS written`;
  const additions = createJobAdditions(database, schema);

  async function runCommit(order: CommitOrder): Promise<CommitResult> {
    const { draft, events, jobs, time } = order;
    const token = randomUUID();
    const rows = jobs.length === 0 ? null : JSON.stringify(jobs);
    const writes = [...draft.writeColumns(), events.map((event) => JSON.stringify(event)), rows, draft.isNarrow];
    try {
      if (await writesJob(order, token)) return { unreferenced: [] };
      return await call(token, new Date(time), [...draft.readColumns(), ...writes]);
    } catch (thrown) {
      if (CONFLICT_STATES.includes(findSqlState(thrown) ?? '')) return undefined;
      if (!(thrown instanceof UnknownOutcomeError) || (!draft.isWritten && events.length === 0)) throw thrown;
      const isCommitted = await hasCommitted(token, draft.kindWritten ?? '', thrown);
      return isCommitted ? { unreferenced: [] } : undefined;
    }
  }

  /** Writes a commit that concerns only one job. @returns false if the commit needs another statement */
  async function writesJob(order: CommitOrder, token: string): Promise<boolean> {
    const statement = createJobStatement(order, token);
    if (statement === undefined) return false;
    const { call, values } = statement;
    const valueList = values.map((_, i) => `$${i + 1}`).join(', ');
    try {
      if (call === 'add_job_1') return (await additions.add(values)) !== null;
      const sql = `SELECT ${schema}.${call}(${valueList}) AS written`;
      const [row] = await database.query<CommitRow>(sql, values);
      return row!.written !== null; // exactly one row
    } catch (thrown) {
      if (findSqlState(thrown) === UNIQUE_VIOLATION) return false;
      throw thrown;
    }
  }

  async function call(token: string, time: Date, columns: readonly unknown[]): Promise<CommitResult> {
    const [row] = await database.query<CommitRow>(statement, [token, node, time, ...columns]);
    const [version, ...unreferenced] = row!.written?.split(' ') ?? []; // exactly one row
    return version === undefined ? undefined : { unreferenced };
  }

  /**
   * Returns true if an unconfirmed commit has succeeded. The insertion of its token determines the outcome: it waits
   * for a running commit, and prevents a later one.
   */
  async function hasCommitted(token: string, kind: string, lost: Refusal): Promise<boolean> {
    const deadline = performance.now() + OUTCOME_RETRY_MS;
    for (;;) {
      try {
        const decidedRows = await database.query(
          `INSERT INTO ${schema}.changes (kind, token) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING kind`,
          [kind, token],
        );
        return decidedRows.length === 0;
      } catch (thrown) {
        // Does not wait for a server that does not answer.
        if (!(thrown instanceof Refusal) || database.isSilent() || performance.now() > deadline) throw lost;
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }

  return {
    commit: runCommit,
    async holds(draft) {
      const emptyCommit = [...Array.from({ length: 8 }, () => []), null, false];
      return (await call(randomUUID(), new Date(0), [...draft.readColumns(), ...emptyCommit])) !== undefined;
    },
  };
}

/**
 * Reader of the events of other processes. Events are notifications and not state. During a long outage of the
 * database, events are lost.
 */
interface EventReader extends Pick<PiggybackedEvents, 'due'> {
  stop(): Promise<void>;
}

/** Reads of events as part of another statement. */
export interface PiggybackedEvents {
  /** Returns the next read that is due. Returns undefined if the last read is recent. */
  due(): EventReading | undefined;
}

export interface EventReading {
  /** Oldest transaction with events that may be unread. */
  readonly horizon: string;
  /** Id of this process. Its own events are omitted. */
  readonly node: string;
  /** Accepts the events that a read found. Of two concurrent reads, the later one is ignored. */
  take(found: EventsFound): void;
}

interface EventsFound {
  /** Transaction id from which the next read begins: the oldest transaction that was still running at this read. */
  readonly horizon: string;
  readonly ids: readonly string[];
  readonly events: readonly string[];
}

interface EventReaderOptions {
  readonly schema: string;
  /** Id of this process. Its own events are omitted. */
  readonly node: string;
  /** Maximum time between two reads. */
  readonly readMs?: number | undefined;
  readonly onEvents: (events: readonly CommitEvent[]) => void;
}

/**
 * Interval between reads in ms. Reads are used, because with NOTIFY all commits of the cluster would wait for each
 * other.
 */
const READ_MS = 500;

/**
 * Opens the reader. A row becomes visible when its transaction commits, and not when its id was assigned. A read
 * therefore begins at the oldest transaction that was running during the previous read. It omits events that the
 * previous read returned.
 */
async function openEventReader(database: Database, options: EventReaderOptions): Promise<EventReader> {
  const { schema, node, readMs = READ_MS, onEvents } = options;
  const [start] = await database.query<{ readonly horizon: string }>(
    'SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon',
    [],
  );
  let horizon = start!.horizon; // exactly one row
  let knownIds: ReadonlySet<string> = new Set();
  let count = 0;
  let readAtMs = performance.now();
  let lastRead = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function startReading(): EventReading {
    const countAtStart = count;
    return {
      horizon,
      node,
      take(eventsFound) {
        // If another read from the same starting point has been accepted, this one is ignored. The next read finds the
        // events that are missing.
        if (countAtStart !== count || isStopped) return;
        count++;
        readAtMs = performance.now();
        horizon = eventsFound.horizon;
        const newEvents = eventsFound.events.filter((_, i) => !knownIds.has(eventsFound.ids[i]!)); // there is one id per event
        knownIds = new Set(eventsFound.ids);
        onEvents(newEvents.map((event) => JSON.parse(event) as CommitEvent)); // written by `commit`
      },
    };
  }

  async function read(): Promise<void> {
    const ownEventReading = startReading();
    const [found] = await database.query<{ [M in keyof EventsFound]: EventsFound[M] | null }>(
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, array_agg(id::text ORDER BY id) AS ids,
          array_agg(event ORDER BY id) AS events FROM ${schema}.events WHERE transaction >= $1::xid8 AND node <> $2`,
      [ownEventReading.horizon, node],
    );
    const { horizon, ids, events } = found!; // exactly one row
    ownEventReading.take({ horizon: horizon!, ids: ids ?? [], events: events ?? [] });
  }

  function readLater(ms: number): void {
    if (isStopped) return;
    timer = setTimeout(() => {
      const leftMs = readAtMs + readMs - performance.now();
      if (leftMs > 0) readLater(leftMs);
      else
        lastRead = read()
          .catch(assertPassing)
          .finally(() => readLater(readMs));
    }, ms);
    timer.unref();
  }
  readLater(readMs);

  return {
    due: () => (performance.now() - readAtMs < readMs / 2 ? undefined : startReading()),
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await lastRead;
    },
  };
}

/** Ignores a temporary failure, because the next read begins at the same transaction. */
function assertPassing(thrown: unknown): void {
  if (!(thrown instanceof Refusal)) throw thrown;
}

interface PostgresStoreOptions extends DocumentEngineOptions, Pick<EventReaderOptions, 'readMs'> {
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
    list: (kind, readBody) => runWhileOpen(async () => readListing(await rows.rows(kind), readBody)),
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

export async function readListing<T>(rows: readonly DocumentRow[], readBody: EntryReader<T>): Promise<Listing<T>> {
  const entries: ListedDocument<T>[] = [];
  await workInTurns(rows, (row) => void entries.push(listDocument(openRow(row), readBody)));
  return collectListing(entries);
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
      const isOutage = isStoreUnavailable(thrown);
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
