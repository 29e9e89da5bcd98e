import { createBookRounding } from './book-rounding.js';
import type { Book } from './book.js';
import type { Composer, Composition } from './compositions.js';
import type { DueRebalance } from './due-rebalances.js';
import { createIndexTargets, createIndexTerms } from './index-run.js';
import { resumeOf, extendStoredBook, toStoredBook, type StoredBook } from './resumed-book.js';
import { createShareChangeTerms } from './share-changes.js';
import { simulateBook } from './simulate-book.js';

/** Index whose rebalances depend on its book between the decisions of its schedule. */
export interface WatchInput {
  readonly indexId: string;
  /** Rebalances of the schedule, ascending, beginning with the first session. */
  readonly due: readonly DueRebalance[];
  readonly first: number;
  readonly last: number;
  readonly tick?: ((fraction: number) => void) | undefined;
}

/** Sessions of a book that was simulated up to a close. */
interface BookSpan extends Pick<WatchInput, 'indexId' | 'first'> {
  /** State of the book at the close of `at`; null before the first session. */
  readonly stored: StoredBook | null;
  readonly at: number;
  readonly to: number;
  readonly known: readonly Composition[];
  /** Uses the weights before capping. */
  readonly isUncapped?: boolean;
}

/**
 * Simulates the book of an index from one close to a later one, with the compositions known so far. @cost O((to - at)
 * H)
 */
export function simulateBookUntil(
  composer: Composer,
  { indexId, first, stored, at, to, known, isUncapped = false }: BookSpan,
): Book {
  const document = composer.document(indexId);
  const treatment = composer.treatment(indexId);
  const sm = composer.market(indexId);
  return simulateBook({
    title: `The index ${indexId}`,
    sm,
    treatment,
    outside: composer.outsideMergers(indexId),
    shareChanges: createShareChangeTerms({ sm, document, treatment }),
    growth: createIndexTerms({ treatment, document }),
    from: stored === null ? first : at,
    to,
    targets: known
      .filter(({ session }) => (stored === null || session > at) && session <= to)
      .map((composition) => createIndexTargets(composition, isUncapped)),
    initialValue: document.base_value,
    ...createBookRounding(document, sm),
    costRate: 0,
    fills: 'all',
    ...(stored === null ? {} : { resume: resumeOf(stored, at) }),
  });
}

/** Returns a book at the end of the sessions that were simulated last. */
export const extendStoredUntil = (before: StoredBook | null, book: Book): StoredBook =>
  before === null ? toStoredBook(book) : extendStoredBook(before, book);
