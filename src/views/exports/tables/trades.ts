import { openRecordParts } from '#domain/backtest/run-file/record.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { RecordedTransactions } from '#domain/backtest/record/schema.js';
import { TRADE_REASONS } from '#domain/books/trades.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import type { Day } from '#domain/time/days.js';
import { roundOnDay } from '../../rounded.js';
import { BATCH_ROWS, type Batch, type Producer } from '../batch.js';
import { createSpan } from '../span.js';

const SIDES = ['buy', 'sell'] as const;

/**
 * Yields the trades in the window. Positions count these trades.
 * @throws Refusal DOCUMENT_UNREADABLE for a run of version 0.1.0
 */
export const produceTrades: Producer<'trades'> = function* ({ columns, window }, from) {
  const source = createTrades(columns);
  const { identifiers, all, days } = source;
  const span = createSpan(days, window);
  const firstTrade = findFirstAtLeast(all.at, span.from);
  const end = findFirstAtLeast(all.at, span.to);
  const rows = createRows(Math.min(BATCH_ROWS, Math.max(0, end - firstTrade - from)));
  for (let row = firstTrade + from; row < end; row += BATCH_ROWS) {
    const to = Math.min(end, row + BATCH_ROWS);
    fillRows(rows, source, { from: row, to });
    yield createBatch(rows, { count: to - row, end: to - firstTrade, identifiers });
  }
};

/** Trades of a run, and the data that their rows need. */
interface RunTrades {
  readonly identifiers: readonly string[];
  readonly all: RecordedTransactions;
  readonly days: Int32Array;
  readonly costRate: number;
  readonly moves: WeightMoves;
  /** Returns the rounding of published weights on a day. */
  readonly roundOn: (day: Day) => (weight: number) => number;
}

/** Trades of runs that are open. They are cached, because each part of an export needs them. */
const tradesCache = new WeakMap<RunColumns, RunTrades>();

function createTrades(columns: RunColumns): RunTrades {
  const cachedTrades = tradesCache.get(columns);
  if (cachedTrades !== undefined) return cachedTrades;
  const { identifiers, transactions, costRate } = openRecordParts(columns);
  const trades = {
    identifiers,
    all: transactions(),
    days: columns.i32('days'),
    costRate: costRate(),
    moves: createWeightMoves(columns, identifiers),
    roundOn: (day: Day) => roundOnDay(columns, 'weights', day),
  };
  tradesCache.set(columns, trades);
  return trades;
}

interface Rows {
  readonly days: Int32Array;
  readonly identifiers: Int32Array;
  readonly sides: Int32Array;
  readonly before: Float64Array;
  readonly after: Float64Array;
  readonly values: Float64Array;
  readonly costs: Float64Array;
  readonly reasons: Int32Array;
}

function createRows(size: number): Rows {
  return {
    days: new Int32Array(size),
    identifiers: new Int32Array(size),
    sides: new Int32Array(size),
    before: new Float64Array(size),
    after: new Float64Array(size),
    values: new Float64Array(size),
    costs: new Float64Array(size),
    reasons: new Int32Array(size),
  };
}

/** Fills rows with the trades from `from` to `to` (exclusive), session by session. */
function fillRows(
  rows: Rows,
  { all, days, costRate, moves, roundOn }: RunTrades,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  for (let k = from; k < to;) {
    const offset = all.at[k]!;
    moves.show(offset);
    const roundWeight = roundOn(days[offset]!);
    for (; k < to && all.at[k] === offset; k++) {
      const row = k - from;
      const notional = all.notional[k]!;
      const value = Math.abs(notional);
      const identifier = all.columns[k]!;
      const column = moves.positions[identifier]!;
      rows.days[row] = days[offset]!;
      rows.identifiers[row] = identifier;
      rows.sides[row] = notional > 0 ? 0 : 1;
      rows.before[row] = column < 0 ? 0 : roundWeight(moves.before[column]!);
      rows.after[row] = column < 0 ? 0 : roundWeight(moves.after[column]!);
      rows.values[row] = value;
      rows.costs[row] = all.isFree[k] === 1 ? 0 : costRate * value;
      rows.reasons[row] = all.reason[k]!;
    }
  }
}

interface BatchTerms {
  readonly count: number;
  readonly end: number;
  readonly identifiers: readonly string[];
}

function createBatch(rows: Rows, { count, end, identifiers }: BatchTerms): Batch<'trades'> {
  return {
    count,
    end,
    columns: {
      date: rows.days.subarray(0, count),
      identifier: { codes: rows.identifiers.subarray(0, count), texts: identifiers },
      side: { codes: rows.sides.subarray(0, count), texts: SIDES },
      weight_before: rows.before.subarray(0, count),
      weight_after: rows.after.subarray(0, count),
      value: rows.values.subarray(0, count),
      cost: rows.costs.subarray(0, count),
      reason: { codes: rows.reasons.subarray(0, count), texts: TRADE_REASONS },
    },
  };
}

interface WeightMoves {
  /** Position of each recorded identifier among the securities of the run; -1 if it is unknown. */
  readonly positions: Int32Array;
  /** Weights before and after the trades of the current session, by position of the security. */
  readonly before: Float64Array;
  readonly after: Float64Array;
  /** Reads the weights around the trades of a session. */
  show(position: number): void;
}

function createWeightMoves(columns: RunColumns, identifiers: readonly string[]): WeightMoves {
  const { names } = columns.header;
  const columnByName = new Map(names.map((name, position) => [name, position]));
  const eventAt = columns.i32('eventAt');
  const previousWeights = new Float64Array(names.length);
  const after = new Float64Array(names.length);
  let shownPosition = -1;
  return {
    positions: Int32Array.from(identifiers, (identifier) => columnByName.get(identifier) ?? -1),
    before: previousWeights,
    after,
    show(offset) {
      if (offset === shownPosition) return;
      columns.fill('before', findFirstAtLeast(eventAt, offset) * names.length, previousWeights);
      columns.fill('weights', offset * names.length, after);
      shownPosition = offset;
    },
  };
}
