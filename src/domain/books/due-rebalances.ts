import { dayFrom, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { panelRow, type SessionMarket } from '../market/session-market.js';
import { rebalanceDates, type RebalanceDate } from '../schedule/schedule.js';
import { lastAtMost } from '../numbers/search.js';

export interface DueRebalance {
  readonly date: Day;
  readonly also: readonly Day[];
  readonly session: number;
  readonly decision: number;
  readonly announced: Day | null;
  /** Position of the text that it follows, where that is not the first: see `textsOf`. */
  readonly amendment?: number;
  /** What called for it, where that is not the schedule. */
  readonly cause?: 'breach';
}

/**
 * The rebalances of a definition on the axis of the market: the first on the first session, then those of the schedule.
 */
export function dueRebalances(
  document: IndexDocument,
  sm: SessionMarket,
  { first, last }: { readonly first: number; readonly last: number },
): DueRebalance[] {
  const { rebalance } = document;
  const { sessions } = sm;
  const lagged = sessions[first - rebalance.effective_lag] ?? sessions[first]! - 1;
  const begin = placeRebalances(document, sm, {
    first,
    dates: [{ date: sessions[first]!, session: sessions[first]!, decision: lagged }],
  });
  return [...begin, ...dueAfter(document, sm, { first, after: first, last })];
}

export interface DueSpan {
  /** First session of the index. */
  readonly first: number;
  /** Those of the schedule after this session, up to the last. */
  readonly after: number;
  readonly last: number;
}

/** The rebalances that the schedule of an index has after a session, on the axis of the market. */
export function dueAfter(document: IndexDocument, sm: SessionMarket, { first, after, last }: DueSpan): DueRebalance[] {
  const { rebalance, base_date } = document;
  const { sessions, calendar } = sm;
  const dates = rebalanceDates({
    rebalance,
    calendar,
    baseDay: dayFrom(base_date),
    from: sessions[after]! + 1,
    to: sessions[last]!,
  });
  return placeRebalances(document, sm, { first, dates });
}

interface ScheduledRebalances {
  readonly first: number;
  readonly dates: readonly RebalanceDate[];
}

function placeRebalances(
  { rebalance }: IndexDocument,
  sm: SessionMarket,
  { first, dates }: ScheduledRebalances,
): DueRebalance[] {
  const { sessions } = sm;
  return dates.map(({ date, also = [], session, decision }) => {
    const position = pricedSession(sm, lastAtMost(sessions, session), first);
    const decided = Math.min(lastAtMost(sessions, decision), position);
    const reaches =
      rebalance.effective_lag > 0 && sessions[decided] !== undefined && decision >= sessions[0]! && decision < session;
    if (!reaches) return { date, also, session: position, decision: position, announced: null };
    return { date, also, session: position, decision: decided, announced: sessions[decided]! };
  });
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
