import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Calendar } from '../calendars/calendar.js';
import {
  findReview,
  type IndexText,
  listDatedTexts,
  listReviewDates,
  listReviews,
  type Review,
} from '../definition/amendments.js';
import type { ResolvedRequest } from '../definition/backtest-plan.js';
import type { IndexDocument } from '../definition/index-document.js';
import type { EventCause } from '../definition/index-schedule.js';
import {
  computePhaseFractions,
  countPhaseCloses as countCloses,
  DEFAULT_REVIEW,
  listRebalanceDates,
  listReviewDays,
  type RebalanceDate,
} from '../definition/schedule.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';

/** Requested range of a backtest, and the part that calendar and store cover. */
export interface RequestedRange {
  /** Requested dates. Default: from the base date of the index to the last date of the store. */
  readonly start: Day;
  readonly end: Day;
  /** Coverage of the calendar; null if it does not narrow the range. */
  readonly coverage: WindowCoverage | null;
}

export interface WindowCoverage {
  readonly calendar: string;
  readonly requestedStart: Day;
  readonly requestedEnd: Day;
  readonly coveredStart: Day;
  readonly coveredEnd: Day;
  readonly trimmedStart: boolean;
  readonly trimmedEnd: boolean;
}

interface RangeInput {
  readonly document: Pick<IndexDocument, 'id' | 'base_date'>;
  readonly calendar: Calendar;
  /** Days of the store with any price bar, ascending. */
  readonly dates: Int32Array;
  readonly request: Pick<ResolvedRequest, 'start' | 'end'>;
}

/**
 * Checks a requested range against calendar and store before a job is queued. Reads no price.
 * @throws Refusal CALENDAR_NOT_COVERED; RANGE_TOO_SHORT for fewer than two sessions; NO_DATA_IN_RANGE if the store has
 * no price in the range
 */
export function checkRequestedRange({ document, calendar, dates, request }: RangeInput): RequestedRange {
  const base = parseValidDay(document.base_date);
  const start = request.start === null ? base : Math.max(base, parseValidDay(request.start));
  const datasetStart = dates[0];
  const datasetEnd = dates.at(-1);
  if (datasetStart === undefined || datasetEnd === undefined)
    throw new Refusal('NO_DATA_IN_RANGE', 'The data contains no prices.');
  const end = request.end === null ? Math.max(datasetEnd, start) : parseValidDay(request.end);
  const startPhrase =
    start > base ? `start ${formatDay(start)}` : `base_date ${document.base_date} of the index ${document.id}`;
  if (end < start)
    throw new Refusal(
      'RANGE_TOO_SHORT',
      `The end ${formatDay(end)} is before the ${startPhrase}; a backtest needs an end after it.`,
    );
  const requestedRange = `${formatDay(start)} to ${formatDay(end)}`;
  const { from, to } = calendar.coverage;
  if (end < from || start > to) {
    throw new Refusal(
      'CALENDAR_NOT_COVERED',
      `The calendar ${calendar.code} covers ${formatDay(from)} to ${formatDay(to)}, no part of ${requestedRange}.`,
    );
  }
  const coverageSentence = `The data contains prices from ${formatDay(datasetStart)} to ${formatDay(datasetEnd)}`;
  const refuseStartAfterData = () =>
    new Refusal('NO_DATA_IN_RANGE', `${coverageSentence}; the ${startPhrase} is after them.`);
  if (request.end === null && start > datasetEnd) throw refuseStartAfterData();
  const sessionCount = findFirstAtLeast(calendar.sessions, end + 1) - findFirstAtLeast(calendar.sessions, start);
  if (sessionCount < SESSIONS_MIN) throw refuseShortRange(`${requestedRange} contains ${sessionCount}`, sessionCount);
  if (end < datasetStart)
    throw new Refusal('NO_DATA_IN_RANGE', `${coverageSentence}; the end ${formatDay(end)} is before them.`);
  if (start > datasetEnd) throw refuseStartAfterData();
  const coveredStart = Math.max(start, datasetStart);
  const coveredEnd = Math.min(end, datasetEnd);
  const count = countPricedSessions(calendar, dates, { from: coveredStart, to: coveredEnd });
  if (count === 0)
    throw new Refusal('NO_DATA_IN_RANGE', `${coverageSentence}, and none on a session from ${requestedRange}.`);
  if (count < SESSIONS_MIN) throw refuseShortRange(`${requestedRange} contains prices on ${count}`, count);
  return { start, end, coverage: limitToCoverage(calendar, { start, end }) };
}

