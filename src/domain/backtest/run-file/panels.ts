import { allocateRetainedFloats } from '#base/memory.js';
import { isEqual } from '../../base/numbers.js';
import type { Book, BookEvent } from '../../books/book.js';
import type { Composition } from '../../books/compositions.js';
import { createIndexTerms } from '../../books/index-run.js';
import type { Trades } from '../../books/trades.js';
import type { BacktestPlan } from '../../definition/backtest-plan.js';
import { createEffectTable, type EffectTable, type GrowthTerms } from '../../market/action-effects.js';
import { readSessionClose } from '../../market/growth.js';
import type { CorporateAction } from '../../market/market-data.js';
import { placeActions, type SessionMarket } from '../../market/session-market.js';
import type { Run } from '../run.js';
import {
  type AppendedSessions,
  assignSlots,
  type Block,
  type BlockFiller,
  type BlockReader,
  compareByDate,
  createAppended,
  findPosition,
  type ForeignRates,
  scatterRow,
} from './block.js';

/** Range of sessions `from` to `to` (exclusive). */
interface SessionRange {
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

/**
 * Returns the cost of each security on sessions with events, as a fraction of the value at the previous close, [E x H].
 * Returns null without costs. The first session has no cost.
 */
export function computeEventCosts(
  { portfolio, trades, plan }: { readonly plan: BacktestPlan; readonly portfolio: Book; readonly trades: Trades },
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
  {
    plan,
    rebalances,
    names,
  }: { readonly plan: BacktestPlan; readonly rebalances: readonly Composition[]; readonly names: Int32Array },
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
function createPriceRows(
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
      const table = sm.rows.isAnyMerged ? createEffectTable(sm, growth) : null;
      for (let session = from; session < to; session++) {
        const { cells, from: row } = sm.rows.read(close, session);
        const position = (session - from) * names.length;
        if (table !== null && sm.rows.isMerged(session))
          names.forEach((column, i) => (into[position + i] = readSessionClose(sm, table, session, column)));
        else if (row < 0) into.fill(Number.NaN, position, position + names.length);
        else if (areNeighbours) into.set(cells.subarray(row + first, row + first + names.length), position);
        else for (let i = 0; i < names.length; i++) into[position + i] = cells[row + names[i]!]!;
      }
    },
  };
}

/** Number of elements in a row: security, date, ratio, cash, rights, subscription price. */
export const EFFECT_WIDTH = 6;

/** Layout of rows of corporate-action effects: elements of a row, and selection of the effects that have a row. */
export interface RowLayout {
  readonly width: number;
  has(table: EffectTable, e: number): boolean;
  /**
   * Writes the elements of a row after its security and date.
   * @param offset position of the row
   */
  write(rows: Float64Array, offset: number, table: EffectTable, e: number): void;
}

const EFFECT_LAYOUT: RowLayout = {
  width: EFFECT_WIDTH,
  // Dividends that the whole index reinvests, and adjustments of closes, are in `distributions` and `detachments`.
  has: ({ ratio, cash, rights, special, ordinary, detached }, e) =>
    (special[e] === 0 && ordinary[e] === 0 && detached[e] === 0) || ratio[e] !== 1 || cash[e] !== 0 || rights[e] !== 0,
  write(rows, position, { ratio, cash, rights, subscription }, e) {
    rows[position + 2] = ratio[e]!;
    rows[position + 3] = cash[e]!;
    rows[position + 4] = rights[e]!;
    rows[position + 5] = subscription[e]!;
  },
};

/** Maximum number of bytes of cached rows: 20 years of quarterly dividends of 500 securities are 2 MB. */
const CACHED_BYTES_MAX = 8 * 2 ** 20;

/** Cached rows of the last run on one market and growth terms. */
interface CachedRows extends SessionRange {
  readonly names: Int32Array;
  readonly rows: Float64Array;
}

const rowCache = new WeakMap<EffectTable, CachedRows>();

/**
 * Returns the corporate-action rows of a full run by security, then date. Reuses the rows of the previous run if its
 * securities and sessions are equal.
 */
export function listWholeEffects(
  { portfolio, index }: Pick<Run, 'portfolio' | 'index'>,
  names: Int32Array,
): BlockFiller<Float64Array> {
  const { sm, from, length } = portfolio;
  const table = createEffectTable(sm, createIndexTerms(index.compositions));
  const cachedRows = rowCache.get(table);
  if (
    cachedRows !== undefined &&
    cachedRows.from === from &&
    cachedRows.to === from + length &&
    isEqual(cachedRows.names, names)
  )
    return { length: cachedRows.rows.length, writeTo: (into) => into.set(cachedRows.rows) };
  const result = createEffectRows(table, EFFECT_LAYOUT, {
    names,
    securityCount: sm.securityCount,
    from,
    to: from + length,
  });
  return {
    length: result.length,
    writeTo(into) {
      result.writeTo(into);
      if (8 * result.length > CACHED_BYTES_MAX) return;
      const rows = allocateRetainedFloats(result.length);
      rows.set(into);
      rowCache.set(table, { names, rows, from, to: from + length });
    },
  };
}

