import { allocateRetainedIntegersBelow } from '#base/memory.js';
import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import type { Day } from '../base/time.js';
import type { Calendar, Calendars } from '../calendars/calendar.js';
import {
  ACTION_KINDS,
  type CorporateAction,
  createReferenceSpells,
  findSpell,
  type MarketData,
} from './market-data.js';

/** Sessions of an exchange on the axis of the index calendar. */
export interface Exchange {
  /** 1 if the exchange was open, [S]. */
  readonly open: Uint8Array;
  /**
   * Number of sessions of the exchange up to and including each session of the axis, counted from an arbitrary origin,
   * [S].
   */
  readonly counted: Int32Array;
  countAfter(day: Day, session: number): number;
}

export interface ExchangesInput {
  readonly market: MarketData;
  readonly calendar: Calendar;
  readonly calendars: Calendars;
  readonly sessions: Int32Array;
}

/**
 * Returns the exchange of a security on a session. It is the value of the reference column EXCHANGE that was known on
 * that session, otherwise the exchange of the index calendar.
 */
function createExchanges({
  market,
  calendar,
  calendars,
  sessions,
}: ExchangesInput): (session: number, column: number) => Exchange {
  const mainExchange: Exchange = placeOnAxis(calendar, sessions);
  const byCode = new Map<string, Exchange>([[calendar.code, mainExchange]]);
  const findExchange = (code: unknown): Exchange => {
    if (typeof code !== 'string') return mainExchange;
    let exchange = byCode.get(code);
    if (!exchange) {
      const entry = calendars.get(code);
      exchange = entry ? placeOnAxis(entry, sessions) : mainExchange;
      byCode.set(code, exchange);
    }
    return exchange;
  };
  const spells = createReferenceSpells(market, 'EXCHANGE');
  const constantExchanges = spells.map((list) => {
    if (list.length === 0) return mainExchange;
    return list.length === 1 && list[0]!.from === -Infinity ? findExchange(list[0]!.value) : undefined;
  });
  return (session, column) => constantExchanges[column] ?? findExchange(findSpell(spells[column]!, sessions[session]!));
}

/**
 * Places the sessions of a calendar on the axis. Outside its coverage, an exchange is assumed to follow the index
 * calendar.
 */
function placeOnAxis(calendar: Calendar, sessions: Int32Array): Exchange {
  const openSessions = new Uint8Array(sessions.length);
  const sessionCounts = new Int32Array(sessions.length);
  const { from, to } = calendar.coverage;
  let position = 0;
  let count = 0;
  for (let s = 0; s < sessions.length; s++) {
    const day = sessions[s]!;
    while (position < calendar.sessions.length && calendar.sessions[position]! < day) {
      if (s > 0 && calendar.sessions[position]! > sessions[s - 1]!) count++;
      position++;
    }
    const isCovered = day >= from && day <= to;
    const isOpen = isCovered ? calendar.sessions[position] === day : true;
    if (isOpen) {
      openSessions[s] = 1;
      count++;
    }
    sessionCounts[s] = count;
  }
  return {
    open: openSessions,
    counted: sessionCounts,
    countAfter(day, session) {
      const next = findFirstAtLeast(sessions, day);
      const isOnAxis = sessions[next] === day;
      if (isOnAxis || next > session) return sessionCounts[session]! - sessionCounts[Math.min(next, session)]!;
      const own = calendar.sessions;
      const isBeforeNext = sessions[next]! >= from && sessions[next]! <= to;
      const upToNext = isBeforeNext ? findLastAtMost(own, sessions[next]!) - findLastAtMost(own, day) : 1;
      return upToNext + sessionCounts[session]! - sessionCounts[next]!;
    },
  };
}

/** Corporate action placed on the session at which it takes effect. */
export interface SessionAction {
  readonly session: number;
  readonly column: number;
  readonly action: CorporateAction;
}

/** All effective actions, ordered by the session on which they take effect, column, ex-date and type. */
export interface SessionActions {
  readonly all: readonly SessionAction[];
  /** Position in `all` of the first action of each session, [S + 1]. */
  readonly starts: Int32Array;
  readonly related: readonly SessionAction[];
  /** Rights issues without a subscription price, whose value is unknown. */
  readonly unpricedRights: readonly SessionAction[];
  /** 1 for sessions with an action that changes the composition of a holding, [S]. */
  readonly isStructural: Uint8Array;
}

