import { countColumn, dateColumn, numberColumn, textColumn, type ExportTable } from './export-table.js';

/** Tables of limits monitored over a run. Missing values are null. */
export const LIMIT_TABLES = {
  state: {
    help: 'Headroom on every session.',
    row: 'a date',
    columns: {
      date: dateColumn('Session.'),
      headroom: numberColumn(
        'Distance to the nearest bound, in the unit of the bound; negative beyond it, null if no constraint applies.',
      ),
      nearest: textColumn(
        'Security with the smallest price move that causes a breach; null beyond a bound, or if no move causes a breach.',
      ),
      move: numberColumn(
        'Smallest relative price move of this security that causes a breach, while all other prices are unchanged.',
      ),
    },
  },
  rows: {
    help: 'Each constraint over the window.',
    row: 'a bound of a constraint',
    columns: {
      row: textColumn('The row.'),
      side: textColumn('`lower` or `upper`.'),
      unit: textColumn('`fraction`, `count` or `value`.'),
      breached_sessions: countColumn('Number of sessions beyond the bound.'),
      least_date: dateColumn('Session with the smallest headroom.'),
      least_value: numberColumn('Value of the constraint on that session.'),
      least_limit: numberColumn('Bound on that session.'),
    },
  },
  breaches: {
    help: 'Breaches.',
    row: 'a breach, by its first session',
    columns: {
      row: textColumn('The row.'),
      begin: dateColumn('First session beyond the bound, possibly before `start`.'),
      end: dateColumn('Last session beyond the bound; null if the breach continues.'),
      cause: textColumn('Cause of the breach: `price`, `action` or `rebalance`.'),
      worst_date: dateColumn('Session with the smallest headroom.'),
      worst_value: numberColumn('Value of the constraint on that session.'),
      limit: numberColumn('Bound on that session.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type LimitTable = keyof typeof LIMIT_TABLES;
export const LIMIT_TABLE_NAMES = Object.keys(LIMIT_TABLES) as [LimitTable, ...LimitTable[]]; // Object.keys returns plain strings.
