import { Refusal } from '#domain/base/refusals.js';
import { type JobRecord, readJobRecord } from '#jobs/port/life-cycle.js';
import { addBeat } from '#jobs/distributed/job-documents.js';
import type { Beat, JobRevision, JobRows, OfferedKey, RunningJob, Start } from '#jobs/distributed/job-rows.js';
import type { FreeCapacity } from '#jobs/port/queue.js';
import type { DocumentLookup } from '#store/port.js';
import type { JobRow, JobTransaction } from '#store/postgres/transaction.js';
import type { PostgresDocuments } from '#store/postgres/document-store.js';

/** Row of the jobs table as statements write it. */
export interface SimulatedRow extends Omit<JobRow, 'status' | 'node'> {
  readonly turn: number;
  readonly queuedMs: number;
  status: string;
  node: string | null;
  claim: string | null;
  startedMs: number | null;
  reservedUntil: number;
  leaseUntil: number;
  progress: number;
  revision: number;
}

/** Writes of a commit. */
export interface Change {
  readonly puts: ReadonlyMap<string, unknown>;
  readonly before: JobRecord | undefined;
  readonly after: JobRecord | undefined;
}

/**
 * A database in memory that several simulated processes share. It contains documents with versions, rows of jobs, and a
 * clock.
 */
export interface SharedDatabase {
  /** Document bodies by `kind/id`. */
  readonly documents: ReadonlyMap<string, unknown>;
  readonly rows: ReadonlyMap<string, SimulatedRow>;
  record(jobId: string): JobRecord | undefined;
  /**
   * Returns the functions with which a process reaches the database. @param call decides whether a request is executed
   * and whether its response arrives
   */
  createPorts(call: Call): { readonly rows: SimulatedRows; readonly documents: Ports };
}

/** Statements on job rows, and queries about nodes. */
export interface SimulatedRows extends JobRows {
  isWaiting(capacity: FreeCapacity & { readonly memoryBytes: number }): Promise<boolean>;
  silent(): Promise<readonly RunningJob[]>;
}

export type Ports = Pick<PostgresDocuments, 'get' | 'transaction' | 'jobTransaction'>;
export type Call = <T>(request: () => T) => Promise<T>;

const RESERVED_MS = 10_000;
const PASSED_OVER_MS = 30_000;

