import type { Database } from '#store/postgres/database.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import type { Lane } from '../compute-pool.js';
import type { JobRows } from './job-rows.js';
import { createLookOut } from './look-out.js';
import { createNodeRows, type NodeRows, type NodeState } from './node-rows.js';

export interface PresenceOptions {
  readonly database: Database;
  /** Schema of the tables, as a quoted identifier. */
  readonly schema: string;
  /** Name of this node, over restarts. */
  readonly node: string;
  /** What it says of itself; it is not listed without. */
  readonly describe?: (() => Omit<NodeState, 'stale' | 'protocol'>) | undefined;
}

/** A node among the nodes of a database. */
export interface Presence {
  /** Says that the node lives, and how it is. */
  announce(): Promise<void>;
  /** Time until the next look for work. */
  pauseMs(): number;
  /** Whether a job waits in a lane that the node has places for. */
  hasWork(): Promise<boolean>;
  /** Counts the finish of an attempt that had been given up. */
  noteStale(): void;
  leave(): Promise<void>;
  readonly loads: NodeRows['lanes'];
}

type JobLook = Pick<JobRows, 'hasWaiting'>;

const LANES: readonly Lane[] = ['heavy', 'light'];

export function createPresence({ database, schema, node, describe }: PresenceOptions, jobs: JobLook): Presence {
  const rows = createNodeRows(database, schema);
  const lookOut = createLookOut();
  const lanes = (): readonly Lane[] => LANES.filter((lane) => describe === undefined || describe().places[lane] > 0);
  let stale = 0;
  return {
    async announce() {
      if (describe !== undefined) lookOut.nodes = await rows.beat(node, { ...describe(), stale, protocol: PROTOCOL });
    },
    pauseMs: () => lookOut.pauseMs(),
    async hasWork() {
      const isWaiting = lanes().length > 0 && (await jobs.hasWaiting(lanes()));
      lookOut.note(isWaiting);
      return isWaiting;
    },
    noteStale: () => void stale++,
    async leave() {
      if (describe !== undefined) await rows.leave(node).catch(() => {}); // Its silence says it too.
    },
    loads: rows.lanes,
  };
}
