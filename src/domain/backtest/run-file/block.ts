import { allocateRetainedFloats } from '#base/memory.js';
import type { RelativeMetrics } from '../../analytics/relative-returns.js';
import { findLastAtMost, isEqual, type Numbers, type NumbersOf, type NumberType } from '../../base/numbers.js';
import type { Book, BookEvent } from '../../books/book.js';
import type { Composition } from '../../books/compositions.js';
import { createIndexTerms } from '../../books/index-run.js';
import type { Trades } from '../../books/trades.js';
import type { BacktestPlan } from '../../definition/backtest-plan.js';
import { createEffectTable, type EffectTable, type GrowthTerms } from '../../market/action-effects.js';
import { readSessionClose } from '../../market/growth.js';
import {
  type CorporateAction,
  listVariants,
  resolveVariant,
  type ReturnVariant,
  UNTAXED_VARIANTS,
} from '../../market/market-data.js';
import type { ExchangeRates } from '../../market/rates.js';
import { placeActions, type SessionMarket } from '../../market/session-market.js';
import type { Continuation } from '../checkpoint.js';
import type { ExtendedRecord, PackedRecord } from '../record.js';
import type { Run } from '../run.js';

/** Exchange rates of a run. Securities in one currency share a row. */
interface ForeignRates {
  /** Row of each security with prices in another currency, by security position. */
  readonly foreign: Readonly<Record<string, number>>;
  /** Rates on every session of the market, by row. */
  readonly rows: readonly Float64Array[];
}

/**
 * Collects the exchange rates of the securities of a run.
 * @param names market columns of the securities
 */
export function createForeignRates(rates: ExchangeRates, names: Int32Array): ForeignRates {
  const rowBySeries = new Map<Float64Array, number>();
  const foreignRows: Record<string, number> = {};
  for (let position = 0; position < names.length; position++) {
    if (rates.isNative(names[position]!)) continue;
    const series = rates.seriesOf(names[position]!); // all securities of a currency share one array
    const row = rowBySeries.get(series) ?? rowBySeries.size;
    rowBySeries.set(series, row);
    foreignRows[String(position)] = row;
  }
  return { foreign: foreignRows, rows: [...rowBySeries.keys()] };
}

/** Axes of a block, slowest first. */
export type Axis =
  | 'dates' // dates of the run, T
  | 'index dates' // dates of the index book, B
  | 'benchmark dates' // shared dates of run and benchmark, K
  | 'joined dates' // dates before a security joined the run, for each such security
  | 'rebalances' // R.
  | 'events' // sessions with events other than drift, E
  | 'effects' // corporate actions on held securities, A
  | 'currencies' // foreign price currencies, F
  | 'names' // securities held in the run, H
  | 'numbers'
  | 'bytes';

/** Ways to compare a block between two files. */
export type BlockComparison =
  /**
   * By date of the first axis, then by security. If several blocks differ on one date, the block with the lowest rank
   * is reported, because it is the cause.
   */
  | { readonly by: 'date'; readonly rank: number }
  /** By date: reports the first date that only one of the blocks contains. */
  | { readonly by: 'days' }
  /** By date; reported after all differences on a date of the run. */
  | { readonly by: 'other days' }
  /** By element; reported after all dated differences, lowest rank first. */
  | { readonly by: 'element'; readonly rank: number }
  /** As a whole; values are not reported. */
  | { readonly by: 'content' }
  /** Field by field, as a part of the record. */
  | { readonly by: 'record' }
  /** Not compared: contains only positions of elements, which are compared in another block. */
  | { readonly by: 'layout' };

/** Relation of a block in files of version 0.1.0 to its current form. */
type BlockUpgrade =
  /** Unchanged form. */
  | 'same'
  /** Block that does not exist and has no replacement. It is not compared, and no view reads it. */
  | 'absent'
  /**
   * Numbers in another order or with another number of rows. The function converts a block of any version to one common
   * form before a comparison.
   */
  | ((columns: BlockReader) => Float64Array);

