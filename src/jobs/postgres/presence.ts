import type { Database } from '#store/postgres/database.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import type { Lane } from '../compute-pool.js';
import type { QueueLimits, Room } from '../queue.js';
import type { JobRows } from './job-rows.js';
import { createLookOut } from './look-out.js';
import { createNodeRows, type LiveNodes, type NodeRows, type NodeState } from './node-rows.js';

export interface PresenceOptions {
  readonly database: Database;
  /** Schema of the tables, as a quoted identifier. */
  readonly schema: string;
  /** Name of this node, over restarts. */
  readonly node: string;
  /** What it says of itself; it is not listed without. */
  readonly describe?: (() => Omit<NodeState, 'stale' | 'protocol'>) | undefined;
  readonly limits: Pick<QueueLimits, 'jobBytesMax'>;
}

/** A node among the nodes of a database. */
export interface Presence {
  /** Says that the node lives, and how it is. */
  announce(): Promise<void>;
  /** Time until the next look for work. */
  pauseMs(): number;
  /** Whether a job waits that the node has room for. */
  hasWork(room: Room): Promise<boolean>;
  /** Memory of the largest node that runs jobs of a lane; undefined for a node that says nothing of itself. */
  jobBytesMax(lane: Lane): number | undefined;
  /** Counts the finish of an attempt that had been given up. */
  noteStale(): void;
  leave(): Promise<void>;
  readonly loads: NodeRows['lanes'];
}

type JobLook = Pick<JobRows, 'hasWaiting'>;

export function createPresence({ database, schema, node, describe, limits }: PresenceOptions, jobs: JobLook): Presence {
  const rows = createNodeRows(database, schema);
  const lookOut = createLookOut();
  let nodes: LiveNodes | undefined;
  let stale = 0;
  return {
    async announce() {
      if (describe === undefined) return;
      nodes = await rows.beat(node, { ...describe(), stale, protocol: PROTOCOL });
      lookOut.nodes = nodes.count;
    },
    pauseMs: () => lookOut.pauseMs(),
    async hasWork(room) {
      if (room.lanes.length === 0) return false;
      const isWaiting = await jobs.hasWaiting({ ...room, memoryBytes: limits.jobBytesMax });
      lookOut.note(isWaiting);
      return isWaiting;
    },
    jobBytesMax: (lane) => nodes && (nodes.memoryBytes[lane] ?? Infinity),
    noteStale: () => void stale++,
    async leave() {
      if (describe !== undefined) await rows.leave(node).catch(() => {}); // Its silence says it too.
    },
    loads: rows.lanes,
  };
}
