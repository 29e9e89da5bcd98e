import type { Database } from '#store/postgres/database.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import type { Clock } from '../clock.js';
import type { Lane } from '../compute-pool.js';
import type { QueueLimits, Room } from '../queue.js';
import type { JobRows } from './job-rows.js';
import { createLookOut } from './look-out.js';
import type { SharedParts } from './shared-parts.js';
import { createNodeRows, type LargestMemory, type NodeRows, type NodeState } from './node-rows.js';

export interface PresenceOptions {
  readonly database: Database;
  /** Schema of the tables, as a quoted identifier. */
  readonly schema: string;
  /** Name of this node, over restarts. */
  readonly node: string;
  /** What it says of itself; it is not listed without. */
  readonly describe?: (() => Omit<NodeState, 'stale' | 'protocol'>) | undefined;
  readonly limits: Pick<QueueLimits, 'jobBytesMax'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** A node among the nodes of a database. */
export interface Presence {
  /** Says that the node lives, and how it is. */
  announce(): Promise<void>;
  /** Time until the next look for work. */
  pauseMs(): number;
  /** Time until the next look for leases that ran out. */
  watchPauseMs(): number;
  /** Whether a job waits that the node has room for. */
  hasWork(room: Room): Promise<boolean>;
  /**
   * Memory of the largest node that runs jobs of a lane, as it was some seconds ago at most; undefined for a node that
   * says nothing of itself.
   */
  jobBytesMax(lane: Lane): Promise<number | undefined>;
  /** Counts the finish of an attempt that had been given up. */
  noteStale(): void;
  leave(): Promise<void>;
  readonly loads: NodeRows['lanes'];
}

type JobLook = Pick<JobRows, 'waiting'>;

/** Heartbeats of a node between two counts of all nodes. */
const CENSUS_EVERY = 5;
/** How long the largest memory is taken to be what it was. */
const LARGEST_MS = 2000;

export function createPresence(
  { database, schema, node, describe, limits, clock }: PresenceOptions,
  jobs: JobLook,
  parts?: Pick<SharedParts, 'note'>,
): Presence {
  const rows = createNodeRows(database, schema);
  const lookOut = createLookOut();
  let largest: { readonly memory: LargestMemory; readonly untilMs: number } | undefined;
  let stale = 0;
  let announced = 0;
  return {
    async announce() {
      if (describe === undefined) return;
      await rows.beat(node, { ...describe(), stale, protocol: PROTOCOL });
      if (announced++ % CENSUS_EVERY === 0) lookOut.nodes = await rows.census();
    },
    pauseMs: () => lookOut.pauseMs(),
    watchPauseMs: () => lookOut.watchPauseMs(),
    async hasWork(room) {
      if (room.lanes.length === 0) return false;
      const waiting = await jobs.waiting({ ...room, memoryBytes: limits.jobBytesMax });
      parts?.note(waiting.parts);
      const isWaiting = waiting.jobs || waiting.parts;
      lookOut.note(isWaiting);
      return isWaiting;
    },
    async jobBytesMax(lane) {
      if (describe === undefined) return undefined;
      if (largest === undefined || largest.untilMs < clock.monotonicMs())
        largest = { memory: await rows.largest(), untilMs: clock.monotonicMs() + LARGEST_MS };
      return largest.memory[lane] ?? Infinity; // A node may come.
    },
    noteStale: () => void stale++,
    async leave() {
      if (describe !== undefined) await rows.leave(node).catch(() => {}); // Its silence says it too.
    },
    loads: rows.lanes,
  };
}
