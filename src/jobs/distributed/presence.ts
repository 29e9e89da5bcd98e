import type { Database } from '#store/postgres/database.js';
import type { EventReading, PiggybackedEvents } from '#store/postgres/document-store.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import type { Clock } from '../port/clock.js';
import type { Lane } from '../port/compute-pool.js';
import type { FreeCapacity, QueueLimits } from '../port/queue.js';
import { QUIET_MS } from './heartbeats.js';
import { CLAIMED_KINDS, createKey, formatLanes, type KeyRow, type RunningJob } from './job-rows.js';
import { createNodeRows, type LargestMemory, type NodeRows, type NodeState } from './nodes.js';
import type { PartNode, SharedParts } from './parts.js';

/** Schedule of a node's polls for work from other processes. */
export interface PollSchedule {
  /** Number of nodes that poll for work. */
  nodes: number;
  pauseMs(): number;
  /** Returns the time until the next check for expired leases. */
  watchPauseMs(): number;
  /** Records the result of the last poll. */
  note(isWaiting: boolean): void;
}

/**
 * Maximum number of polls per second of all nodes together. With 300 nodes, each node polls as often as it sends a
 * heartbeat.
 */
const LOOKS_PER_SECOND = 150;
/** Minimum pause between polls of a single node. A job should not wait longer for its start than its work takes. */
const PAUSE_MS_MIN = 15;
/** Number of polls without work after which the pauses grow. */
const EAGER_LOOKS = 500;
const PAUSE_MS_MAX = 400;

const WATCH_MS = 2000;
/**
 * Number of nodes that each check leases every two seconds. If there are more nodes, the checks are distributed over
 * all nodes at random times.
 */
const WATCHING_NODES = 10;
/** Maximum average pause between checks. It applies if nearly all nodes end at once. */
const WATCH_MS_MAX = 10_000;

/**
 * Creates a schedule that polls often while there is work, and seldom otherwise. The total rate stays within the
 * capacity of the database.
 */
export function createPollSchedule(): PollSchedule {
  let idleLooks = 0;
  return {
    nodes: 1,
    pauseMs() {
      const share = Math.max(PAUSE_MS_MIN, (this.nodes * 1000) / LOOKS_PER_SECOND);
      return idleLooks < EAGER_LOOKS
        ? share
        : Math.max(share, Math.min(PAUSE_MS_MAX, (share * idleLooks) / EAGER_LOOKS));
    },
    watchPauseMs() {
      if (this.nodes <= WATCHING_NODES) return WATCH_MS;
      return 2 * Math.random() * Math.min(WATCH_MS_MAX, (WATCH_MS * this.nodes) / WATCHING_NODES);
    },
    note(isWaiting) {
      idleLooks = isWaiting ? 0 : idleLooks + 1;
    },
  };
}

/** Data that one statement reads and reports. Members that are absent are not due. */
export interface PulseOrder {
  readonly state: NodeState | undefined;
  readonly events: EventReading | undefined;
  readonly asksSilent: boolean;
  readonly asksNodes: boolean;
  /** Free slots and total memory; undefined if the node takes no work. */
  readonly capacity: (FreeCapacity & { readonly memoryBytes: number }) | undefined;
}

export interface Pulse {
  /** Attempts whose lease has expired. */
  readonly silent: readonly RunningJob[];
  /** Number of live nodes; undefined if it was not read. */
  readonly nodes: number | undefined;
  /** State of work that the node may take: true if there are jobs, and true if there are parts of other nodes' jobs. */
  readonly waiting: { readonly jobs: boolean; readonly parts: boolean };
}

interface PulseRow {
  readonly horizon: string | null;
  readonly event_ids: readonly string[] | null;
  readonly events: readonly string[] | null;
  readonly silent: readonly (KeyRow & { readonly node: string })[] | null;
  readonly live_nodes: number | null;
  readonly has_jobs: boolean | null;
  readonly has_parts: boolean | null;
}

