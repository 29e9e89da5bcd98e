import { createExchanges } from './exchange-sessions.js';
import type { Calendar, Calendars } from '../calendars/calendar.js';
import type { Day } from '../time/days.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import { ACTION_KINDS, type MarketData } from './market-data.js';
import { placeActions, type SessionActions } from './session-actions.js';
import { createEndings } from './session-endings.js';
import { createLastBars, createSessionRows, type SessionRows } from './session-rows.js';

/**
 * Market on the sessions of a calendar. Indices are decided and simulated on these sessions. Sessions are numbered 0 to
 * S - 1, and securities are columns of the market. No method uses data after its session.
 */
export interface SessionMarket {
  readonly market: MarketData;
  readonly calendar: Calendar;
  /** Session days of the calendar within the dates of the store, [S]. */
  readonly sessions: Int32Array;
  /** Rows of the panels of the market that belong to each session. */
  readonly rows: SessionRows;
  readonly securityCount: number;
  readonly identifiers: readonly string[];
  /** First session with rows in panels by session. It is the session of `mark`, or 0 without a mark. */
  readonly first: number;
  /**
   * Latest session with a CLOSE bar on or before each session, -1 if none, [S - first x N]. A bar between two sessions
   * belongs to the later one.
   */
  readonly lastBar: Int16Array | Int32Array;
  /** Gaps between bars of a security, [G x 3], ordered by end: column, session before the gap and session after it. */
  readonly gaps: Int32Array;
  readonly actions: SessionActions;
  /** State of the market before its first session; null if all sessions have rows. */
  readonly mark: MarketMark | null;
  /** Returns the column of an identifier. Returns -1 if the store does not contain it. */
  columnOf(identifier: string): number;
  /** Returns the latest session on or before a day. Returns -1 before the first session. */
  sessionAt(day: Day): number;
  /** Returns the last value of a panel [T x N] after the previous session, up to a session. NaN without a value. */
  valueAt(panel: Float64Array, session: number, column: number): number;
  /** Returns the last CLOSE after the previous session, up to the session. Returns NaN without a bar. */
  closeAt(session: number, column: number): number;
  /** Returns the day of the latest CLOSE up to the session. Returns NaN before the first bar. */
  barDay(session: number, column: number): Day;
  /** Returns the latest CLOSE up to the session, divided by later split ratios. Returns NaN before the first bar. */
  carriedClose(session: number, column: number): number;
  /** Returns the number of sessions of the security's calendar since its latest bar; Infinity before the first bar. */
  barAge(session: number, column: number): number;
  /**
   * Returns true if the security has a bar on the session. A bar after the previous session counts if the exchange of
   * the security had no session since.
   */
  hasBar(session: number, column: number): boolean;
  /** Returns true if the exchange of the security was open on the session. */
  isOpen(session: number, column: number): boolean;
  /**
   * Returns true if a delisting, acquisition, merger or ticker change has ended the security, without a later bar. After
   * a ticker change, bars of the old code count until the new code has a bar. Later ones belong to another security.
   */
  hasEnded(session: number, column: number): boolean;
  /** Returns true if a ticker change from one security to another is effective: the new code has a bar since its ex-date. */
  isRenamed(session: number, column: number, into: number): boolean;
  /** Returns true if the latest bar is at most a number of sessions old and the security has not ended. */
  isPriceable(session: number, column: number, maxStaleSessions: number): boolean;
  /** Returns true if the security has had no bar for a number (at least one) of sessions of its calendar. */
  isSilent(session: number, column: number, maxStaleSessions: number): boolean;
}

/** Error for data before the start of a restricted market. The caller can use the whole market instead. */
export class BeforeMarketError extends Error {
  override readonly name = 'BeforeMarketError';
}

/**
 * Returns the start of the row of a session in panels by session.
 * @throws BeforeMarketError
 */
export function readPanelRow(sm: Pick<SessionMarket, 'first' | 'securityCount'>, session: number): number {
  assertSecurity(sm, session);
  return (session - sm.first) * sm.securityCount;
}

/** Asserts that a session has rows. @throws BeforeMarketError */
export function assertSecurity({ first }: Pick<SessionMarket, 'first'>, session: number): void {
  if (session < first)
    throw new BeforeMarketError(`session ${session} is before ${first}, from which on the market is there`);
}

/** State at a session from which later sessions are computed without earlier data. Columns are those of the market. */
export interface MarketMark {
  readonly session: number;
  /** Latest session with a bar, -1 if none. */
  readonly lastBar: Int32Array;
  /** States by the key of growth terms. Null for a market without simulations, which needs no value indices. */
  readonly terms: ReadonlyMap<string, TermsMark> | null;
}

export interface TermsMark {
  /** Key of the terms that change carried prices. Terms of different return variants have the same key. */
  readonly closeKey: string;
  /** Last price on the share basis of the session. */
  readonly carried: Float64Array;
  /** Value index at the session. */
  readonly index: Float64Array;
}

export interface AlignMarketInput {
  readonly market: MarketData;
  readonly calendar: Calendar;
  readonly calendars: Calendars;
  /** State after whose session the sessions are aligned. Cash payments before it may be missing from the actions. */
  readonly mark?: MarketMark;
}

/**
 * Aligns a market with a calendar.
 * @cost O(S N), one pass; memory of 2 S N bytes, or 4 S N for 32,768 sessions or more. With a mark O(S + N) and one
 * pass over the later sessions, and memory only for their rows
 */