/** Run file as a source for `BlockUpgrade`. */
interface BlockReader {
  readonly header: { readonly dates: number; readonly foreign: Readonly<Record<string, number>> };
  f64(name: 'detachments' | 'distributions' | 'effects' | 'rates'): Float64Array;
}

/** Elements of a block that are written directly into the memory of the file. */
export interface BlockFiller<N extends Numbers> {
  readonly length: number;
  writeTo(block: N): void;
}

/** Elements of a block that an extension writes. */
export type Addition<N extends Numbers> =
  /** Elements to append to the stored ones. */
  | { readonly appended: readonly N[] }
  /** All elements of the block, which replace the stored ones. */
  | { readonly replaced: N };

/** Block of a run file, with all its operations. */
export interface Block<K extends NumberType> {
  readonly type: K;
  readonly axes: readonly Axis[];
  readonly meaning: string;
  /** Number of elements per row, if every row begins with the position of a security. */
  readonly positionsEvery?: number;
  /** Block with the elements of securities that joined after a file was written. Default: these elements are zero. */
  readonly joined?: 'joinedPrice';
  /**
   * True if an extension may add the block to a stored run that lacks it. Default: the extended run lacks the block as
   * well.
   */
  readonly canBeAddedLater?: boolean;
  /** Returns the elements of a whole run. Returns null if the run has no such block. */
  readonly whole: (source: WholeRun) => BlockFiller<NumbersOf<K>> | null;
  /** Returns the elements of an extension. Returns null if the run has no such block. */
  readonly added: (source: AppendedSessions) => Addition<NumbersOf<K>> | null;
  readonly compare: BlockComparison;
  readonly upgrade: BlockUpgrade;
}

export type AnyBlock = Block<'f64'> | Block<'i32'> | Block<'u8'>;

/** Whole run, with data from which several blocks are written. */
export interface WholeRun {
  readonly run: Run;
  readonly contentHash: string;
  /** Columns of the market that the run held or targeted, ascending, [H]. */
  readonly names: Int32Array;
  /**
   * Index book. Present only if its weights differ from the portfolio weights on some date and views show both;
   * otherwise null.
   */
  readonly indexRows: Book | null;
  readonly rates: ForeignRates;
  readonly record: PackedRecord;
}

/** New sessions of a stored run, with data of the whole run. */
export interface AppendedSessions {
  readonly plan: BacktestPlan;
  readonly contentHash: string;
  readonly continuation: Continuation;
  /** Market columns of the whole run's securities, and of the securities that the stored run lacks. */
  readonly names: Int32Array;
  readonly joined: Int32Array;
  /** Number of stored dates of the run. */
  readonly before: number;
  readonly hasIndexWeights: boolean;
  readonly rates: ForeignRates;
  /** Days of the whole run. */
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly value: Float64Array;
  readonly costs: Float64Array;
  readonly indexLevel: Float64Array;
  readonly relative: RelativeMetrics | null;
  /** Trades of the new sessions. */
  readonly trades: Trades;
  readonly record: Pick<ExtendedRecord, 'description' | 'rebalances' | 'added'>;
  readonly actionsOf: (columns: Int32Array) => readonly CorporateAction[];
}

/** Shorthands for the catalogue entries. */

export const compareByDate = (rank: number): BlockComparison => ({ by: 'date', rank });
export const compareByElement = (rank: number): BlockComparison => ({ by: 'element', rank });

/** Returns a filler that copies values from memory. */
export function toFilling<N extends Numbers>(values: N): BlockFiller<N> {
  return { length: values.length, writeTo: (into) => into.set(values) };
}

export function toFillingOrNull<N extends Numbers>(values: N | null): BlockFiller<N> | null {
  return values && toFilling(values);
}

/** Returns an addition that appends elements to the stored ones. */
export function createAppended<N extends Numbers>(...added: N[]): Addition<N> {
  return { appended: added };
}