const SESSIONS_MIN = 2;

function refuseShortRange(what: string, count: number): Refusal {
  const sessions = count === 1 ? 'session' : 'sessions';
  return new Refusal('RANGE_TOO_SHORT', `${what} ${sessions}; a backtest needs at least ${SESSIONS_MIN}.`);
}

/**
 * Returns the part of a range that a calendar covers, regardless of prices. Returns null if the calendar covers the
 * whole range.
 */
export function limitToCoverage(
  { code, coverage: { from, to } }: Calendar,
  { start, end }: { readonly start: Day; readonly end: Day },
): WindowCoverage | null {
  const isStartTrimmed = from > start;
  const isEndTrimmed = to < end;
  if (!isStartTrimmed && !isEndTrimmed) return null;
  return {
    calendar: code,
    requestedStart: start,
    requestedEnd: end,
    coveredStart: Math.max(start, from),
    coveredEnd: Math.min(end, to),
    trimmedStart: isStartTrimmed,
    trimmedEnd: isEndTrimmed,
  };
}

/**
 * Returns the number of sessions from the first to the last session in the range on which the store has any price bar.
 */
function countPricedSessions(
  { sessions, isSession }: Calendar,
  dates: Int32Array,
  { from, to }: { readonly from: Day; readonly to: Day },
): number {
  let first = findFirstAtLeast(dates, from);
  let last = findLastAtMost(dates, to);
  while (first <= last && !isSession(dates[first]!)) first++;
  while (last >= first && !isSession(dates[last]!)) last--;
  if (first > last) return 0;
  return findLastAtMost(sessions, dates[last]!) - findFirstAtLeast(sessions, dates[first]!) + 1;
}

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
  /** Stated dates of a rebalance after the first whose reference date is before the first session; otherwise absent. */
  readonly unreached?: { readonly reference: Day; readonly announcement: Day };
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

function listReviewsOfStart(document: IndexDocument, sm: SessionMarket, first: number): DueRebalance[] {
  const baseDay = parseValidDay(document.base_date);
  const query = { calendar: sm.calendar, baseDay, from: baseDay, to: sm.sessions[first]! };
  return listReviews(document).flatMap((review) => {
    const date = review.id === DEFAULT_REVIEW ? undefined : listReviewDates(review, query).at(-1);
    return date === undefined ? [] : [{ ...placeRebalance(date, sm, first), session: first, review: review.id }];
  });
}

