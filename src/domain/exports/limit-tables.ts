import {
  countColumn,
  createDateColumn,
  createNumberColumn,
  createTextColumn,
  type ExportTable,
} from './export-table.js';

/** Tables of limits monitored over a run. Missing values are null. */
export const LIMIT_TABLES = {
  state: {
    help: 'Headroom on every session.',
    row: 'a date',
    columns: {
      date: createDateColumn('Session.'),
      headroom: createNumberColumn(
        'Distance to the nearest bound, in the unit of the bound; negative beyond it, null if no constraint applies.',
      ),
      nearest: createTextColumn(
        'Security with the smallest price move that causes a breach; null beyond a bound, or if no move causes a breach.',
      ),
      move: createNumberColumn(
        'Smallest relative price move of this security that causes a breach, while all other prices are unchanged.',
      ),
    },
  },
  rows: {
    help: 'Each constraint over the window.',
    row: 'a bound of a constraint',
    columns: {
      row: createTextColumn('The row.'),
      side: createTextColumn('`lower` or `upper`.'),
      unit: createTextColumn('`fraction`, `count` or `value`.'),
      breached_sessions: countColumn('Number of sessions beyond the bound.'),
      least_date: createDateColumn('Session with the smallest headroom.'),
      least_value: createNumberColumn('Value of the constraint on that session.'),
      least_limit: createNumberColumn('Bound on that session.'),
    },
  },
  breaches: {
    help: 'Breaches.',
    row: 'a breach, by its first session',
    columns: {
      row: createTextColumn('The row.'),
      begin: createDateColumn('First session beyond the bound, possibly before `start`.'),
      end: createDateColumn('Last session beyond the bound; null if the breach continues.'),
      cause: createTextColumn('Cause of the breach: `price`, `action` or `rebalance`.'),
      worst_date: createDateColumn('Session with the smallest headroom.'),
      worst_value: createNumberColumn('Value of the constraint on that session.'),
      limit: createNumberColumn('Bound on that session.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type LimitTable = keyof typeof LIMIT_TABLES;
export const LIMIT_TABLE_NAMES = Object.keys(LIMIT_TABLES) as [LimitTable, ...LimitTable[]]; // Object.keys returns plain strings.
