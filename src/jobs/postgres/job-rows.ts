import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { FoundDocument } from '#store/port.js';
import type { Database } from '#store/postgres/database.js';
import type { Lane, TaskProgress } from '../compute-pool.js';
import type { AttemptKey } from '../attempt-key.js';
import type { JobCounts, JobQuery, WaitingJob } from '../queue.js';
import { CLAIMED_KINDS, kindOfRow } from './queued-kinds.js';
import {
  createLooks,
  documentColumns,
  documentOf,
  type Beat,
  type DocumentColumns,
  type SeenJob,
  type SeenRevision,
} from './seen-job.js';

/** The queue before a submission, and the number that it gets. */
export interface Place {
  readonly sequence: number;
  readonly queued: number;
  readonly queuedOfOwner: number;
}

/** The same with the job that has the id already, if any. */
export interface PlaceOfJob extends Place {
  readonly seen: SeenJob;
}

export interface BeatOrder {
  readonly progress: TaskProgress | undefined;
  /** Whether the progress is another one than before. */
  readonly hasNews: boolean;
  readonly leaseMs: number;
}

/** How an attempt begins. */
export interface Start {
  readonly node: string;
  readonly leaseMs: number;
  /** As the wire writes times. */
  readonly at: string;
  /** A name of its own, by which it is taken back. */
  readonly claim: string;
}

export interface ReserveOrder {
  /** What the node has for all of its jobs. */
  readonly memoryBytes: number;
  readonly lane: Lane;
  readonly exceptOwners: readonly string[];
  readonly freeBytes: number;
  /** Of a job that fits into the free memory; another one is kept from other nodes for a moment. */
  readonly start: Start;
}

/** An offered job, and its start; null where it waits for memory. */
export type OfferedKey = AttemptKey & { readonly claim: string | null };

export interface ReservedJob extends WaitingJob, OfferedKey {
  readonly seen: SeenJob;
  /** What it was submitted with. */
  readonly input: FoundDocument;
}

export interface RunningJob extends AttemptKey {
  readonly node: string;
}

/** Statements on the rows of jobs: what is asked often and is in no document. */
export interface JobRows {
  place(job: { readonly jobId: string; readonly owner: string }): Promise<PlaceOfJob>;
  /**
   * The next job of a lane that the node may take, which begins where it fits. Its document may be older than its row
   * where others changed both just then.
   */
  reserve(order: ReserveOrder): Promise<ReservedJob | undefined>;
  /** Begins a reserved job. @returns when, by the row; undefined where it does not wait any more */
  start(key: AttemptKey, start: Start): Promise<Beat | undefined>;
  /** Gives a reserved job back, or one whose start nobody has taken up. */
  release(job: OfferedKey): Promise<void>;
  /** Takes back starts whose answers were lost. */
  undo(starts: readonly Start[]): Promise<void>;
  /** Takes a job out of the line whose document cannot be read. */
  drop(job: OfferedKey): Promise<void>;
  /** Prolongs a lease. @returns what the attempt has said by now; undefined when it is not the one any more */
  beat(key: AttemptKey, order: BeatOrder): Promise<Beat | undefined>;
  /** Jobs with their documents; those that are not there are left out. */
  look(jobIds: readonly string[]): Promise<ReadonlyMap<string, SeenRevision>>;
  /** Attempts of a node, the newest job first. */
  runningOn(node: string): Promise<readonly RunningJob[]>;
  /** Ended jobs beyond those that are remembered, so many at most. */
  surplus(endedMax: number, countMax: number): Promise<readonly { readonly id: string; readonly sequence: number }[]>;
  revisions(jobIds: readonly string[] | 'live'): Promise<ReadonlyMap<string, number>>;
  ids(kind: JobKindName): Promise<readonly string[]>;
  liveIds(): Promise<readonly string[]>;
  matching(query: JobQuery): Promise<readonly string[]>;
  counts(): Promise<JobCounts>;
}