/** Actions that change the identity of a holding. Rights change only its price. */
const STRUCTURAL: ReadonlySet<CorporateAction['type']> = new Set([
  'SPIN_OFF',
  'MERGER',
  'ACQUISITION',
  'DELISTING',
  'TICKER_CHANGE',
]);

export interface PlaceActionsInput {
  readonly market: MarketData;
  readonly sessions: Int32Array;
  readonly calendar: Calendar;
  columnOf(identifier: string): number;
}

/**
 * Places the actions of a store on sessions. If an ex-date is not a session, the action takes effect on the next
 * session. Excludes cancelled actions, actions of securities outside the store, and actions before its first day or
 * after its last session.
 * @cost O(A log S)
 */
export function placeActions({ market, sessions, calendar, columnOf }: PlaceActionsInput): SessionActions {
  const first = market.dates[0] ?? 0;
  const datedActions: SessionAction[] = [];
  for (const action of market.actions) {
    if (action.status === 'cancelled' || action.exDay < first) continue;
    const column = columnOf(action.identifier);
    const session = findFirstAtLeast(sessions, action.exDay);
    if (column >= 0 && session < sessions.length && action.exDay <= calendar.coverage.to)
      datedActions.push({ session, column, action });
  }
  return orderActions(datedActions, sessions.length);
}

/** Orders placed actions. Actions of one session, column and ex-date keep their order. */
function orderActions(placed: readonly SessionAction[], sessionCount: number): SessionActions {
  const all = placed.toSorted(
    (a, b) => a.session - b.session || a.column - b.column || a.action.exDay - b.action.exDay,
  );
  const starts = new Int32Array(sessionCount + 1);
  const isStructural = new Uint8Array(sessionCount);
  for (const { session, action } of all) {
    starts[session + 1]!++;
    if (STRUCTURAL.has(action.type)) isStructural[session] = 1;
  }
  for (let s = 0; s < sessionCount; s++) starts[s + 1]! += starts[s]!;
  return {
    all,
    related: all.filter(({ action }) => action.related !== null),
    unpricedRights: all.filter(({ action }) => action.type === 'RIGHTS_ISSUE' && action.subscriptionPrice === null),
    starts,
    isStructural,
  };
}

/** Market of which another differs only in the actions and prices of some securities. */
export interface MarketBasis {
  readonly sm: SessionMarket;
  /** Columns of these securities, ascending. */
  readonly columns: readonly number[];
  /** Actions of these securities in the changed market. */
  readonly actions: SessionActions;
}

const bases = new WeakMap<SessionMarket, MarketBasis>();

/** Returns the market of which a market was made by `changeSecurities`. Returns undefined for other markets. */
export const findBasis = (sm: SessionMarket): MarketBasis | undefined => bases.get(sm);

/**
 * Returns a market after changes of the actions and closes of some securities. The new market has the same missing bars,
 * dates and reference data, so that everything that concerns other securities is shared.
 * @cost O(S + A)
 */
export function changeSecurities(
  sm: SessionMarket,
  { market, calendars }: { readonly market: MarketData; readonly calendars: Calendars },
  columns: readonly number[],
): SessionMarket {
  const { calendar, sessions, columnOf } = sm;
  const isChanged = new Set(columns);
  const names = new Set(columns.map((column) => sm.identifiers[column]!));
  const own = market.actions.filter(({ identifier }) => names.has(identifier));
  const actions = placeActions({ market: { ...market, actions: own }, sessions, calendar, columnOf });
  const changed = alignMarket({
    market,
    calendar,
    calendars,
    shared: {
      ...sm,
      actions: orderActions(
        [...sm.actions.all.filter(({ column }) => !isChanged.has(column)), ...actions.all],
        sessions.length,
      ),
    },
  });
  bases.set(changed, { sm, columns, actions });
  return changed;
}

/** Action that ends a security, or changes its code. */
interface Ending {
  readonly session: number;
  readonly exDay: Day;
  /** Column of the new code of a change of ticker. */
  readonly into?: number;
  /** Session of the first bar of the new code on or after `session`; default: Infinity. */
  readonly since?: number;
}

export interface EndingsInput {
  readonly securityCount: number;
  readonly sessionCount: number;
  columnOf(identifier: string): number;
  hasBar(session: number, column: number): boolean;
}