interface DueSpan {
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
function listDueCloses(
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
function listPhaseCloses(date: RebalanceDate, fractions: readonly number[], { sessions }: Calendar) {
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
 * its announcement date; if there are none up to that date either, on its effective session.
 */
function placeRebalance(
  { date, also = [], session, decision, announcement = decision, pricing = decision }: RebalanceDate,
  sm: SessionMarket,
  first: number,
): DueRebalance {
  const { sessions } = sm;
  const position = findPricedSession(sm, findLastAtMost(sessions, session), first);
  // The first rebalance is decided on the base date if its reference date has no data.
  const isUnreached = decision < sessions[0]! && decision < session && position > first;
  const unreached = isUnreached ? { unreached: { reference: decision, announcement } } : {};
  const reference = isUnreached && announcement < session ? announcement : decision;
  const decisionSession = Math.min(findLastAtMost(sessions, reference), position);
  const isReached = sessions[decisionSession] !== undefined && reference >= sessions[0]! && reference < session;
  if (!isReached) return { date, also, session: position, decision: position, announced: null, ...unreached };
  const pricingSession = Math.max(decisionSession, Math.min(findLastAtMost(sessions, pricing), position));
  return {
    date,
    also,
    session: position,
    decision: decisionSession,
    ...(pricingSession === decisionSession ? {} : { pricing: pricingSession }),
    announced: announcement < session ? sessions[findLastAtMost(sessions, announcement)]! : null,
    ...unreached,
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

interface DecidingReview extends Review {
  /** Key of the decider within one composer. */
  readonly key: string;
  readonly text: IndexText;
}

/** Returns the version of the definition and the review that decide a rebalance. */
export function findDecider(
  document: IndexDocument,
  { amendment = 0, review = DEFAULT_REVIEW }: DueText = {},
): DecidingReview {
  const text = listDatedTexts(document)[amendment]!; // there is one version per amendment
  return { ...findReview(text.document, review), key: `${document.id} ${amendment} ${review}`, text };
}

/**
 * Returns the session whose earlier changes of constituents a rebalance follows. A review that keeps the constituents
 * keeps those in force before its effective close. It only reads prices and weights as of its reference date.
 */
export const findFollowedSession = (document: IndexDocument, rebalance: DueRebalance): number =>
  findDecider(document, rebalance).scope === 'membership' ? rebalance.decision : rebalance.session;

/** Returns the rebalances of an index, each under the version of the definition in force on its date. */
export function listDueUnderTexts(
  document: IndexDocument,
  sm: SessionMarket,
  { first, last }: Pick<DueSpan, 'first' | 'last'>,
): DueRebalance[] {
  if (listDatedTexts(document).length === 1) return listDueRebalances(document, sm, { first, last });
  const begin = listDueRebalances(document, sm, { first, last: first });
  return [...begin, ...listDueAfterUnderTexts(document, sm, { first, after: first, last })];
}

/** Returns the rebalances due after a session under each version of the definition. */
export function listDueAfterUnderTexts(document: IndexDocument, sm: SessionMarket, span: DueSpan): DueRebalance[] {
  const texts = listDatedTexts(document);
  if (texts.length === 1) return listDueAfter(document, sm, span);
  const due = texts.flatMap((text, k) => {
    const endDay = texts[k + 1]?.from ?? Infinity;
    const isOfText = ({ date, phase }: DatedClose): boolean =>
      (phase?.start ?? date) >= text.from && (phase?.start ?? date) < endDay;
    const textRebalances = listDueAfter(text.document, sm, span).filter(isOfText);
    return [...listImmediateRebalances(text, sm, { ...span, isOfText }), ...textRebalances].map((rebalance) =>
      k === 0 ? rebalance : { ...rebalance, amendment: k },
    );
  });
  return listLastOfTexts(due.toSorted((a, b) => a.session - b.session || a.date - b.date));
}

/**
 * Keeps only the closes of the latest version if several versions have a close on one session. A review of the new
 * version ends the remaining closes of the old one.
 */
function listLastOfTexts(due: readonly DueRebalance[]): DueRebalance[] {
  const latestAmendments = new Map<number, number>();
  for (const { session, amendment = 0 } of due)
    latestAmendments.set(session, Math.max(amendment, latestAmendments.get(session) ?? 0));
  return due.filter(
    ({ session, amendment = 0, phase }) => phase === undefined || amendment === latestAmendments.get(session),
  );
}

type DatedClose = Pick<DueRebalance, 'date' | 'phase'>;

interface ImmediateSpan extends DueSpan {
  /** Returns true if a version of the definition is in force on the date of a rebalance. */
  readonly isOfText: (due: DatedClose) => boolean;
}

/**
 * Returns the closes of the rebalance of an amendment that requests an immediate rebalance. Returns an empty list if
 * the schedule has a selection on that session.
 */
function listImmediateRebalances(
  { from, document, amendment }: IndexText,
  sm: SessionMarket,
  { isOfText, ...span }: ImmediateSpan,
): DueRebalance[] {
  if (amendment?.rebalance !== true) return [];
  const session = findFirstAtLeast(sm.sessions, from);
  if (listSelectionDates(document, sm, session).some(isOfText)) return [];
  return listDueCloses(document, sm, { ...span, session });
}

/**
 * Returns the scheduled dates of a session on which constituents are selected. They do not depend on the sessions that
 * a run adds, because the later closes of a rebalance may be on later sessions.
 */
function listSelectionDates(
  document: IndexDocument,
  { sessions, calendar }: SessionMarket,
  session: number,
): readonly RebalanceDate[] {
  const day = sessions[session];
  if (day === undefined) return [];
  const baseDay = parseValidDay(document.base_date);
  return listReviews(document)
    .filter(({ scope }) => scope === 'membership')
    .flatMap(({ document: { rebalance } }) => listRebalanceDates({ rebalance, calendar, baseDay, from: day, to: day }));
}

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
  const texts = listDatedTexts(document);
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

export function findAnnouncement({ decision, announcement = decision }: NextRebalance): Day {
  return announcement;
}
