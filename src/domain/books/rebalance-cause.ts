import { dayFrom } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { reviewsOf } from '../documents/reviews.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { noticeSessions } from '../schedule/review-dates.js';
import { rebalanceDates } from '../schedule/schedule.js';
import { firstAtLeast } from '../numbers/search.js';
import type { RebalanceCause } from '../schedule/rebalance-causes.js';
import { ruleOf } from './breach-rebalances.js';
import type { Composer } from './compositions.js';

/**
 * What calls for a rebalance that is decided on a session; null where none is, or where the index cannot be run up to
 * it.
 * @param composer of everything up to the session, and nothing after it
 * @cost of the schedule; where breaches call for rebalances, of the index up to the session
 */
export function causeOn(composer: Composer, indexId: string, session: number): RebalanceCause | null {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  if (isScheduled(document, sm, session)) return 'schedule';
  if (ruleOf(composer, indexId) === null || sm.sessions[session]! < dayFrom(document.base_date)) return null;
  try {
    const { list, called } = composer.compositions(indexId);
    const isCalled = list.some(({ cause, decision }) => cause === 'breach' && decision === session);
    return isCalled || called?.session === session ? 'breach' : null;
  } catch (thrown) {
    if (thrown instanceof Refusal) return null;
    throw thrown;
  }
}

/** Whether a review of the schedule is decided on a session. */
function isScheduled(document: IndexDocument, { calendar, sessions }: SessionMarket, session: number): boolean {
  const day = sessions[session]!;
  const at = firstAtLeast(calendar.sessions, day);
  const baseDay = dayFrom(document.base_date);
  return reviewsOf(document).some(({ document: { rebalance } }) => {
    const last = Math.min(at + noticeSessions(rebalance), calendar.sessions.length - 1);
    return rebalanceDates({ rebalance, calendar, baseDay, from: day, to: calendar.sessions[last]! }).some(
      ({ decision }) => decision === day,
    );
  });
}
