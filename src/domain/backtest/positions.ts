import { allocateRetainedFloats, allocateRetainedIntegers, allocateRetainedMemory } from '#base/memory.js';
import { LIMITS } from '../base/limits.js';
import { type Book, type BookEvent, type Gap, readBookCurrency } from '../books/book.js';
import type { Compositions } from '../books/compositions.js';
import { type EventTerms, listEvents } from '../books/events.js';
import { createIndexTerms } from '../books/index-run.js';
import { createEffectTable, findEffect, type GrowthTerms, toShortTerms } from '../market/action-effects.js';
import { findCarriedUnder, readCarriedClose } from '../market/growth.js';
import { createExchangeRates } from '../market/rates.js';
import type { Run } from './run.js';

/**
 * Holdings at closes in columnar form, sorted by date, then slot. Units, value and weight of a short position are
 * negative. Units are on the share basis of the date, prices in the index currency.
 */
export interface Positions {
  readonly count: number;
  readonly session: Int32Array;
  readonly slot: Int32Array;
  readonly units: Float64Array;
  readonly price: Float64Array;
  readonly value: Float64Array;
  readonly weight: Float64Array;
  /** Number of positions on all dates of the run; `count` of them are in the columns. */
  readonly total: number;
}

/** Returns the most recent positions of a portfolio, at most `rowsMax`. */
function selectLatestPositions(
  { portfolio, document, index }: Pick<TradedRun, 'portfolio' | 'document' | 'index'>,
  rowsMax: number,
): Positions {
  const { from, length, columns, weights, value, counts } = portfolio;
  const total = counts.reduce((sum, count) => sum + count, 0);
  const count = Math.min(total, rowsMax);
  const memory = allocateRetainedMemory(40 * count);
  const positions = {
    count,
    total,
    units: new Float64Array(memory, 0, count),
    price: new Float64Array(memory, 8 * count, count),
    value: new Float64Array(memory, 16 * count, count),
    weight: new Float64Array(memory, 24 * count, count),
    session: new Int32Array(memory, 32 * count, count),
    slot: new Int32Array(memory, 36 * count, count),
  };
  const growth = createIndexTerms(index.compositions);
  const readPrice = createPriceReader(portfolio, { ...growth, currency: readBookCurrency(portfolio, document) });
  let row = count;
  for (let t = length - 1; row > 0; t--) {
    for (let slot = columns.length - 1; slot >= 0 && row > 0; slot--) {
      const weight = weights[t * columns.length + slot]!;
      if (weight === 0) continue;
      row--;
      const price = readPrice(from + t, columns[slot]!);
      const money = weight * value[t]!;
      positions.session[row] = from + t;
      positions.slot[row] = slot;
      positions.units[row] = money / price;
      positions.price[row] = price;
      positions.value[row] = money;
      positions.weight[row] = weight;
    }
  }
  return positions;
}

/** Trades with the market and the terms of their prices. */
interface TradedRun extends Pick<Run, 'portfolio' | 'document' | 'trades'> {
  readonly index: { readonly compositions: Pick<Compositions, 'treatment' | 'document' | 'outside'> };
}

/**
 * Returns the price of each trade of a run, from trade index `first` on. If the security left the book, the price is
 * what its holders received, including cash of the session.
 */
function listTradePrices({ portfolio, index, document, trades }: TradedRun, first = 0): Float64Array {
  const { sm, from, columns, events } = portfolio;
  const rates = createExchangeRates(sm, readBookCurrency(portfolio, document));
  const { treatment, outside } = index.compositions;
  const growth = createIndexTerms(index.compositions);
  const readPrice = createPriceReader(portfolio, { ...growth, currency: readBookCurrency(portfolio, document) });
  const terms = { sm, rates, treatment, outside, growth };
  const price = allocateRetainedFloats(trades.count - first);
  let e = 0;
  for (let i = first; i < trades.count; i++) {
    const position = trades.at[i]!;
    const slot = trades.slot[i]!;
    while (events[e]!.at < position) e++;
    const left = trades.isFree[i] === 1 ? computeLeavingWeight(events[e]!, slot) : 0;
    // If a position left the book, the trade that closes it has the price of the proceeds.
    price[i - first] = !(left * trades.notional[i]! < 0)
      ? readPrice(from + position, columns[slot]!)
      : computeLeavingPrice(terms, { session: from + position, column: columns[slot]! }, left < 0);
  }
  return price;
}

/**
 * Returns the weight of a security that left the book or converted into another security. Returns 0 if it did neither.
 */
function computeLeavingWeight({ conversions, exits }: BookEvent, slot: number): number {
  const exit = exits.find((move) => move.slot === slot);
  return (conversions.find((conversion) => conversion.slot === slot)?.weight ?? 0) - (exit?.change ?? 0);
}

function computeLeavingPrice(terms: EventTerms, { session, column }: Gap, isShort: boolean): number {
  const { sm, rates, growth } = terms;
  const proceeds =
    listEvents(terms, session)?.exits.get(column)?.proceeds ?? readCarriedClose(sm, growth, session, column);
  const cash = findEffect(createEffectTable(sm, isShort ? toShortTerms(growth) : growth), session, column)?.cash ?? 0;
  return (proceeds + cash) * rates.rateAt(session, column);
}

function createPriceReader({ sm }: Book, growth: GrowthTerms): (session: number, column: number) => number {
  const rates = createExchangeRates(sm, growth.currency);
  const table = createEffectTable(sm, growth);
  return (session, column) => findCarriedUnder(sm, table, session, column) * rates.rateAt(session, column);
}

