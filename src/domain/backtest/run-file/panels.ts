import { readSessionClose } from '../../index-mathematics/growth.js';
import type { GrowthTerms } from '../../index-mathematics/growth-terms.js';
import { createEffectTable } from '../../index-mathematics/session-effects.js';
import type { SessionMarket } from '../../market/session-market.js';
import { isEqual } from '../../numbers/number-types.js';
import type { BacktestPlan } from '../../documents/backtest-plan.js';
import type { Book, BookEvent } from '../../books/book.js';
import type { Composition } from '../../books/compositions.js';
import type { Trades } from '../../books/trades.js';
import type { BlockFiller } from './block.js';
import { scatterRow, assignSlots } from './security-slots.js';

/** Range of sessions `from` to `to` (exclusive). */
export interface SessionRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns book weights as rows over the securities of the run, [rows x H].
 * @param from first row of the book
 */
export function createWeightRows(
  book: Book,
  names: Int32Array,
  { from, count }: { readonly from: number; readonly count: number },
): BlockFiller<Float64Array> {
  const width = book.columns.length;
  return {
    length: count * names.length,
    writeTo(into) {
      if (isEqual(book.columns, names)) {
        into.set(book.weights.subarray(from * width, (from + count) * width));
        return;
      }
      const slots = assignSlots(book.columns, names);
      for (let t = 0; t < count; t++)
        scatterRow(
          book.weights.subarray((from + t) * width, (from + t + 1) * width),
          slots,
          into.subarray(t * names.length),
        );
    },
  };
}

/** Returns the weights on the new sessions. */
export function listAppendedWeights(book: Book, names: Int32Array): Float64Array {
  return toFilledFloats(createWeightRows(book, names, { from: 1, count: book.length - 1 }));
}

export function toFilledFloats({ length, writeTo }: BlockFiller<Float64Array>): Float64Array {
  const values = new Float64Array(length);
  writeTo(values);
  return values;
}

export function toFilledBytes({ length, writeTo }: BlockFiller<Uint8Array>): Uint8Array {
  const values = new Uint8Array(length);
  writeTo(values);
  return values;
}

/** Returns the weights before trades on each session with events, [E x H]. */
export function createEventRows(
  { events, columns }: { readonly events: readonly BookEvent[]; readonly columns: Int32Array },
  names: Int32Array,
): BlockFiller<Float64Array> {
  return {
    length: events.length * names.length,
    writeTo(into) {
      const slots = assignSlots(columns, names);
      events.forEach((event, e) => scatterRow(event.before, slots, into.subarray(e * names.length)));
    },
  };
}

interface TradedRun {
  readonly plan: BacktestPlan;
  readonly portfolio: Book;
  readonly trades: Trades;
}

/**
 * Returns the cost of each security on sessions with events, as a fraction of the value at the previous close, [E x H].
 * Returns null without costs. The first session has no cost.
 */
export function computeEventCosts(
  { portfolio, trades, plan }: TradedRun,
  names: Int32Array,
): BlockFiller<Float64Array> | null {
  const { request } = plan;
  if (request.transaction_cost_bps === 0) return null;
  const rate = request.transaction_cost_bps / 10_000;
  const { events, value } = portfolio;
  return {
    length: events.length * names.length,
    writeTo(into) {
      const nameSlots = assignSlots(names, portfolio.columns);
      const { at, slot, notional, isFree } = trades;
      // Trades and events are both sorted by date.
      for (let i = 0, e = 0; i < trades.count; i++) {
        const date = at[i]!;
        if (isFree[i] === 1 || date === 0) continue;
        while (events[e]!.at < date) e++;
        // A security pays costs twice on one session if it replaces a security that left and an earlier order for it is
        // filled.
        into[e * names.length + nameSlots[slot[i]!]!]! += (rate * Math.abs(notional[i]!)) / value[date - 1]!;
      }
    },
  };
}

interface RebalanceRows {
  readonly plan: BacktestPlan;
  readonly rebalances: readonly Composition[];
  readonly names: Int32Array;
}

interface Cells {
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  readonly values: ArrayLike<number>;
  /** Factor by which the values are multiplied. */
  readonly factor: number;
}

/** Securities and values in each kind of rebalance row. */
const CELLS = {
  targets: ({ columns, weights }: Composition, factor: number): Cells => ({ columns, values: weights, factor }),
  raw: ({ columns, uncapped }: Composition): Cells => ({ columns, values: uncapped, factor: 1 }),
  capped: ({ capped }: Composition): Cells => ({
    columns: capped,
    values: new Uint8Array(capped.length).fill(1),
    factor: 1,
  }),
} as const;

/**
 * Returns one row of values per rebalance, with one column per security of the run, [R x H]. A security without a value
 * gets 0.
 */
export function createRebalanceRows(
  { plan, rebalances, names }: RebalanceRows,
  kind: keyof typeof CELLS,
): BlockFiller<Float64Array | Uint8Array> {
  const exposure = plan.strategy?.exposure ?? 1;
  return {
    length: rebalances.length * names.length,
    writeTo(into) {
      rebalances.forEach((rebalance, r) => {
        const { columns, values, factor } = CELLS[kind](rebalance, exposure);
        for (let k = 0, position = 0; k < columns.length; k++) {
          while (names[position]! < columns[k]!) position++; // both column lists ascend, and every decided security is in the run
          into[r * names.length + position] = factor * values[k]!;
        }
      });
    },
  };
}

/** Returns the prices of sessions by security, NaN without a price bar, [sessions x H]. */
export function createPriceRows(
  sm: SessionMarket,
  names: Int32Array,
  { from, to, growth }: SessionRange & { readonly growth: GrowthTerms },
): BlockFiller<Float64Array> {
  const close = sm.market.fields.get('CLOSE')!; // every market has CLOSE
  // Adjacent columns of the store are copied together.
  const first = names[0] ?? 0;
  const areNeighbours = names.length > 0 && names.at(-1)! - first === names.length - 1;
  return {
    length: (to - from) * names.length,
    writeTo(into) {
      for (let session = from; session < to; session++) {
        const { cells, from: row } = sm.rows.read(close, session);
        const position = (session - from) * names.length;
        if (sm.rows.isMerged(session)) {
          const table = createEffectTable(sm, growth);
          names.forEach((column, i) => (into[position + i] = readSessionClose(sm, table, session, column)));
        } else if (row < 0) into.fill(Number.NaN, position, position + names.length);
        else if (areNeighbours) into.set(cells.subarray(row + first, row + first + names.length), position);
        else for (let i = 0; i < names.length; i++) into[position + i] = cells[row + names[i]!]!;
      }
    },
  };
}
