/** Number of entries per page of a listing. */
export const PAGE_ENTRIES = 100;

export interface ListingPage<T> {
  readonly page: T[];
  /** Cursor of the next page; absent on the last page. */
  readonly nextCursor?: string;
}

/** Returns one page of entries; undefined for an unknown cursor. */
export function findPage<T>(
  entries: readonly T[],
  cursor: string | undefined,
  entriesMax: number,
): ListingPage<T> | undefined {
  const from = cursor === undefined ? 0 : Number(/^\d{1,9}$/.exec(cursor)?.[0] ?? NaN);
  if (!Number.isInteger(from) || from % entriesMax > 0 || (from > 0 && from >= entries.length)) return undefined;
  const to = from + entriesMax;
  return { page: entries.slice(from, to), ...(to < entries.length && { nextCursor: String(to) }) };
}

/**
 * Groups entries so that the JSON of each group has at most `bytesMax` bytes. An entry that is longer forms its own
 * group.
 */
export function groupByBytes<T>(entries: readonly T[], bytesMax: number): T[][] {
  const pages: T[][] = [];
  let remainingBytes = 0;
  for (const entry of entries) {
    const bytes = Buffer.byteLength(JSON.stringify(entry));
    if (bytes > remainingBytes) {
      pages.push([]);
      remainingBytes = bytesMax;
    }
    remainingBytes -= bytes;
    pages.at(-1)!.push(entry);
  }
  return pages;
}
