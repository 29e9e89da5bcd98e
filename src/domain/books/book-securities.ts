import type { SessionMarket } from '../market/session-market.js';

export interface BookSecuritiesInput {
  readonly sm: SessionMarket;
  readonly targets: readonly { readonly columns: ArrayLike<number> }[];
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the columns that a book can hold, ascending: target securities and their successors after spin-offs, mergers
 * and ticker changes.
 * @cost O(N + K), K the actions with a related identifier
 */
export function listBookSecurities({ sm, targets, from, to }: BookSecuritiesInput): Int32Array {
  const isIncluded = new Uint8Array(sm.securityCount);
  for (const { columns } of targets) for (let k = 0; k < columns.length; k++) isIncluded[columns[k]!] = 1;
  let hasGrown = true;
  while (hasGrown) {
    hasGrown = false;
    for (const { session, column, action } of sm.actions.related) {
      if (session < from || session > to || !isIncluded[column]) continue;
      const relatedColumn = sm.columnOf(action.related!);
      if (relatedColumn < 0 || isIncluded[relatedColumn]) continue;
      isIncluded[relatedColumn] = 1;
      hasGrown = true;
    }
  }
  const columns: number[] = [];
  for (let column = 0; column < sm.securityCount; column++) if (isIncluded[column]) columns.push(column);
  return Int32Array.from(columns);
}
