import type { Database } from '#store/postgres/database.js';
import type { EventReading } from '#store/postgres/event-reader.js';
import type { Room } from '../queue.js';
import { keyOf, type KeyRow, type RunningJob } from './job-rows.js';
import type { NodeState } from './node-rows.js';
import { CLAIMED_KINDS } from './queued-kinds.js';
import type { PartNode } from './takeable-parts.js';

/** What a node asks and says at one time; the rest is not due. */
export interface PulseOrder {
  /** What it says of itself. */
  readonly state: NodeState | undefined;
  readonly events: EventReading | undefined;
  readonly asksSilent: boolean;
  readonly asksNodes: boolean;
  /** Free places, and memory in all; undefined where it takes no work. */
  readonly room: (Room & { readonly memoryBytes: number }) | undefined;
}

export interface Pulse {
  /** Attempts whose lease has run out. */
  readonly silent: readonly RunningJob[];
  /** How many nodes live; undefined where that was not asked. */
  readonly nodes: number | undefined;
  /** Whether there are jobs that the node may take, and parts of jobs of others. */
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
  /** Name of this node, over restarts. */
  readonly node: string;
  /** Computes parts of jobs of others. */
  readonly helper: PartNode | undefined;
}

/** @returns what asks and says all that is due in one statement; events go where they are read along */
export function createPulse({ database, schema, node, helper }: PulseOptions): (order: PulseOrder) => Promise<Pulse> {
  const parameters = Array.from({ length: 11 }, (_, i) => `$${i + 1}`).join(', ');
  const statement = `SELECT * FROM ${schema}.pulse_1(${parameters})`;
  return async ({ state, events, asksSilent, asksNodes, room }) => {
    const said = state === undefined ? null : JSON.stringify(state);
    const heard = [events?.horizon ?? null, events?.node ?? null];
    const work =
      room === undefined || room.lanes.length === 0
        ? [null, null, null, null, null]
        : [CLAIMED_KINDS, room.lanes, room.freeBytes, room.memoryBytes, helper?.version() ?? null];
    const values = [node, said, ...heard, asksSilent, asksNodes, ...work];
    const row = (await database.query<PulseRow>(statement, values))[0]!; // One row always.
    events?.take({ horizon: row.horizon!, ids: row.event_ids ?? [], events: row.events ?? [] });
    return {
      silent: (row.silent ?? []).map((each) => ({ ...keyOf(each), node: each.node })),
      nodes: row.live_nodes ?? undefined,
      waiting: { jobs: row.has_jobs === true, parts: row.has_parts === true },
    };
  };
}