export interface KeyRow {
  readonly job_id: string;
  readonly sequence: string;
  readonly attempt: number;
}

type PlaceRow = DocumentColumns<'document'> & { sequence: string; queued: number; of_owner: number };

type ReservedRow = KeyRow &
  DocumentColumns<'document'> &
  DocumentColumns<'input'> &
  Beat & { kind: JobKindName; owner: string; estimated_bytes: string; claim: string | null };

/** A node that dies with one reserved keeps it from the others for so long. */
export const RESERVED_SECONDS = 10;
/** A job waits for a node with room at once for so long; then one without makes room for it. */
const PASSED_OVER_SECONDS = 30;
/** Attempts that one look takes up; a node that was there before gives them back one by one. */
const LEFT_MAX = 50;
/** In the condition of a write that may be lost with the server: its commit does not wait for the disk. */
export const UNFLUSHED = `(SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL`;
const SAME = `job_id = $1 AND sequence = $2 AND attempt = $3`;
const BEAT = 'progress, message, beat_at, started_at, node';

/** @param schema as a quoted identifier */
export function createJobRows(database: Database, schema: string): JobRows {
  const jobs = `${schema}.jobs`;
  const keyValues = ({ jobId, sequence, attempt }: AttemptKey) => [jobId, sequence, attempt];
  const idsOf = async (sql: string, values: readonly unknown[]): Promise<readonly string[]> =>
    (await database.query<{ readonly job_id: string }>(sql, values)).map(({ job_id: id }) => id);
  // Each half has an index of its own; one of both would read all jobs that are remembered.
  const live = ['pending', 'running']
    .map((status) => `SELECT job_id, revision, sequence FROM ${jobs} WHERE status = '${status}'`)
    .join(' UNION ALL ');

  return {
    ...waitingRows(database, { schema, jobs }),
    async beat(key, { progress, hasNews, leaseMs }) {
      const [beat] = await database.query<Beat>(
        `UPDATE ${jobs} SET lease_until = clock_timestamp() + $4::double precision * interval '1 ms', beat_at = clock_timestamp(),
            progress = greatest(progress, least($5::double precision, 1)), message = coalesce($6, message),
            revision = CASE WHEN $7 THEN nextval('${schema}.job_revision') ELSE revision END
          WHERE ${SAME} AND status = 'running' AND ${UNFLUSHED} RETURNING ${BEAT}`,
        [...keyValues(key), leaseMs, progress?.fraction ?? 0, progress?.message ?? null, hasNews],
      );
      return beat;
    },
    look: createLooks(database, schema),
    async runningOn(node) {
      const rows = await database.query<KeyRow & { readonly node: string }>(
        `SELECT job_id, sequence, attempt, node FROM ${jobs} WHERE status = 'running' AND node = $1
          ORDER BY jobs.sequence DESC LIMIT ${LEFT_MAX}`,
        [node],
      );
      return rows.map((row) => ({ ...keyOf(row), node: row.node }));
    },
    async surplus(endedMax, countMax) {
      const rows = await database.query<KeyRow>(
        `SELECT job_id, sequence FROM ${jobs} WHERE status NOT IN ('pending', 'running')
          ORDER BY jobs.sequence DESC OFFSET $1 LIMIT $2`,
        [endedMax, countMax],
      );
      return rows.map(({ job_id: id, sequence }) => ({ id, sequence: Number(sequence) }));
    },
    async revisions(jobIds) {
      const rows = await database.query<{ readonly job_id: string; readonly revision: string }>(
        jobIds === 'live' ? live : `SELECT job_id, revision FROM ${jobs} WHERE job_id = ANY($1)`,
        jobIds === 'live' ? [] : [jobIds],
      );
      return new Map(rows.map(({ job_id: id, revision }) => [id, Number(revision)]));
    },
    ids: (kind) => idsOf(`SELECT job_id FROM ${jobs} WHERE ${kindOfRow} = $1 ORDER BY jobs.sequence`, [kind]),
    liveIds: () => idsOf(`SELECT job_id FROM (${live}) AS live ORDER BY sequence`, []),
    matching: ({ kinds, statuses, before, limit }) =>
      idsOf(
        `SELECT job_id FROM ${jobs} WHERE ($1::text[] IS NULL OR ${kindOfRow} = ANY($1)) AND ($2::text[] IS NULL OR status = ANY($2))
            AND ($3::text IS NULL OR sequence < (SELECT sequence FROM ${jobs} AS b WHERE b.job_id = $3))
          ORDER BY jobs.sequence DESC LIMIT $4`,
        [kinds ?? null, statuses ?? null, before ?? null, limit],
      ),
    async counts() {
      const [row] = await database.query<{ readonly pending: number; readonly running: number }>(
        `SELECT (SELECT count(*) FROM ${jobs} WHERE status = 'pending')::int AS pending,
          (SELECT count(*) FROM ${jobs} WHERE status = 'running')::int AS running`,
        [],
      );
      return row!; // One row always.
    },
  };
}

