import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from '#store/home/process-identity.js';
import { type Database, findSqlState, openDatabase } from '#store/postgres/database.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import type { Lane } from '../port/compute-pool.js';
import { HUGE_BYTES, type JobClass, type LaneLoad, type LaneLoads } from '../port/queue.js';
import { formatRowLane } from './job-rows.js';
import { assertGranted, assertMigrated, INSUFFICIENT_PRIVILEGE, SCHEMA } from '#store/postgres/migrate.js';
import { type DatabaseTarget, runWithClient } from '#store/postgres/open-documents.js';

/** State that a node reports with every heartbeat. */
export interface NodeState {
  readonly role: string;
  readonly version: string;
  /** Maximum number of running jobs. */
  readonly places: Readonly<Record<Lane, number>>;
  /** Memory for the node's jobs; null if the node's version does not report it. */
  readonly memory_bytes: number | null;
  /** Content hash of the market that the node serves; null if it serves no market. */
  readonly market: string | null;
  /** Number of ends of abandoned attempts. */
  readonly stale: number;
  /** Version of the tables that the node supports. */
  readonly protocol: number;
  /** Names of the node's failing health checks. */
  readonly lacks: readonly string[];
  /**
   * Number of milliseconds by which the node's clock is ahead of the clock of the database. It is null if the node's
   * version does not report it.
   */
  readonly clock_offset_ms: number | null;
  /** True if the node removes the orphaned results; null if the node's version does not report it. */
  readonly removes_orphans: boolean | null;
  /**
   * Identity of the node's process. A later process with the same name uses it to determine whether this process has
   * ended. It is absent in earlier versions.
   */
  readonly process?: ProcessIdentity | undefined;
}

type AddedMember = 'memory_bytes' | 'protocol' | 'lacks' | 'clock_offset_ms' | 'removes_orphans';

type ReportedState = Omit<NodeState, AddedMember> & Partial<Pick<NodeState, AddedMember>>;

/** Node in a listing. */
export interface NodeEntry extends Omit<NodeState, 'process'> {
  readonly node: string;
  readonly started_at: string;
  /** Seconds since the node's last heartbeat. */
  readonly silent_seconds: number;
  /** True if the node has sent no heartbeats for too long. Its jobs then go to other nodes. */
  readonly is_lost: boolean;
  /** Ids of the jobs that the node runs. */
  readonly jobs: readonly string[];
  /** Ids of jobs of other nodes, if this node computes parts of them. */
  readonly helps: readonly string[];
  /** Expected memory of all jobs that the node works on. */
  readonly reserved_bytes: number;
}

/** Memory of the largest live node with slots in a lane; null if there is no such node. */
export type LargestMemory = Readonly<Record<Lane, number | null>>;

/** Statements on the nodes of a database. */
export interface NodeRows {
  /** Returns the memory of the largest node by lane. @cost a parse of the state of every node */
  largest(): Promise<LargestMemory>;
  /** Records the start of a node's process. Also works if the previous process did not shut down. */
  begin(node: string): Promise<void>;
  /** Removes a node that shuts down. */
  leave(node: string): Promise<void>;
  /** Lists nodes by name. Includes nodes whose heartbeats stopped within the last day. */
  list(): Promise<readonly NodeEntry[]>;
  lanes(): Promise<LaneLoads>;
}

/** Silence after which a node counts as lost. */
const LIVE_SECONDS = 10;

/** SQL condition for a live node in the table of nodes. */
export const isLiveNode = `seen_at > clock_timestamp() - interval '${LIVE_SECONDS} s'`;

