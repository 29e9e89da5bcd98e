import type { EventsSpec } from '../documents/events-spec.js';
import type { IndexDocument } from '../documents/index-document.js';
import { hasIndependentWeights } from '../documents/share-terms.js';
import type { Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Book } from './book.js';
import { simulateBookUntil, type WatchInput } from './watched-book.js';
import { findCompositionInForce, isReview, type Composer, type Composition } from './compositions.js';
import { findDecider } from './decided-by.js';
import type { ReviewPool } from './decider.js';
import type { DueRebalance } from './due-rebalances.js';
import { computePoolValue, type EnteringSecuritiesInput } from './replacements.js';
import { requireBookEnd, type StoredBook } from './resumed-book.js';

/** Index whose constituents may change between reviews, with the data to find such changes. */
export interface MemberWatch extends WatchInput {
  /** Composer with every version of the definition. */
  readonly whole: Composer;
  /** Composer with the version of the definition that is searched. */
  readonly composer: Composer;
  readonly document: IndexDocument;
  readonly events: EventsSpec;
  readonly sm: SessionMarket;
  readonly pool: ReviewPool;
  readonly known: Composition[];
  readonly findings: Finding[];
  readonly exits: readonly DueRebalance[];
  /** New securities by the session on which they are ranked, as columns. */
  readonly entries: Map<number, readonly number[]>;
}

/** State of the index book at a close, and of the book without caps. */
export interface WatchedBooks {
  readonly at: number;
  readonly book: StoredBook | null;
  readonly uncapped: StoredBook | null;
  /**
   * Ratio of index market value to `worth` of the latest review's composition. Null if the composition has no `worth`.
   */
  readonly unit: number | null;
}

/** Returns true if caps changed the weights of any composition. */
export function isCapped({ known }: MemberWatch): boolean {
  return known.some(({ weights, uncapped }) => weights !== uncapped && weights.some((w, k) => w !== uncapped[k]));
}

export interface WatchPosition {
  readonly standing: WatchedBooks;
  readonly book: Book;
  readonly session: number;
}

/** Returns the change of constituents at a close. Returns undefined if nothing changes. */
export type MemberChange = (watch: MemberWatch, position: WatchPosition) => Composition | undefined;

/**
 * Returns the ratio of index market value to `worth` of the latest review's composition. The ratio is constant between
 * reviews.
 */
export function computeMarketValueUnit(
  { known }: MemberWatch,
  { standing, book, session }: WatchPosition,
): number | null {
  const review = known.findLast((composition) => composition.session <= session && isReview(composition));
  if (review === undefined || review.session <= standing.at) return standing.unit;
  return review.worth === undefined ? null : computeMarketValue(book, review.session) / review.worth;
}

function computeMarketValue({ reinvested, value, divisor, from }: Book, session: number): number {
  return (reinvested?.levels.price ?? value)[session - from]! * divisor[session - from]!;
}

export function isReviewSession({ known }: MemberWatch, session: number): boolean {
  const composition = findCompositionInForce(known, session);
  return (
    composition === undefined || (composition.session === session && isReview(composition)) || isInPhase(known, session)
  );
}

/** Returns true if later closes of an earlier rebalance are pending. Constituents change only after the last close. */
export function isInPhase(compositions: readonly Composition[], session: number): boolean {
  return findCompositionInForce(compositions, session)?.transition !== undefined;
}

export interface ClosingHoldings extends Pick<EnteringSecuritiesInput, 'held' | 'uncapped'> {
  readonly marketValue: number;
}

/** Returns the holdings at a close with their market value. */
export function readClosingHoldings(watch: MemberWatch, { standing, session }: WatchPosition): ClosingHoldings {
  const book = simulateWatchedBook(watch, standing, session);
  const bookEnd = requireBookEnd(book);
  const uncappedEnd = isCapped(watch) ? requireBookEnd(simulateWatchedBook(watch, standing, session, true)) : bookEnd;
  return { held: bookEnd, uncapped: uncappedEnd, marketValue: computeMarketValue(book, session) };
}

/** Returns the pool and the definition by which the latest review of an index weighted its constituents. */
export function findWeighing(
  { whole, indexId }: Pick<MemberWatch, 'whole' | 'indexId'>,
  latest: Composition | undefined,
): { readonly pool: ReviewPool; readonly document: IndexDocument } {
  const review = {
    ...(latest?.amendment === undefined ? {} : { amendment: latest.amendment }),
    ...(latest?.reviews === undefined ? {} : { review: latest.reviews.at(-1)! }), // a list of reviews is not empty
  };
  const { pool } = whole.decider(indexId, review);
  if (pool === undefined) throw new Error(`${indexId} changes at reviews alone`);
  return { pool, document: findDecider(whole.document(indexId), review).document };
}

export function weighEntrants(
  watch: MemberWatch,
  watchPosition: WatchPosition,
  { held, uncapped, marketValue: worth }: ClosingHoldings,
): Omit<EnteringSecuritiesInput, 'cause' | 'leaving' | 'entries' | 'swaps'> {
  const { composer, indexId, known } = watch;
  const { session } = watchPosition;
  const { pool, document } = findWeighing(
    watch,
    known.findLast((one) => one.session <= session && isReview(one)),
  );
  const unit = computeMarketValueUnit(watch, watchPosition);
  const before = findCompositionInForce(known, session)!;
  const findWorthOfPool = (): number | null => {
    const isSelfWeighing = hasIndependentWeights(document.pipeline?.weighting);
    return isSelfWeighing ? computePoolValue(pool, session, { ...held, without: before.capped }) : null;
  };
  return {
    composer,
    indexId,
    pool,
    session,
    decision: session,
    before,
    held,
    uncapped,
    worth: unit === null ? findWorthOfPool() : worth / unit,
  };
}

export function simulateWatchedBook(
  watch: MemberWatch,
  watchedBooks: WatchedBooks,
  to: number,
  isUncapped = false,
): Book {
  const { whole, indexId, known, first } = watch;
  const storedBook = isUncapped ? watchedBooks.uncapped : watchedBooks.book;
  return simulateBookUntil(whole, { indexId, first, stored: storedBook, at: watchedBooks.at, to, known, isUncapped });
}
