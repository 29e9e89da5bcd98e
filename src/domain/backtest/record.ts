import { decodeUtf8 } from '#base/bytes.js';
import { allocateRetainedFloats, allocateRetainedIntegers, allocateRetainedMemory } from '#base/memory.js';
import type { DatedSeries } from '../analytics/relative-returns.js';
import type { BacktestMetrics } from '../analytics/returns.js';
import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { findNumberType, isEqual, type Numbers, type NumberType } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Book, type BookEvent, type Gap, readBookCurrency } from '../books/book.js';
import type { Composition, Compositions } from '../books/compositions.js';
import { type EventTerms, listEvents } from '../books/events.js';
import {
  createIndexShares,
  createIndexTerms,
  type IndexShares,
  type IndexSharesReader,
  omitIndexShares,
} from '../books/index-run.js';
import { listStaleFills, type StaleFills, type Trades } from '../books/trades.js';
import { limitToCoverage, type WindowCoverage } from '../books/rebalance-dates.js';
import type { BacktestPlan } from '../definition/backtest-plan.js';
import type { RebalanceCause } from '../definition/index-schedule.js';
import { DEFAULT_REVIEW } from '../definition/schedule.js';
import { createEffectTable, findEffect, type GrowthTerms, toShortTerms } from '../market/action-effects.js';
import { findCarriedUnder, readCarriedClose } from '../market/growth.js';
import { createExchangeRates } from '../market/rates.js';
import type { Continuation, IndexContinuation } from './checkpoint.js';
import {
  type AppendedFrame,
  type AppendedNumbers,
  type ArraySource,
  type BlockReference,
  type ComparedIdentifiers,
  countNumbers,
  createFieldGroup,
  createFields,
  createFrame,
  type Field,
  FRAME,
  haveSameFrame,
  isArrayLocation,
  openPools,
  type Packing,
  POOLS,
  readMember,
  readNumbersAt,
  type RecordExtension,
  type StoredNumbers,
  type WeightsFrame,
} from './record-fields.js';
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
function listRunGaps({
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

function listPricing({
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
interface PositionRows {
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
function createPositionRows(run: Pick<TradedRun, 'portfolio' | 'document' | 'index'>, first = 0): PositionRows {
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
const TRANSACTION_ROWS_MAX = 1_000_000;

/**
 * Returns the most recent trades.
 * @param first as in `createPositionRows`
 */
function createTransactionRows(run: TradedRun, first = 0): TransactionRows {
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

/** Composition in index shares, with its trades at prices of an earlier session. */
interface PresentedComposition extends Omit<Composition, 'targets'>, IndexShares {
  readonly staleFills: StaleFills | null;
}

/** Additional data for the presentation of compositions. */
interface PresentationTerms {
  readonly fills: ReadonlyMap<number, StaleFills>;
  readonly sharesOf: IndexSharesReader;
}

function toPresentedComposition(
  composition: Composition,
  { fills, sharesOf }: PresentationTerms,
): PresentedComposition {
  return { ...composition, ...sharesOf(composition), staleFills: fills.get(composition.session) ?? null };
}

function returnNull(): null {
  return null;
}

/** Book of an index, or a plain level series, over a whole run. */
interface WholeBook {
  readonly days: Int32Array;
  readonly levels: Float64Array;
  readonly coverage: WindowCoverage | null;
  /** Null for a plain series. */
  readonly index: {
    readonly book: Book;
    readonly compositions: Pick<Compositions, 'list' | 'document' | 'treatment'>;
  } | null;
  readonly frame: WeightsFrame | null;
}

/** Book of an index, or a plain level series, over the new sessions. */
interface AppendedBook {
  readonly days: Int32Array;
  readonly levels: Float64Array;
  readonly coverage: WindowCoverage | null;
  readonly index: Pick<IndexContinuation, 'composed' | 'book' | 'document' | 'treatment'> | null;
  readonly divisor: Float64Array | null;
  readonly frame: AppendedFrame | null;
}

/**
 * Returns compositions with their index shares. Each has the trades of the index without a price bar on its session,
 * with the days of the earlier prices used.
 */
function showComposition(
  priced: { readonly book: Book; readonly index: Pick<Compositions, 'treatment' | 'document'> } | null,
  compositions: readonly Composition[],
): PresentedComposition[] {
  if (priced === null || compositions.length === 0) return [];
  const { book, index } = priced;
  const terms = { fills: listStaleFills(book), sharesOf: createIndexShares(book, index) };
  return compositions.map((composition) => toPresentedComposition(composition, terms));
}

function listEffectiveCompositions({ index }: WholeBook): readonly Composition[] {
  return index === null
    ? []
    : index.compositions.list.filter(({ session }) => session < index.book.from + index.book.length);
}

const createSourcePair = <S, T>(readSource: (source: S) => T) => ({ whole: readSource, added: readSource });

/** Whole run with the weights frame of its portfolio. */
interface WholeRecord {
  readonly run: Run;
  readonly frame: WeightsFrame;
}

/** New sessions of a stored run. */
export interface AppendedRecord {
  readonly continuation: Continuation;
  /** Number of stored dates of the run and of each of its books. */
  readonly dates: number;
  readonly before: { readonly [K in 'target' | 'optimised' | 'benchmark']: number };
  readonly plan: BacktestPlan;
  readonly trades: Trades;
  /** Trades of the portfolio at prices of an earlier session, by rebalance session. */
  readonly staleFills: ReadonlyMap<number, StaleFills>;
  readonly gaps: Run['gaps'];
  /** Metrics of the whole run. */
  readonly metrics: BacktestMetrics;
  readonly findings: readonly Finding[];
  readonly unfilled: readonly RecordedOrder[];
}

type PresentedIndex = Pick<Run['index'], 'book' | 'compositions' | 'days' | 'coverage'>;

function toWholeIndex({ run: { portfolio }, frame }: WholeRecord, index: PresentedIndex): WholeBook {
  const { days, coverage } = index;
  return {
    days,
    coverage,
    index,
    levels: index.book.value,
    frame: haveSameFrame(index.book, portfolio) ? frame : createFrame(index.book),
  };
}

function toWholeBenchmark(source: WholeRecord): WholeBook | null {
  const { benchmark } = source.run;
  if (!benchmark) return null;
  const {
    level: { days, values },
    index,
  } = benchmark;
  return index
    ? toWholeIndex(source, { ...index, days })
    : { days, levels: values, coverage: null, index: null, frame: null };
}

interface AppendedIndex {
  readonly index: IndexContinuation;
  /** Number of stored dates of the book. */
  readonly before: number;
  readonly coverage: WindowCoverage | null;
}

function toAppendedIndex(
  { continuation: { portfolio } }: AppendedRecord,
  { index, before, coverage }: AppendedIndex,
): AppendedBook {
  const { book: added } = index;
  return {
    index,
    coverage,
    days: listLaterDays(added),
    levels: added.value.subarray(1),
    divisor: added.divisor.subarray(1),
    frame: { book: added, portfolio, before },
  };
}

function toAppendedBenchmark(added: AppendedRecord): AppendedBook | null {
  const { benchmark, series, range } = added.continuation;
  if (benchmark) {
    const { sm } = benchmark;
    return toAppendedIndex(added, {
      index: benchmark,
      before: added.before.benchmark,
      coverage: limitToCoverage(sm.calendar, range),
    });
  }
  return (
    series && {
      days: series.added.days,
      levels: series.added.values,
      coverage: null,
      index: null,
      divisor: null,
      frame: null,
    }
  );
}

/** Returns the days of a book after its first session. The first session is stored already. */
export function listLaterDays({ sm, from, length }: Book): Int32Array {
  return sm.sessions.slice(from + 1, from + length);
}

/** Returns a book without its first session, from which it was resumed. */
function removeFirstSession(book: Book): Book {
  const { from, length, columns, weights, value, counts } = book;
  return {
    ...book,
    from: from + 1,
    length: length - 1,
    weights: weights.subarray(columns.length),
    value: value.subarray(1),
    counts: counts.subarray(1),
  };
}

/**
 * Returns the session of the calendar before the first session of the run. If the calendar begins with the run, returns
 * the previous calendar day.
 */
function findPreviousDay({ sm, from }: Book): number {
  const { sessions } = sm.calendar;
  const first = sm.sessions[from]!;
  return sessions[sessions.indexOf(first) - 1] ?? first - 1;
}

/*
 * Catalogue of the record: one entry per field, with the field's source in a whole run and in an extension. Types,
 * packing, reading, extending and comparing derive from the catalogue.
 */

const staleFillFields = createFields<StaleFills, never>();
const STALE_FILLS = createFieldGroup({
  columns: staleFillFields.positions({ whole: ({ columns }) => columns }),
  /** Days of the prices used. */
  lastBars: staleFillFields.i32({ whole: ({ lastBars }) => lastBars }),
  ages: staleFillFields.i32({ whole: ({ ages }) => ages }),
});

const NUMBERS = createFields<Float64Array, never>().f64({ whole: (values) => values });

/** Recorded composition. Weights that no cap changed are stored once. */
const compositionFields = createFields<PresentedComposition, never>();
export const SNAPSHOT = createFieldGroup({
  date: compositionFields.fixed(({ date }) => date),
  announced: compositionFields.fixed(({ announced }) => announced),
  columns: compositionFields.positions({ whole: ({ columns }) => columns }),
  weights: compositionFields.f64({ whole: ({ weights }) => weights }),
  /** Effective maximum weight; null without a cap. */
  cap: compositionFields.fixed(({ cap }) => cap),
  capped: compositionFields.positions({ whole: ({ capped }) => capped }),
  redistributed: compositionFields.fixed(({ redistributed }) => redistributed),
  uncapped: compositionFields.f64({
    whole: ({ weights, uncapped }) => (isEqual(weights, uncapped) ? weights : uncapped),
  }),
  /** Later schedule dates that fall on this session. */
  also: compositionFields.fixed(({ also }) => also),
  /** Null if every traded security had a price bar. */
  staleFills: compositionFields.later(
    compositionFields.optional<FieldValue<typeof STALE_FILLS>, StaleFills, never>({
      whole: ({ staleFills }) => staleFills,
      added: returnNull,
      field: STALE_FILLS,
    }),
  ),
  /** Trigger of the rebalance. */
  cause: compositionFields.later(compositionFields.fixed(({ cause }): RebalanceCause => cause ?? 'schedule')),
  /** Reference date. */
  reference: compositionFields.later(compositionFields.fixed(({ reference }) => reference)),
  /** Day whose closes converted target weights into index shares. */
  priced: compositionFields.later(compositionFields.fixed(({ priced }) => priced)),
  /** Reviews that decided the composition, in order. */
  reviews: compositionFields.later(
    compositionFields.fixed(({ reviews }): readonly string[] => reviews ?? [DEFAULT_REVIEW]),
  ),
  /** Fraction of the rebalance that is complete after this close; 1 unless it is phased. */
  phase: compositionFields.later(compositionFields.fixed(({ phase }) => phase?.fraction ?? 1)),
  targetColumns: compositionFields.later(compositionFields.positions({ whole: ({ targets }) => targets.columns })),
  targets: compositionFields.later(compositionFields.f64({ whole: ({ targets }) => targets.weights })),
  /** Index shares, and their ratio to float-adjusted shares. Null if the composition has no index shares. */
  shares: compositionFields.later(
    compositionFields.optional({ whole: ({ shares }) => shares, added: returnNull, field: NUMBERS }),
  ),
  factors: compositionFields.later(
    compositionFields.optional({ whole: ({ factors }) => factors, added: returnNull, field: NUMBERS }),
  ),
});
export type Snapshot = FieldValue<typeof SNAPSHOT>;

type FieldValue<F> = F extends Field<infer T, never, never> ? T : never;

const bookFields = createFields<WholeBook, AppendedBook>();
const numberFields = createFields<Float64Array, Float64Array>();
const returnValue = <T>(value: T): T => value;

/** Levels of an index or a plain series, with the compositions of an index. */
export const BOOK = createFieldGroup({
  /** [B] */
  days: bookFields.i32({ whole: ({ days }) => days, added: ({ days }) => days }),
  coverage: bookFields.anew({ whole: ({ coverage }) => coverage, after: ({ coverage }) => coverage }),
  /** Null for a plain series, like the fields below. */
  frame: bookFields.optional({ whole: ({ frame }) => frame, added: ({ frame }) => frame, field: FRAME }),
  levels: bookFields.f64({ whole: ({ levels }) => levels, added: ({ levels }) => levels }),
  divisor: bookFields.optional({
    whole: ({ index }) => index && index.book.divisor,
    added: ({ divisor }) => divisor,
    field: numberFields.f64({ whole: returnValue, added: returnValue }),
  }),
  /** Ordinary dividends in points of the price return. Null if dividends are reinvested in the paying security. */
  dividendPoints: bookFields.later(
    bookFields.optional({
      whole: ({ index }) => index?.book.reinvested?.points ?? null,
      added: ({ index }) => index?.book.reinvested?.points.subarray(1) ?? null,
      field: numberFields.f64({ whole: returnValue, added: returnValue }),
    }),
  ),
  snapshots: bookFields.latest({
    item: SNAPSHOT,
    whole: (shown) =>
      showComposition(findPricedIndex(shown.index?.book, shown.index?.compositions), listEffectiveCompositions(shown)),
    added: ({ index }) => showComposition(findPricedIndex(index?.book, index), index?.composed ?? []),
    max: LIMITS.MAX_REBALANCES,
  }),
  rebalancesTotal: bookFields.count({
    whole: (shown) => listEffectiveCompositions(shown).length,
    added: ({ index }) => index?.composed.length ?? 0,
  }),
});
export type RecordedBook = FieldValue<typeof BOOK>;

/** Returns the book of an index with its terms. Returns null for a plain series. */
function findPricedIndex(
  book: Book | undefined,
  index: Pick<Compositions, 'document' | 'treatment'> | null | undefined,
) {
  return book === undefined || !index ? null : { book, index };
}

const positionFields = createFields<PositionRows, PositionRows>();
const countOlderPositions = ({ at }: PositionRows): number => LIMITS.MAX_POSITION_ROWS - at.length;
const POSITIONS = createFieldGroup({
  total: positionFields.count(createSourcePair(({ total }) => total)),
  units: positionFields.f64({ ...createSourcePair(({ units }) => units), stay: countOlderPositions }),
  price: positionFields.f64({ ...createSourcePair(({ price }) => price), stay: countOlderPositions }),
  value: positionFields.f64({ ...createSourcePair(({ value }) => value), stay: countOlderPositions }),
  weight: positionFields.f64({ ...createSourcePair(({ weight }) => weight), stay: countOlderPositions }),
  at: positionFields.i32({ ...createSourcePair(({ at }) => at), stay: countOlderPositions }),
  columns: positionFields.positions({ ...createSourcePair(({ columns }) => columns), stay: countOlderPositions }),
});

const transactionFields = createFields<TransactionRows, TransactionRows>();
const countOlderTrades = ({ at }: TransactionRows): number => TRANSACTION_ROWS_MAX - at.length;
export const TRANSACTIONS = createFieldGroup({
  total: transactionFields.count(createSourcePair(({ total }) => total)),
  at: transactionFields.i32({ ...createSourcePair(({ at }) => at), stay: countOlderTrades }),
  columns: transactionFields.positions({ ...createSourcePair(({ columns }) => columns), stay: countOlderTrades }),
  notional: transactionFields.f64({ ...createSourcePair(({ notional }) => notional), stay: countOlderTrades }),
  price: transactionFields.f64({ ...createSourcePair(({ price }) => price), stay: countOlderTrades }),
  reason: transactionFields.u8({ ...createSourcePair(({ reason }) => reason), stay: countOlderTrades }),
  isFree: transactionFields.u8({ ...createSourcePair(({ isFree }) => isFree), stay: countOlderTrades }),
});

export type RecordedTransactions = FieldValue<typeof TRANSACTIONS>;

const recordFields = createFields<WholeRecord, AppendedRecord>();

/** Holdings and trades of the portfolio. */
const PORTFOLIO = createFieldGroup({
  days: recordFields.i32({
    whole: ({ run }) => run.days,
    added: ({ continuation: { portfolio } }) => listLaterDays(portfolio),
  }),
  /** Session before the first session of the run. */
  dayBefore: recordFields.fixed(({ run }) => findPreviousDay(run.portfolio)),
  initialCapital: recordFields.fixed(({ run }) => run.plan.request.initial_capital),
  /** Cost per unit of traded notional. */
  costRate: recordFields.fixed(({ run }) => run.plan.request.transaction_cost_bps / 10_000),
  /** Portfolio value in money, [T]. */
  value: recordFields.f64({
    whole: ({ run }) => run.portfolio.value,
    added: ({ continuation }) => continuation.portfolio.value.subarray(1),
  }),
  /** Cash as a fraction of the portfolio value, [T]. */
  cash: recordFields.f64({
    whole: ({ run }) => run.portfolio.cash,
    added: ({ continuation }) => continuation.portfolio.cash.subarray(1),
  }),
  frame: recordFields.of({
    whole: ({ frame }) => frame,
    added: ({ continuation: { portfolio }, dates }) => ({ book: portfolio, portfolio, before: dates }),
    field: FRAME,
  }),
  positions: recordFields.of({
    whole: ({ run }) => createPositionRows(run),
    added: ({ continuation: { portfolio, index }, dates }) =>
      createPositionRows(
        { portfolio: removeFirstSession(portfolio), document: index.document, index: { compositions: index } },
        dates,
      ),
    field: POSITIONS,
  }),
  transactions: recordFields.of({
    whole: ({ run }) => createTransactionRows(run),
    added: ({ continuation: { portfolio, index }, trades, dates }) =>
      createTransactionRows({ portfolio, document: index.document, trades, index: { compositions: index } }, dates - 1),
    field: TRANSACTIONS,
  }),
});
export type RecordedPortfolio = FieldValue<typeof PORTFOLIO>;

const gapFields = createFields<RecordedGaps, RecordedGaps>();
/** Securities without a price bar on a day, with the day of the price used instead. */
export const GAPS = createFieldGroup({
  columns: gapFields.positions(createSourcePair(({ columns }) => columns)),
  days: gapFields.i32(createSourcePair(({ days }) => days)),
  pricedFrom: gapFields.i32(createSourcePair(({ pricedFrom }) => pricedFrom)),
});

const pricingFields = createFields<RecordedPricing, RecordedPricing>();
/** Effective date of each rebalance, with the session of the prices used. */
export const PRICING = createFieldGroup({
  dates: pricingFields.i32(createSourcePair(({ dates }) => dates)),
  pricedFrom: pricingFields.i32(createSourcePair(({ pricedFrom }) => pricedFrom)),
});

/** Fields stored as plain JSON. */
export const JSON_FIELDS = createFieldGroup({
  runId: recordFields.fixed(({ run }) => run.plan.runId),
  metrics: recordFields.anew({ whole: ({ run }) => run.metrics, after: ({ metrics }) => metrics }),
  findings: recordFields.anew({ whole: ({ run }) => run.findings, after: ({ findings }) => findings }),
  unfilled: recordFields.anew<readonly RecordedOrder[]>({
    whole: ({ run }) => listUnfilledOrders(run.portfolio),
    after: ({ unfilled }) => unfilled,
  }),
});

const ARRAY_FIELDS = createFieldGroup({
  benchmark: recordFields.optional({ whole: toWholeBenchmark, added: toAppendedBenchmark, field: BOOK }),
  /** Index that the portfolio tracks; for a derived index, the parent of that index. */
  target: recordFields.of({
    whole: (source) => toWholeIndex(source, source.run.parent ?? source.run.index),
    added(added) {
      const { parent, index, range } = added.continuation;
      return toAppendedIndex(added, {
        index: parent ?? index,
        before: added.before.target,
        coverage: parent ? null : range.coverage,
      });
    },
    field: BOOK,
  }),
  /** Book of the derived index. */
  optimised: recordFields.optional({
    whole: (source) => source.run.parent && toWholeIndex(source, source.run.index),
    added(added) {
      const { index, range } = added.continuation;
      return toAppendedIndex(added, { index, before: added.before.optimised, coverage: range.coverage });
    },
    field: BOOK,
  }),
  portfolio: PORTFOLIO,
  gaps: recordFields.of({
    whole: ({ run }) => listRunGaps(run),
    added: ({ gaps, continuation }) => listRunGaps({ gaps, portfolio: continuation.portfolio }),
    field: GAPS,
  }),
  pricing: recordFields.of({
    whole: ({ run }) => listPricing(run),
    added: ({ continuation }) => listPricing(continuation),
    field: PRICING,
  }),
});

/**
 * Contents of the record of a run as typed arrays, created from a run or read from its file. `columns` and `capped` are
 * positions in `identifiers` everywhere.
 */
export interface RunRecord extends StoredRecord {
  /** Currency of the cash of an overlay; null for any other run. */
  readonly cashCurrency: string | null;
}

/** Record without the facts of the header of its run. */
interface StoredRecord extends FieldValue<typeof JSON_FIELDS>, FieldValue<typeof ARRAY_FIELDS> {
  readonly identifiers: readonly string[];
}

/**
 * Maximum number of weights in the rebalances of one result; older rebalances are omitted. 2,000,000 weights are about
 * 60 MB of text.
 */
const REBALANCE_CELLS_MAX = 2_000_000;

const rebalanceField = createFields<Pick<WholeRecord, 'run'>, AppendedRecord>().latest({
  item: SNAPSHOT,
  whole: ({ run: { rebalances: list, staleFills, portfolio, plan, index } }) => {
    const readShares = plan.strategy
      ? omitIndexShares(portfolio.sm)
      : createIndexShares(index.book, index.compositions);
    return listPresentedCompositions(list, { fills: staleFills, sharesOf: readShares });
  },
  added: ({ plan, staleFills, continuation: { rebalances: list, index } }) => {
    const { sm, book } = index;
    const readShares = plan.strategy ? omitIndexShares(sm) : createIndexShares(book, index);
    return listPresentedCompositions(list, { fills: staleFills, sharesOf: readShares });
  },
  max: Infinity,
});

function listPresentedCompositions(
  compositions: readonly Composition[],
  terms: { readonly fills: ReadonlyMap<number, StaleFills>; readonly sharesOf: IndexSharesReader },
): PresentedComposition[] {
  return compositions.map((one) => toPresentedComposition(one, terms));
}

/** Rebalances of the run, beginning with the one in force at its start, limited to `REBALANCE_CELLS_MAX` weights. */
export const REBALANCES: Field<readonly Snapshot[], Pick<WholeRecord, 'run'>, AppendedRecord> = {
  ...rebalanceField,
  whole: (source) => selectLatestWithinLimit(rebalanceField.whole(source), ({ columns }) => columns.length),
  extend(packed, added, into) {
    const all = rebalanceField.extend(packed, added, into) as readonly unknown[]; // the packed form of `latest` is a list of items
    return selectLatestWithinLimit(all, (one) => {
      const columns = readMember(one, 'columns');
      return isArrayLocation(columns) ? countNumbers(columns) : 0;
    });
  },
};

function selectLatestWithinLimit<T>(list: readonly T[], cellsOf: (one: T) => number): readonly T[] {
  let cells = 0;
  const from = list.findLastIndex((one) => (cells += cellsOf(one)) > REBALANCE_CELLS_MAX) + 1;
  return list.slice(from);
}

/** Shape of all fields of a record. A change of the shape changes the stored text of an otherwise equal run. */
export const RECORD_SHAPE = JSON_FIELDS.shape + ARRAY_FIELDS.shape;

/** Returns the record of a whole run. @cost one pass over trades and served rows */
export function createRunRecord(run: Run): RunRecord {
  const source = { run, frame: createFrame(run.portfolio) };
  return {
    identifiers: run.portfolio.sm.identifiers,
    cashCurrency: run.portfolio.overlay === undefined ? null : run.document.currency,
    ...JSON_FIELDS.whole(source),
    ...ARRAY_FIELDS.whole(source),
  };
}

/**
 * Version of the packed form. Increment it if equal columns and fields (`RECORD_SHAPE`) are written as a different
 * text.
 */
export const RECORD_FORMAT = 3;

/**
 * Record as it is stored in the columns of its run. A JSON description refers to arrays by their position, and the
 * arrays are concatenated by type. Arrays that are blocks of the file are referenced and not stored twice.
 */
export interface PackedRecord {
  readonly description: Uint8Array;
  /** Rebalances of the run, packed like the description; securities are positions in its identifiers. */
  readonly rebalances: Uint8Array;
  readonly pools: Readonly<Record<NumberType, PackedPool>>;
}

/** Concatenated arrays of one number type. */
interface PackedPool {
  readonly length: number;
  writeTo(block: Numbers): void;
}

/**
 * Packs the record of a run.
 * @param blocks arrays of the record that are blocks of the file.
 * @throws Refusal NUMERIC_FAILURE if a number of the record is not finite
 */
export function packRecord(
  { record, rebalances }: { readonly record: RunRecord; readonly rebalances: readonly Snapshot[] },
  blocks: ReadonlyMap<Numbers, string>,
): PackedRecord {
  const { identifiers } = record;
  const pools = createPools(record, blocks);
  const jsonFields = JSON_FIELDS.pack(record, pools.packing);
  const otherFields = ARRAY_FIELDS.pack(record, pools.packing);
  const packedRebalances = REBALANCES.pack(rebalances, pools.packing);
  for (const array of [...pools.arrays.f64, ...blocks.keys()]) if (array instanceof Float64Array) assertFinite(array);
  const usedColumns = collectUsedColumns(pools.positions, identifiers);
  const description = {
    identifiers: Array.from(usedColumns.columns, (column) => identifiers[column]!),
    plain: jsonFields,
    rest: otherFields,
  };
  const createPackedPool = (kind: NumberType): PackedPool => ({
    length: pools.arrays[kind].reduce((sum, { length }) => sum + length, 0),
    writeTo(block) {
      let to = 0;
      for (const array of pools.arrays[kind]) {
        if (pools.positions.has(array))
          for (let i = 0; i < array.length; i++) block[to + i] = usedColumns.placeOf[array[i]!]!;
        else block.set(array, to);
        to += array.length;
      }
    },
  });
  return {
    description: new TextEncoder().encode(JSON.stringify(description)),
    rebalances: new TextEncoder().encode(JSON.stringify(packedRebalances)),
    pools: { f64: createPackedPool('f64'), i32: createPackedPool('i32'), u8: createPackedPool('u8') },
  };
}

interface WholePools {
  readonly packing: Packing;
  readonly arrays: Readonly<Record<NumberType, readonly Numbers[]>>;
  /** Packed arrays that contain market columns. */
  readonly positions: ReadonlySet<Numbers>;
}

/** Creates pools that contain every array only once. */
function createPools({ portfolio }: RunRecord, blocks: ReadonlyMap<Numbers, string>): WholePools {
  const arrays: Record<NumberType, Numbers[]> = { f64: [], i32: [], u8: [] };
  const lengths = { f64: 0, i32: 0, u8: 0 };
  const positions = new Set<Numbers>();
  const references = new Map<Numbers, BlockReference>(
    Array.from(blocks, ([array, block]) => [array, { block, kind: findNumberType(array), from: 0, to: array.length }]),
  );
  const storeArray = (array: Numbers, isPositions: boolean): BlockReference => {
    let reference = references.get(array);
    if (!reference) {
      const kind = findNumberType(array);
      reference = { block: POOLS[kind], kind, from: lengths[kind], to: (lengths[kind] += array.length) };
      references.set(array, reference);
      arrays[kind].push(array);
      if (isPositions) positions.add(array);
    }
    return reference;
  };
  return { arrays, positions, packing: { place: storeArray, isOfPortfolio: (frame) => frame === portfolio.frame } };
}

/**
 * Refuses values that are not finite.
 * @throws Refusal NUMERIC_FAILURE
 */
export function assertFinite(values: Float64Array): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value - value !== 0) throw new Refusal('NUMERIC_FAILURE', `A result is ${value}, not a finite number.`);
  }
}

interface UsedColumns {
  /** Market columns that a record refers to, ascending. */
  readonly columns: Int32Array;
  /** Position of each market column in `columns`; -1 if absent. */
  readonly placeOf: Int32Array;
}

function collectUsedColumns(positions: Iterable<Numbers>, identifiers: readonly string[]): UsedColumns {
  const positionByColumn = new Int32Array(identifiers.length).fill(-1);
  for (const array of positions) for (let i = 0; i < array.length; i++) positionByColumn[array[i]!] = 0;
  const columns: number[] = [];
  for (let column = 0; column < positionByColumn.length; column++)
    if (positionByColumn[column] === 0) positionByColumn[column] = columns.push(column) - 1;
  return { columns: Int32Array.from(columns), placeOf: positionByColumn };
}

/** JSON of a stored record: see `README.md`. */
interface Description {
  readonly identifiers: readonly string[];
  readonly plain: unknown;
  readonly rest: unknown;
}

export function readDescription(bytes: Uint8Array): Description {
  return JSON.parse(decodeUtf8(bytes)) as Description; // Written by packRecord or extendRecord.
}

/** Reads the record of a stored run. @throws Refusal DOCUMENT_UNREADABLE if a part is missing */
export function readPacked(description: Uint8Array, stored: StoredNumbers): StoredRecord {
  const { identifiers, plain, rest } = readDescription(description);
  const recordIdentifiers = [...identifiers];
  const reading = createRecordSource(stored, recordIdentifiers);
  return { identifiers: recordIdentifiers, ...JSON_FIELDS.read(plain, reading), ...ARRAY_FIELDS.read(rest, reading) };
}

/**
 * Creates a reader of the record's arrays.
 * @param identifiers receives the securities that occur only in the portfolio frame
 */
export function createRecordSource(stored: StoredNumbers, identifiers: string[]): ArraySource {
  let frame: WeightsFrame | undefined;
  return {
    numbers: (place) => readNumbersAt(stored, place),
    portfolioFrame: (rows) => (frame ??= readPortfolioFrame(stored, rows, identifiers)),
  };
}

/**
 * Returns the path of the first field in which two records differ. The order of identifiers does not count. Returns
 * null if the records are equal.
 */
export function findRecordDifference(stored: RunRecord, replayed: RunRecord): string | null {
  const names: ComparedIdentifiers = { stored: stored.identifiers, replayed: replayed.identifiers };
  return JSON_FIELDS.differs(stored, replayed, names) ?? ARRAY_FIELDS.differs(stored, replayed, names);
}

/**
 * Returns the last rows of the portfolio weights, and adds securities that occur only in those rows to the identifiers.
 */
function readPortfolioFrame(stored: StoredNumbers, rowCount: number, identifiers: string[]): WeightsFrame {
  const { dates, names } = stored;
  const positionByIdentifier = new Map(identifiers.map((identifier, place) => [identifier, place]));
  const width = names.length;
  return {
    days: stored.i32('days', dates - rowCount, dates),
    columns: Int32Array.from(names, (name) => positionByIdentifier.get(name) ?? identifiers.push(name) - 1),
    weights: stored.f64('weights', (dates - rowCount) * width, dates * width),
  };
}

/** Record of an extended run: a description that refers to stored and appended arrays. */
export interface ExtendedRecord {
  readonly description: Uint8Array;
  /** Numbers to append to the pools. */
  readonly added: AppendedNumbers;
  /** Rebalances in the form of the description. */
  readonly rebalances: Uint8Array;
  /** Levels of an external benchmark on all dates of the benchmark. */
  readonly benchmark: DatedSeries | null;
}

interface ExtendRecordInput {
  readonly stored: StoredNumbers;
  /** Stored description as bytes. */
  readonly description: Uint8Array;
  /** Stored rebalances as bytes. */
  readonly rebalances: Uint8Array;
  readonly market: readonly string[];
  readonly added: Omit<AppendedRecord, 'before' | 'dates'>;
}

/**
 * Extends the record of a stored run.
 * @throws CannotResumeError if portfolio and index had equal holdings on only one side of the extension
 * @cost O(H) for each new session, and the description
 */
export function extendRecord({ stored, description, rebalances, market, added }: ExtendRecordInput): ExtendedRecord {
  const before = readDescription(description);
  const extension = createRecordExtension(stored, before, market);
  const { pools, identifiers } = extension;
  const countDates = (member: 'target' | 'optimised' | 'benchmark'): number => {
    const days = readMember(readMember(before.rest, member), 'days');
    return isArrayLocation(days) ? countNumbers(days) : 0;
  };
  const source = {
    ...added,
    dates: stored.dates,
    before: { target: countDates('target'), optimised: countDates('optimised'), benchmark: countDates('benchmark') },
  };
  const jsonFields = JSON_FIELDS.extend(before.plain, source, extension);
  const otherFields = ARRAY_FIELDS.extend(before.rest, source, extension);
  const extendedRebalances = REBALANCES.extend(JSON.parse(decodeUtf8(rebalances)), source, extension);
  for (const array of pools.added.f64) assertFinite(array);
  const benchmark = readMember(otherFields, 'benchmark');
  const encoder = new TextEncoder();
  return {
    description: encoder.encode(
      JSON.stringify({ identifiers, plain: jsonFields, rest: otherFields } satisfies Description),
    ),
    rebalances: encoder.encode(JSON.stringify(extendedRebalances)),
    added: pools.added,
    benchmark: benchmark === null ? null : readLevels(benchmark, extension),
  };
}

function readLevels(book: unknown, { pools }: RecordExtension): DatedSeries {
  const reading = {
    numbers: pools.read,
    portfolioFrame(): never {
      throw new Error('levels have no weights');
    },
  };
  return {
    days: BOOK.fields.days.read(readMember(book, 'days'), reading),
    values: BOOK.fields.levels.read(readMember(book, 'levels'), reading),
  };
}

function createRecordExtension(
  stored: StoredNumbers,
  { identifiers: storedIdentifiers }: Description,
  market: readonly string[],
): RecordExtension {
  const identifiers = [...storedIdentifiers];
  const positionByIdentifier = new Map(identifiers.map((identifier, place) => [identifier, place]));
  const findPositionOfColumn = (column: number): number => {
    const identifier = market[column]!;
    let position = positionByIdentifier.get(identifier);
    if (position === undefined) positionByIdentifier.set(identifier, (position = identifiers.push(identifier) - 1));
    return position;
  };
  const pools = openPools(stored);
  const referenceByArray = new Map<Numbers, ReturnType<typeof pools.add>>();
  const findPositions = (columns: ArrayLike<number>): Int32Array => Int32Array.from(columns, findPositionOfColumn);
  return {
    stored,
    pools,
    identifiers,
    positions: findPositions,
    isOfPortfolio: () => false,
    place(array, isPositions) {
      let reference = referenceByArray.get(array);
      if (!reference) referenceByArray.set(array, (reference = pools.add(isPositions ? findPositions(array) : array)));
      return reference;
    },
  };
}
