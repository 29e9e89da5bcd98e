import { count, date, number, text, type ExportTable } from './export-table.js';

/** Tables of limits monitored over a run. Missing values are null. */
export const LIMIT_TABLES = {
  state: {
    help: 'Headroom on every session.',
    row: 'a date',
    columns: {
      date: date('Session.'),
      headroom: number(
        'Distance to the nearest bound, in the unit of the bound; negative beyond it, null if no constraint applies.',
      ),
      nearest: text(
        'Security with the smallest price move that causes a breach; null beyond a bound, or if no move causes a breach.',
      ),
      move: number(
        'Smallest relative price move of this security that causes a breach, while all other prices are unchanged.',
      ),
    },
  },
  rows: {
    help: 'Each constraint over the window.',
    row: 'a bound of a constraint',
    columns: {
      row: text('The row.'),
      side: text('`lower` or `upper`.'),
      unit: text('`fraction`, `count` or `value`.'),
      breached_sessions: count('Number of sessions beyond the bound.'),
      least_date: date('Session with the smallest headroom.'),
      least_value: number('Value of the constraint on that session.'),
      least_limit: number('Bound on that session.'),
    },
  },
  breaches: {
    help: 'Breaches.',
    row: 'a breach, by its first session',
    columns: {
      row: text('The row.'),
      begin: date('First session beyond the bound, possibly before `start`.'),
      end: date('Last session beyond the bound; null if the breach continues.'),
      cause: text('Cause of the breach: `price`, `action` or `rebalance`.'),
      worst_date: date('Session with the smallest headroom.'),
      worst_value: number('Value of the constraint on that session.'),
      limit: number('Bound on that session.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type LimitTable = keyof typeof LIMIT_TABLES;
export const LIMIT_TABLE_NAMES = Object.keys(LIMIT_TABLES) as [LimitTable, ...LimitTable[]]; // Object.keys returns plain strings.