/** @param schema quoted identifier */
export function createNodeRows(database: Database, schema: string): NodeRows {
  const nodesTable = `${schema}.nodes`;
  const jobsTable = `${schema}.jobs`;
  const liveCondition = isLiveNode;
  /** Parts that nodes compute for other nodes. */
  const helpedParts = `${schema}.parts AS p JOIN ${jobsTable} AS j USING (job_id, sequence, attempt)
    WHERE j.status = 'running' AND p.output IS NULL AND p.lease_until > clock_timestamp()`;

  const sum = (lane: Lane, where = ''): string =>
    `coalesce(sum(${formatSlots(lane)}) FILTER (WHERE ${liveCondition} AND NOT ${IS_COMMAND} ${where}), 0)::int`;
  // A node that does not report its memory takes jobs of any size.
  const formatLargest = (lane: Lane): string =>
    `max(coalesce((state::jsonb ->> 'memory_bytes')::float8, 'infinity')) FILTER (WHERE ${formatSlots(lane)} > 0) AS ${lane}`;

  return {
    async largest() {
      const sql = `SELECT ${formatLargest('heavy')}, ${formatLargest('light')} FROM ${nodesTable} WHERE ${liveCondition}`;
      const [row] = await database.query<LargestMemory>(sql, []);
      return row!; // the statement returns exactly one row
    },
    async begin(node) {
      await database.query(`UPDATE ${nodesTable} SET started_at = clock_timestamp() WHERE node = $1`, [node]);
    },
    async leave(node) {
      await database.query(`DELETE FROM ${nodesTable} WHERE node = $1`, [node]);
    },
    async list() {
      type Row = Omit<NodeEntry, keyof NodeState | 'reserved_bytes'> & {
        readonly state: string;
        readonly reserved: number;
      };
      const rows = await database.query<Row>(
        `WITH running AS (
            SELECT node, job_id, estimated_bytes, false AS is_part FROM ${jobsTable} WHERE status = 'running'
            UNION
            SELECT p.node, job_id, j.estimated_bytes, true
              FROM ${helpedParts}
          )
          SELECT node, started_at::text, extract(epoch FROM clock_timestamp() - seen_at)::float AS silent_seconds, NOT (${liveCondition}) AS is_lost, state,
            (SELECT coalesce(sum(estimated_bytes), 0) FROM running AS r WHERE r.node = n.node)::float8 AS reserved,
            array(SELECT job_id FROM running AS r WHERE r.node = n.node AND NOT is_part ORDER BY 1) AS jobs,
            array(SELECT job_id FROM running AS r WHERE r.node = n.node AND is_part ORDER BY 1) AS helps
          FROM ${nodesTable} AS n ORDER BY node`,
        [],
      );
      // Nodes wrote the state as NodeState. Earlier versions reported fewer members.
      const entries = rows.map(({ state, reserved, ...row }) => {
        const { process: _, ...own } = JSON.parse(state) as ReportedState; // only a successor needs it
        const defaults = { memory_bytes: null, protocol: 1, lacks: [], clock_offset_ms: null, removes_orphans: null };
        const withDefaults = { ...defaults, ...own };
        return { ...row, reserved_bytes: reserved, ...withDefaults };
      });
      // Omits a command that stopped sending heartbeats, because it will not return.
      return entries.filter(({ role, is_lost: isLost }) => role !== 'command' || !isLost);
    },
    async lanes() {
      type Row = {
        readonly name: JobClass;
        readonly waiting: number;
        readonly running: number;
        readonly helping: number;
        readonly oldest: number;
      };
      // Each half of the query has a separate index.
      const laneCounts = ['pending', 'running'].map(
        (status) =>
          `SELECT ${CLASS} AS name, status, queued_at, node, job_id FROM ${jobsTable} WHERE status = '${status}'`,
      );
      // Ignores the jobs of a command, which ends when its job is done. These jobs must not make an autoscaler add or
      // remove machines.
      const stayingCondition = `NOT EXISTS (SELECT FROM ${nodesTable} AS n WHERE n.node = live.node AND ${IS_COMMAND})`;
      // A node that computes parts of another node's job uses one slot per job.
      const helpingRows = `SELECT DISTINCT ${CLASS} AS name, 'helping', NULL::timestamptz, p.node, job_id FROM ${helpedParts}`;
      const [rows, [places]] = await Promise.all([
        database.query<Row>(
          `SELECT name, count(*) FILTER (WHERE status = 'pending')::int AS waiting,
              count(*) FILTER (WHERE status = 'running')::int AS running,
              count(*) FILTER (WHERE status = 'helping')::int AS helping,
              extract(epoch FROM clock_timestamp() - min(queued_at) FILTER (WHERE status = 'pending'))::float8 AS oldest
            FROM (${[...laneCounts, helpingRows].join(' UNION ALL ')}) AS live WHERE ${stayingCondition} GROUP BY name`,
          [],
        ),
        database.query<Record<JobClass, number>>(
          `SELECT ${sum('heavy')} AS heavy, ${sum('light')} AS light, ${sum('heavy', `AND ${HAS_HUGE}`)} AS huge FROM ${nodesTable}`,
          [],
        ),
      ]);
      const computeLoad = (name: JobClass): LaneLoad => {
        const { waiting = 0, running = 0, helping = 0, oldest = null } = rows.find((row) => row.name === name) ?? {};
        return { waiting, running, helping, places: places![name], oldestSeconds: oldest }; // the statement returns exactly one row
      };
      return { heavy: computeLoad('heavy'), huge: computeLoad('huge'), light: computeLoad('light') };
    },
  };
}

