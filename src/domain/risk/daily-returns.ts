import type { Day } from '../time/days.js';
import { readEffect, createEffectsByDay, type EffectsByDay } from '../index-mathematics/effects-by-day.js';
import { computeGrowthStep } from '../index-mathematics/adjusted-close.js';
import { combineEffects, type SessionEffect } from '../index-mathematics/session-effect.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import type { MarketData } from '../market/market-data.js';
import { findMissingBars } from '../market/missing-bars.js';
import { listRowsWithBar } from '../market/narrow-market.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import { createSortedHistory, type BarGaps } from './bar-history.js';
import { findHistoryCoverage, type ReturnSource } from './return-panel.js';

/** Securities of a market with a range of days. */
export interface DailySecurities {
  /** Market columns without duplicates, in the order of the matrix. */
  readonly columns: ArrayLike<number>;
  /** First and last day; null for an open end. */
  readonly from: Day | null;
  readonly to: Day | null;
}

/** Closes of the securities, with their positions in the field. */
interface ClosePositions {
  readonly close: Float64Array;
  /** Number of market columns. */
  readonly width: number;
  /** Row of the field for each session. */
  readonly rows: Int32Array;
  readonly columns: Int32Array;
}

/**
 * Computes the returns of securities on the days on which any of them has a bar, each in the currency of its prices.
 * Reads closes directly; the returns are bit-identical to growth over the aligned market. Columns of the result are
 * positions among the requested securities.
 * @cost one pass over the closes of the window for the gaps, one for the returns, and the actions of the securities
 */
export function computeDailyReturns(market: MarketData, names: DailySecurities, terms: GrowthTerms): ReturnSource {
  const columns = Int32Array.from(names.columns);
  const { rows, gaps } = findBars(market, { ...names, columns });
  const closes = { close: market.fields.get('CLOSE')!, width: market.identifiers.length, rows, columns };
  const sessions = rows.map((row) => market.dates[row]!);
  const coverage = findHistoryCoverage(
    createSortedHistory(gaps),
    columns.map((_, place) => place),
    {
      from: 0,
      to: rows.length - 1,
    },
  );
  return {
    sm: { identifiers: Array.from(columns, (column) => market.identifiers[column]!), sessions },
    coverage,
    read(out) {
      readRows({ closes, sessions, coverage, effects: createEffectsByDay(market, terms) }, out);
    },
  };
}

/** Returns the rows on which any of the securities has a bar, and the gaps of each security. */
function findBars(
  market: MarketData,
  { columns, from, to }: DailySecurities & Pick<ClosePositions, 'columns'>,
): { readonly rows: Int32Array; readonly gaps: BarGaps } {
  const first = from === null ? 0 : findFirstAtLeast(market.dates, from);
  const last = to === null ? market.dates.length - 1 : findLastAtMost(market.dates, to);
  const missingRows = findMissingBars(market, { columns, from: first, to: last });
  const isWhole = missingRows.some(({ length }) => length === 0);
  const rows = isWhole
    ? Int32Array.from({ length: Math.max(0, last - first + 1) }, (_, s) => first + s)
    : listRowsWithBar(market, { columns, from, to });
  const sessions = isWhole
    ? missingRows.map((own) => own.map((row) => row - first))
    : missingRows.map((own) => own.map((row) => findLastAtMost(rows, row)).filter((s, i) => rows[s] === own[i]));
  return { rows, gaps: createGaps(sessions, rows.length) };
}

/**
 * Converts sessions without a bar to gaps.
 * @param missing sessions without a bar of each security, ascending
 * @param count number of sessions
 */
function createGaps(missing: readonly Int32Array[], count: number): BarGaps {
  const first = new Int32Array(missing.length);
  const last = new Int32Array(missing.length);
  const barless = missing.map((missingPositions, k) => {
    let begin = 0;
    while (begin < missingPositions.length && missingPositions[begin] === begin) begin++;
    let end = missingPositions.length;
    while (end > begin && missingPositions[end - 1] === count - 1 - (missingPositions.length - end)) end--;
    first[k] = begin;
    last[k] = begin === count ? -1 : count - 1 - (missingPositions.length - end);
    return missingPositions.subarray(begin, end);
  });
  return { first, last, barless, returnless: barless.map(addNextSessions) };
}

/** Returns the sessions without a return: those without a bar, and the session after each of them. */
function addNextSessions(barless: Int32Array): Int32Array {
  const lostColumns: number[] = [];
  for (const session of barless) {
    if (lostColumns.at(-1) !== session) lostColumns.push(session);
    lostColumns.push(session + 1);
  }
  return Int32Array.from(lostColumns);
}

