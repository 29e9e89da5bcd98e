import { allocateRetainedIntegers } from '#base/memory/retained-memory.js';
import { LIMITS } from '../../refusals/limits.js';
import type { Run } from '../run.js';
import type { Book } from '../../books/book.js';
import { selectLatestPositions, listTradePrices, type TradedRun } from '../portfolio.js';

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

interface GappedRun {
  readonly gaps: Run['gaps'];
  readonly portfolio: Pick<Book, 'sm'>;
}

/** Returns the gaps of a run by day, then security. */
export function listGaps({ gaps, portfolio: { sm } }: GappedRun): RecordedGaps {
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

interface PricedRun {
  readonly rebalances: Run['rebalances'];
  readonly portfolio: Pick<Book, 'sm'>;
}

export function listPricing({ rebalances, portfolio: { sm } }: PricedRun): RecordedPricing {
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
