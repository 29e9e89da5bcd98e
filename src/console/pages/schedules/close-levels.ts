import type { PublicationEntry } from '#clients/typescript/divisor.js';
import { findLatestClose } from '../../words/publication.js';

/** Published level of a return variant. */
interface PublishedLevel {
  readonly variant: string;
  readonly level: number;
  /** Return since the previous published close; null for the first one. */
  readonly change: number | null;
}

/** Names of the shown return variants. The net return is in the published log of the index. */
const VARIANTS = { price: 'Price return', total: 'Total return' } as const;

/** Returns the valid levels of a session in a published log. */
export function listLevels(
  entries: readonly Pick<PublicationEntry, 'date' | 'price' | 'total'>[],
  date: string,
): readonly PublishedLevel[] {
  const close = findLatestClose(entries.filter((entry) => entry.date === date));
  const previous = findLatestClose(entries.filter((entry) => entry.date < date));
  return (['price', 'total'] as const).flatMap((variant): PublishedLevel[] => {
    const level = close?.[variant] ?? null;
    const previousLevel = previous?.[variant] ?? null;
    if (level === null) return [];
    return [{ variant: VARIANTS[variant], level, change: previousLevel === null ? null : level / previousLevel - 1 }];
  });
}
