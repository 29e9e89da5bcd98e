import type { Database } from '#store/postgres/database.js';
import type { PiggybackedEvents } from '#store/postgres/event-reader.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import type { Clock } from '../clock.js';
import type { Lane } from '../compute-pool.js';
import type { QueueLimits, FreeCapacity } from '../queue.js';
import { QUIET_MS } from './heartbeats.js';
import type { RunningJob } from './job-rows.js';
import { createPollSchedule } from './look-out.js';
import { createPulse } from './pulse.js';
import type { SharedParts } from './shared-parts.js';
import type { PartNode } from './takeable-parts.js';
import { createNodeRows, type LargestMemory, type NodeRows, type NodeState } from './node-rows.js';

export interface PresenceOptions {
  readonly database: Database;
  /** Schema of the tables, as a quoted identifier. */
  readonly schema: string;
  /** Name of this node, across restarts. */
  readonly node: string;
  /** Returns the state that this node reports. Default: the node is not listed. */
  readonly describe?: (() => Omit<NodeState, 'stale' | 'protocol'>) | undefined;
  /** Returns the kinds that start, as written in rows. Default: all kinds. */
  readonly kinds?: (() => readonly string[]) | undefined;
  readonly limits: Pick<QueueLimits, 'jobBytesMax'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Reader of the events of other processes. One statement reads these events together with all other data. */
  readonly events?: PiggybackedEvents | undefined;
}

/** Result of a poll: the work that a node finds in its database. */
export interface PollResult {
  /** True if there is a waiting job or part for which the node has enough memory. */
  readonly hasWork: boolean;
  /** Attempts whose lease has expired. */
  readonly silent: readonly RunningJob[];
}

/** Reports of one node to the list of nodes of a database. */
export interface Presence {
  /** Reports the state of the node, and that it is alive. */
  announce(): Promise<void>;
  /** Returns the time until the next poll. */
  pauseMs(): number;
  /**
   * Reports and reads all data that is due, in one statement. @param capacity free slots; undefined if the node takes
   * no work
   */
  look(capacity: FreeCapacity | undefined): Promise<PollResult>;
  /**
   * Returns the memory of the largest node that runs light or heavy jobs. The value is at most some seconds old.
   * Returns undefined if this node reports no state.
   */
  jobBytesMax(lane: Lane): Promise<number | undefined>;
  /** Counts the end of an abandoned attempt. */
  noteStale(): void;
  leave(): Promise<void>;
  readonly loads: NodeRows['lanes'];
}

/** Number of heartbeats between two counts of all nodes. */
const CENSUS_EVERY = 3;
/** Time for which the largest memory is cached. */
const LARGEST_MS = 2000;
const NO_WORK: PollResult = { hasWork: false, silent: [] };

export function createPresence(
  options: PresenceOptions,
  helper: PartNode | undefined,
  parts?: Pick<SharedParts, 'note'>,
): Presence {
  const { database, schema, node, describe, limits, clock, events } = options;
  const rows = createNodeRows(database, schema);
  const pulse = createPulse({ database, schema, node, helper, kinds: options.kinds });
  const pollSchedule = createPollSchedule();
  let largest: { readonly memory: LargestMemory; readonly untilMs: number } | undefined;
  let staleTicks = 0;
  let heartbeats = 0;
  let reportedMs = -Infinity;
  let watchMs = clock.monotonicMs() + pollSchedule.watchPauseMs();

  async function look(capacity: FreeCapacity | undefined): Promise<PollResult> {
    const nowMs = clock.monotonicMs();
    // The next poll may be too late.
    const isReportDue = describe !== undefined && nowMs + pollSchedule.pauseMs() - reportedMs > QUIET_MS;
    const queriesSilent = nowMs >= watchMs;
    const isOpen = capacity !== undefined && capacity.lanes.length > 0;
    if (!isReportDue && !queriesSilent && !isOpen) return NO_WORK;
    const queriesNodes = isReportDue && heartbeats++ % CENSUS_EVERY === 0;
    if (isReportDue) reportedMs = nowMs;
    if (queriesSilent) watchMs = nowMs + pollSchedule.watchPauseMs();
    const { silent, nodes, waiting } = await pulse({
      state: isReportDue ? { ...describe(), stale: staleTicks, protocol: PROTOCOL } : undefined,
      events: events?.due(),
      asksSilent: queriesSilent,
      asksNodes: queriesNodes,
      capacity: isOpen ? { ...capacity, memoryBytes: limits.jobBytesMax } : undefined,
    });
    if (nodes !== undefined) pollSchedule.nodes = nodes;
    const hasWork = waiting.jobs || waiting.parts;
    if (isOpen) {
      parts?.note(waiting.parts);
      pollSchedule.note(hasWork);
    }
    return { hasWork, silent };
  }

  return {
    async announce() {
      await look(undefined);
      if (describe !== undefined) await rows.begin(node);
    },
    pauseMs: () => pollSchedule.pauseMs(),
    look,
    async jobBytesMax(lane) {
      if (describe === undefined) return undefined;
      if (largest === undefined || largest.untilMs < clock.monotonicMs())
        largest = { memory: await rows.largest(), untilMs: clock.monotonicMs() + LARGEST_MS };
      return largest.memory[lane] ?? Infinity; // a larger node may come
    },
    noteStale: () => void staleTicks++,
    async leave() {
      if (describe !== undefined) await rows.leave(node).catch(() => {}); // its silence also reports the end
    },
    loads: rows.lanes,
  };
}
