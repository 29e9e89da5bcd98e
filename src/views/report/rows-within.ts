/** Rows of which at most so many are shown: a single one beyond them takes the row that would sum it up. */
export function rowsWithin<T>(
  rows: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly others: readonly T[] } {
  const count = rows.length === limit + 1 ? rows.length : limit;
  return { shown: rows.slice(0, count), others: rows.slice(count) };
}
