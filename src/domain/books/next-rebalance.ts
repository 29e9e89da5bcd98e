import type { IndexDocument } from '../documents/index-document.js';
import { reviewsOf } from '../documents/reviews.js';
import type { SessionMarket } from '../market/session-market.js';
import { firstAtLeast } from '../numbers/search.js';
import { closesOf as countCloses, phaseFractions } from '../schedule/phase.js';
import { DEFAULT_REVIEW } from '../schedule/review-scopes.js';
import { rebalanceDates, type RebalanceDate } from '../schedule/schedule.js';
import { dayFrom, type Day } from '../time/days.js';
import { closesOf, type DueRebalance, type PhaseClose } from './due-rebalances.js';

/** A rebalance to come on the days of its calendar, or one of its closes. */
export interface NextRebalance extends RebalanceDate {
  readonly review?: string;
  readonly phase?: PhaseClose;
}

/**
 * The first rebalance, or close of one, that takes effect on a day or after it: of each review that runs on its session, in
 * their order. Empty where the calendar has none.
 */
export function nextRebalances(
  document: IndexDocument,
  { calendar }: SessionMarket,
  day: Day,
): readonly NextRebalance[] {
  const baseDay = dayFrom(document.base_date);
  const { sessions, coverage } = calendar;
  const base = sessions[firstAtLeast(sessions, baseDay)];
  const next = reviewsOf(document).flatMap(({ id, document: { rebalance } }): NextRebalance[] => {
    const at = firstAtLeast(sessions, day) - countCloses(rebalance.phase) + 1;
    const from = rebalance.phase === undefined ? day : (sessions[at] ?? day);
    const fractions = rebalance.phase && phaseFractions(rebalance.phase);
    const own = rebalanceDates({ rebalance, calendar, baseDay, from, to: coverage.to })
      .filter(({ session }) => id === DEFAULT_REVIEW || session !== base)
      .flatMap((date): NextRebalance[] =>
        fractions && date.session !== base ? closesOf(date, fractions, calendar) : [date],
      )
      .find(({ session }) => session >= day);
    return own === undefined ? [] : [id === DEFAULT_REVIEW ? own : { ...own, review: id }];
  });
  const first = Math.min(...next.map(({ session }) => session));
  return next.filter(({ session }) => session === first);
}

/** A rebalance to come as if it took effect on a session: from what is known then. */
export function dueOn(sm: SessionMarket, session: number, next: NextRebalance): DueRebalance {
  const { review, phase, decision, pricing = decision } = next;
  const at = (day: Day): number => Math.min(sm.sessionAt(day), session);
  const [decided, priced] = [at(decision), at(pricing)];
  return {
    date: next.date,
    also: [],
    session,
    decision: decided,
    ...(priced > decided ? { pricing: priced } : {}),
    announced: null,
    ...(review === undefined ? {} : { review }),
    ...(phase === undefined ? {} : { phase }),
  };
}
