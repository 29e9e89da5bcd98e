import type { EventsSpec } from '../documents/events-spec.js';
import type { IndexDocument } from '../documents/index-document.js';
import type { Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Book } from './book.js';
import { inForce, type Composer, type Composition } from './compositions.js';
import type { ReviewPool } from './decider.js';
import type { DueRebalance } from './due-rebalances.js';
import { indexTargets, indexTerms } from './index-run.js';
import type { EnteringInput } from './replacements.js';
import { ownEnd, resumeOf, type StoredBook } from './resumed-book.js';
import { shareChangeTerms } from './share-changes.js';
import { simulateBook } from './simulate-book.js';

export interface MemberChangesInput {
  readonly indexId: string;
  /** Rebalances of the schedule, ascending; the first is that of the first session. */
  readonly due: readonly DueRebalance[];
  readonly first: number;
  readonly last: number;
  readonly tick?: ((fraction: number) => void) | undefined;
}

/** An index while its changes between reviews are looked for. */
export interface Watch extends MemberChangesInput {
  readonly composer: Composer;
  readonly document: IndexDocument;
  readonly sm: SessionMarket;
  readonly known: Composition[];
  readonly findings: Finding[];
  /** What a text says of changes between reviews, by its position; null where it has none. */
  readonly under: (amendment: number) => WatchedText | null;
}

/** An index on sessions that follow one text. */
export interface TextWatch extends Watch, WatchedText {}

/** Changes between the reviews of one text. */
export interface WatchedText {
  readonly events: EventsSpec;
  readonly pool: ReviewPool;
  readonly exits: readonly DueRebalance[];
  /** Columns by the session on which a new security is ranked. */
  readonly entries: ReadonlyMap<number, readonly number[]>;
}

/** A book at the close of a session, and the one of the index without caps. */
export interface Standing {
  readonly at: number;
  readonly book: StoredBook | null;
  readonly uncapped: StoredBook | null;
  /** Market value over the money that weights stand for, since the latest review. */
  readonly unit: number | null;
}

/** Whether the index without caps is another one. */
export function isCapped({ known }: Watch): boolean {
  return known.some(({ weights, uncapped }) => weights !== uncapped && weights.some((w, k) => w !== uncapped[k]));
}

export interface At {
  readonly standing: Standing;
  readonly book: Book;
  readonly session: number;
}

/** Market value over the money that weights stand for: it stays from one review to the next. */
export function unitAt({ known }: Watch, { standing, book, session }: At): number | null {
  const review = known.findLast((one) => one.session <= session && isReview(one));
  if (review === undefined || review.session <= standing.at) return standing.unit;
  return review.worth === undefined ? null : marketValue(book, review.session) / review.worth;
}

export const isReview = ({ cause }: Composition): boolean => cause === undefined || cause === 'breach';

function marketValue({ reinvested, value, divisor, from }: Book, session: number): number {
  return (reinvested?.levels.price ?? value)[session - from]! * divisor[session - from]!;
}

export function isReviewAt({ known }: Watch, session: number): boolean {
  const one = inForce(known, session);
  return one === undefined || (one.session === session && isReview(one));
}

export interface Ends extends Pick<EnteringInput, 'held' | 'uncapped'> {
  readonly marketValue: number;
}

/** What is held at a close, and what it is worth. */
export function endsAt(watch: Watch, { standing, session }: At): Ends {
  const book = bookOf(watch, standing, session);
  const held = ownEnd(book);
  const uncapped = isCapped(watch) ? ownEnd(bookOf(watch, standing, session, true)) : held;
  return { held, uncapped, marketValue: marketValue(book, session) };
}

export function enteringAt(
  watch: TextWatch,
  at: At,
  { held, uncapped, marketValue: worth }: Ends,
): Omit<EnteringInput, 'cause' | 'leaving' | 'entries'> {
  const { composer, indexId, pool, known } = watch;
  const { session } = at;
  const unit = unitAt(watch, at);
  const before = inForce(known, session)!;
  return {
    composer,
    indexId,
    pool,
    session,
    decision: session,
    before,
    held,
    uncapped,
    worth: unit === null ? null : worth / unit,
  };
}

export function bookOf(watch: Watch, standing: Standing, to: number, isUncapped = false): Book {
  const { composer, indexId, document, sm, known, first } = watch;
  const { at } = standing;
  const stored = isUncapped ? standing.uncapped : standing.book;
  const treatment = composer.treatment(indexId);
  return simulateBook({
    title: `The index ${indexId}`,
    sm,
    treatment,
    outside: composer.outsideMergers(indexId),
    shareChanges: shareChangeTerms({ sm, document, treatment }),
    growth: indexTerms({ treatment, document }),
    from: stored === null ? first : at,
    to,
    targets: known
      .filter(({ session }) => (stored === null || session > at) && session <= to)
      .map((composition) => indexTargets(composition, isUncapped)),
    initialValue: document.base_value,
    costRate: 0,
    fills: 'all',
    ...(stored === null ? {} : { resume: resumeOf(stored, at) }),
  });
}