export interface WrittenRows extends SessionRange {
  readonly names: Int32Array;
  /** Number of securities of the market. */
  readonly securityCount: number;
}

export function createEffectRows(
  table: EffectTable,
  { width, has, write }: RowLayout,
  { names, securityCount, from, to }: WrittenRows,
): BlockFiller<Float64Array> {
  const { columns, starts } = table;
  const positionByColumn = new Int32Array(securityCount).fill(-1);
  names.forEach((column, i) => (positionByColumn[column] = i));
  // counting sort by security; dates are already in order
  const ends = new Int32Array(names.length + 1);
  for (let e = starts[from]!; e < starts[to]!; e++) {
    const position = positionByColumn[columns[e]!]!;
    if (position >= 0 && has(table, e)) ends[position + 1]!++;
  }
  for (let i = 0; i < names.length; i++) ends[i + 1]! += ends[i]!;
  return {
    length: width * ends[names.length]!,
    writeTo(rows) {
      const next = ends.slice();
      for (let session = from; session < to; session++) {
        for (let e = starts[session]!; e < starts[session + 1]!; e++) {
          const securityPosition = positionByColumn[columns[e]!]!;
          if (securityPosition < 0 || !has(table, e)) continue;
          const position = width * next[securityPosition]!++;
          rows[position] = securityPosition;
          rows[position + 1] = session - from;
          write(rows, position, table, e);
        }
      }
    },
  };
}

/** Returns the sessions that the stored run covers. */
function countSessionsBefore({
  before,
  continuation: { portfolio },
}: Pick<AppendedSessions, 'before' | 'continuation'>): SessionRange {
  return { from: portfolio.from + 1 - before, to: portfolio.from + 1 };
}

/**
 * Returns the rows that an extension appends. Rows of joined securities on earlier sessions come first, by security;
 * the rows of the new sessions follow, by date.
 */
export function listAppendedEffects(
  source: AppendedSessions,
  layout: RowLayout = EFFECT_LAYOUT,
): readonly Float64Array[] {
  const {
    continuation: {
      index,
      portfolio: { from, length },
    },
    names,
    joined,
  } = source;
  const addedRange = { from: from + 1, to: from + length };
  const after = listEffectRows(source, layout, {
    table: createEffectTable(index.sm, createIndexTerms(index)),
    columnsOfRows: names,
    ...addedRange,
  });
  if (joined.length === 0) return [Float64Array.from(after)];
  const table = createTableOfActions(source, source.actionsOf(joined));
  const before = Array.from(joined, (column) =>
    listEffectRows(source, layout, { table, columnsOfRows: Int32Array.of(column), ...countSessionsBefore(source) }),
  );
  return [Float64Array.from(before.flat()), Float64Array.from(after)];
}

function createTableOfActions(
  { continuation: { index } }: AppendedSessions,
  actions: readonly CorporateAction[],
): EffectTable {
  const { sm } = index;
  const market = { ...sm.market, actions };
  const sessionActions = placeActions({ market, sessions: sm.sessions, calendar: sm.calendar, columnOf: sm.columnOf });
  return createEffectTable({ ...sm, market, actions: sessionActions }, createIndexTerms(index));
}

interface EffectRows extends SessionRange {
  readonly table: EffectTable;
  /** Market columns of the securities. */
  readonly columnsOfRows: Int32Array;
}

function listEffectRows(
  source: AppendedSessions,
  layout: RowLayout,
  { table, columnsOfRows, from, to }: EffectRows,
): number[] {
  const { starts, columns } = table;
  const first = countSessionsBefore(source).from;
  const rows: number[] = [];
  const row = new Float64Array(layout.width);
  for (let session = from; session < to; session++) {
    for (let e = starts[session]!; e < starts[session + 1]!; e++) {
      const column = columns[e]!;
      if (findPosition(columnsOfRows, column) < 0 || !layout.has(table, e)) continue;
      row[0] = findPosition(source.names, column);
      row[1] = session - first;
      layout.write(row, 0, table, e);
      rows.push(...row);
    }
  }
  return rows;
}