/** Data from which the returns of a coverage are computed. */
interface ReturnReader {
  readonly closes: ClosePositions;
  /** Day of each session. */
  readonly sessions: Int32Array;
  readonly coverage: Pick<ReturnSource['coverage'], 'columns' | 'sessions'>;
  readonly effects: EffectsByDay;
}

/**
 * Writes returns row by row: each close over the previous session's close, less 1; then the effects of corporate
 * actions.
 * @param out [T x n], overwritten
 */
function readRows({ closes, sessions, coverage, effects }: ReturnReader, out: Float64Array): void {
  const { close, width, rows, columns } = closes;
  const coveredColumns = coverage.columns.map((place) => columns[place]!);
  const n = coveredColumns.length;
  const placeEffects = createEffectWriter({ effects, close, width, columns: coveredColumns });
  const divideRows = coveredColumns.every((column, place) => column === coveredColumns[0]! + place)
    ? divideContiguous
    : divideRow;
  for (let t = 0; t < coverage.sessions.length; t++) {
    const session = coverage.sessions[t]!;
    const [from, to] = [rows[session - 1]! * width, rows[session]! * width];
    divideRows(close, { from, to, columns: coveredColumns }, out, t * n);
    // Effects on days between two sessions apply on the later session.
    const first = findFirstAtLeast(effects.days, sessions[session - 1]! + 1);
    placeEffects({ session, first, day: sessions[session]!, from, to }, out, t * n);
  }
}

interface RowOfCloses {
  /** Offsets of the previous session's row and of the session's row in the field. */
  readonly from: number;
  readonly to: number;
  readonly columns: Int32Array;
}

function divideRow(close: Float64Array, { from, to, columns }: RowOfCloses, out: Float64Array, position: number): void {
  for (let k = 0; k < columns.length; k++) {
    const column = columns[k]!;
    out[position + k] = close[to + column]! / close[from + column]! - 1;
  }
}

/** Divides closes of contiguous columns, without reading column positions. */
function divideContiguous(
  close: Float64Array,
  { from, to, columns }: RowOfCloses,
  out: Float64Array,
  position: number,
): void {
  const before = from + columns[0]!;
  const after = to + columns[0]!;
  for (let k = 0; k < columns.length; k++) out[position + k] = close[after + k]! / close[before + k]! - 1;
}

interface EffectWriterInput {
  readonly effects: EffectsByDay;
  readonly close: Float64Array;
  /** Number of market columns. */
  readonly width: number;
  /** Column of each security. */
  readonly columns: Int32Array;
}

interface EffectsOfSession extends Omit<RowOfCloses, 'columns'> {
  readonly session: number;
  /** Index of the first effect of the session. */
  readonly first: number;
  /** Last day whose effects apply on the session. */
  readonly day: Day;
}

/** Returns a function that writes the returns of the securities with effects on a session. */
function createEffectWriter({ effects, close, width, columns }: EffectWriterInput) {
  const positionByColumn = new Int32Array(width).fill(-1);
  columns.forEach((column, place) => (positionByColumn[column] = place));
  const latestSessions = new Int32Array(columns.length); // session 0 has no return
  return ({ session, first, day, from, to }: EffectsOfSession, out: Float64Array, position: number): void => {
    for (let e = first; e < effects.days.length && effects.days[e]! <= day; e++) {
      const column = effects.columns[e]!;
      const securityPosition = positionByColumn[column]!;
      if (securityPosition < 0) continue;
      const effect =
        latestSessions[securityPosition] === session
          ? combineColumnEffects(effects, column, first, e)
          : readEffect(effects, e);
      latestSessions[securityPosition] = session;
      out[position + securityPosition] =
        computeGrowthStep(effect, close[from + column]!, close[to + column]!).factor - 1;
    }
  };
}

/** Returns the combined effect of a column's effects from one index to another, both included. */
function combineColumnEffects(effects: EffectsByDay, column: number, first: number, last: number): SessionEffect {
  let sessionEffect: SessionEffect | undefined;
  for (let e = first; e <= last; e++) {
    if (effects.columns[e] !== column) continue;
    sessionEffect =
      sessionEffect === undefined ? readEffect(effects, e) : combineEffects(sessionEffect, readEffect(effects, e));
  }
  return sessionEffect!; // the last effect belongs to the column
}
