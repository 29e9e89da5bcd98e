import { JOB_PRIORITIES, type JobPriority } from '#domain/outputs/job-priority.js';
import { JOB_KINDS, type JobKindName } from '#domain/outputs/jobs.js';
import { type DocumentLookup, isDocumentId, type StoredDocument, type UnreadableDocument } from '#store/port.js';
import type { Database } from '#store/postgres/database.js';
import { type DocumentRow, openRow } from '#store/postgres/rows.js';
import { ABSENT_ETAG } from '#store/postgres/transaction.js';
import type { Lane, TaskProgress } from '../port/compute-pool.js';
import type { AttemptKey, JobCounts, JobQuery, WaitingJob } from '../port/queue.js';

/**
 * Generation of job kinds. Increase it when a node of the last release would fail a job of this release or compute
 * other values, because payloads, settings of documents or index mathematics changed. Such a node claims rows by their
 * kind, which contains the generation.
 *
 * - 1, not written: up to 0.3.0
 * - 2: 0.4.0
 * - 3: from 0.5.0, because plug-ins call functions of `rows`
 * - 4: from 0.7.0, because reviews of weights keep replacements, and phase-ins count reviews with an early reference date
 * - 5: from 0.8.0, because index shares and the divisor are state of an index
 * - 6: from 0.9.0, because long studies have their requests as lines, and indices that reinvest in the constituent have other divisors
 * - 7: from 0.10.0, because accounts have tax regimes, and reviews with a reference date before the data are decided on their announcement
 * - 8: from 0.11.0, because there are further classes of weightings and constraints
 */
const GENERATION = 8;
const SEPARATOR = '/';

const formatGeneration = (kind: JobKindName, generation: number): string =>
  generation === 1 ? kind : `${kind}${SEPARATOR}${generation}`;

export const formatStoredKind = (kind: JobKindName): string => formatGeneration(kind, GENERATION);

/** Kinds in rows that this release claims: the kinds of this release and of earlier releases. */
export const CLAIMED_KINDS: readonly string[] = listClaimedKinds(JOB_KINDS);

/** Returns the claimed kinds without paused kinds. */
export const listStartedKinds = (isPaused: (kind: JobKindName) => boolean): readonly string[] =>
  JOB_KINDS.some(isPaused) ? listClaimedKinds(JOB_KINDS.filter((kind) => !isPaused(kind))) : CLAIMED_KINDS;

function listClaimedKinds(kinds: readonly JobKindName[]): readonly string[] {
  return Array.from({ length: GENERATION }, (_, i) => kinds.map((kind) => formatGeneration(kind, i + 1))).flat();
}

/** SQL expression for the kind of a job in a row of any release. */
const ROW_KIND = `split_part(kind, '${SEPARATOR}', 1)`;

/**
 * Returns the lane in the row of a job. Each priority has a separate lane, in which owners take turns. Nodes of
 * releases without priorities take only rows of normal priority.
 */
export const formatLane = (lane: Lane, priority: JobPriority = 'normal'): string =>
  priority === 'normal' ? lane : `${lane}${SEPARATOR}${priority}`;

/** Returns the lanes in rows, in the order in which their jobs start. */
export const formatLanes = (lane: Lane): string[] => JOB_PRIORITIES.map((priority) => formatLane(lane, priority));

/** Returns the SQL expression for the lane of a row. @param column column with the lane */
export const formatRowLane = (column: string): string => `split_part(${column}, '${SEPARATOR}', 1)`;

/** Returns the SQL expression that sorts rows of several lanes by priority. @param column column with the lane */
export const formatPriorityOrder = (column: string): string =>
  `CASE split_part(${column}, '${SEPARATOR}', 2) WHEN 'high' THEN 0 WHEN 'low' THEN 2 ELSE 1 END`;