/** Returns the rows of a stored run by security, then date, as if it had not been extended. */
export function groupEffectsBySecurity(columns: BlockReader): Float64Array {
  return groupRowsBySecurity(columns.f64('effects'), EFFECT_WIDTH);
}

export function groupRowsBySecurity(values: Float64Array, width: number): Float64Array {
  const rows = Array.from({ length: values.length / width }, (_, row) =>
    values.subarray(row * width, (row + 1) * width),
  );
  const sortedValues = new Float64Array(values.length);
  rows.toSorted((a, b) => a[0]! - b[0]! || a[1]! - b[1]!).forEach((row, place) => sortedValues.set(row, place * width));
  return sortedValues;
}

export const price: Block<'f64'> = {
  type: 'f64',
  axes: ['dates', 'names'],
  meaning: 'CLOSE, NaN without a price bar; a bar between two sessions is adjusted by later events of its session',
  compare: compareByDate(0),
  upgrade: 'same',
  joined: 'joinedPrice',
  whole({ run: { portfolio, index }, names }) {
    const { sm, from, length } = portfolio;
    return createPriceRows(sm, names, { from, to: from + length, growth: createIndexTerms(index.compositions) });
  },
  added({ continuation: { portfolio, index }, names }) {
    const { sm, from, length } = portfolio;
    const range = { from: from + 1, to: from + length, growth: createIndexTerms(index) };
    return createAppended(toFilledFloats(createPriceRows(sm, names, range)));
  },
};

export const joinedPrice: Block<'f64'> = {
  type: 'f64',
  axes: ['joined dates'],
  meaning: 'CLOSE on the dates before an extension, for each security that joined with it; empty for a whole run',
  compare: { by: 'layout' },
  upgrade: 'same',
  canBeAddedLater: true,
  whole: () => null,
  added(source) {
    const { portfolio, index } = source.continuation;
    const { sm } = portfolio;
    const sessions = { ...countSessionsBefore(source), growth: createIndexTerms(index) };
    return createAppended(
      ...Array.from(source.joined, (column) => toFilledFloats(createPriceRows(sm, Int32Array.of(column), sessions))),
    );
  },
};

/** Minimum number of bytes of prices that are produced at once, in whole sessions. The last part may be smaller. */
const PART_BYTES_MIN = 2 ** 20;

/** Yields the prices of a book as bytes, some sessions at a time. Each part reuses the memory of the previous one. */
export function* createPriceParts(
  { portfolio: { sm, from, length }, index }: Pick<Run, 'portfolio' | 'index'>,
  names: Int32Array,
): Generator<Uint8Array<ArrayBuffer>> {
  const count = Math.ceil(PART_BYTES_MIN / Math.max(1, Float64Array.BYTES_PER_ELEMENT * names.length));
  const buffer = new Float64Array(Math.min(count, length) * names.length);
  const growth = createIndexTerms(index.compositions);
  for (let t = 0; t < length; t += count) {
    const rows = createPriceRows(sm, names, { from: from + t, to: from + Math.min(t + count, length), growth });
    rows.writeTo(buffer);
    yield new Uint8Array(buffer.buffer, 0, Float64Array.BYTES_PER_ELEMENT * rows.length);
  }
}

/** Returns the exchange rates of a whole run, [F x T]. Returns null without foreign securities. */
export function listWholeRates(
  { rows }: ForeignRates,
  { from, length }: Pick<Book, 'from' | 'length'>,
): BlockFiller<Float64Array> | null {
  if (rows.length === 0) return null;
  return {
    length: rows.length * length,
    writeTo(into) {
      rows.forEach((series, row) => into.set(series.subarray(from, from + length), row * length));
    },
  };
}

/**
 * Returns the exchange rates of an extended run on stored and new sessions, [F x T]. Returns null without foreign
 * securities.
 */
export function listAppendedRates(source: AppendedSessions): Float64Array | null {
  const { from } = countSessionsBefore(source);
  const filling = listWholeRates(source.rates, { from, length: source.days.length });
  if (filling === null) return null;
  const rates = new Float64Array(filling.length);
  filling.writeTo(rates);
  return rates;
}

/**
 * Returns one row of rates per foreign security, [securities x T]. Version 0.1.0 stored rates in this form, not one row
 * per currency.
 */
export function repeatRatesBySecurity(columns: BlockReader): Float64Array {
  const { foreign, dates } = columns.header;
  const values = columns.f64('rates');
  const rows = Object.values(foreign);
  const sortedValues = new Float64Array(rows.length * dates);
  rows.forEach((row, i) => sortedValues.set(values.subarray(row * dates, (row + 1) * dates), i * dates));
  return sortedValues;
}