export function createSharedDatabase(now: () => number, onCommit: (change: Change) => void): SharedDatabase {
  const documents = new Map<string, unknown>();
  /** Job records by their stored bodies. */
  const records = new WeakMap<object, JobRecord>();
  const versions = new Map<string, number>();
  const rows = new Map<string, SimulatedRow>();
  let sequence = 0;
  let revision = 0;
  let version = 0;

  function findRecord(jobId: string): JobRecord | undefined {
    const body = documents.get(`job/${jobId}`) as object | undefined; // all bodies are objects
    if (body === undefined) return undefined;
    const record = records.get(body) ?? readJobRecord(body, jobId);
    if (record === undefined) return undefined;
    records.set(body, record);
    const row = rows.get(jobId);
    return addBeat(record, row && createBeat(row));
  }
  const readDocument = (kind: string, id: string) => {
    const body = documents.get(`${kind}/${id}`);
    return body === undefined ? undefined : { id, body, etag: '', updatedAt: '' };
  };

  function readRevision(jobId: string): JobRevision {
    const row = rows.get(jobId);
    const version = String(versions.get(`job/${jobId}`) ?? 0);
    return {
      found: readDocument('job', jobId),
      version,
      beat: row && createBeat(row),
      revision: row?.revision ?? 0,
    };
  }

  function putRow(row: JobRow): void {
    const sameRow = rows.get(row.job_id);
    const waitingRows = [...rows.values()].filter(({ lane, status }) => lane === row.lane && status === 'pending');
    const ownTurns = waitingRows.filter(({ owner }) => owner === row.owner).map(({ turn }) => turn + 1);
    const turn =
      sameRow?.sequence === row.sequence
        ? sameRow.turn
        : Math.max(0, ...ownTurns, waitingRows.length === 0 ? 0 : Math.min(...waitingRows.map((each) => each.turn)));
    const leaseUntil = row.lease_ms === null ? Infinity : now() + row.lease_ms;
    const queuedMs = sameRow?.sequence === row.sequence ? sameRow.queuedMs : now();
    const startState = { leaseUntil, reservedUntil: -1, claim: null, startedMs: null, progress: 0 };
    rows.set(row.job_id, { ...row, ...startState, turn, queuedMs, revision: ++revision });
  }

  /**
   * Writes all changes of a transaction. It writes nothing if another commit has changed a document that the
   * transaction read. @returns true if the changes were written
   */
  function commitTransaction(read: Map<string, number>, puts: Map<string, unknown>, jobs: readonly JobRow[]): boolean {
    for (const [key, seen] of read) if ((versions.get(key) ?? 0) !== seen) return false;
    const jobKey = [...puts.keys()].find((key) => key.startsWith('job/'));
    const before = jobKey === undefined ? undefined : findRecord(jobKey.slice(4));
    if (puts.size > 0) version++;
    for (const [key, body] of puts) {
      if (body === undefined) documents.delete(key);
      else documents.set(key, body);
      versions.set(key, version);
      if (body === undefined && key.startsWith('job/')) rows.delete(key.slice(4));
    }
    for (const job of jobs) putRow(job);
    onCommit({ puts, before, after: jobKey === undefined ? undefined : findRecord(jobKey.slice(4)) });
    return true;
  }

  function createDocumentsFor(call: Call): Ports {
    async function runJobTransaction<T>(change: (tx: JobTransaction) => Promise<T>): Promise<T> {
      for (;;) {
        const read = new Map<string, number>();
        const puts = new Map<string, unknown>();
        const jobs: JobRow[] = [];
        const tx: JobTransaction = {
          get: async (kind, id) => {
            const key = `${kind}/${id}`;
            if (puts.has(key)) return { id, body: puts.get(key), etag: '', updatedAt: '' };
            return call(() => {
              read.set(key, versions.get(key) ?? 0);
              return readDocument(kind, id);
            });
          },
          ids: async () => [],
          lastNumber: async () => 0,
          put: async (kind, id, body) => {
            puts.set(`${kind}/${id}`, freezeStoredBody(body));
            return '';
          },
          delete: async (kind, id) => puts.set(`${kind}/${id}`, undefined).size > 0,
          publish: () => {},
          putJob: (row) => void jobs.push(row),
          drop: ({ kind, id }) => void puts.set(`${kind}/${id}`, undefined),
          buildOn({ kind, id }, seen) {
            const key = `${kind}/${id}`;
            if (!read.has(key)) read.set(key, Number(seen));
          },
        };
        const result = await change(tx);
        if (await call(() => commitTransaction(read, puts, jobs))) return result;
      }
    }
    return {
      get: (kind, id) => call(() => readDocument(kind, id)),
      transaction: runJobTransaction,
      jobTransaction: runJobTransaction,
    };
  }

  return {
    documents,
    rows,
    record: findRecord,
    createPorts: (call) => ({
      documents: createDocumentsFor(call),
      rows: createRowsFor(call, {
        rows,
        now,
        findDocument: readDocument,
        seen: readRevision,
        next: () => ({ sequence: ++sequence }),
        revise: () => ++revision,
        changed(jobId, change) {
          const before = findRecord(jobId);
          change();
          onCommit({ puts: new Map(), before, after: findRecord(jobId) });
        },
      }),
    }),
  };
}

interface RowTable {
  readonly rows: Map<string, SimulatedRow>;
  readonly now: () => number;
  findDocument(kind: string, id: string): DocumentLookup;
  seen(jobId: string): JobRevision;
  next(): { readonly sequence: number };
  revise(): number;
  /** Changes a row and reports the change as a commit. */
  changed(jobId: string, change: () => void): void;
}

type Key = Parameters<JobRows['beat']>[0];