/** Last report of a running attempt. */
export interface Beat {
  readonly progress: number;
  readonly message: string | null;
  readonly beat_at: Date | null;
  /** Start of the attempt. It is null if the document of the job records the start. */
  readonly started_at: Date | null;
  /** Node that runs the attempt. */
  readonly node: string | null;
}

export type DocumentBodyRow = Pick<StoredDocument, 'id' | 'body'> | UnreadableDocument | undefined;

/** Document of a job and last report of its attempt, read together. */
export interface JobReading {
  readonly found: DocumentBodyRow;
  /** Version of the document. */
  readonly version: string;
  /**
   * Last report of the document's attempt. It is undefined if there is no row. A start writes only the row, so that the
   * document of a job that has just started still describes a waiting job.
   */
  readonly beat: Beat | undefined;
}

export interface JobRevision extends JobReading {
  /** Revision of the row; 0 if there is no row. */
  readonly revision: number;
}

/** Columns of a document in a row of a statement; null if it is absent. */
type DocumentColumns<P extends string> = {
  readonly [M in keyof DocumentRow as `${P}_${M}`]: DocumentRow[M] | null;
};

const DOCUMENT_MEMBERS: readonly (keyof DocumentRow)[] = [
  'kind',
  'id',
  'version',
  'schema',
  'etag',
  'seal',
  'updated_at',
  'body',
];

/** Lists the columns of a document for a statement. @param table its name in the statement */
const formatDocumentColumns = (table: string): string =>
  DOCUMENT_MEMBERS.map((member) => `${table}.${member} AS ${table}_${member}`).join(', ');

/** Builds the document from the columns of `formatDocumentColumns`. */
function createDocument<P extends string>(
  row: DocumentColumns<P>,
  table: P,
): { readonly found: DocumentLookup; readonly version: string } {
  const columns = row as Readonly<Record<string, unknown>>;
  const members = DOCUMENT_MEMBERS.map((member) => [member, columns[`${table}_${member}`]] as const);
  const document = Object.fromEntries(members) as unknown as DocumentRow; // `formatDocumentColumns` names the columns
  return document.id === null ? ABSENT_JOB : { found: openRow(document), version: document.version };
}

export const ABSENT_JOB = { found: undefined, version: ABSENT_ETAG } as const;

type JobReadingRow = DocumentColumns<'document'> & {
  readonly progress: number | null;
  readonly message: string | null;
  readonly beat_at: Date | null;
  readonly started_at: Date | null;
  readonly node: string | null;
  readonly revision: string | null;
};

/**
 * @returns a function that finds jobs with all their data in one statement, and omits absent jobs
 */
function createLooks(database: Database, schema: string) {
  // A report belongs to the attempt in the document, because one commit writes both and one statement reads both.
  const formatStatement = (jobs: string): string =>
    `SELECT ${formatDocumentColumns('document')}, row.progress, row.message, row.beat_at,
        CASE WHEN row.status = 'running' THEN row.started_at END AS started_at, row.node, row.revision
      FROM ${schema}.documents AS document LEFT JOIN ${schema}.jobs AS row ON row.job_id = document.id
      WHERE document.kind = 'job' AND document.id ${jobs}`;
  const [one, several] = [formatStatement('= $1'), formatStatement('= ANY($1)')];

  return async (jobIds: readonly string[]): Promise<ReadonlyMap<string, JobRevision>> => {
    const documentIds = jobIds.filter(isDocumentId);
    if (documentIds.length === 0) return new Map();
    const rows = await database.query<JobReadingRow>(documentIds.length === 1 ? one : several, [
      documentIds.length === 1 ? documentIds[0] : documentIds,
    ]);
    return new Map(rows.map((row) => [row.document_id!, createRevision(row)])); // the documents exist
  };
}

function createRevision(row: JobReadingRow): JobRevision {
  const { progress, message, beat_at, started_at, node, revision } = row;
  const beat = progress === null ? undefined : { progress, message, beat_at, started_at, node };
  return { ...createDocument(row, 'document'), beat, revision: Number(revision ?? 0) };
}