export function alignMarket({ market, calendar, calendars, mark }: AlignMarketInput): SessionMarket {
  const { identifiers, dates } = market;
  const securityCount = identifiers.length;
  const axis = { first: mark ? mark.session : 0, securityCount };
  const sessions = listSessions(calendar, dates);
  const rows = createSessionRows(sessions, market);
  const close = market.fields.get('CLOSE')!;
  const columns = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const findColumn = (identifier: string): number => columns.get(identifier) ?? -1;
  const { lastBar, gaps } = createLastBars({ close, rows, count: sessions.length, securityCount }, mark);
  const actions = placeActions({ market, sessions, calendar, columnOf: findColumn });
  const splits = market.adjustment === 'none' ? listRatios(actions) : new Map<number, readonly Ratio[]>();
  const readClose = (session: number, column: number): number => rows.valueAt(close, session, column);
  const findBarDay = (session: number, column: number): Day => {
    const bar = lastBar[readPanelRow(axis, session) + column]!;
    return bar < 0 ? Number.NaN : rows.dayOf(close, bar, column);
  };
  const endings = createEndings(actions, {
    securityCount,
    sessionCount: sessions.length,
    columnOf: findColumn,
    hasBar: (session, column) => !Number.isNaN(readClose(session, column)),
  });
  const findExchange = createExchanges({ market, calendar, calendars, sessions });
  const computeBarAge = (session: number, column: number): number => {
    const bar = lastBar[readPanelRow(axis, session) + column]!;
    if (bar < 0) return Infinity;
    if (!rows.isMerged(bar)) {
      if (bar === session) return 0;
      const { counted } = findExchange(session, column);
      return counted[session]! - counted[bar]!;
    }
    return findExchange(session, column).countAfter(rows.dayOf(close, bar, column), session);
  };
  const hasEnded = (session: number, column: number): boolean =>
    endings.canEnd[column] === 1 &&
    endings.hasEnded(session, column, lastBar[readPanelRow(axis, session) + column]!, () =>
      findBarDay(session, column),
    );
  return {
    market,
    calendar,
    sessions,
    rows,
    ...axis,
    identifiers,
    lastBar,
    gaps,
    actions,
    mark: mark ?? null,
    columnOf: findColumn,
    closeAt: readClose,
    barAge: computeBarAge,
    hasEnded,
    isRenamed: endings.isRenamed,
    sessionAt: (day) => findLastAtMost(sessions, day),
    valueAt: rows.valueAt,
    barDay: findBarDay,
    hasBar: (session, column) =>
      lastBar[readPanelRow(axis, session) + column] === session &&
      (!rows.isMerged(session) || computeBarAge(session, column) === 0),
    carriedClose: (session, column) => {
      const bar = lastBar[readPanelRow(axis, session) + column]!;
      if (bar < 0) return Number.NaN;
      let price = readClose(bar, column);
      const own = splits.get(column);
      if (own === undefined || (bar === session && !rows.isMerged(bar))) return price;
      const day = rows.dayOf(close, bar, column);
      for (const split of own) if (split.day > day && split.session <= session) price /= split.ratio;
      return price;
    },
    isOpen: (session, column) => findExchange(session, column).open[session] === 1,
    isPriceable: (session, column, maxStaleSessions) =>
      lastBar[readPanelRow(axis, session) + column]! >= 0 &&
      computeBarAge(session, column) <= maxStaleSessions &&
      !hasEnded(session, column),
    isSilent: (session, column, maxStaleSessions) => computeBarAge(session, column) >= Math.max(1, maxStaleSessions),
  };
}

function listSessions(calendar: Calendar, dates: Int32Array): Int32Array {
  if (dates.length === 0) return new Int32Array(0);
  const from = findFirstAtLeast(calendar.sessions, dates[0]!);
  const to = findLastAtMost(calendar.sessions, dates.at(-1)!);
  return calendar.sessions.slice(from, Math.max(from, to + 1));
}

export interface MarkWindowInput {
  readonly market: MarketData;
  readonly calendar: Calendar;
  readonly session: number;
  /** Later session with its latest bars. A security without a bar since then need not be searched. */
  readonly later: Pick<MarketMark, 'session' | 'lastBar'> | null;
}

/**
 * Returns the market state from which decisions are made.
 * @cost O(S + N), and for each security without a bar near the session one cell of every earlier session
 */
export function markWindow({ market, calendar, session, later }: MarkWindowInput): MarketMark {
  const securityCount = market.identifiers.length;
  const rows = createSessionRows(listSessions(calendar, market.dates), market);
  const close = market.fields.get('CLOSE')!;
  const lastBar = new Int32Array(securityCount).fill(-1);
  let missingColumns = new Int32Array(securityCount);
  let count = 0;
  for (let column = 0; column < securityCount; column++) {
    const bar = later === null ? session + 1 : later.lastBar[column]!;
    if (bar > session) missingColumns[count++] = column;
    else lastBar[column] = bar;
  }
  missingColumns = missingColumns.subarray(0, count);
  for (let s = session; s >= 0 && count > 0; s--) {
    const { cells, from } = rows.read(close, s);
    if (from < 0) continue;
    let left = 0;
    for (let k = 0; k < count; k++) {
      const column = missingColumns[k]!;
      const price = cells[from + column]!;
      if (price === price) lastBar[column] = s;
      else missingColumns[left++] = column;
    }
    count = left;
  }
  return { session, lastBar, terms: null };
}

interface Ratio {
  readonly session: number;
  readonly day: Day;
  readonly ratio: number;
}

function listRatios({ all }: SessionActions): Map<number, Ratio[]> {
  const ratios = new Map<number, Ratio[]>();
  for (const { session, column, action } of all) {
    if (ACTION_KINDS[action.type] !== 'ratio') continue;
    const list = ratios.get(column);
    const ratio = { session, day: action.exDay, ratio: action.value };
    if (list) list.push(ratio);
    else ratios.set(column, [ratio]);
  }
  return ratios;
}