const LANE = formatRowLane('lane');
const CLASS = `CASE WHEN ${LANE} = 'heavy' AND estimated_bytes > ${HUGE_BYTES} THEN 'huge' ELSE ${LANE} END`;
const HAS_HUGE = `(state::jsonb ->> 'memory_bytes')::float8 > ${HUGE_BYTES}`;
const IS_COMMAND = `coalesce(state::jsonb ->> 'role', '') = 'command'`;
const formatSlots = (lane: Lane): string => `(state::jsonb -> 'places' ->> '${lane}')::int`;

export interface NodeClaim {
  readonly database: Database;
  /** Schema of the tables, as a quoted identifier. */
  readonly schema: string;
  /** Name of this machine's home. */
  readonly name: string;
  readonly process: ProcessIdentity;
  readonly role: string;
  readonly version: string;
  /** Waits long enough for a heartbeat of another process with the same name. */
  readonly pause?: () => Promise<void>;
}

/** Longest silence of a live process. */
const SILENT_MS = 5000;

/**
 * Claims the name of a node. Copied machines have the same host name and the same path of the data folder. If another
 * live process has the name and sends a heartbeat meanwhile, this process gets a separate name. Otherwise, two nodes
 * with the same name would take over each other's attempts.
 * @returns the name to work under
 */
export async function claimNode(claim: NodeClaim): Promise<string> {
  const { name, process, pause = () => sleep(SILENT_MS) } = claim;
  const rows = createHolders(claim);
  let nodeName = name;
  for (let previousSeenAt: string | undefined; ;) {
    const holder = await rows.find(nodeName);
    if (isFree(holder, process) || holder?.seen_at === previousSeenAt) {
      if (await rows.take(nodeName, holder)) return nodeName;
    } else if (previousSeenAt === undefined) {
      previousSeenAt = holder?.seen_at;
      await pause();
    } else {
      nodeName = `${name}#${randomBytes(3).toString('hex')}`;
      previousSeenAt = undefined;
    }
  }
}

/** Last holder of a name. */
interface Holder {
  /** Process that has the name now. It is null if the version of that process does not record it. */
  readonly process: string | null;
  readonly seen_at: string;
  readonly is_live: boolean;
}

function isFree(holder: Holder | undefined, ownProcessIdentity: ProcessIdentity): boolean {
  if (holder === undefined || !holder.is_live || holder.process === null) return true;
  const identity = JSON.parse(holder.process) as ProcessIdentity; // `take` wrote the identity
  if (identity.world === null || identity.world !== ownProcessIdentity.world) return false; // a process on another machine cannot be checked
  const isOwnProcess = identity.pid === ownProcessIdentity.pid && identity.started === ownProcessIdentity.started; // an earlier service of this process
  return isOwnProcess || isAlive(identity) === false;
}

function createHolders({ database, schema, process, role, version }: NodeClaim) {
  const nodesTable = `${schema}.nodes`;
  /** State of a node that does not run jobs yet. */
  const state: NodeState = {
    role,
    version,
    places: { heavy: 0, light: 0 },
    memory_bytes: null,
    market: null,
    stale: 0,
    protocol: PROTOCOL,
    lacks: [],
    clock_offset_ms: null,
    removes_orphans: false,
    process,
  };
  return {
    async find(node: string): Promise<Holder | undefined> {
      const sql = `SELECT state::jsonb -> 'process' #>> '{}' AS process, seen_at::text, ${isLiveNode} AS is_live
        FROM ${nodesTable} WHERE node = $1`;
      return (await database.query<Holder>(sql, [node]))[0];
    },
    /** @returns true if no other process has written the row since it was read */
    async take(node: string, holder: Holder | undefined): Promise<boolean> {
      const claimedRows = await database.query(
        `INSERT INTO ${nodesTable} AS n (node, seen_at, state) VALUES ($1, clock_timestamp(), $2)
          ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, state = excluded.state WHERE n.seen_at = $3
          RETURNING node`,
        [node, JSON.stringify(state), holder?.seen_at ?? null],
      );
      return claimedRows.length > 0;
    },
  };
}

/** Lists the nodes of a database, for a process that is not a node. @throws StartRefusal 75, 78 */
export async function listNodes({ url, schema = SCHEMA }: DatabaseTarget): Promise<readonly NodeEntry[]> {
  await runWithClient(url, (client) => assertMigrated(client, schema));
  const database = openDatabase({ url, connectionsMax: 1 });
  try {
    return await createNodeRows(database, `"${schema}"`).list();
  } catch (thrown) {
    if (findSqlState(thrown) === INSUFFICIENT_PRIVILEGE)
      await runWithClient(url, (client) => assertGranted(client, schema));
    throw thrown;
  } finally {
    await database.close();
  }
}