/** State of the queue before a submission. Also contains the sequence number of the submission. */
export interface QueuePosition {
  readonly sequence: number;
  readonly queued: number;
  readonly queuedOfOwner: number;
}

/** State of the queue before a submission. Also contains the existing job with the id, if there is one. */
export interface SubmissionPosition extends QueuePosition {
  readonly seen: JobReading;
}

export interface BeatOrder {
  readonly progress: TaskProgress | undefined;
  /** True if the progress has changed. */
  readonly hasNews: boolean;
  readonly leaseMs: number;
}

export interface Start {
  readonly node: string;
  readonly leaseMs: number;
  /** Time in the wire format. */
  readonly at: string;
  /** Unique name of the start. With this name, the start can be undone. */
  readonly claim: string;
}

export interface ReserveOrder {
  readonly memoryBytes: number;
  readonly lane: Lane;
  readonly exceptOwners: readonly string[];
  readonly freeBytes: number;
  /** Data for the start of a job that fits into the free memory. A larger job is only reserved for a short time. */
  readonly start: Start;
}

/** Key of an offered job, and the name of its start. `claim` is null if the job waits for memory. */
export type OfferedKey = AttemptKey & { readonly claim: string | null };

export interface ReservedJob extends WaitingJob, OfferedKey {
  readonly seen: JobReading;
  readonly input: DocumentLookup;
}

export interface RunningJob extends AttemptKey {
  readonly node: string;
}