export interface Endings {
  /** 1 for securities with an action that ends them, [N]. */
  readonly canEnd: Uint8Array;
  /** Returns true if a security whose latest bar is given has ended. A bar between sessions may precede the ex-date. */
  hasEnded(session: number, column: number, bar: number, findBarDay: () => Day): boolean;
  /** Returns true if a change of ticker is effective. */
  isRenamed(session: number, column: number, into: number): boolean;
}

/** Returns the endings of all securities. @cost O(A), plus the sessions until the first bar of each new code */
function createEndings(actions: SessionActions, input: EndingsInput): Endings {
  const endings = listEndings(actions, input);
  const canEnd = new Uint8Array(input.securityCount);
  for (const column of endings.keys()) canEnd[column] = 1;
  return {
    canEnd,
    hasEnded: (session, column, bar, findBarDay) =>
      endings.get(column)!.some(({ session: end, exDay, since }) => {
        if (end > session) return false;
        if (since === undefined) return bar <= end;
        return bar < end || (bar === end && findBarDay() < exDay) || (since <= session && bar <= since);
      }), // endings exist for columns flagged in `canEnd`
    isRenamed: (session, column, into) =>
      endings.get(column)?.some((ending) => ending.into === into && ending.since! <= session) ?? false,
  };
}

function listEndings({ all }: SessionActions, { sessionCount, columnOf, hasBar }: EndingsInput): Map<number, Ending[]> {
  const endings = new Map<number, Ending[]>();
  const add = (column: number, ending: Ending): void => {
    const list = endings.get(column);
    if (list) list.push(ending);
    else endings.set(column, [ending]);
  };
  for (const { session, column, action } of all) {
    const { type, related, exDay } = action;
    if (type === 'DELISTING' || type === 'ACQUISITION' || type === 'MERGER') add(column, { session, exDay });
    const into = type === 'TICKER_CHANGE' && related !== null ? columnOf(related) : -1;
    if (into < 0 || into === column) continue;
    let since = session;
    while (since < sessionCount && !hasBar(since, into)) since++;
    add(column, { session, exDay, into, since: since < sessionCount ? since : Number.POSITIVE_INFINITY });
  }
  return endings;
}

/**
 * Rows of the panels of a market by session. A row between two sessions, such as one of another exchange on a holiday,
 * belongs to the later session, where it supplies the values that later rows lack. Rows before the first session belong
 * to it.
 */
interface SessionRows {
  /** Returns true if a session has a row of another day. */
  isMerged(session: number): boolean;
  readonly isAnyMerged: boolean;
  /** Returns the start of the row of a session that has only one row; negative without a row. */
  startOf(session: number): number;
  /** Returns the cells of a session, [N] from `from` on; `from` is negative without a row. */
  read(panel: Float64Array, session: number): { readonly cells: Float64Array; readonly from: number };
  valueAt(panel: Float64Array, session: number, column: number): number;
  /** Returns the day of the value of a session. Returns NaN without a value. */
  dayOf(panel: Float64Array, session: number, column: number): Day;
}

/** @cost O(S + T) */
function createSessionRows(
  sessions: Int32Array,
  { dates, identifiers }: Pick<MarketData, 'dates' | 'identifiers'>,
): SessionRows {
  const width = identifiers.length;
  const last = new Int32Array(sessions.length).fill(-1);
  for (let s = 0, row = 0; s < sessions.length; s++) {
    while (row < dates.length && dates[row]! <= sessions[s]!) row++;
    last[s] = row - 1;
  }
  const readFirst = (session: number): number => (session === 0 ? 0 : last[session - 1]! + 1);
  const isMerged = (session: number): boolean => {
    const [from, to] = [readFirst(session), last[session]!];
    return from < to || (from === to && dates[to] !== sessions[session]);
  };
  let isAnyMerged = false;
  for (let s = 0; s < sessions.length; s++) if (isMerged(s)) isAnyMerged = true;
  const findRow = (panel: Float64Array, session: number, column: number): number => {
    for (let row = last[session]!; row >= readFirst(session); row--)
      if (!Number.isNaN(panel[row * width + column]!)) return row;
    return -1;
  };
  const merge = (panel: Float64Array, session: number): Float64Array => {
    const to = last[session]!;
    const cells = panel.slice(to * width, (to + 1) * width);
    for (let row = to - 1; row >= readFirst(session); row--)
      for (let i = 0; i < width; i++) if (Number.isNaN(cells[i]!)) cells[i] = panel[row * width + i]!;
    return cells;
  };
  return {
    isMerged,
    isAnyMerged,
    startOf: (session) => (last[session]! < readFirst(session) ? -1 : last[session]! * width),
    read(panel, session) {
      const to = last[session]!;
      if (to < readFirst(session)) return { cells: panel, from: -1 };
      return readFirst(session) < to ? { cells: merge(panel, session), from: 0 } : { cells: panel, from: to * width };
    },
    valueAt(panel, session, column) {
      const row = findRow(panel, session, column);
      return row < 0 ? Number.NaN : panel[row * width + column]!;
    },
    dayOf(panel, session, column) {
      const row = findRow(panel, session, column);
      return row < 0 ? Number.NaN : dates[row]!;
    },
  };
}

