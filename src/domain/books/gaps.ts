import type { Book, Gap } from './book.js';

/** Returns the gaps of several books from a session on, without duplicates. */
export function listGaps(books: readonly Book[], from: number): Gap[] {
  const gapByKey = new Map<string, Gap>();
  for (const { gaps } of books) {
    for (const gap of gaps) if (gap.session >= from) gapByKey.set(`${gap.session} ${gap.column}`, gap);
  }
  return [...gapByKey.values()].toSorted((a, b) => a.session - b.session || a.column - b.column);
}
