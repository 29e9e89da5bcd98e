import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { Database } from '#store/postgres/database.js';
import type { AttemptKey } from '../attempt-key.js';
import type { WrittenParts } from '../offered-parts.js';
import type { ClaimOrder, WaitingJob } from '../queue.js';
import { isLiveNode } from './node-rows.js';
import { formatPriorityOrder, formatRowLane } from './queued-kinds.js';
import { formatTakeableParts, type PartNode } from './takeable-parts.js';

/** Parts that a node has taken. */
export interface ClaimedParts extends AttemptKey {
  readonly parts: readonly number[];
}

export interface PartOrder extends Pick<ClaimOrder, 'lane' | 'freeBytes'> {
  readonly exceptOwners: readonly string[];
  /** Jobs whose parts this node cannot compute. */
  readonly exceptJobs: readonly string[];
  readonly leaseMs: number;
}

/** Statements on offered parts. */
export interface PartRows {
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
  /** Releases parts to any node. */
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