/** SQL statements on the rows of jobs. The rows contain data that is queried often and is in no document. */
export interface JobRows {
  /**
   * Returns the state of the queue before each of several submissions. The sequence numbers have the order of the
   * submissions.
   */
  places(jobs: readonly { readonly jobId: string; readonly owner: string }[]): Promise<readonly SubmissionPosition[]>;
  /**
   * Reserves the next light or heavy job that the node may take. Starts the job if it fits into the free memory. The
   * document of the job may be older than its row if another process has just changed both.
   */
  reserve(order: ReserveOrder): Promise<ReservedJob | undefined>;
  /** Starts a reserved job. @returns the start in the row; undefined if the job no longer waits */
  start(key: AttemptKey, start: Start): Promise<Beat | undefined>;
  /** Releases a reserved job, or a job whose start was not used. */
  release(job: OfferedKey): Promise<void>;
  /** Undoes starts whose confirmations were lost. */
  undo(starts: readonly Start[]): Promise<void>;
  /** Removes a job with an unreadable document from the queue. */
  drop(job: OfferedKey): Promise<void>;
  /** Renews a lease. @returns the last report of the attempt; undefined if another attempt has replaced this one */
  beat(key: AttemptKey, order: BeatOrder): Promise<Beat | undefined>;
  /** Reads jobs with their documents; omits absent jobs. */
  look(jobIds: readonly string[]): Promise<ReadonlyMap<string, JobRevision>>;
  /** Lists the attempts of a node, the newest job first. */
  runningOn(node: string): Promise<readonly RunningJob[]>;
  /** Lists at most `countMax` ended jobs in excess of `endedMax`. */
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

type SubmissionPositionRow = DocumentColumns<'document'> & { sequence: string; queued: number; of_owner: number };

type ReservedRow = KeyRow &
  DocumentColumns<'document'> &
  DocumentColumns<'input'> &
  Beat & { kind: JobKindName; owner: string; estimated_bytes: string; claim: string | null };

/** Time for which a dying node keeps a reserved job from other nodes. */
export const RESERVED_SECONDS = 10;
/**
 * Time that a job waits for a node with enough memory. Afterwards, a node without enough free memory keeps memory free
 * for the job.
 */
const MEMORY_WAIT_SECONDS = 30;
/** Maximum number of attempts that one poll takes over. A restarted node returns its attempts one by one. */
const TAKEOVERS_MAX = 50;
/**
 * SQL condition that makes a commit return before its data is on disk. Used for writes that may be lost in a crash of
 * the server.
 */
export const WITHOUT_FLUSH = `(SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL`;
const SAME_ATTEMPT = `job_id = $1 AND sequence = $2 AND attempt = $3`;
const BEAT_COLUMNS = 'progress, message, beat_at, started_at, node';

/**
 * @param schema quoted identifier
 * @param kinds returns the kinds that start, as written in rows. Default: all kinds
 */
export function createJobRows(database: Database, schema: string, kinds = () => CLAIMED_KINDS): JobRows {
  const jobsTable = `${schema}.jobs`;
  const listKeyValues = ({ jobId, sequence, attempt }: AttemptKey) => [jobId, sequence, attempt];
  const readIds = async (sql: string, values: readonly unknown[]): Promise<readonly string[]> =>
    (await database.query<{ readonly job_id: string }>(sql, values)).map(({ job_id: id }) => id);
  // Each half of the query uses a separate index. A combined condition would read all stored jobs.
  const liveStatuses = ['pending', 'running']
    .map((status) => `SELECT job_id, revision, sequence FROM ${jobsTable} WHERE status = '${status}'`)
    .join(' UNION ALL ');

  return {
    ...createWaitingRows(database, { schema, jobs: jobsTable, kinds }),
    async beat(key, { progress, hasNews, leaseMs }) {
      const [beat] = await database.query<Beat>(
        `UPDATE ${jobsTable} SET lease_until = clock_timestamp() + $4::double precision * interval '1 ms', beat_at = clock_timestamp(),
            progress = greatest(progress, least($5::double precision, 1)), message = coalesce($6, message),
            revision = CASE WHEN $7 THEN nextval('${schema}.job_revision') ELSE revision END
          WHERE ${SAME_ATTEMPT} AND status = 'running' AND ${WITHOUT_FLUSH} RETURNING ${BEAT_COLUMNS}`,
        [...listKeyValues(key), leaseMs, progress?.fraction ?? 0, progress?.message ?? null, hasNews],
      );
      return beat;
    },
    look: createLooks(database, schema),
    async runningOn(node) {
      const rows = await database.query<KeyRow & { readonly node: string }>(
        `SELECT job_id, sequence, attempt, node FROM ${jobsTable} WHERE status = 'running' AND node = $1
          ORDER BY jobs.sequence DESC LIMIT ${TAKEOVERS_MAX}`,
        [node],
      );
      return rows.map((row) => ({ ...createKey(row), node: row.node }));
    },
    async surplus(endedMax, countMax) {
      const rows = await database.query<KeyRow>(
        `SELECT job_id, sequence FROM ${jobsTable} WHERE status NOT IN ('pending', 'running')
          ORDER BY jobs.sequence DESC OFFSET $1 LIMIT $2`,
        [endedMax, countMax],
      );
      return rows.map(({ job_id: id, sequence }) => ({ id, sequence: Number(sequence) }));
    },
    async revisions(jobIds) {
      const rows = await database.query<{ readonly job_id: string; readonly revision: string }>(
        jobIds === 'live' ? liveStatuses : `SELECT job_id, revision FROM ${jobsTable} WHERE job_id = ANY($1)`,
        jobIds === 'live' ? [] : [jobIds],
      );
      return new Map(rows.map(({ job_id: id, revision }) => [id, Number(revision)]));
    },
    ids: (kind) => readIds(`SELECT job_id FROM ${jobsTable} WHERE ${ROW_KIND} = $1 ORDER BY jobs.sequence`, [kind]),
    liveIds: () => readIds(`SELECT job_id FROM (${liveStatuses}) AS live ORDER BY sequence`, []),
    matching: ({ kinds, statuses, before, limit }) =>
      readIds(
        `SELECT job_id FROM ${jobsTable} WHERE ($1::text[] IS NULL OR ${ROW_KIND} = ANY($1)) AND ($2::text[] IS NULL OR status = ANY($2))
            AND ($3::text IS NULL OR sequence < (SELECT sequence FROM ${jobsTable} AS b WHERE b.job_id = $3))
          ORDER BY jobs.sequence DESC LIMIT $4`,
        [kinds ?? null, statuses ?? null, before ?? null, limit],
      ),
    async counts() {
      const [row] = await database.query<{ readonly pending: number; readonly running: number }>(
        `SELECT (SELECT count(*) FROM ${jobsTable} WHERE status = 'pending')::int AS pending,
          (SELECT count(*) FROM ${jobsTable} WHERE status = 'running')::int AS running`,
        [],
      );
      return row!; // the statement returns exactly one row
    },
  };
}

/** Moves the sequence past the copied jobs. */
export async function advanceSequence({ database, schema }: { database: Database; schema: string }): Promise<void> {
  await database.query(
    // Sets the sequence by counting. Setting it directly needs a privilege that the role of the service does not have.
    `SELECT count(nextval('${schema}.job_sequence')) FROM generate_series(1, (SELECT max(sequence) FROM ${schema}.jobs))`,
    [],
  );
}

type WaitingRows = Pick<JobRows, 'places' | 'reserve' | 'start' | 'release' | 'undo' | 'drop'>;

interface WaitingOptions {
  readonly kinds: () => readonly string[];
  readonly schema: string;
  readonly jobs: string;
}

function createWaitingRows(database: Database, { schema, jobs, kinds }: WaitingOptions): WaitingRows {
  /** Returns the condition for jobs that a node may take. It depends on the free and the total memory of the node. */
  const isFitting = (free: string, all: string): string =>
    `status = 'pending' AND kind = ANY($1) AND coalesce(reserved_until < clock_timestamp(), true) AND estimated_bytes <=
        CASE WHEN queued_at < clock_timestamp() - interval '${MEMORY_WAIT_SECONDS} s' THEN ${all}::bigint ELSE ${free}::bigint END`;

  /** Returns the columns that a start writes. @param from number of its first parameter */
  const listStartColumns = (from: number): readonly (readonly [column: string, value: string])[] => [
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
  /**
   * Formats the query for the first waiting job of one lane. Each lane has a separate part of the index. A lane is read
   * only if the lanes before it contain no suitable job.
   * @param i position of the lane by priority, from 1
   */
  const formatFirstOfLane = (i: number): string =>
    `(SELECT job_id FROM ${jobs} WHERE ${isFitting('$2', '$3')} AND lane = ($4::text[])[${i}] AND NOT owner = ANY($5)
        ORDER BY turn, jobs.sequence LIMIT 1 FOR UPDATE SKIP LOCKED)`;
  const listStartValues = ({ node, leaseMs, at, claim }: Start) => [node, leaseMs, at, claim];
  const fitsMemory = 'estimated_bytes <= $2::bigint';
  const reservationColumns = listStartColumns(6).map(([column, value]) =>
    column === 'reserved_until'
      ? `${column} = CASE WHEN ${fitsMemory} THEN NULL ELSE clock_timestamp() + interval '${RESERVED_SECONDS} s' END`
      : `${column} = CASE WHEN ${fitsMemory} THEN ${value} ELSE ${column} END`,
  );
  const resetColumns = `status = 'pending', reserved_until = NULL, node = NULL, lease_until = NULL, started_at = NULL, claim = NULL`;
  /** SQL condition for a job that waits, or that this claim started. */
  const isOffered = `${SAME_ATTEMPT} AND (status = 'pending' OR status = 'running' AND claim = $4::uuid)`;
  const listOfferValues = ({ jobId, sequence, attempt, claim }: OfferedKey) => [jobId, sequence, attempt, claim];

  return {
    async places(all) {
      const rows = await database.query<SubmissionPositionRow>(
        `SELECT place.*, ${formatDocumentColumns('document')} FROM (
            SELECT job_id, number, nextval('${schema}.job_sequence') AS sequence,
              (SELECT count(*) FROM ${jobs} WHERE status = 'pending')::int AS queued,
              (SELECT count(*) FROM ${jobs} AS own WHERE status = 'pending' AND own.owner = added.owner)::int AS of_owner
            FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS added(job_id, owner, number) OFFSET 0
          ) AS place
          LEFT JOIN LATERAL (SELECT * FROM ${schema}.documents WHERE kind = 'job' AND id = job_id LIMIT 1) AS document ON true
          ORDER BY number`,
        [all.map(({ jobId }) => jobId), all.map(({ owner }) => owner)],
      );
      return rows.map((row) => {
        const { sequence, queued, of_owner: queuedOfOwner } = row;
        const jobReading = { ...createDocument(row, 'document'), beat: undefined };
        return { sequence: Number(sequence), queued, queuedOfOwner, seen: jobReading };
      });
    },
    async reserve({ lane, exceptOwners, freeBytes, memoryBytes, start }) {
      const [row] = await database.query<ReservedRow>(
        `WITH reserved AS (
            UPDATE ${jobs} SET ${reservationColumns.join(', ')}
              WHERE job_id = coalesce(${JOB_PRIORITIES.map((_, i) => formatFirstOfLane(i + 1)).join(', ')}) RETURNING job_id, ${ROW_KIND} AS kind, owner, estimated_bytes, sequence, attempt, ${BEAT_COLUMNS},
                CASE WHEN ${fitsMemory} THEN claim END AS claim
          )
          SELECT reserved.*, ${formatDocumentColumns('document')}, ${formatDocumentColumns('input')} FROM reserved
            LEFT JOIN LATERAL (SELECT * FROM ${schema}.documents WHERE kind = 'job' AND id = job_id LIMIT 1) AS document ON true
            LEFT JOIN LATERAL (SELECT * FROM ${schema}.documents WHERE kind = 'job-input' AND id = job_id LIMIT 1) AS input ON true`,
        [kinds(), freeBytes, memoryBytes, formatLanes(lane), exceptOwners, ...listStartValues(start)],
      );
      if (row === undefined) return undefined;
      const { job_id, kind, owner, claim, estimated_bytes: bytes } = row;
      const { progress, message, beat_at, started_at, node } = row;
      const beat = claim === null ? undefined : { progress, message, beat_at, started_at, node };
      const jobReading = { ...createDocument(row, 'document'), beat };
      const { found: input } = createDocument(row, 'input');
      return { ...createKey(row), job_id, kind, owner, estimated_bytes: Number(bytes), claim, seen: jobReading, input };
    },
    async start({ jobId, sequence, attempt }, start) {
      const assignments = listStartColumns(4).map(([column, value]) => `${column} = ${value}`);
      const [beat] = await database.query<Beat>(
        `UPDATE ${jobs} SET ${assignments.join(', ')} WHERE ${SAME_ATTEMPT} AND status = 'pending' RETURNING ${BEAT_COLUMNS}`,
        [jobId, sequence, attempt, ...listStartValues(start)],
      );
      return beat;
    },
    async release(job) {
      await database.query(
        `UPDATE ${jobs} SET ${resetColumns} WHERE ${isOffered} AND ${WITHOUT_FLUSH}`,
        listOfferValues(job),
      );
    },
    async undo(starts) {
      await database.query(
        `UPDATE ${jobs} SET ${resetColumns} WHERE status = 'running' AND node = ANY($1) AND claim = ANY($2::uuid[])`,
        [starts.map(({ node }) => node), starts.map(({ claim }) => claim)],
      );
    },
    async drop(job) {
      await database.query(`DELETE FROM ${jobs} WHERE ${isOffered}`, listOfferValues(job));
    },
  };
}

export const createKey = ({ job_id: jobId, sequence, attempt }: KeyRow): AttemptKey => ({
  jobId,
  sequence: Number(sequence),
  attempt,
});
