import { formatDay, type Day } from '../time/days.js';
import { readRateSeries } from '../market/exchange-rates.js';
import { createReferenceSpells, isBlank } from '../market/reference-spells.js';
import { Refusal } from '../refusals/refusal.js';
import { readEffect, createEffectsByDay, type EffectsByDay } from '../index-mathematics/effects-by-day.js';
import { computeGrowthStep, countSharesOfPayments, spreadPayments } from '../index-mathematics/adjusted-close.js';
import { combineEffects, NO_EFFECT, type SessionEffect } from '../index-mathematics/session-effect.js';
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
 * Computes the returns of securities on the days on which any of them has a bar, each in the currency of its prices. On
 * the day of a change of currency, the previous close is converted at the last rate before it.
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
      const changes = listCurrencyChanges(market, columns);
      readRows({ closes, sessions, coverage, effects: createEffectsByDay(market, terms), changes, terms }, out);
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
  readonly changes: readonly CurrencyChange[];
  readonly terms: GrowthTerms;
}

/** Change of the currency in which a security is quoted. */
interface CurrencyChange {
  /** First day of the new currency. */
  readonly day: Day;
  readonly column: number;
  /** Returns the factor on a price of an earlier day. @throws Refusal FX_MISSING */
  readonly findFactor: (day: Day) => number;
}

function listCurrencyChanges(market: MarketData, columns: Int32Array): CurrencyChange[] {
  const spells = createReferenceSpells(market, 'CURRENCY');
  return Array.from(columns).flatMap((column) =>
    spells[column]!.flatMap(({ from: day, value: to }, k): CurrencyChange[] => {
      const from = k === 0 ? null : spells[column]![k - 1]!.value;
      if (typeof from !== 'string' || typeof to !== 'string' || isBlank(from) || isBlank(to)) return [];
      const findFactor = (on: Day): number =>
        requireFactor(market, { identifier: market.identifiers[column]!, from, to, on });
      return [{ day, column, findFactor }];
    }),
  );
}

interface ConvertedPrice {
  readonly identifier: string;
  readonly from: string;
  readonly to: string;
  readonly on: Day;
}

function requireFactor(market: MarketData, { identifier, from, to, on }: ConvertedPrice): number {
  const columnOf = (name: string): number => market.identifiers.indexOf(name);
  const day = { sessions: Int32Array.of(on), market, columnOf, securityCount: market.identifiers.length };
  const factor = readRateSeries(day, from, to)?.[0];
  if (factor !== undefined && factor > 0) return factor;
  const message = `${identifier} changes its currency from ${from} to ${to}, and the data contains no exchange rate ${from}${to} on ${formatDay(on)}.`;
  throw new Refusal('FX_MISSING', message, { identifier, pair: `${from}${to}` });
}

/**
 * Writes returns row by row: each close over the previous session's close, less 1; then the effects of corporate
 * actions.
 * @param out [T x n], overwritten
 */
function readRows({ closes, sessions, coverage, effects, changes, terms }: ReturnReader, out: Float64Array): void {
  const { close, width, rows, columns } = closes;
  const coveredColumns = coverage.columns.map((place) => columns[place]!);
  const n = coveredColumns.length;
  const placeEffects = createEffectWriter({ effects, changes, terms, close, width, columns: coveredColumns });
  const divideRows = coveredColumns.every((column, place) => column === coveredColumns[0]! + place)
    ? divideContiguous
    : divideRow;
  for (let t = 0; t < coverage.sessions.length; t++) {
    const session = coverage.sessions[t]!;
    const [from, to] = [rows[session - 1]! * width, rows[session]! * width];
    divideRows(close, { from, to, columns: coveredColumns }, out, t * n);
    // Effects on days between two sessions apply on the later session.
    const first = findFirstAtLeast(effects.days, sessions[session - 1]! + 1);
    placeEffects({ session, first, before: sessions[session - 1]!, day: sessions[session]!, from, to }, out, t * n);
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

interface EffectWriterInput extends Pick<ReturnReader, 'effects' | 'changes' | 'terms'> {
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
  /** Day of the previous session, and the last day whose effects apply on the session. */
  readonly before: Day;
  readonly day: Day;
}

/** Returns a function that writes the returns of the securities with effects or a change of currency on a session. */
function createEffectWriter({ effects, changes, terms, close, width, columns }: EffectWriterInput) {
  const positionByColumn = new Int32Array(width).fill(-1);
  columns.forEach((column, place) => (positionByColumn[column] = place));
  const latestSessions = new Int32Array(columns.length); // session 0 has no return
  return ({ session, first, before, day, from, to }: EffectsOfSession, out: Float64Array, position: number): void => {
    const changed = changes.filter((change) => change.day > before && change.day <= day);
    for (let e = first; e < effects.days.length && effects.days[e]! <= day; e++) {
      const column = effects.columns[e]!;
      const securityPosition = positionByColumn[column]!;
      if (securityPosition < 0 || changed.some((change) => change.column === column)) continue;
      const effect =
        latestSessions[securityPosition] === session
          ? combineColumnEffects(effects, column, first, e)
          : readEffect(effects, e);
      latestSessions[securityPosition] = session;
      out[position + securityPosition] = computeReturn(effect, close[from + column]!, close[to + column]!, terms);
    }
    for (const change of changed) {
      const { column } = change;
      if (positionByColumn[column]! < 0) continue;
      const price = close[from + column]! * change.findFactor(before);
      const effect = combineAcrossCurrencies(effects, change, { first, before, day });
      out[position + positionByColumn[column]!] = computeReturn(effect, price, close[to + column]!, terms);
    }
  };
}

/** Returns the return of a security over a session with an effect. Payments are made on the shares before a rights issue. */
function computeReturn(effect: SessionEffect, before: number, close: number, terms: GrowthTerms): number {
  const paid = spreadPayments(effect, countSharesOfPayments(effect, before, terms));
  return computeGrowthStep(paid, before, close).factor - 1;
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

/** Returns the combined effect on a security over a change of its currency, with amounts in the new currency. */
function combineAcrossCurrencies(
  effects: EffectsByDay,
  change: CurrencyChange,
  { first, before, day }: Pick<EffectsOfSession, 'first' | 'before' | 'day'>,
): SessionEffect {
  let combined = NO_EFFECT;
  for (let e = first; e < effects.days.length && effects.days[e]! <= day; e++) {
    if (effects.columns[e] !== change.column) continue;
    const effect = readEffect(effects, e);
    const factor = effects.days[e]! < change.day ? change.findFactor(before) : 1;
    combined = combineEffects(combined, {
      ...effect,
      cash: effect.cash * factor,
      subscription: effect.subscription * factor,
      special: effect.special * factor,
      income: effect.income * factor,
      spunOff: effect.spunOff * factor,
    });
  }
  return combined;
}
