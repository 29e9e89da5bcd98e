import { createBookRounding } from './book-rounding.js';
import type { Book } from './book.js';
import type { Composer, Composition } from './compositions.js';
import type { DueRebalance } from './due-rebalances.js';
import { createIndexTargets, createIndexTerms } from './index-run.js';
import { createBookResume, extendStoredBook, toStoredBook, type StoredBook } from './resumed-book.js';
import { createShareChangeTerms } from './share-changes.js';
import { simulateBook } from './simulate-book.js';

/** Index whose rebalances depend on its book between scheduled decisions. */
export interface WatchInput {
  readonly indexId: string;
  /** Scheduled rebalances, ascending, the first on session `first`. */
  readonly due: readonly DueRebalance[];
  readonly first: number;
  readonly last: number;
  readonly tick?: ((fraction: number) => void) | undefined;
}

/** Range of sessions over which a book is simulated. */
interface BookSpan extends Pick<WatchInput, 'indexId' | 'first'> {
  /** State of the book at the close of session `at`; null before the first session. */
  readonly stored: StoredBook | null;
  readonly at: number;
  readonly to: number;
  readonly known: readonly Composition[];
  /** True to use the weights without caps. */
  readonly isUncapped?: boolean;
}

/**
 * Simulates an index book from one close to a later one, with the compositions known so far.
 * @cost O((to - at) H)
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
    ...(stored === null ? {} : { resume: createBookResume(stored, at) }),
  });
}

/** Returns the stored state after the sessions simulated last. */
export const updateStoredBook = (before: StoredBook | null, book: Book): StoredBook =>
  before === null ? toStoredBook(book) : extendStoredBook(before, book);
