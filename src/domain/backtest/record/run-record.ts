import type { BacktestMetrics } from '../../analytics/series.js';
import type { Finding } from '../../findings.js';
import { LIMITS } from '../../limits.js';
import { panelRow } from '../../market/session-market.js';
import type { Book } from '../simulate/book.js';
import type { Composition } from '../simulate/compositions.js';
import { latestPositions, tradePrices } from '../simulate/portfolio.js';
import type { IndexRun, Run } from '../run.js';
import type { CalendarCoverage } from '../simulate/window.js';

/**
 * What the record of a run tells, on typed arrays: made from a run, or read from its columns. `columns` and `capped` are positions
 * in `identifiers` everywhere.
 */
export interface RunRecord {
  readonly identifiers: readonly string[];
  readonly runId: string;
  readonly metrics: BacktestMetrics;
  readonly findings: readonly Finding[];
  readonly unfilled: readonly RecordedOrder[];
  readonly benchmark: RecordedBook | null;
  readonly target: RecordedBook;
  readonly optimised: RecordedBook | null;
  readonly portfolio: RecordedPortfolio;
  readonly gaps: RecordedGaps;
  readonly pricing: RecordedPricing;
}

/** The levels of an index or of a bare series, and what an index consisted of. */
export interface RecordedBook {
  /** [B] */
  readonly days: Int32Array;
  readonly levels: Float64Array;
  /** Null for a bare series, which has nothing else either. */
  readonly divisor: Float64Array | null;
  /** The portfolio's own frame where both held the same. */
  readonly frame: WeightsFrame | null;
  readonly snapshots: readonly Snapshot[];
  readonly rebalancesTotal: number;
  readonly coverage: CalendarCoverage | null;
}

/** Weights of the most recent dates, [F x W]. */
export interface WeightsFrame {
  readonly days: Int32Array;
  readonly columns: Int32Array;
  readonly weights: Float64Array;
}

/** A composition as it is told. */
export type Snapshot = Pick<Composition, 'date' | 'announced' | 'columns' | 'weights' | 'uncapped' | 'cap' | 'capped' | 'redistributed'>;

export interface RecordedPortfolio {
  readonly days: Int32Array;
  /** The session before the first. */
  readonly dayBefore: number;
  readonly initialCapital: number;
  /** Cost of a unit of traded notional. */
  readonly costRate: number;
  /** Money, and the fraction of it in cash, [T]. */
  readonly value: Float64Array;
  readonly cash: Float64Array;
  readonly frame: WeightsFrame;
  readonly positions: RecordedPositions;
  readonly transactions: RecordedTransactions;
}

/** The most recent holdings at closes, by date then name. `at` are positions in the days of the portfolio. */
export interface RecordedPositions {
  /** Rows of the whole panel. */
  readonly total: number;
  readonly at: Int32Array;
  readonly columns: Int32Array;
  readonly units: Float64Array;
  readonly price: Float64Array;
  readonly value: Float64Array;
  readonly weight: Float64Array;
}

/** The most recent trades, by date then name. */
export interface RecordedTransactions {
  /** Rows of the whole table. */
  readonly total: number;
  readonly at: Int32Array;
  readonly columns: Int32Array;
  /** Money bought, negative for a sale. */
  readonly notional: Float64Array;
  readonly price: Float64Array;
  /** Position in TRADE_REASONS. */
  readonly reason: Uint8Array;
  /** 1 for a trade that costs nothing. */
  readonly isFree: Uint8Array;
}

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

/** Names without a bar on a day, and the day of the price they were taken at. */
export interface RecordedGaps {
  readonly columns: Int32Array;
  readonly days: Int32Array;
  readonly pricedFrom: Int32Array;
}

/** Effective date of each rebalance, and the session it was priced from. */
export interface RecordedPricing {
  readonly dates: Int32Array;
  readonly pricedFrom: Int32Array;
}

/** @cost one pass over trades and served rows */
export function recordOf(run: Run): RunRecord {
  const { plan, portfolio, index, parent } = run;
  const frame = frameOf(portfolio);
  const bookOf = (shown: IndexRun): RecordedBook => recordedBook(shown, sameFrame(shown.book, portfolio) ? frame : frameOf(shown.book));
  return {
    identifiers: portfolio.sm.identifiers,
    runId: plan.runId,
    metrics: run.metrics,
    findings: run.findings,
    unfilled: unfilledOf(portfolio),
    benchmark: benchmarkOf(run, bookOf),
    target: bookOf(parent ?? index),
    optimised: parent === null ? null : bookOf(index),
    portfolio: {
      days: run.days,
      dayBefore: dayBefore(portfolio),
      initialCapital: plan.request.initial_capital,
      costRate: plan.request.transaction_cost_bps / 10_000,
      value: portfolio.value,
      cash: portfolio.cash,
      frame,
      positions: positionsOf(run),
      transactions: transactionsOf(run),
    },
    gaps: gapsOf(run),
    pricing: pricingOf(run),
  };
}

function recordedBook({ book, days, compositions, coverage }: IndexRun, frame: WeightsFrame): RecordedBook {
  const served = compositions.list.filter(({ session }) => session < book.from + book.length);
  return {
    days, coverage, frame,
    levels: book.value,
    divisor: book.divisor,
    snapshots: served.slice(-LIMITS.MAX_REBALANCES).map(snapshotOf),
    rebalancesTotal: served.length,
  };
}

