import { countColumn, dateColumn, numberColumn, textColumn, type ExportTable } from './export-table.js';

/** Tables of limits monitored over a run. Missing values are null. */
export const LIMIT_TABLES = {
  state: {
    help: 'Headroom on every session.',
    row: 'a date',
    columns: {
      date: dateColumn('Session.'),
      headroom: numberColumn('Distance to the nearest bound in its unit, negative beyond it; null if no row applies.'),
      nearest: textColumn(
        'Security whose price is closest to causing a breach; null beyond a bound, or if none can cause one.',
      ),
      move: numberColumn('Smallest relative change of that price that passes a bound, all others unchanged.'),
    },
  },
  rows: {
    help: 'Each row over the window.',
    row: 'a bound of a row',
    columns: {
      row: textColumn('The row.'),
      side: textColumn('`lower` or `upper`.'),
      unit: textColumn('`fraction`, `count` or `value`.'),
      breached_sessions: countColumn('Number of sessions beyond the bound.'),
      least_date: dateColumn('Session with the smallest headroom.'),
      least_value: numberColumn('Value of the row on that session.'),
      least_limit: numberColumn('Bound on that session.'),
    },
  },
  breaches: {
    help: 'Breaches.',
    row: 'a breach, by its first session',
    columns: {
      row: textColumn('The row.'),
      begin: dateColumn('First session beyond the bound, possibly before `start`.'),
      end: dateColumn('Last session beyond it; null while it lasts.'),
      cause: textColumn('`price`, `action` or `rebalance`.'),
      worst_date: dateColumn('Session with the smallest headroom.'),
      worst_value: numberColumn('Value of the row on that session.'),
      limit: numberColumn('Bound on that session.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type LimitTable = keyof typeof LIMIT_TABLES;
export const LIMIT_TABLE_NAMES = Object.keys(LIMIT_TABLES) as [LimitTable, ...LimitTable[]]; // Object.keys returns plain strings.
