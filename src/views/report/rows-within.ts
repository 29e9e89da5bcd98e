/**
 * Splits rows into rows that are shown and a rest that becomes one summary row. If the rest is only one row, it is
 * shown as well.
 */
export function splitRows<T>(
  rows: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly others: readonly T[] } {
  const count = rows.length === limit + 1 ? rows.length : limit;
  return { shown: rows.slice(0, count), others: rows.slice(count) };
}