interface SeriesSource extends Pick<Block<'f64'>, 'axes' | 'meaning' | 'compare'> {
  readonly whole: (source: WholeRun) => Float64Array | null;
  /** Elements of an extension, beginning with the last stored session. */
  readonly added: (source: AppendedSessions) => Float64Array | null;
}

/** Creates a block with one value per date, to which an extension appends. */
export function createSeriesBlock({ whole, added, ...description }: SeriesSource): Block<'f64'> {
  return {
    ...description,
    type: 'f64',
    upgrade: 'same',
    whole: (source) => toFillingOrNull(whole(source)),
    added(source) {
      const values = added(source);
      return values && createAppended(values.subarray(1));
    },
  };
}

/**
 * Creates the block of the index level or divisor in a return variant. The block is absent if the market prices do not
 * allow that variant.
 */
export function createVariantBlock(variant: ReturnVariant, member: 'level' | 'divisor', rank: number): Block<'f64'> {
  return createSeriesBlock({
    axes: ['index dates'],
    compare: compareByDate(rank),
    meaning: `${variant} return ${member}`,
    whole({ run }) {
      const { [variant]: variantLevel } = run.variants;
      return variantLevel && variantLevel[member];
    },
    added({ continuation }) {
      if (!listVariants(continuation.index.sm.market).includes(variant)) return null;
      const { levels } = continuation.index.book.reinvested ?? {};
      const isOwn = variant === resolveVariant(continuation.index.sm.market, continuation.index.treatment.dividends);
      if (levels && !isOwn) return member === 'level' ? levels[variant] : continuation.index.book.divisor;
      return findVariantBook(continuation, variant)[member === 'level' ? 'value' : 'divisor'];
    },
  });
}

/**
 * Returns the book of a return variant as in a full run. A variant that is not simulated shares the book of the index,
 * or of the variant before tax.
 */
function findVariantBook({ index, variants }: Continuation, variant: ReturnVariant): Book {
  const {
    treatment,
    sm: { market },
  } = index;
  const ownVariant = resolveVariant(market, treatment.dividends);
  const findBook = (otherVariant: ReturnVariant): Book =>
    otherVariant === ownVariant ? index.book : (variants[otherVariant] ?? findBook(UNTAXED_VARIANTS[otherVariant]));
  return findBook(variant);
}

/** Creates the block for numbers of the record of one type. */
export function createPoolBlock<K extends NumberType>(type: K, meaning: string): Block<K> {
  return {
    type,
    meaning,
    axes: ['numbers'],
    compare: { by: 'record' },
    upgrade: 'absent',
    whole: ({ record: { pools } }) => ({ length: pools[type].length, writeTo: (into) => pools[type].writeTo(into) }),
    added: ({ record }) => ({ appended: record.added[type] }),
  };
}

/** Returns the position in `columns` of each of the `others`; -1 if absent. Both arrays ascend. */
function assignSlots(columns: Int32Array, others: Int32Array): Int32Array {
  const slots = new Int32Array(others.length).fill(-1);
  for (let i = 0, slot = 0; i < others.length; i++) {
    while (slot < columns.length && columns[slot]! < others[i]!) slot++;
    if (columns[slot] === others[i]) slots[i] = slot;
  }
  return slots;
}

/**
 * Writes the values of a row for other securities. `slots` are their positions in the row; a negative position gives 0.
 */
function scatterRow(row: Float64Array, slots: Int32Array, into: Float64Array): void {
  for (let i = 0; i < slots.length; i++) into[i] = slots[i]! < 0 ? 0 : row[slots[i]!]!;
}

/** Returns the position of a column in an ascending array. Returns -1 if absent. */
export function findPosition(columns: Int32Array, column: number): number {
  const position = findLastAtMost(columns, column);
  return columns[position] === column ? position : -1;
}

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

interface WrittenRows extends SessionRange {
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
