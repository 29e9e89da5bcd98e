import { Refusal } from '#domain/base/refusals.js';
import type { JobKindName } from '#domain/outputs/jobs.js';
import type { Database } from '#store/postgres/database.js';
import type { PostgresDocuments } from '#store/postgres/document-store.js';
import {
  type AttemptKey,
  type Claim,
  type ClaimOrder,
  createLease,
  type Ending,
  type Lease,
  type NewLease,
  type OfferedParts,
  type StoredInput,
  type WaitingJob,
  type WrittenParts,
} from '../port/queue.js';
import type { Clock } from '../port/clock.js';
import { type JobIdentity, splitRecord } from '../port/life-cycle.js';
import { BEAT_MS_MIN, createNotificationBuffer } from './heartbeats.js';
import { parseRecord } from './job-documents.js';
import { formatPriorityOrder, formatRowLane } from './job-rows.js';
import { isLiveNode } from './nodes.js';

/** Process that computes parts of other nodes' jobs. */
export interface PartNode {
  readonly node: string;
  /** Returns the program version. The same version computes all parts of one attempt. */
  version(): string;
}

/**
 * Returns the SQL text after FROM for the parts that a node may take. They belong to a running attempt of another node
 * with the same program version.
 */
function formatTakeableParts(schema: string, { node, version }: { node: string; version: string }): string {
  return `${schema}.parts AS p JOIN ${schema}.jobs AS j USING (job_id, sequence, attempt)
    WHERE p.node IS NULL AND p.version = ${version} AND j.status = 'running' AND j.node <> ${node}
      AND j.lease_until > clock_timestamp()`;
}

/** Parts that a node has taken. */
interface ClaimedParts extends AttemptKey {
  readonly parts: readonly number[];
}

export interface PartOrder extends Pick<ClaimOrder, 'lane' | 'freeBytes'> {
  readonly exceptOwners: readonly string[];
  /** Jobs whose parts this node cannot compute. */
  readonly exceptJobs: readonly string[];
  readonly leaseMs: number;
}

/** Statements on offered parts. */
interface PartRows {
  offer(key: AttemptKey, parts: readonly number[]): Promise<void>;
  take(key: AttemptKey): Promise<number | undefined>;
  collect(key: AttemptKey): Promise<readonly WrittenParts[]>;
  remaining(key: AttemptKey): Promise<readonly number[]>;
  /** Deletes the parts of a job, for all its attempts. */
  withdraw(jobId: string): Promise<void>;
  /** Takes parts of one job that runs on another node. */
  claim(order: PartOrder): Promise<(WaitingJob & ClaimedParts) | undefined>;
  /** @returns true if this node still holds the parts, and the job continues */
  beat(claim: ClaimedParts, leaseMs: number): Promise<boolean>;
  /** @returns true if the job waits for the outputs */
  write(claim: ClaimedParts, writtenParts: WrittenParts): Promise<boolean>;
  release(claim: ClaimedParts): Promise<void>;
  /** Returns parts to the node of the job. */
  giveBack(claim: ClaimedParts): Promise<void>;
}

/**
 * Maximum number of parts that a node takes at a time. They are a few seconds of work; waiting jobs then come first.
 */
const CLAIMED_PARTS_MAX = 8;
const SAME_ATTEMPT = 'job_id = $1 AND sequence = $2 AND attempt = $3';

