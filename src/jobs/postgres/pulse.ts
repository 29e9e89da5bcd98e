import type { Database } from '#store/postgres/database.js';
import type { EventReading } from '#store/postgres/event-reader.js';
import type { FreeCapacity } from '../queue.js';
import { createKey, type KeyRow, type RunningJob } from './job-rows.js';
import type { NodeState } from './node-rows.js';
import { CLAIMED_KINDS, formatLanes } from './queued-kinds.js';
import type { PartNode } from './takeable-parts.js';

/** Data that one statement reads and reports. Members that are absent are not due. */
export interface PulseOrder {
  /** State that the node reports. */
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
  /** Node that computes parts of other nodes' jobs. */
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