export interface PulseOptions {
  readonly database: Database;
  /** Schema of the tables, as a quoted identifier. */
  readonly schema: string;
  /** Name of this node, across restarts. */
  readonly node: string;
  readonly helper: PartNode | undefined;
  /** Returns the kinds that start, as written in rows. Default: all kinds. */
  readonly kinds?: (() => readonly string[]) | undefined;
}

/**
 * @returns a function that reads and reports all data that is due in one statement, and forwards events to their reader
 */
export function createPulse(options: PulseOptions): (order: PulseOrder) => Promise<Pulse> {
  const { database, schema, node, helper, kinds = () => CLAIMED_KINDS } = options;
  const parameterList = Array.from({ length: 11 }, (_, i) => `$${i + 1}`).join(', ');
  const statement = `SELECT * FROM ${schema}.pulse_1(${parameterList})`;
  return async ({ state, events, asksSilent, asksNodes, capacity }) => {
    const stateText = state === undefined ? null : JSON.stringify(state);
    const eventPosition = [events?.horizon ?? null, events?.node ?? null];
    const work =
      capacity === undefined || capacity.lanes.length === 0
        ? [null, null, null, null, null]
        : [
            kinds(),
            capacity.lanes.flatMap(formatLanes),
            capacity.freeBytes,
            capacity.memoryBytes,
            helper?.version() ?? null,
          ];
    const values = [node, stateText, ...eventPosition, asksSilent, asksNodes, ...work];
    const row = (await database.query<PulseRow>(statement, values))[0]!; // the statement returns exactly one row
    events?.take({ horizon: row.horizon!, ids: row.event_ids ?? [], events: row.events ?? [] });
    return {
      silent: (row.silent ?? []).map((each) => ({ ...createKey(each), node: each.node })),
      nodes: row.live_nodes ?? undefined,
      waiting: { jobs: row.has_jobs === true, parts: row.has_parts === true },
    };
  };
}

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

export interface PollDependencies {
  readonly presence: Pick<Presence, 'pauseMs' | 'look'>;
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly leaseMs: number;
  readonly isOver: () => boolean;
  /** Returns the free slots of the node. Returns undefined while the node takes no work. */
  readonly getCapacity: () => FreeCapacity | undefined;
  /** Called after each poll that the database answered. */
  readonly onAnswer: () => Promise<void>;
  readonly onWork: () => void;
  /** Abandons an attempt whose node is silent. */
  readonly lose: (attempt: RunningJob, cause: string) => Promise<void>;
  readonly onFailure: (thrown: unknown) => void;
}

/** Polls the database repeatedly, despite failures. */
export function pollRepeatedly(dependencies: PollDependencies): void {
  const { presence, clock, leaseMs, isOver, getCapacity, onAnswer, onWork, lose } = dependencies;
  /**
   * Time before which no attempt is taken over. Leases may have expired without heartbeats during an outage of the
   * database, and this process may have started during the outage.
   */
  let takesFromMs = clock.monotonicMs() + leaseMs;
  let isTakingOver = false;

  function onFailure(thrown: unknown): void {
    takesFromMs = clock.monotonicMs() + leaseMs;
    dependencies.onFailure(thrown);
  }

  async function takeOver(silent: readonly RunningJob[]): Promise<void> {
    const cause = `no heartbeat for ${leaseMs / 1000} seconds`;
    for (const key of silent) await lose(key, cause);
  }

  async function pollOnce(): Promise<void> {
    const { hasWork, silent } = await presence.look(getCapacity());
    await onAnswer();
    if (hasWork) onWork();
    if (silent.length === 0 || isTakingOver || clock.monotonicMs() < takesFromMs) return;
    isTakingOver = true;
    // Takes over attempts without waiting, so that heartbeats of this node continue.
    void takeOver(silent)
      .catch(onFailure)
      .finally(() => (isTakingOver = false));
  }

  function lookLater(): void {
    clock.after(presence.pauseMs(), () => {
      if (!isOver()) void pollOnce().catch(onFailure).finally(lookLater);
    });
  }
  lookLater();
}