/** @param schema quoted identifier */
export function createPartRows(database: Database, schema: string, { node, version }: PartNode): PartRows {
  const partsTable = `${schema}.parts`;
  const listKeyValues = ({ jobId, sequence, attempt }: AttemptKey) => [jobId, sequence, attempt] as const;
  const ownCondition = `${SAME_ATTEMPT} AND part = ANY($4) AND node = $5 AND output IS NULL`;
  const listAttemptValues = (claimedParts: ClaimedParts) => [...listKeyValues(claimedParts), claimedParts.parts, node];
  const isRunning = `EXISTS (SELECT FROM ${schema}.jobs WHERE ${SAME_ATTEMPT} AND status = 'running')`;

  return {
    async offer(key, parts) {
      await database.query(
        `WITH gone AS (DELETE FROM ${partsTable} WHERE job_id = $1 AND (sequence, attempt) <> ($2, $3))
          INSERT INTO ${partsTable} (job_id, sequence, attempt, part, version)
            SELECT $1, $2, $3, part, $5 FROM unnest($4::int[]) AS part`,
        [...listKeyValues(key), parts, version()],
      );
    },
    async take(key) {
      // Takes the last part. The node of the job and the other nodes take parts from opposite ends.
      const [row] = await database.query<{ readonly part: number }>(
        `DELETE FROM ${partsTable} WHERE ${SAME_ATTEMPT} AND part = (
            SELECT part FROM ${partsTable} WHERE ${SAME_ATTEMPT} AND (node IS NULL OR output IS NULL AND lease_until < clock_timestamp())
              ORDER BY part DESC LIMIT 1 FOR UPDATE SKIP LOCKED
          ) RETURNING part`,
        listKeyValues(key),
      );
      return row?.part;
    },
    async collect(key) {
      const rows = await database.query<{ readonly output: string }>(
        `WITH written AS (DELETE FROM ${partsTable} WHERE ${SAME_ATTEMPT} AND output IS NOT NULL RETURNING output)
          SELECT DISTINCT output FROM written`,
        listKeyValues(key),
      );
      return rows.map(({ output }) => JSON.parse(output) as WrittenParts); // `write` wrote the output
    },
    async remaining(key) {
      const rows = await database.query<{ readonly part: number }>(
        `SELECT part FROM ${partsTable} WHERE ${SAME_ATTEMPT}`,
        listKeyValues(key),
      );
      return rows.map(({ part }) => part);
    },
    async withdraw(jobId) {
      await database.query(`DELETE FROM ${partsTable} WHERE job_id = $1`, [jobId]);
    },
    async claim({ lane, freeBytes, exceptOwners, exceptJobs, leaseMs }) {
      type Row = {
        readonly job_id: string;
        readonly sequence: string;
        readonly attempt: number;
        readonly part: number;
        readonly kind: JobKindName;
        readonly owner: string;
        readonly estimated_bytes: string;
      };
      // A node takes fewer parts at a time when fewer are left, so that all nodes end at about the same time.
      const rows = await database.query<Row>(
        `WITH job AS (
            SELECT job_id, sequence, attempt, j.kind, j.owner, j.estimated_bytes
              FROM ${formatTakeableParts(schema, { node: '$1', version: '$2' })} AND ${formatRowLane('j.lane')} = $3 AND j.estimated_bytes <= $4
                AND NOT j.owner = ANY($5) AND NOT job_id = ANY($6) ORDER BY ${formatPriorityOrder('j.lane')}, j.turn, j.sequence LIMIT 1
          ), taken AS (
            SELECT part FROM ${partsTable} AS p JOIN job USING (job_id, sequence, attempt) WHERE p.node IS NULL ORDER BY part
              LIMIT (
                SELECT greatest(1, least(${CLAIMED_PARTS_MAX},
                    count(*) / (2 * (SELECT greatest(1, count(*)) FROM ${schema}.nodes WHERE ${isLiveNode}))))
                  FROM ${partsTable} AS p JOIN job USING (job_id, sequence, attempt) WHERE p.node IS NULL
              ) FOR UPDATE OF p SKIP LOCKED
          )
          UPDATE ${partsTable} AS p SET node = $1, lease_until = clock_timestamp() + $7::double precision * interval '1 ms'
            FROM job WHERE p.job_id = job.job_id AND p.sequence = job.sequence AND p.attempt = job.attempt
              AND p.node IS NULL AND p.part IN (SELECT part FROM taken)
            RETURNING p.job_id, p.sequence, p.attempt, p.part, job.kind, job.owner, job.estimated_bytes`,
        [node, version(), lane, freeBytes, exceptOwners, exceptJobs, leaseMs],
      );
      const [first] = rows;
      if (first === undefined) return undefined;
      const { job_id, kind, owner, attempt } = first;
      const parts = rows.map(({ part }) => part).toSorted((a, b) => a - b);
      const key = { jobId: job_id, sequence: Number(first.sequence), attempt };
      return { job_id, kind, owner, estimated_bytes: Number(first.estimated_bytes), ...key, parts };
    },
    async beat(claimedParts, leaseMs) {
      const beatRows = await database.query(
        `UPDATE ${partsTable} SET lease_until = clock_timestamp() + $6::double precision * interval '1 ms'
          WHERE ${ownCondition} AND ${isRunning} RETURNING part`,
        [...listAttemptValues(claimedParts), leaseMs],
      );
      return beatRows.length > 0;
    },
    async write(claimedParts, writtenParts) {
      const rows = await database.query(
        `UPDATE ${partsTable} SET output = $6 WHERE ${ownCondition} AND ${isRunning} RETURNING part`,
        [...listAttemptValues(claimedParts), JSON.stringify(writtenParts)],
      );
      return rows.length > 0;
    },
    async release(claimedParts) {
      await database.query(
        `UPDATE ${partsTable} SET node = NULL, lease_until = NULL WHERE ${ownCondition}`,
        listAttemptValues(claimedParts),
      );
    },
    async giveBack(claimedParts) {
      await database.query(
        `UPDATE ${partsTable} SET lease_until = '-infinity' WHERE ${ownCondition}`,
        listAttemptValues(claimedParts),
      );
    },
  };
}