interface Panel {
  readonly close: Float64Array;
  readonly rows: SessionRows;
  readonly count: number;
  readonly securityCount: number;
}

/** Returns the latest bars by session and the gaps between bars. @param mark state after which the bars are listed */
function createLastBars(
  { close, rows, count: sessionCount, securityCount }: Panel,
  mark: { readonly session: number; readonly lastBar: Int32Array } | undefined,
): { readonly lastBar: Int16Array | Int32Array; readonly gaps: Int32Array } {
  const first = mark ? mark.session : 0;
  const bars = allocateRetainedIntegersBelow(sessionCount, (sessionCount - first) * securityCount);
  if (mark) bars.set(mark.lastBar);
  else if (sessionCount > 0) {
    const { cells, from } = rows.read(close, 0);
    for (let i = 0; i < securityCount; i++) bars[i] = hasBar(cells, from + i) ? 0 : -1;
  }
  const resumedSessions = new Int32Array(securityCount);
  /** Column, session before and session after of each gap. */
  let gaps = new Int32Array(3 * securityCount);
  let count = 0;
  for (let session = first + 1; session < sessionCount; session++) {
    const to = (session - first) * securityCount;
    const { cells, from } = rows.read(close, session);
    if (from < 0) {
      bars.copyWithin(to, to - securityCount, to);
      continue;
    }
    const resumedCount = takeBars({ close: cells, from, bars, to, session }, resumedSessions);
    if (3 * (count + resumedCount) > gaps.length) gaps = widenBars(gaps);
    for (let k = 0; k < resumedCount; k++) {
      const column = resumedSessions[k]!;
      const before = bars[to - securityCount + column]!;
      if (before < 0) continue;
      gaps[3 * count] = column;
      gaps[3 * count + 1] = before;
      gaps[3 * count++ + 2] = session;
    }
  }
  return { lastBar: bars, gaps: gaps.subarray(0, 3 * count) };
}

function widenBars(values: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const wide = new Int32Array(2 * values.length);
  wide.set(values);
  return wide;
}

/** Returns true if there is a close at a position. The position is negative for a session without closes. */
function hasBar(close: Float64Array, position: number): boolean {
  return position >= 0 && !Number.isNaN(close[position]!);
}

interface BarUpdate {
  readonly close: Float64Array;
  /** Position of the first close of the session. */
  readonly from: number;
  /** Latest bars by session; the row of the session is overwritten. */
  readonly bars: Int16Array | Int32Array;
  readonly to: number;
  readonly session: number;
}

/** Updates the latest bars. Writes the columns whose bars resume after a gap to `resumed`; returns their number. */
function takeBars({ close, from, bars, to, session }: BarUpdate, resumed: Int32Array): number {
  const securityCount = resumed.length;
  const previous = to - securityCount;
  let count = 0;
  for (let i = 0; i < securityCount; i++) {
    const price = close[from + i]!;
    const before = bars[previous + i]!;
    if (price === price) {
      bars[to + i] = session;
      if (before !== session - 1) resumed[count++] = i;
    } else {
      bars[to + i] = before;
    }
  }
  return count;
}

/**
 * Market on the sessions of a calendar. Indices are decided and simulated on these sessions. Sessions are numbered 0 to
 * S - 1, and securities are columns of the market. No method uses data after its session.
 */