/** Puts the next submission behind those that were copied in. */
export async function advanceSequence({ database, schema }: { database: Database; schema: string }): Promise<void> {
  await database.query(
    // To set it outright takes a right that a role which serves has not.
    `SELECT count(nextval('${schema}.job_sequence')) FROM generate_series(1, (SELECT max(sequence) FROM ${schema}.jobs))`,
    [],
  );
}

type WaitingRows = Pick<JobRows, 'place' | 'reserve' | 'start' | 'release' | 'undo' | 'drop'>;

/** Statements on jobs that wait. */
interface WaitingOptions {
  readonly schema: string;
  readonly jobs: string;
}

function waitingRows(database: Database, { schema, jobs }: WaitingOptions): WaitingRows {
  /** Jobs that a node with so much memory, left and in all, may take. */
  const isFitting = (free: string, all: string): string =>
    `status = 'pending' AND kind = ANY($1) AND coalesce(reserved_until < clock_timestamp(), true) AND estimated_bytes <=
        CASE WHEN queued_at < clock_timestamp() - interval '${PASSED_OVER_SECONDS} s' THEN ${all}::bigint ELSE ${free}::bigint END`;

  /** What a start writes, by column. @param from number of its first parameter */
  const started = (from: number): readonly (readonly [column: string, value: string])[] => [
    ['status', `'running'`],
    ['reserved_until', 'NULL'],
    ['node', `$${from}`],
    ['lease_until', `clock_timestamp() + $${from + 1}::double precision * interval '1 ms'`],
    ['started_at', `$${from + 2}::timestamptz`],
    ['claim', `$${from + 3}::uuid`],
    ['beat_at', 'NULL'],
    ['progress', '0'],
    ['message', 'NULL'],
    ['revision', `nextval('${schema}.job_revision')`],
  ];
  const ofStart = ({ node, leaseMs, at, claim }: Start) => [node, leaseMs, at, claim];
  const fits = 'estimated_bytes <= $2::bigint';
  const reserved = started(6).map(([column, value]) =>
    column === 'reserved_until'
      ? `${column} = CASE WHEN ${fits} THEN NULL ELSE clock_timestamp() + interval '${RESERVED_SECONDS} s' END`
      : `${column} = CASE WHEN ${fits} THEN ${value} ELSE ${column} END`,
  );
  const undone = `status = 'pending', reserved_until = NULL, node = NULL, lease_until = NULL, started_at = NULL, claim = NULL`;
  /** Waits, or has begun by this claim. */
  const isOffered = `${SAME} AND (status = 'pending' OR status = 'running' AND claim = $4::uuid)`;
  const offerValues = ({ jobId, sequence, attempt, claim }: OfferedKey) => [jobId, sequence, attempt, claim];

  return {
    async place({ jobId, owner }) {
      const [row] = await database.query<PlaceRow>(
        `SELECT place.*, ${documentColumns('document')} FROM (
            SELECT nextval('${schema}.job_sequence') AS sequence,
              (SELECT count(*) FROM ${jobs} WHERE status = 'pending')::int AS queued,
              (SELECT count(*) FROM ${jobs} WHERE status = 'pending' AND owner = $1)::int AS of_owner
          ) AS place LEFT JOIN ${schema}.documents AS document ON document.kind = 'job' AND document.id = $2`,
        [owner, jobId],
      );
      const { sequence, queued, of_owner: queuedOfOwner } = row!; // One row always.
      const seen = { ...documentOf(row!, 'document'), beat: undefined };
      return { sequence: Number(sequence), queued, queuedOfOwner, seen };
    },
    async reserve({ lane, exceptOwners, freeBytes, memoryBytes, start }) {
      const [row] = await database.query<ReservedRow>(
        `WITH reserved AS (
            UPDATE ${jobs} SET ${reserved.join(', ')}
              WHERE job_id = (
                SELECT job_id FROM ${jobs} WHERE ${isFitting('$2', '$3')} AND lane = $4 AND NOT owner = ANY($5)
                  ORDER BY turn, jobs.sequence LIMIT 1 FOR UPDATE SKIP LOCKED
              ) RETURNING job_id, ${kindOfRow} AS kind, owner, estimated_bytes, sequence, attempt, ${BEAT},
                CASE WHEN ${fits} THEN claim END AS claim
          )
          SELECT reserved.*, ${documentColumns('document')}, ${documentColumns('input')} FROM reserved
            LEFT JOIN LATERAL (SELECT * FROM ${schema}.documents WHERE kind = 'job' AND id = job_id LIMIT 1) AS document ON true
            LEFT JOIN LATERAL (SELECT * FROM ${schema}.documents WHERE kind = 'job-input' AND id = job_id LIMIT 1) AS input ON true`,
        [CLAIMED_KINDS, freeBytes, memoryBytes, lane, exceptOwners, ...ofStart(start)],
      );
      if (row === undefined) return undefined;
      const { job_id, kind, owner, claim, estimated_bytes: bytes } = row;
      const { progress, message, beat_at, started_at, node } = row;
      const beat = claim === null ? undefined : { progress, message, beat_at, started_at, node };
      const seen = { ...documentOf(row, 'document'), beat };
      const { found: input } = documentOf(row, 'input');
      return { ...keyOf(row), job_id, kind, owner, estimated_bytes: Number(bytes), claim, seen, input };
    },
    async start({ jobId, sequence, attempt }, start) {
      const set = started(4).map(([column, value]) => `${column} = ${value}`);
      const [beat] = await database.query<Beat>(
        `UPDATE ${jobs} SET ${set.join(', ')} WHERE ${SAME} AND status = 'pending' RETURNING ${BEAT}`,
        [jobId, sequence, attempt, ...ofStart(start)],
      );
      return beat;
    },
    async release(job) {
      await database.query(`UPDATE ${jobs} SET ${undone} WHERE ${isOffered} AND ${UNFLUSHED}`, offerValues(job));
    },
    async undo(starts) {
      await database.query(
        `UPDATE ${jobs} SET ${undone} WHERE status = 'running' AND node = ANY($1) AND claim = ANY($2::uuid[])`,
        [starts.map(({ node }) => node), starts.map(({ claim }) => claim)],
      );
    },
    async drop(job) {
      await database.query(`DELETE FROM ${jobs} WHERE ${isOffered}`, offerValues(job));
    },
  };
}

export const keyOf = ({ job_id: jobId, sequence, attempt }: KeyRow): AttemptKey => ({
  jobId,
  sequence: Number(sequence),
  attempt,
});
