import type { SessionMarket } from '../market/session-market.js';

export interface BookNamesInput {
  readonly sm: SessionMarket;
  readonly targets: readonly { readonly columns: Int32Array }[];
  readonly from: number;
  readonly to: number;
}

/**
 * Columns that a book can come to hold, ascending: its targets, and what they turn into by spin-offs, mergers and changes of ticker.
 * @cost O(N + A)
 */
export function bookNames({ sm, targets, from, to }: BookNamesInput): Int32Array {
  const reached = new Uint8Array(sm.names);
  for (const { columns } of targets) for (let k = 0; k < columns.length; k++) reached[columns[k]!] = 1;
  const { all, starts } = sm.actions;
  let grew = true;
  while (grew) {
    grew = false;
    for (let a = starts[from]!; a < starts[to + 1]!; a++) {
      const { column, action } = all[a]!;
      if (!reached[column] || action.related === null) continue;
      const related = sm.columnOf(action.related);
      if (related < 0 || reached[related]) continue;
      reached[related] = 1;
      grew = true;
    }
  }
  const columns: number[] = [];
  for (let column = 0; column < sm.names; column++) if (reached[column]) columns.push(column);
  return Int32Array.from(columns);
}
