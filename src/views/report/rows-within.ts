/**
 * Splits rows into shown rows and a rest that is summarised in one row. A rest of one row is shown instead of
 * summarised.
 */
export function splitRows<T>(
  rows: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly others: readonly T[] } {
  const count = rows.length === limit + 1 ? rows.length : limit;
  return { shown: rows.slice(0, count), others: rows.slice(count) };
}
