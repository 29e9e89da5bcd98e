import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from '#store/home/process-identity.js';
import type { Database } from '#store/postgres/database.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import { isLiveNode, type NodeState } from './node-rows.js';

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
