import type { IndexDocument } from '../documents/index-document.js';
import { listTexts, type IndexText } from '../documents/amended-texts.js';
import { listReviewDates, listReviews } from '../documents/reviews.js';
import type { SessionMarket } from '../market/session-market.js';
import { findFirstAtLeast } from '../numbers/search.js';
import { countPhaseCloses as countCloses, computePhaseFractions } from '../schedule/phase.js';
import { DEFAULT_REVIEW } from '../schedule/review-scopes.js';
import { listReviewDays, type RebalanceDate } from '../schedule/schedule.js';
import { parseValidDay, type Day } from '../time/days.js';
import { listPhaseCloses, type DueRebalance, type PhaseClose } from './due-rebalances.js';

/** Upcoming rebalance on the days of its calendar, or one close of it. */
export interface NextRebalance extends RebalanceDate {
  readonly review?: string;
  /** Position of the definition version that the rebalance follows; absent for the first version. */
  readonly amendment?: number;
  readonly phase?: PhaseClose;
}

/**
 * Returns the rebalances, or closes of rebalances, on the next session that has any, on or after a day. The list has
 * one entry per review, in order. It is empty if the calendar has no such session.
 */
export function findNextRebalances(
  document: IndexDocument,
  { calendar }: SessionMarket,
  day: Day,
): readonly NextRebalance[] {
  const texts = listTexts(document);
  const next = texts.flatMap((text, k) =>
    listNextRebalances(text, { calendar, day, until: texts[k + 1]?.from ?? Infinity }).map((nextRebalance) =>
      k === 0 ? nextRebalance : { ...nextRebalance, amendment: k },
    ),
  );
  const first = Math.min(...next.map(({ session }) => session));
  return next.filter(({ session }) => session === first);
}

interface NextSpan extends Pick<SessionMarket, 'calendar'> {
  readonly day: Day;
  /** Start date of the next version of the definition. */
  readonly until: Day;
}

/** Returns the next rebalance of each review under one version of the definition. */
function listNextRebalances(
  { document, from: begins, amendment }: IndexText,
  { calendar, day, until }: NextSpan,
): NextRebalance[] {
  const baseDay = parseValidDay(document.base_date);
  const { sessions, coverage } = calendar;
  const base = sessions[findFirstAtLeast(sessions, baseDay)];
  const startDay = sessions[findFirstAtLeast(sessions, begins)];
  const reviewRebalances = listReviews(document).flatMap((review): NextRebalance[] => {
    const { id } = review;
    const { rebalance } = review.document;
    const start = findFirstAtLeast(sessions, day) - countCloses(rebalance.phase) + 1;
    const from = rebalance.phase === undefined ? day : (sessions[start] ?? day);
    const fractions = rebalance.phase && computePhaseFractions(rebalance.phase);
    const match = listReviewDates(review, { calendar, baseDay, from, to: coverage.to })
      .filter(({ date }) => date >= begins && date < until)
      .flatMap((date): NextRebalance[] =>
        fractions && date.session !== base ? listPhaseCloses(date, fractions, calendar) : [date],
      )
      .find(({ session }) => session >= day);
    return match === undefined ? [] : [id === DEFAULT_REVIEW ? match : { ...match, review: id }];
  });
  if (
    amendment?.rebalance !== true ||
    startDay === undefined ||
    startDay < day ||
    reviewRebalances.some(({ session }) => session === startDay)
  )
    return reviewRebalances;
  const position = findFirstAtLeast(sessions, startDay);
  const days = listReviewDays(document.rebalance, { date: startDay, position }, calendar);
  return [{ date: startDay, session: startDay, ...days }, ...reviewRebalances];
}

/** Returns an upcoming rebalance as if it took effect on a session. Uses only data known on that session. */
export function toDueRebalance(sm: SessionMarket, session: number, next: NextRebalance): DueRebalance {
  const { review, phase, amendment, decision, pricing = decision } = next;
  const clampSession = (day: Day): number => Math.min(sm.sessionAt(day), session);
  const [decided, priced] = [clampSession(decision), clampSession(pricing)];
  return {
    date: next.date,
    also: [],
    session,
    decision: decided,
    ...(priced > decided ? { pricing: priced } : {}),
    announced: null,
    ...(review === undefined ? {} : { review }),
    ...(amendment === undefined ? {} : { amendment }),
    ...(phase === undefined ? {} : { phase }),
  };
}

/** Returns true if all rebalances of a future session have been announced on a day. */
export function areAllAnnounced(next: readonly NextRebalance[], day: Day): boolean {
  return next.length > 0 && next.every((nextRebalance) => findAnnouncement(nextRebalance) <= day);
}

/** Returns the day on which a rebalance is announced. */
export function findAnnouncement({ decision, announcement = decision }: NextRebalance): Day {
  return announcement;
}
