import type { EventCause } from '../schedule/rebalance-causes.js';
import { parseValidDay, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import { DEFAULT_REVIEW } from '../schedule/review-scopes.js';
import { listReviewDates, listReviews } from '../documents/reviews.js';
import type { Calendar } from '../calendars/calendar.js';
import { computePhaseFractions } from '../schedule/phase.js';
import { listRebalanceDates, listReviewDays, type RebalanceDate } from '../schedule/schedule.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';

export interface DueRebalance {
  readonly date: Day;
  readonly also: readonly Day[];
  readonly session: number;
  /** Session of the reference date: the decision uses data up to it. */
  readonly decision: number;
  /**
   * Session whose closes convert weights into index shares, at or after the decision. Absent if it is the decision
   * session.
   */
  readonly pricing?: number;
  readonly announced: Day | null;
  /** Position of the definition version that the rebalance follows (see `listTexts`); absent for the first version. */
  readonly amendment?: number;
  /** Trigger; absent for a scheduled rebalance. */
  readonly cause?: EventCause;
  /** Review that is due; absent for the `rebalance` of the document. */
  readonly review?: string;
  /** Close of a rebalance that is spread over several closes; absent if the rebalance takes effect at once. */
  readonly phase?: PhaseClose;
}

/** Version of the definition and review by which a rebalance is decided. */
export type DueText = Pick<DueRebalance, 'amendment' | 'review'>;

/** Close of a rebalance that is spread over several closes. */
export interface PhaseClose {
  /** Effective date of the first close. */
  readonly start: Day;
  /** Fraction of the rebalance that is complete after this close. 1 after the last close. */
  readonly fraction: number;
}

/**
 * Returns the rebalances of a definition on the market's sessions: the first on session `first`, then those of the
 * schedule.
 */
export function listDueRebalances(
  document: IndexDocument,
  sm: SessionMarket,
  { first, last }: { readonly first: number; readonly last: number },
): DueRebalance[] {
  const { sessions, calendar } = sm;
  const date = sessions[first]!;
  const days = listReviewDays(
    document.rebalance,
    { date, position: findLastAtMost(calendar.sessions, date) },
    calendar,
  );
  const begin = placeRebalance({ date, session: date, ...days }, sm, first);
  return [
    begin,
    ...listReviewsOfStart(document, sm, first),
    ...listDueAfter(document, sm, { first, after: first, last }),
  ];
}

/** Returns the other reviews of an index that are scheduled from its base date to its first session. */
function listReviewsOfStart(document: IndexDocument, sm: SessionMarket, first: number): DueRebalance[] {
  const baseDay = parseValidDay(document.base_date);
  const query = { calendar: sm.calendar, baseDay, from: baseDay, to: sm.sessions[first]! };
  return listReviews(document).flatMap((review) => {
    const date = review.id === DEFAULT_REVIEW ? undefined : listReviewDates(review, query).at(-1);
    return date === undefined ? [] : [{ ...placeRebalance(date, sm, first), session: first, review: review.id }];
  });
}

export interface DueSpan {
  /** First session of the index. */
  readonly first: number;
  /** Start of the range, exclusive, and end of the range. */
  readonly after: number;
  readonly last: number;
}

/**
 * Returns the rebalances of all reviews of an index after a session, on the market's sessions. They ascend by session,
 * and within a session by review scope.
 */
export function listDueAfter(document: IndexDocument, sm: SessionMarket, span: DueSpan): DueRebalance[] {
  const reviews = listReviews(document);
  if (reviews.length === 1) return listDueOfCadence(document, sm, span);
  return reviews
    .flatMap(({ id, document: reviewed }) =>
      listDueOfCadence(reviewed, sm, span).map((due) => (id === DEFAULT_REVIEW ? due : { ...due, review: id })),
    )
    .toSorted((a, b) => a.session - b.session);
}

function listDueOfCadence(
  { rebalance, base_date }: Pick<IndexDocument, 'rebalance' | 'base_date'>,
  sm: SessionMarket,
  { first, after, last }: DueSpan,
): DueRebalance[] {
  const { sessions, calendar } = sm;
  const baseDay = parseValidDay(base_date);
  const [from, to] = [sessions[after]! + 1, sessions[last]!];
  if (rebalance.phase === undefined)
    return listRebalanceDates({ rebalance, calendar, baseDay, from, to }).map((date) =>
      placeRebalance(date, sm, first),
    );
  const fractions = computePhaseFractions(rebalance.phase);
  const earliest = calendar.sessions[findFirstAtLeast(calendar.sessions, from) - fractions.length + 1] ?? from;
  const base = calendar.sessions[findFirstAtLeast(calendar.sessions, baseDay)]!;
  const closes = listRebalanceDates({ rebalance, calendar, baseDay, from: earliest, to })
    .filter(({ session }) => session > base)
    .flatMap((date) => listPhaseCloses(date, fractions, calendar))
    .filter(({ session }) => session >= from && session <= to)
    .toSorted((a, b) => a.session - b.session || a.phase.start - b.phase.start);
  return listLastOfSessions(closes.map(({ phase, ...date }) => ({ ...placeRebalance(date, sm, first), phase })));
}

/**
 * Returns the closes of a rebalance that are after a session. The `rebalance` of the document states their dates,
 * counted from the effective session.
 */
export function listDueCloses(
  { rebalance }: Pick<IndexDocument, 'rebalance'>,
  sm: SessionMarket,
  { first, after, last, session }: DueSpan & { readonly session: number },
): DueRebalance[] {
  const { sessions, calendar } = sm;
  const day = sessions[session];
  if (day === undefined) return [];
  const date = { date: day, session: day };
  const days = listReviewDays(rebalance, { date: day, position: findLastAtMost(calendar.sessions, day) }, calendar);
  const closes: readonly (RebalanceDate & Pick<DueRebalance, 'phase'>)[] =
    rebalance.phase === undefined
      ? [{ ...date, ...days }]
      : listPhaseCloses({ ...date, ...days }, computePhaseFractions(rebalance.phase), calendar);
  return closes
    .filter((close) => close.session > sessions[after]! && close.session <= sessions[last]!)
    .map(({ phase, ...close }) => ({ ...placeRebalance(close, sm, first), ...(phase ? { phase } : {}) }));
}

/** Returns the closes of a rebalance: the effective session and the sessions after it. */
export function listPhaseCloses(date: RebalanceDate, fractions: readonly number[], { sessions }: Calendar) {
  const position = findFirstAtLeast(sessions, date.session);
  return fractions.flatMap((fraction, k): (RebalanceDate & { readonly phase: PhaseClose })[] => {
    const phase = { start: date.date, fraction };
    const session = sessions[position + k];
    if (k === 0) return [{ ...date, phase }];
    return session === undefined ? [] : [{ ...date, date: session, session, also: [], phase }];
  });
}

/**
 * Keeps only the last of several closes that use the prices of one session. If the removed close was the first of its
 * rebalance, the kept close becomes the first. A rebalance ends the remaining closes of the previous rebalance.
 */
function listLastOfSessions(due: readonly (DueRebalance & { readonly phase: PhaseClose })[]): DueRebalance[] {
  const phaseCloses: (DueRebalance & { readonly phase: PhaseClose })[] = [];
  for (const dueRebalance of due) {
    const before = phaseCloses.at(-1);
    if (before?.session !== dueRebalance.session) phaseCloses.push(dueRebalance);
    else
      phaseCloses[phaseCloses.length - 1] =
        before.phase.start === dueRebalance.phase.start ? { ...before, phase: dueRebalance.phase } : dueRebalance;
  }
  return phaseCloses;
}

/**
 * Maps a rebalance to the market's sessions. If there are no data up to its reference date, the rebalance is decided on
 * its effective session.
 */
function placeRebalance(
  { date, also = [], session, decision, announcement = decision, pricing = decision }: RebalanceDate,
  sm: SessionMarket,
  first: number,
): DueRebalance {
  const { sessions } = sm;
  const position = findPricedSession(sm, findLastAtMost(sessions, session), first);
  const decisionSession = Math.min(findLastAtMost(sessions, decision), position);
  const isReached = sessions[decisionSession] !== undefined && decision >= sessions[0]! && decision < session;
  if (!isReached) return { date, also, session: position, decision: position, announced: null };
  const pricingSession = Math.max(decisionSession, Math.min(findLastAtMost(sessions, pricing), position));
  return {
    date,
    also,
    session: position,
    decision: decisionSession,
    ...(pricingSession === decisionSession ? {} : { pricing: pricingSession }),
    announced: announcement < session ? sessions[findLastAtMost(sessions, announcement)]! : null,
  };
}

/**
 * Returns the session whose prices a rebalance uses: the latest session with any price bar. A session without price
 * bars was an unscheduled closure.
 */
function findPricedSession(sm: SessionMarket, session: number, first: number): number {
  let position = session;
  while (position > first && !hasAnyBar(sm, position)) position--;
  return position;
}

/** Returns the latest session on or before a day on which any security has a price bar. Returns -1 if there is none. */
export function findSessionWithData(sm: SessionMarket, day: Day): number {
  let session = sm.sessionAt(day);
  while (session >= 0 && !hasAnyBar(sm, session)) session--;
  return session;
}

/** Returns true if any security has a price bar on a session. */
export function hasAnyBar(sm: SessionMarket, session: number): boolean {
  const { lastBar, securityCount } = sm;
  const bars = readPanelRow(sm, session);
  for (let column = 0; column < securityCount; column++) if (lastBar[bars + column] === session) return true;
  return false;
}
