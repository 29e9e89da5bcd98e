/** Returns rows up to a maximum number. A single further row is shown itself instead of a row that summarises it. */
export function rowsWithin<T>(
  rows: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly others: readonly T[] } {
  const count = rows.length === limit + 1 ? rows.length : limit;
  return { shown: rows.slice(0, count), others: rows.slice(count) };
}
