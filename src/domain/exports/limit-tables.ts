import { count, date, number, text, type ExportTable } from './export-table.js';

/** Tables of limits monitored over a run. Missing values are null. */
export const LIMIT_TABLES = {
  state: {
    help: 'Headroom on every session.',
    row: 'a date',
    columns: {
      date: date('Session.'),
      headroom: number('Distance to the nearest bound in its unit, negative beyond it; null if no row applies.'),
      nearest: text(
        'Security whose price is closest to causing a breach; null beyond a bound, or if none can cause one.',
      ),
      move: number('Smallest relative change of that price that passes a bound, all others unchanged.'),
    },
  },
  rows: {
    help: 'Each row over the window.',
    row: 'a bound of a row',
    columns: {
      row: text('The row.'),
      side: text('`lower` or `upper`.'),
      unit: text('`fraction`, `count` or `value`.'),
      breached_sessions: count('Number of sessions beyond the bound.'),
      least_date: date('Session with the smallest headroom.'),
      least_value: number('Value of the row on that session.'),
      least_limit: number('Bound on that session.'),
    },
  },
  breaches: {
    help: 'Breaches.',
    row: 'a breach, by its first session',
    columns: {
      row: text('The row.'),
      begin: date('First session beyond the bound, possibly before `start`.'),
      end: date('Last session beyond it; null while it lasts.'),
      cause: text('`price`, `action` or `rebalance`.'),
      worst_date: date('Session with the smallest headroom.'),
      worst_value: number('Value of the row on that session.'),
      limit: number('Bound on that session.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type LimitTable = keyof typeof LIMIT_TABLES;
export const LIMIT_TABLE_NAMES = Object.keys(LIMIT_TABLES) as [LimitTable, ...LimitTable[]]; // Object.keys returns plain strings.
