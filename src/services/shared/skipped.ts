import type { Listing, UnreadableCause } from '#store/port.js';

/** Stored documents that a listing leaves out, and why, as it is answered. */
export interface Skipped {
  skipped: number;
  skipped_causes: Record<UnreadableCause, number>;
}

/** What the store left out, and further documents of which a file cannot be read. */
export function withUnreadable(
  { skipped, skipped_causes: causes }: Pick<Listing<unknown>, 'skipped' | 'skipped_causes'>,
  unreadable: number,
): Skipped {
  return { skipped: skipped + unreadable, skipped_causes: { ...causes, unreadable: causes.unreadable + unreadable } };
}

/** So many left out by each cause. */
export function skippedBy(causes: Partial<Record<UnreadableCause, number>>): Skipped {
  const { unreadable = 0, invalid = 0, unsupported = 0 } = causes;
  return { skipped: unreadable + invalid + unsupported, skipped_causes: { unreadable, invalid, unsupported } };
}