/** Order that could not be filled on its session. */
export interface RecordedOrder {
  readonly day: number;
  readonly identifier: string;
  readonly side: 'buy' | 'sell';
  readonly target: number;
  readonly held: number;
  readonly notional: number;
  readonly reason: 'no_price' | 'stale_price' | 'delisted';
  readonly filledDay: number | null;
}

export function listUnfilledOrders({
  sm,
  columns,
  from,
  unfilled,
}: Pick<Book, 'sm' | 'columns' | 'from' | 'unfilled'>): RecordedOrder[] {
  const getDayAt = (position: number): number => sm.sessions[from + position]!;
  return unfilled.map(({ at, slot, side, target, held, notional, reason, filledAt }) => ({
    day: getDayAt(at),
    identifier: sm.identifiers[columns[slot]!]!,
    side,
    target,
    held,
    notional,
    reason,
    filledDay: filledAt === null ? null : getDayAt(filledAt),
  }));
}

/** Securities without a price bar on a day, with the day of the price used instead. */
export interface RecordedGaps {
  readonly columns: Int32Array;
  readonly days: Int32Array;
  readonly pricedFrom: Int32Array;
}

/** Returns the gaps of a run by day, then security. */
export function listRunGaps({
  gaps,
  portfolio: { sm },
}: {
  readonly gaps: Run['gaps'];
  readonly portfolio: Pick<Book, 'sm'>;
}): RecordedGaps {
  return {
    columns: Int32Array.from(gaps, ({ column }) => column),
    days: Int32Array.from(gaps, ({ session }) => sm.sessions[session]!),
    pricedFrom: Int32Array.from(gaps, ({ session, column }) => sm.barDay(session, column)),
  };
}

/** Schedule dates on which a rebalance took effect, with the session of the prices used. */
export interface RecordedPricing {
  readonly dates: Int32Array;
  readonly pricedFrom: Int32Array;
}

export function listPricing({
  rebalances,
  portfolio: { sm },
}: {
  readonly rebalances: Run['rebalances'];
  readonly portfolio: Pick<Book, 'sm'>;
}): RecordedPricing {
  const datedSessions = rebalances.flatMap(({ date, also, session }) =>
    [date, ...also].map((day) => ({ day, session })),
  );
  return {
    dates: Int32Array.from(datedSessions, ({ day }) => day),
    pricedFrom: Int32Array.from(datedSessions, ({ session }) => sm.sessions[session]!),
  };
}

/**
 * Most recent holdings at closes, by date, then security. `at` contains indices into the days of the portfolio's whole
 * run.
 */
export interface PositionRows {
  /** Number of positions on all dates; positions beyond `MAX_POSITION_ROWS` have no row. */
  readonly total: number;
  readonly at: Int32Array;
  readonly columns: Int32Array;
  readonly units: Float64Array;
  readonly price: Float64Array;
  readonly value: Float64Array;
  readonly weight: Float64Array;
}

/**
 * Returns the most recent positions.
 * @param first index of the portfolio's first session in the days of the whole portfolio
 */
export function createPositionRows(run: Pick<TradedRun, 'portfolio' | 'document' | 'index'>, first = 0): PositionRows {
  const { portfolio } = run;
  const { total, session, slot, units, price, value, weight } = selectLatestPositions(run, LIMITS.MAX_POSITION_ROWS);
  const dateIndices = session.map((position) => position - portfolio.from + first);
  return { total, units, price, value, weight, at: dateIndices, columns: listColumnsOfSlots(portfolio, slot) };
}

/** Most recent trades, by date, then security. */
export interface TransactionRows {
  /** Number of trades; trades beyond `TRANSACTION_ROWS_MAX` have no row. `at` is defined as in `PositionRows`. */
  readonly total: number;
  readonly at: Int32Array;
  readonly columns: Int32Array;
  /** Purchase amount, negative for a sale. */
  readonly notional: Float64Array;
  readonly price: Float64Array;
  /** Index into TRADE_REASONS. */
  readonly reason: Uint8Array;
  /** 1 for a trade without costs. */
  readonly isFree: Uint8Array;
}

/**
 * Maximum number of rows of the transactions table, most recent first: about 130 MB of text, or 20 years of daily
 * trades in 200 securities.
 */
export const TRANSACTION_ROWS_MAX = 1_000_000;

/**
 * Returns the most recent trades.
 * @param first as in `createPositionRows`
 */
export function createTransactionRows(run: TradedRun, first = 0): TransactionRows {
  const { trades, portfolio } = run;
  const { count } = trades;
  const begin = Math.max(0, count - TRANSACTION_ROWS_MAX);
  const addedDates = trades.at.subarray(begin, count);
  return {
    total: count,
    at: first === 0 ? addedDates : addedDates.map((position) => position + first),
    columns: listColumnsOfSlots(portfolio, trades.slot.subarray(begin, count)),
    notional: trades.notional.subarray(begin, count),
    price: listTradePrices(run, begin),
    reason: trades.reason.subarray(begin, count),
    isFree: trades.isFree.subarray(begin, count),
  };
}

function listColumnsOfSlots({ columns }: Book, slots: Int32Array): Int32Array {
  const result = allocateRetainedIntegers(slots.length);
  for (let i = 0; i < slots.length; i++) result[i] = columns[slots[i]!]!;
  return result;
}
