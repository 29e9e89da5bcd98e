import type { EventCause } from '../schedule/rebalance-causes.js';
import { dayFrom, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { panelRow, type SessionMarket } from '../market/session-market.js';
import { DEFAULT_REVIEW } from '../schedule/review-scopes.js';
import { reviewsOf } from '../documents/reviews.js';
import type { Calendar } from '../calendars/calendar.js';
import { phaseFractions } from '../schedule/phase.js';
import { rebalanceDates, reviewDays, type RebalanceDate } from '../schedule/schedule.js';
import { firstAtLeast, lastAtMost } from '../numbers/search.js';

export interface DueRebalance {
  readonly date: Day;
  readonly also: readonly Day[];
  readonly session: number;
  /** Session of the reference date: the composition is decided on data up to it. */
  readonly decision: number;
  /** Session whose closes turn weights into index shares, from the decision on; absent where that is the decision. */
  readonly pricing?: number;
  readonly announced: Day | null;
  /** Position of the text that it follows, where that is not the first: see `textsOf`. */
  readonly amendment?: number;
  /** What called for it, where that is not the schedule. */
  readonly cause?: EventCause;
  /** Review that is due; absent for the document's own rebalance. */
  readonly review?: string;
  /** Close of a rebalance that is spread over several; absent where it takes effect at once. */
  readonly phase?: PhaseClose;
}

/** The text and the review by which a rebalance is decided. */
export type DueText = Pick<DueRebalance, 'amendment' | 'review'>;

/** One of the closes of a rebalance. */
export interface PhaseClose {
  /** Effective date of the first of them. */
  readonly start: Day;
  /** Fraction of the rebalance that is done after it: 1 after the last. */
  readonly fraction: number;
}

/**
 * The rebalances of a definition on the axis of the market: the first on the first session, then those of the schedule.
 */
export function dueRebalances(
  document: IndexDocument,
  sm: SessionMarket,
  { first, last }: { readonly first: number; readonly last: number },
): DueRebalance[] {
  const { sessions, calendar } = sm;
  const date = sessions[first]!;
  const days = reviewDays(document.rebalance, { date, position: lastAtMost(calendar.sessions, date) }, calendar);
  const begin = placeRebalance({ date, session: date, ...days }, sm, first);
  return [begin, ...dueAfter(document, sm, { first, after: first, last })];
}

export interface DueSpan {
  /** First session of the index. */
  readonly first: number;
  /** Those of the schedule after this session, up to the last. */
  readonly after: number;
  readonly last: number;
}

/**
 * The rebalances that the reviews of an index have after a session, on the axis of the market: ascending, those of one
 * session in the order of their scopes.
 */
export function dueAfter(document: IndexDocument, sm: SessionMarket, span: DueSpan): DueRebalance[] {
  const reviews = reviewsOf(document);
  if (reviews.length === 1) return dueOfCadence(document, sm, span);
  return reviews
    .flatMap(({ id, document: reviewed }) =>
      dueOfCadence(reviewed, sm, span).map((due) => (id === DEFAULT_REVIEW ? due : { ...due, review: id })),
    )
    .toSorted((a, b) => a.session - b.session);
}

function dueOfCadence(
  { rebalance, base_date }: Pick<IndexDocument, 'rebalance' | 'base_date'>,
  sm: SessionMarket,
  { first, after, last }: DueSpan,
): DueRebalance[] {
  const { sessions, calendar } = sm;
  const baseDay = dayFrom(base_date);
  const [from, to] = [sessions[after]! + 1, sessions[last]!];
  if (rebalance.phase === undefined)
    return rebalanceDates({ rebalance, calendar, baseDay, from, to }).map((date) => placeRebalance(date, sm, first));
  const fractions = phaseFractions(rebalance.phase);
  const earliest = calendar.sessions[firstAtLeast(calendar.sessions, from) - fractions.length + 1] ?? from;
  const base = calendar.sessions[firstAtLeast(calendar.sessions, baseDay)]!;
  const closes = rebalanceDates({ rebalance, calendar, baseDay, from: earliest, to })
    .filter(({ session }) => session > base)
    .flatMap((date) => closesOf(date, fractions, calendar))
    .filter(({ session }) => session >= from && session <= to)
    .toSorted((a, b) => a.session - b.session || a.phase.start - b.phase.start);
  return lastOfSessions(closes.map(({ phase, ...date }) => ({ ...placeRebalance(date, sm, first), phase })));
}

/** The closes of a rebalance: its own session and those after it. */
export function closesOf(date: RebalanceDate, fractions: readonly number[], { sessions }: Calendar) {
  const at = firstAtLeast(sessions, date.session);
  return fractions.flatMap((fraction, k): (RebalanceDate & { readonly phase: PhaseClose })[] => {
    const phase = { start: date.date, fraction };
    const session = sessions[at + k];
    if (k === 0) return [{ ...date, phase }];
    return session === undefined ? [] : [{ ...date, date: session, session, also: [], phase }];
  });
}

/**
 * Of closes that are priced from one session the last, which begins the phase where the first one of the same rebalance does;
 * a rebalance ends the phase of the one before it.
 */
function lastOfSessions(due: readonly (DueRebalance & { readonly phase: PhaseClose })[]): DueRebalance[] {
  const kept: (DueRebalance & { readonly phase: PhaseClose })[] = [];
  for (const one of due) {
    const before = kept.at(-1);
    if (before?.session !== one.session) kept.push(one);
    else kept[kept.length - 1] = before.phase.start === one.phase.start ? { ...before, phase: one.phase } : one;
  }
  return kept;
}

/** A rebalance on the axis of the market: without data up to its reference date it is decided when it takes effect. */
function placeRebalance(
  { date, also = [], session, decision, announcement = decision, pricing = decision }: RebalanceDate,
  sm: SessionMarket,
  first: number,
): DueRebalance {
  const { sessions } = sm;
  const position = pricedSession(sm, lastAtMost(sessions, session), first);
  const decided = Math.min(lastAtMost(sessions, decision), position);
  const reaches = sessions[decided] !== undefined && decision >= sessions[0]! && decision < session;
  if (!reaches) return { date, also, session: position, decision: position, announced: null };
  const priced = Math.max(decided, Math.min(lastAtMost(sessions, pricing), position));
  return {
    date,
    also,
    session: position,
    decision: decided,
    ...(priced === decided ? {} : { pricing: priced }),
    announced: announcement < session ? sessions[lastAtMost(sessions, announcement)]! : null,
  };
}

/**
 * A session on which no name has a bar was an unscheduled closure: prices are those of the latest session before it.
 */
function pricedSession(sm: SessionMarket, session: number, first: number): number {
  let position = session;
  while (position > first && !hasAnyBar(sm, position)) position--;
  return position;
}

/** The latest session on or before a day on which any name has a bar, -1 when there is none. */
export function sessionWithData(sm: SessionMarket, day: Day): number {
  let session = sm.sessionAt(day);
  while (session >= 0 && !hasAnyBar(sm, session)) session--;
  return session;
}

/** Whether any name of the store has a bar on a session. */
export function hasAnyBar(sm: SessionMarket, session: number): boolean {
  const { lastBar, rowOf, names } = sm;
  if (rowOf[session]! < 0) return false;
  const bars = panelRow(sm, session);
  for (let column = 0; column < names; column++) if (lastBar[bars + column] === session) return true;
  return false;
}
