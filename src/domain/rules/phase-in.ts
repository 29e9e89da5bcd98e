import { parseValidDay } from '../time/days.js';
import type { RuleDocument } from '../documents/index-document.js';
import type { SessionMarket } from '../market/session-market.js';
import { findLastAtMost } from '../numbers/search.js';
import { countNoticeSessions } from '../schedule/review-dates.js';
import { listRebalanceDates } from '../schedule/schedule.js';

/** Members of a document that determine its review dates. */
export type PhaseTerms = Pick<RuleDocument, 'rebalance' | 'base_date'>;

/**
 * Returns the reference sessions of the latest scheduled reviews of an index that are decided up to a session, including
 * a review that takes effect later. The latest comes first; there are at most `count`, none before the first session of
 * the market. Reviews with the same reference session count once.
 */
export function findLatestReviews(
  { rebalance, base_date }: PhaseTerms,
  sm: Pick<SessionMarket, 'sessions' | 'calendar' | 'sessionAt'>,
  { session, count }: { readonly session: number; readonly count: number },
): number[] {
  const { sessions, calendar } = sm;
  const day = sessions[session]!;
  // Effective dates come from the calendar: the market may end before them.
  const latest = findLastAtMost(calendar.sessions, day) + countNoticeSessions(rebalance);
  const to = calendar.sessions[Math.min(latest, calendar.sessions.length - 1)]!;
  const dates = listRebalanceDates({ rebalance, calendar, baseDay: parseValidDay(base_date), from: sessions[0]!, to });
  const reviews: number[] = [];
  for (let i = dates.length - 1; i >= 0 && reviews.length < count; i--) {
    const { decision } = dates[i]!;
    const reviewSession = decision > day ? -1 : sm.sessionAt(decision);
    if (reviewSession >= 0 && reviewSession !== reviews.at(-1)) reviews.push(reviewSession);
  }
  return reviews;
}

/**
 * Returns phased-in values: the mean over the latest reviews. If a review has no value, the value of the next review is
 * used, so that a security enters with its full value.
 * @param atReviews values at the latest reviews, latest first, [n] each
 * @param today values at the decision, [n]
 * @param stepCount number of reviews in a phase; reviews before the first one use the value at the first one
 */
export function blendReviewValues(
  atReviews: readonly Float64Array[],
  today: Float64Array,
  stepCount: number,
): Float64Array {
  return today.map((now, i) => {
    let value = now;
    let sum = 0;
    for (let k = 0; k < stepCount; k++) {
      const reviewValue = atReviews[k]?.[i] ?? NaN;
      if (!Number.isNaN(reviewValue)) value = reviewValue;
      sum += value;
    }
    return sum / stepCount;
  });
}
