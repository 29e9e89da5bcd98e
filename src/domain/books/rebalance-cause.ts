import { parseValidDay } from '../time/days.js';
import { isInAnyText, listTexts } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import { listReviewDates, listReviews, type Review } from '../documents/reviews.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { countNoticeSessions } from '../schedule/review-dates.js';
import { findFirstAtLeast } from '../numbers/search.js';
import type { RebalanceCause } from '../schedule/rebalance-causes.js';
import { changesMembers } from '../documents/events-spec.js';
import { findPendingChange } from './pending-changes.js';
import { isWatched } from './find-rule-text.js';
import type { Composer } from './compositions.js';

/**
 * Returns the trigger of a rebalance that is decided on a session. Returns null if there is none, or if the index
 * cannot be run up to the session.
 * @param composer composer without data after the session
 * @cost that of computing the schedule; if breaches trigger rebalances, that of running the index up to the session
 */
export function findCause(composer: Composer, indexId: string, session: number): RebalanceCause | null {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  if (listReviewsDecidedOn(document, sm, session).length > 0) return 'schedule';
  const calls = isWatched(document) || isInAnyText(document, ({ events }) => changesMembers(events));
  if (!calls || sm.sessions[session]! < parseValidDay(document.base_date)) return null;
  try {
    const { list, called } = composer.compositions(indexId);
    const eventCause = list.find(({ cause, decision }) => cause !== undefined && decision === session)?.cause;
    if (eventCause !== undefined) return eventCause;
    if (called?.session === session) return 'breach';
    const pendingComposition = findPendingChange(composer, { indexId, session, list })?.composition;
    return pendingComposition?.decision === session ? (pendingComposition.cause ?? null) : null;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** Review, with the position of the definition version that contains it. */
export interface DecidedReview {
  readonly review: Review;
  readonly amendment: number;
}

/** Returns the reviews whose reference date is the session, in order. */
export function listReviewsDecidedOn(
  document: IndexDocument,
  { calendar, sessions }: SessionMarket,
  session: number,
): readonly DecidedReview[] {
  const day = sessions[session]!;
  const position = findFirstAtLeast(calendar.sessions, day);
  const baseDay = parseValidDay(document.base_date);
  const texts = listTexts(document);
  const reviews = texts.flatMap((text, k) =>
    listReviews(text.document).map((review) => ({
      review,
      amendment: k,
      from: text.from,
      until: texts[k + 1]?.from ?? Infinity,
    })),
  );
  const isDecided = ({ review, from, until }: (typeof reviews)[number]): boolean => {
    const last = Math.min(position + countNoticeSessions(review.document.rebalance), calendar.sessions.length - 1);
    const dates = listReviewDates(review, { calendar, baseDay, from: day, to: calendar.sessions[last]! });
    return dates.some(({ date, decision }) => decision === day && date >= from && date < until);
  };
  return reviews.filter(isDecided);
}