export interface SessionMarket {
  readonly market: MarketData;
  readonly calendar: Calendar;
  /** Session days of the calendar within the dates of the store, [S]. */
  readonly sessions: Int32Array;
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
  readonly index: Float64Array;
}

interface AlignMarketInput {
  readonly market: MarketData;
  readonly calendar: Calendar;
  readonly calendars: Calendars;
  /** State after whose session the sessions are aligned. Cash payments before it may be missing from the actions. */
  readonly mark?: MarketMark;
  readonly shared?: Pick<SessionMarket, 'sessions' | 'rows' | 'lastBar' | 'gaps' | 'actions'>;
}

/**
 * Aligns a market with a calendar.
 * @cost O(S N), one pass; memory of 2 S N bytes, or 4 S N for 32,768 sessions or more. With a mark O(S + N) and one
 * pass over the later sessions, and memory only for their rows
 */
export function alignMarket({ market, calendar, calendars, mark, shared }: AlignMarketInput): SessionMarket {
  const { identifiers, dates } = market;
  const securityCount = identifiers.length;
  const axis = { first: mark ? mark.session : 0, securityCount };
  const sessions = shared?.sessions ?? listSessions(calendar, dates);
  const rows = shared?.rows ?? createSessionRows(sessions, market);
  const close = market.fields.get('CLOSE')!;
  const columns = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const findColumn = (identifier: string): number => columns.get(identifier) ?? -1;
  const { lastBar, gaps } = shared ?? createLastBars({ close, rows, count: sessions.length, securityCount }, mark);
  const actions = shared?.actions ?? placeActions({ market, sessions, calendar, columnOf: findColumn });
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

/** Aligned markets by calendar. All indices of a calendar share one alignment. */
const alignedMarkets = new WeakMap<MarketData, WeakMap<Calendars, Map<string, SessionMarket>>>();

/**
 * Returns the market aligned to the sessions of a calendar. Calls with the same objects `market` and `calendars` share
 * one alignment.
 * @throws Refusal VALIDATION_FAILED if the calendar does not exist
 */
export function openMarketOn({
  market,
  calendars,
  code,
}: {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly code: string;
}): SessionMarket {
  let bySet = alignedMarkets.get(market);
  if (!bySet) alignedMarkets.set(market, (bySet = new WeakMap()));
  let byCode = bySet.get(calendars);
  if (!byCode) bySet.set(calendars, (byCode = new Map()));
  let sm = byCode.get(code);
  if (!sm) {
    const calendar = calendars.get(code);
    if (!calendar) throw new Refusal('VALIDATION_FAILED', `The calendar ${code} is not known.`);
    byCode.set(code, (sm = alignMarket({ market, calendar, calendars })));
  }
  return sm;
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

/** Securities without a bar on each session, after their first bar. */
export interface Absences {
  readonly columns: Int32Array;
  /** Position in `columns` of the first security of each session, [S + 1]. */
  readonly starts: Int32Array;
}

/**
 * Maximum age of the last bar of a listed security, in sessions of its exchange. A book that carries securities for
 * longer adds them itself: see `findGaps`.
 */
const AGE_MAX = 64;

const absencesByMarket = new WeakMap<SessionMarket, Absences>();

/**
 * Returns the securities without a bar on each session after an earlier bar. A security is no longer listed when its
 * last bar is more than `AGE_MAX` sessions old.
 * @cost O(S N), once per market
 */
export function listAbsences(sm: SessionMarket): Absences {
  let absences = absencesByMarket.get(sm);
  if (!absences) absencesByMarket.set(sm, (absences = findAbsences(sm)));
  return absences;
}

/** Lets a view of a market with the same bars use its absences. */
export function shareAbsences(sm: SessionMarket, view: SessionMarket): void {
  absencesByMarket.set(view, listAbsences(sm));
}

function findAbsences(sm: SessionMarket): Absences {
  const { securityCount, sessions, lastBar } = sm;
  const columns: number[] = [];
  const starts = new Int32Array(sessions.length + 1);
  for (let s = sm.mark ? sm.mark.session + 1 : 0; s < sessions.length; s++) {
    const row = readPanelRow(sm, s);
    for (let i = 0; i < securityCount; i++) {
      const bar = lastBar[row + i]!;
      if (bar >= 0 && (bar !== s || !sm.hasBar(s, i)) && sm.barAge(s, i) <= AGE_MAX) columns.push(i);
    }
    starts[s + 1] = columns.length;
  }
  return { columns: Int32Array.from(columns), starts };
}

/**
 * Returns true if a security has ended by the close of a session, or leaves the index at this close because it has no
 * price.
 */
export function hasLeftMarket(
  sm: Pick<SessionMarket, 'hasEnded' | 'isSilent'>,
  session: number,
  column: number,
  maxStaleSessions: number,
): boolean {
  return sm.hasEnded(session, column) || sm.isSilent(session, column, maxStaleSessions);
}

/**
 * Maximum number of cached market states per calendar. Runs of a market have few different end dates and look-backs.
 */
const MARKS_MAX = 4;

const markedMarketsCache = new WeakMap<MarketData, Map<string, SessionMarket[]>>();

/**
 * Returns a market that is aligned from a stored state on. All callers with an equal state share this market and the
 * data derived from it.
 */
export function alignMarkedMarket(input: AlignMarketInput & { readonly mark: MarketMark }): SessionMarket {
  const { market, calendar, mark } = input;
  let byCalendar = markedMarketsCache.get(market);
  if (byCalendar === undefined) markedMarketsCache.set(market, (byCalendar = new Map()));
  const { code } = calendar;
  const otherMarkets = byCalendar.get(code) ?? [];
  const earlierMarket = otherMarkets.find((sm) => sm.calendar === calendar && isSame(sm.mark!, mark));
  const sessionMarket = earlierMarket ?? alignMarket(input);
  byCalendar.set(code, [sessionMarket, ...otherMarkets.filter((sm) => sm !== sessionMarket)].slice(0, MARKS_MAX));
  return sessionMarket;
}

function isSame(a: MarketMark, b: MarketMark): boolean {
  if (a.session !== b.session || !haveSameMarks(a.lastBar, b.lastBar)) return false;
  if (a.terms === null || b.terms === null) return a.terms === b.terms;
  if (a.terms.size !== b.terms.size) return false;
  return [...a.terms].every(([key, { carried, index }]) => {
    const otherTerms = b.terms!.get(key);
    return (
      otherTerms !== undefined && haveSameMarks(carried, otherTerms.carried) && haveSameMarks(index, otherTerms.index)
    );
  });
}

/** Compares arrays by bits. Securities without a price have NaN in both arrays, and NaN is not equal to itself. */
function haveSameMarks(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

/**
 * Sessions without a return, for securities after their first bar. A return needs bars on its session and on the
 * previous one, so a missing bar removes two returns. Ranges of sessions include both ends and begin after the first
 * session of the market.
 */
export interface ReturnGaps {
  /** Returns the gaps of some columns. @cost O(N + gaps of these sessions) */
  of(columns: Int32Array, { from, to }: GapSessions): GapsByColumn;
  /** Writes NaN to the cells of the gaps of every column. @cost O(N + gaps of these sessions) */
  clear({ cells, stride, origin }: ColumnPanel, { from, to }: GapSessions): void;
  /** Multiplies a value of each column by the growth over its gaps. @cost O(N + gaps of these sessions) */
  multiplyGrowth(values: Float64Array, columns: Int32Array, { from, to }: GapSessions): void;
}

export interface GapSessions {
  readonly from: number;
  readonly to: number;
}

export interface GapsByColumn {
  /** Position of the first gap session of each column, [n + 1]. */
  readonly starts: Int32Array;
  readonly sessions: Int32Array;
}

/** Cells of consecutive sessions, column by column. */
export interface ColumnPanel {
  readonly cells: Float64Array;
  readonly stride: number;
  readonly origin: number;
}

const gapsByGrowth = new WeakMap<Float64Array, ReturnGaps>();

/**
 * Finds the gaps of a growth panel. @param growth [S - first x N] from `computeGrowth`
 * @cost O(gaps), once per panel
 */
export function findReturnGaps(sm: SessionMarket, growth: Float64Array): ReturnGaps {
  const entry = gapsByGrowth.get(growth);
  if (entry) return entry;
  const gaps = computeGaps(sm, growth);
  gapsByGrowth.set(growth, gaps);
  return gaps;
}

function computeGaps(sm: SessionMarket, growth: Float64Array): ReturnGaps {
  const { securityCount, lastBar, first } = sm;
  const last = lastBar.subarray(lastBar.length - securityCount);
  const { starts, columns } = listGapsBySession(sm);
  let factors: Float64Array | undefined;
  const positionByColumn = new Int32Array(securityCount);
  const findPositions = (requestedColumns: Int32Array): Int32Array => {
    positionByColumn.fill(-1);
    for (let k = 0; k < requestedColumns.length; k++) positionByColumn[requestedColumns[k]!] = k;
    return positionByColumn;
  };
  return {
    of(requestedColumns, { from, to }) {
      const positions = findPositions(requestedColumns);
      const result = new Int32Array(requestedColumns.length + 1);
      for (let g = starts[from - first]!; g < starts[to - first + 1]!; g++) {
        const k = positions[columns[g]!]!;
        if (k >= 0) result[k + 1]!++;
      }
      for (let k = 0; k < requestedColumns.length; k++)
        result[k + 1]! += result[k]! + Math.max(0, to - Math.max(from - 1, last[requestedColumns[k]!]!));
      const next = result.slice();
      const sessions = new Int32Array(result.at(-1)!);
      for (let s = from; s <= to; s++) {
        for (let g = starts[s - first]!; g < starts[s - first + 1]!; g++) {
          const k = positions[columns[g]!]!;
          if (k >= 0) sessions[next[k]!++] = s;
        }
      }
      for (let k = 0; k < requestedColumns.length; k++)
        for (let s = Math.max(from, last[requestedColumns[k]!]! + 1); s <= to; s++) sessions[next[k]!++] = s;
      return { starts: result, sessions };
    },
    clear({ cells, stride, origin }, { from, to }) {
      for (let s = from; s <= to; s++)
        for (let g = starts[s - first]!; g < starts[s - first + 1]!; g++)
          cells[columns[g]! * stride + s - origin] = Number.NaN;
      for (let column = 0; column < securityCount; column++)
        for (let s = Math.max(from, last[column]! + 1); s <= to; s++) cells[column * stride + s - origin] = Number.NaN;
    },
    multiplyGrowth(values, requestedColumns, { from, to }) {
      factors ??= computeGrowthAtGaps(sm, growth, { starts, columns });
      const positions = findPositions(requestedColumns);
      for (let g = starts[from - first]!; g < starts[to - first + 1]!; g++) {
        const k = positions[columns[g]!]!;
        if (k >= 0) values[k]! *= factors[g]!;
      }
      for (let k = 0; k < requestedColumns.length; k++) {
        const column = requestedColumns[k]!;
        for (let s = Math.max(from, last[column]! + 1); s <= to; s++)
          values[k]! *= defaultToOne(growth[readPanelRow(sm, s) + column]!);
      }
    },
  };
}

/** Returns the factor, or 1 if it is missing. */
function defaultToOne(factor: number): number {
  return factor === factor ? factor : 1;
}

/** Columns without a return on each session, up to the last bar of each. */
interface GapsBySession {
  /** Position of the first column of each session, starting with the first session, [S - first + 1]. */
  readonly starts: Int32Array;
  readonly columns: Int32Array;
}

function listGapsBySession({ gaps, sessions, first }: SessionMarket): GapsBySession {
  const starts = new Int32Array(sessions.length - first + 1);
  for (let g = 0; g < gaps.length; g += 3)
    for (let s = Math.max(gaps[g + 1]!, first) + 1; s <= gaps[g + 2]!; s++) starts[s - first + 1]!++;
  for (let row = 1; row < starts.length; row++) starts[row]! += starts[row - 1]!;
  const next = starts.slice();
  const columns = new Int32Array(starts.at(-1)!);
  for (let g = 0; g < gaps.length; g += 3)
    for (let s = Math.max(gaps[g + 1]!, first) + 1; s <= gaps[g + 2]!; s++) columns[next[s - first]!++] = gaps[g]!;
  return { starts, columns };
}

function computeGrowthAtGaps(
  { securityCount }: SessionMarket,
  growth: Float64Array,
  { starts, columns }: GapsBySession,
): Float64Array {
  const factors = new Float64Array(columns.length);
  for (let row = 0; row < starts.length - 1; row++)
    for (let g = starts[row]!; g < starts[row + 1]!; g++)
      factors[g] = defaultToOne(growth[row * securityCount + columns[g]!]!);
  return factors;
}