/** A composition as it is recorded: weights that nothing was capped in are kept once. */
export function snapshotOf({ date, announced, columns, weights, uncapped, cap, capped, redistributed }: Composition): Snapshot {
  return { date, announced, columns, weights, cap, capped, redistributed, uncapped: isEqual(weights, uncapped) ? weights : uncapped };
}

function isEqual(a: Float64Array, b: Float64Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function benchmarkOf({ benchmark }: Run, bookOf: (shown: IndexRun) => RecordedBook): RecordedBook | null {
  if (!benchmark) return null;
  const { level, index } = benchmark;
  if (index) return bookOf({ ...index, days: level.days });
  return { days: level.days, levels: level.values, divisor: null, frame: null, snapshots: [], rebalancesTotal: 0, coverage: null };
}

/** The most recent dates of a book, by every name it could have held. */
function frameOf({ sm, columns, weights, from, length }: Book): WeightsFrame {
  const first = Math.max(0, length - LIMITS.MAX_WEIGHT_DATES);
  return { days: sm.sessions.slice(from + first, from + length), columns, weights: weights.subarray(first * columns.length, length * columns.length) };
}

/** Whether two books serve the same dates, names and weights, bit for bit. */
function sameFrame(a: Book, b: Book): boolean {
  const rowsA = Math.min(a.length, LIMITS.MAX_WEIGHT_DATES);
  const rowsB = Math.min(b.length, LIMITS.MAX_WEIGHT_DATES);
  if (a.sm !== b.sm || rowsA !== rowsB || a.columns.length !== b.columns.length || a.from + a.length !== b.from + b.length) return false;
  for (let slot = 0; slot < a.columns.length; slot++) if (a.columns[slot] !== b.columns[slot]) return false;
  if (a.weights.buffer === b.weights.buffer) return true;
  const cells = rowsA * a.columns.length;
  const endA = a.weights.length;
  const endB = b.weights.length;
  for (let i = 1; i <= cells; i++) if (a.weights[endA - i] !== b.weights[endB - i]) return false;
  return true;
}

/** The session of the calendar before the first of the run; the calendar day before where the calendar begins there. */
function dayBefore({ sm, from }: Book): number {
  const { sessions } = sm.calendar;
  const first = sm.sessions[from]!;
  const position = sessions.indexOf(first);
  return sessions[position - 1] ?? first - 1;
}

function positionsOf(run: Run): RecordedPositions {
  const { portfolio } = run;
  const { total, session, slot, units, price, value, weight } = latestPositions(run, LIMITS.MAX_POSITION_ROWS);
  return { total, units, price, value, weight, at: session.map((position) => position - portfolio.from), columns: columnsAt(portfolio, slot) };
}

function columnsAt({ columns }: Book, slots: Int32Array): Int32Array {
  const found = new Int32Array(slots.length);
  for (let i = 0; i < slots.length; i++) found[i] = columns[slots[i]!]!;
  return found;
}

/** Rows of the transactions table, most recent first served: some 130 MB of text, 20 years of daily trades in 200 names. */
export const TRANSACTION_ROWS_MAX = 1_000_000;

function transactionsOf(run: Run): RecordedTransactions {
  const { trades, portfolio } = run;
  const first = Math.max(0, trades.count - TRANSACTION_ROWS_MAX);
  return {
    total: trades.count,
    at: trades.at.subarray(first, trades.count),
    columns: columnsAt(portfolio, trades.slot.subarray(first, trades.count)),
    notional: trades.notional.subarray(first, trades.count),
    price: tradePrices(run, first),
    reason: trades.reason.subarray(first, trades.count),
    isFree: trades.isFree.subarray(first, trades.count),
  };
}

export function unfilledOf({ sm, columns, from, unfilled }: Pick<Book, 'sm' | 'columns' | 'from' | 'unfilled'>): RecordedOrder[] {
  const day = (at: number): number => sm.sessions[from + at]!;
  return unfilled.map(({ at, slot, side, target, held, notional, reason, filledAt }) => ({
    day: day(at),
    identifier: sm.identifiers[columns[slot]!]!,
    side, target, held, notional, reason,
    filledDay: filledAt === null ? null : day(filledAt),
  }));
}

interface GappedRun {
  readonly gaps: Run['gaps'];
  readonly portfolio: Pick<Book, 'sm'>;
}

/** Gaps of a run by day, then name. */
export function gapsOf({ gaps, portfolio: { sm } }: GappedRun): RecordedGaps {
  return {
    columns: Int32Array.from(gaps, ({ column }) => column),
    days: Int32Array.from(gaps, ({ session }) => sm.sessions[session]!),
    pricedFrom: Int32Array.from(gaps, ({ session, column }) => sm.sessions[sm.lastBar[panelRow(sm, session) + column]!]!),
  };
}

interface PricedRun {
  readonly rebalances: Run['rebalances'];
  readonly portfolio: Pick<Book, 'sm'>;
}

export function pricingOf({ rebalances, portfolio: { sm } }: PricedRun): RecordedPricing {
  return { dates: Int32Array.from(rebalances, ({ date }) => date), pricedFrom: Int32Array.from(rebalances, ({ session }) => sm.sessions[session]!) };
}