function createRowsFor(call: Call, { rows, now, findDocument, seen, next, revise, changed }: RowTable): SimulatedRows {
  const listRows = () => [...rows.values()].toSorted((a, b) => a.sequence - b.sequence);
  const findRow = ({ jobId, sequence, attempt }: Key): SimulatedRow | undefined => {
    const row = rows.get(jobId);
    return row?.sequence === sequence && row.attempt === attempt ? row : undefined;
  };
  const findOffered = (job: OfferedKey): SimulatedRow | undefined => {
    const row = findRow(job);
    return row?.status === 'pending' || (row?.status === 'running' && row.claim === job.claim) ? row : undefined;
  };
  const createRunningKey = (row: SimulatedRow) => ({ ...createKey(row), node: row.node! });
  const isWithinCapacity = (
    row: SimulatedRow,
    { lanes, freeBytes, memoryBytes }: Parameters<SimulatedRows['isWaiting']>[0],
  ) => {
    const isFree = row.status === 'pending' && row.reservedUntil < now() && lanes.includes(row.lane as 'heavy');
    return isFree && row.estimated_bytes <= (now() - row.queuedMs > PASSED_OVER_MS ? memoryBytes : freeBytes);
  };
  function begin(row: SimulatedRow, { node, leaseMs, at, claim }: Start): void {
    const startState = { status: 'running', node, claim, startedMs: Date.parse(at), progress: 0, revision: revise() };
    changed(row.job_id, () => Object.assign(row, startState, { reservedUntil: -1, leaseUntil: now() + leaseMs }));
  }
  const undo = (row: SimulatedRow): void =>
    void Object.assign(row, { status: 'pending', node: null, claim: null, startedMs: null, reservedUntil: -1 });
  const count = (status: string): number => listRows().filter((row) => row.status === status).length;
  const isLive = ({ status }: SimulatedRow): boolean => status === 'pending' || status === 'running';
  return {
    places: (jobs) =>
      call(() => {
        const queuedRows = listRows().filter(({ status }) => status === 'pending');
        return jobs.map(({ jobId, owner }) => {
          const ownerQueuedCount = queuedRows.filter((row) => row.owner === owner).length;
          return { ...next(), queued: queuedRows.length, queuedOfOwner: ownerQueuedCount, seen: seen(jobId) };
        });
      }),
    reserve: ({ lane, exceptOwners: except, freeBytes, memoryBytes, start }) =>
      call(() => {
        const capacity = { lanes: [lane], freeBytes, memoryBytes };
        const freeRows = listRows().filter((row) => isWithinCapacity(row, capacity) && !except.includes(row.owner));
        const [row] = freeRows.toSorted((a, b) => a.turn - b.turn || a.sequence - b.sequence);
        if (row === undefined) return undefined;
        const isBegun = row.estimated_bytes <= freeBytes;
        const waitingRevision = seen(row.job_id);
        if (isBegun) begin(row, start);
        else row.reservedUntil = now() + RESERVED_MS;
        return {
          ...createKey(row),
          job_id: row.job_id,
          kind: row.kind as 'backtest',
          owner: row.owner,
          estimated_bytes: row.estimated_bytes,
          claim: isBegun ? start.claim : null,
          seen: { ...waitingRevision, beat: isBegun ? createBeat(row) : undefined },
          input: findDocument('job-input', row.job_id),
        };
      }),
    start: (key, start) =>
      call(() => {
        const row = findRow(key);
        if (row?.status !== 'pending') return undefined;
        begin(row, start);
        return createBeat(row);
      }),
    release: (job) =>
      call(() => {
        const row = findOffered(job);
        if (row !== undefined) undo(row);
      }),
    undo: (starts) =>
      call(() => {
        const claims = starts.map(({ claim }) => claim);
        for (const row of listRows()) if (row.status === 'running' && claims.includes(row.claim!)) undo(row);
      }),
    drop: (job) => call(() => void (findOffered(job) && rows.delete(job.jobId))),
    isWaiting: (room) => call(() => listRows().some((row) => isWithinCapacity(row, room))),
    beat: (key, { leaseMs, hasNews }) =>
      call(() => {
        const row = findRow(key);
        if (row?.status !== 'running') return undefined;
        row.leaseUntil = now() + leaseMs;
        if (hasNews) row.revision = revise();
        return createBeat(row);
      }),
    look: (jobIds) => call(() => new Map(jobIds.map((jobId) => [jobId, seen(jobId)]))),
    silent: () =>
      call(() =>
        listRows()
          .filter((row) => row.status === 'running' && row.leaseUntil < now())
          .map(createRunningKey),
      ),
    runningOn: (node) =>
      call(() =>
        listRows()
          .filter((row) => row.status === 'running' && row.node === node)
          .map(createRunningKey),
      ),
    surplus: () => call(() => []),
    revisions: (ids) =>
      call(
        () =>
          new Map(
            listRows()
              .filter((row) => (ids === 'live' ? isLive(row) : ids.includes(row.job_id)))
              .map((row) => [row.job_id, row.revision]),
          ),
      ),
    ids: () => call(() => listRows().map(({ job_id: id }) => id)),
    liveIds: () =>
      call(() =>
        listRows()
          .filter(isLive)
          .map(({ job_id: id }) => id),
      ),
    matching: () => Promise.reject(new Refusal('NOT_SUPPORTED', 'nobody lists here')),
    counts: () => call(() => ({ pending: count('pending'), running: count('running') })),
  };
}

/** Returns a body as a database returns it: an immutable copy that went through JSON. */
const freezeStoredBody = (body: unknown): unknown => freezeDeeply(JSON.parse(JSON.stringify(body)));

function freezeDeeply(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) freezeDeeply(member);
  return Object.freeze(value);
}

const createBeat = ({ progress, status, startedMs }: SimulatedRow): Beat => ({
  progress,
  message: null,
  beat_at: null,
  started_at: status === 'running' && startedMs !== null ? new Date(startedMs) : null,
  node: null,
});

const createKey = ({ job_id: jobId, sequence, attempt }: SimulatedRow): Key => ({ jobId, sequence, attempt });
