import type { Listing, UnreadableCause } from '#store/port.js';

/** Numbers of stored documents that a listing leaves out, in total and by cause. */
export interface Skipped {
  skipped: number;
  skipped_causes: Record<UnreadableCause, number>;
}

/** Adds documents with unreadable files to the documents that the listing skipped. */
export function addUnreadable(
  { skipped, skipped_causes: causes }: Pick<Listing<unknown>, 'skipped' | 'skipped_causes'>,
  unreadableCount: number,
): Skipped {
  return {
    skipped: skipped + unreadableCount,
    skipped_causes: { ...causes, unreadable: causes.unreadable + unreadableCount },
  };
}

/** Counts omitted documents by cause. */
export function countSkipped(causes: readonly UnreadableCause[]): Skipped {
  const count = (cause: UnreadableCause): number =>
    causes.filter((unreadableCause) => unreadableCause === cause).length;
  return {
    skipped: causes.length,
    skipped_causes: { unreadable: count('unreadable'), invalid: count('invalid'), unsupported: count('unsupported') },
  };
}

/** Sums the skipped documents of several listings. */
export function sumSkipped(...listings: readonly Pick<Listing<unknown>, 'skipped' | 'skipped_causes'>[]): Skipped {
  const sum = countSkipped([]);
  for (const { skipped, skipped_causes: causes } of listings) {
    sum.skipped += skipped;
    for (const cause of ['unreadable', 'invalid', 'unsupported'] as const) sum.skipped_causes[cause] += causes[cause];
  }
  return sum;
}