/**
 * Parts of running jobs on this node. Contains the parts that it offers, and the parts of other nodes' jobs that it
 * computes.
 */
export interface SharedParts extends OfferedParts {
  /** Records whether the last poll found parts that this node may take. */
  note(areWaiting: boolean): void;
  /** Takes parts of a job that runs elsewhere, if any have been found. */
  claim(order: ClaimOrder): Promise<Claim | undefined>;
  /** Returns true if a lease is for parts of another node's job. */
  hasLease(lease: Lease): boolean;
  /** See the queue's `heartbeat`. */
  heartbeat(lease: Lease): Promise<boolean>;
  /**
   * Ends the work on parts like `complete` of the queue. A success is written. After any other end, the node of the job
   * computes the parts itself.
   */
  complete(lease: Lease, ending: Ending): Promise<boolean>;
  /** Checks at once whether the parts of a job are still needed. */
  ask(jobId: string): void;
  /** Deletes the offers of an ended job. */
  forget(jobId: string): Promise<void>;
}

interface ActivePartLease extends NewLease {
  readonly claim: ClaimedParts;
  beatMs: number;
}

/** Input of a job. */
interface SubmittedJob {
  readonly jobId: string;
  readonly sequence: number;
  readonly job: JobIdentity;
  readonly input: Claim['input'];
}

/**
 * Maximum number of recorded jobs whose parts this node could not compute. It exceeds the number of jobs that may run
 * at once.
 */
const REFUSED_JOBS_MAX = 100;

