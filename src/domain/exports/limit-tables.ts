import { count, date, number, text, type ExportTable } from './export-table.js';

/** Limits watched over a run as tables. What is missing is null. */
export const LIMIT_TABLES = {
  state: {
    help: 'Headroom on every session.',
    row: 'a date',
    columns: {
      date: date('Session.'),
      headroom: number('Distance to the nearest bound in its own unit, negative beyond it; null where no row applies.'),
      nearest: text('The name whose price comes nearest to a breach; null beyond a bound, or where none can pass one.'),
      move: number('The least relative change of that price behind which a bound is passed, the others unchanged.'),
    },
  },
  rows: {
    help: 'Each row over the window.',
    row: 'a bound of a row',
    columns: {
      row: text('The row.'),
      side: text('`lower` or `upper`.'),
      unit: text('`fraction`, `count` or `value`.'),
      breached_sessions: count('Sessions beyond the bound.'),
      least_date: date('Session of the least headroom.'),
      least_value: number('What the row measures on it.'),
      least_limit: number('The bound on it.'),
    },
  },
  breaches: {
    help: 'Breaches.',
    row: 'a breach, by its first session',
    columns: {
      row: text('The row.'),
      begin: date('First session beyond the bound; it may lie before `start`.'),
      end: date('Last session beyond it; null while it lasts.'),
      cause: text('`price`, `action` or `rebalance`.'),
      worst_date: date('Session of the least headroom.'),
      worst_value: number('What the row measures on it.'),
      limit: number('The bound on it.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type LimitTable = keyof typeof LIMIT_TABLES;
export const LIMIT_TABLE_NAMES = Object.keys(LIMIT_TABLES) as [LimitTable, ...LimitTable[]]; // Object.keys returns plain strings.
