import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';

/**
 * Bars and returns of securities by session. It stores only the few sessions without them. Windows must not begin
 * before the market.
 */
export interface BarHistory {
  /** Returns the number of bars of a column from session `from` to `to`, both included. */
  bars(column: number, from: number, to: number): number;
  /** Returns the number of returns of a column on sessions after `from`, up to and including `to`. */
  returns(column: number, from: number, to: number): number;
  /** Returns the sessions after `from`, up to and including `to`, on which every column has a return, ascending. */
  complete(columns: ArrayLike<number>, from: number, to: number): Int32Array;
}

const NO_SESSIONS = new Int32Array(0);

const historyCache = new WeakMap<Float64Array, BarHistory>();

/**
 * Creates the history of a market's bars and of the returns in a growth panel. A return needs a bar on its session and
 * on the previous session. It also needs a growth factor, because an exchange rate may be missing where prices exist.
 * @param growth [S x N] from `computeGrowth`
 * @cost one pass over S x N, once per panel; then O(log) of the number of missing sessions
 */
export function createBarHistory(sm: SessionMarket, growth: Float64Array): BarHistory {
  const entry = historyCache.get(growth);
  if (entry) return entry;
  const history = buildBarHistory(sm, growth);
  historyCache.set(growth, history);
  return history;
}

function buildBarHistory(sm: SessionMarket, growth: Float64Array): BarHistory {
  const { sessions, securityCount, lastBar } = sm;
  const first = new Int32Array(securityCount).fill(sessions.length);
  const last = new Int32Array(securityCount).fill(-1);
  if (sm.first > 0) {
    // Before the first session of the market, only the existence of a bar matters.
    for (let column = 0; column < securityCount; column++)
      if (lastBar[column]! >= 0) first[column] = last[column] = lastBar[column]!;
  }
  const sessionsWithoutBar: number[][] = [];
  const sessionsWithoutReturn: number[][] = [];
  const addSession = (lists: number[][], column: number, session: number): void => {
    (lists[column] ??= []).push(session);
  };
  for (let s = sm.first; s < sessions.length; s++) {
    const row = readPanelRow(sm, s);
    for (let column = 0; column < securityCount; column++) {
      const position = row + column;
      const hasBar = lastBar[position] === s;
      if (last[column]! < 0) {
        if (hasBar) first[column] = last[column] = s;
        continue;
      }
      if (hasBar) last[column] = s;
      else addSession(sessionsWithoutBar, column, s);
      const factor = growth[position]!;
      // growth begins on the session after the first
      if (s > sm.first && (!hasBar || lastBar[position - securityCount] !== s - 1 || factor !== factor))
        addSession(sessionsWithoutReturn, column, s);
    }
  }
  return createSortedHistory({
    first,
    last,
    barless: packSessions(sessionsWithoutBar, last),
    returnless: packSessions(sessionsWithoutReturn, last),
  });
}

/**
 * First and last bar of each column. For the sessions in between, those without a bar and those without a return,
 * ascending.
 */
export interface BarGaps {
  /** Session of the first bar, [N]; after the last session if there is no bar. */
  readonly first: Int32Array;
  /** Session of the last bar, [N]; -1 if there is no bar. */
  readonly last: Int32Array;
  readonly barless: readonly Int32Array[];
  readonly returnless: readonly Int32Array[];
}

/** Creates the history from the gaps. */
export function createSortedHistory({ first, last, barless, returnless }: BarGaps): BarHistory {
  const countMissing = (list: Int32Array, from: number, to: number): number =>
    findLastAtMost(list, to) - findLastAtMost(list, from - 1);
  const countPresent = (list: Int32Array, from: number, to: number): number =>
    from > to ? 0 : to - from + 1 - countMissing(list, from, to);
  return {
    bars: (column, from, to) =>
      countPresent(barless[column]!, Math.max(from, first[column]!), Math.min(to, last[column]!)),
    returns: (column, from, to) =>
      countPresent(returnless[column]!, Math.max(from, first[column]!) + 1, Math.min(to, last[column]!)),
    complete(columns, from, to) {
      let begin = from + 1;
      let end = to;
      for (let k = 0; k < columns.length; k++) {
        begin = Math.max(begin, first[columns[k]!]! + 1);
        end = Math.min(end, last[columns[k]!]!);
      }
      if (begin > end) return new Int32Array(0);
      const isMissing = new Uint8Array(end - begin + 1);
      for (let k = 0; k < columns.length; k++) {
        const list = returnless[columns[k]!]!;
        for (let i = findFirstAtLeast(list, begin); i < list.length && list[i]! <= end; i++)
          isMissing[list[i]! - begin] = 1;
      }
      const completeSessions: number[] = [];
      for (let i = 0; i < isMissing.length; i++) if (isMissing[i] === 0) completeSessions.push(begin + i);
      return Int32Array.from(completeSessions);
    },
  };
}

/** Returns the missing sessions of each column, up to its last bar. */
function packSessions(lists: readonly (readonly number[] | undefined)[], last: Int32Array): Int32Array[] {
  return Array.from(last, (until, column) => {
    const list = lists[column];
    return list === undefined ? NO_SESSIONS : Int32Array.from(list.slice(0, findLastAtMost(list, until) + 1));
  });
}