export function createSharedParts(
  rows: PartRows,
  documents: Pick<PostgresDocuments, 'get'>,
  clock: Pick<Clock, 'monotonicMs'>,
  leaseMs: number,
): SharedParts {
  const activeLeases = new Map<Lease, ActivePartLease>();
  const grantedLeases = new WeakSet<Lease>();
  const refusedJobs = new Set<string>();
  /** Jobs that end while the node takes parts of them. */
  const notificationBuffer = createNotificationBuffer();
  let last: SubmittedJob | undefined;
  let areWaiting = false;

  /** Returns the input of a job. The last input is cached, because the next parts usually belong to the same job. */
  async function readSubmittedJob({ jobId, sequence }: ClaimedParts): Promise<SubmittedJob | undefined> {
    if (last?.jobId === jobId && last.sequence === sequence) return last;
    const [record, stored] = await Promise.all([
      documents.get('job', jobId).then(parseRecord),
      documents.get('job-input', jobId),
    ]);
    if (record?.sequence !== sequence || stored === undefined) return undefined;
    const { identity: job } = splitRecord(record);
    // a submission wrote the input and the store checked its seal
    const input = 'unreadable' in stored ? undefined : (stored.body as StoredInput);
    last = { jobId, sequence, job, input };
    return last;
  }

  async function claim({ lane, exceptOwners, freeBytes, take }: ClaimOrder): Promise<Claim | undefined> {
    if (!areWaiting) return undefined;
    const order = { lane, freeBytes, exceptOwners: [...exceptOwners], exceptJobs: [...refusedJobs], leaseMs };
    const { value: claimedParts, heard } = await notificationBuffer.during(() => rows.claim(order));
    areWaiting = claimedParts !== undefined;
    if (claimedParts === undefined) return undefined;
    if (!take(claimedParts)) {
      await rows.release(claimedParts);
      return undefined;
    }
    const activePartLease: ActivePartLease = {
      ...createLease(claimedParts),
      claim: claimedParts,
      beatMs: clock.monotonicMs(),
    };
    const { lease } = activePartLease;
    grantedLeases.add(lease);
    activeLeases.set(lease, activePartLease);
    if (heard.has(claimedParts.jobId)) askAgain(activePartLease);
    const submittedJob = await readSubmittedJob(claimedParts).catch((thrown: unknown) => {
      activeLeases.delete(lease);
      throw thrown;
    });
    if (submittedJob === undefined) {
      activeLeases.delete(lease); // the job of the parts has ended
      return undefined;
    }
    const { job, input } = submittedJob;
    return { lease, job, input, parts: claimedParts.parts };
  }

  function askAgain(activePartLease: ActivePartLease): void {
    void prolong(activePartLease).catch(() => {}); // a heartbeat tries again
  }

  function giveUpLease(activePartLease: ActivePartLease): false {
    activeLeases.delete(activePartLease.lease);
    activePartLease.giveUp();
    return false;
  }

  async function prolong(activePartLease: ActivePartLease): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    if (!(await rows.beat(activePartLease.claim, leaseMs))) return giveUpLease(activePartLease);
    activePartLease.beatMs = nowMs;
    return true;
  }

  function refuse(jobId: string): void {
    refusedJobs.add(jobId);
    if (refusedJobs.size > REFUSED_JOBS_MAX) refusedJobs.delete(refusedJobs.values().next().value!);
  }

  return {
    offer: rows.offer,
    take: rows.take,
    collect: rows.collect,
    remaining: rows.remaining,
    withdraw: ({ jobId }) => rows.withdraw(jobId),
    note: (seen) => void (areWaiting = seen),
    claim,
    hasLease: (lease) => grantedLeases.has(lease),
    async heartbeat(lease) {
      const activePartLease = activeLeases.get(lease);
      if (activePartLease === undefined) return false;
      return clock.monotonicMs() - activePartLease.beatMs < BEAT_MS_MIN || prolong(activePartLease);
    },
    async complete(lease, ending) {
      const claimedParts = activeLeases.get(lease)?.claim;
      if (claimedParts === undefined) return false;
      activeLeases.delete(lease);
      if (ending.type === 'succeed' && 'artifact' in ending.result) {
        const { artifact, files } = ending.result;
        return rows.write(claimedParts, { artifact, ...(files && { files }), parts: claimedParts.parts });
      }
      if (ending.type !== 'release') refuse(claimedParts.jobId);
      await rows.giveBack(claimedParts);
      return true;
    },
    ask(jobId) {
      notificationBuffer.hear(jobId);
      for (const activePartLease of activeLeases.values())
        if (activePartLease.claim.jobId === jobId) askAgain(activePartLease);
    },
    forget: (jobId) =>
      rows.withdraw(jobId).catch((thrown: unknown) => {
        if (!(thrown instanceof Refusal)) throw thrown; // no node takes parts of an ended job
      }),
  };
}
