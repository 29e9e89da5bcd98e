import type { BacktestMetrics } from '../../analytics/series.js';
import type { Finding } from '../../findings.js';
import { LIMITS } from '../../limits.js';
import type { Continuation, IndexContinuation } from '../extend/continuation.js';
import { isEqual } from '../numbers.js';
import type { Run } from '../run.js';
import type { Book } from '../simulate/book.js';
import type { Composition } from '../simulate/compositions.js';
import { coverageOf, type CalendarCoverage } from '../simulate/window.js';
import { staleFillsOf, type StaleFills } from '../simulate/stale-fills.js';
import type { Trades } from '../simulate/trades.js';
import { fieldsOf, group, type Field, type WeightsFrame } from './field.js';
import { FRAME, frameOf, sameFrame, type AddedFrame } from './frame.js';
import {
  gapsOf,
  positionRows,
  pricingOf,
  TRANSACTION_ROWS_MAX,
  transactionRows,
  unfilledOf,
  type PositionRows,
  type RecordedGaps,
  type RecordedOrder,
  type RecordedPricing,
  type TransactionRows,
} from './rows.js';

/*
 * The catalogue of the record: one field an entry, with what a whole run has for it and what an extension adds. Types of the
 * record, packing, reading, extending and comparing derive from it.
 */

const fill = fieldsOf<StaleFills, never>();
const STALE_FILLS = group({
  columns: fill.positions({ whole: ({ columns }) => columns }),
  /** Days. */
  lastBars: fill.i32({ whole: ({ lastBars }) => lastBars }),
  ages: fill.i32({ whole: ({ ages }) => ages }),
});

/** A composition with the trades to it that had the price of an earlier session. */
interface ShownComposition extends Composition {
  readonly staleFills: StaleFills | null;
}

/** A composition as it is recorded: weights in which nothing was capped are stored once. */
const composition = fieldsOf<ShownComposition, never>();
const SNAPSHOT = group({
  date: composition.fixed(({ date }) => date),
  announced: composition.fixed(({ announced }) => announced),
  columns: composition.positions({ whole: ({ columns }) => columns }),
  weights: composition.f64({ whole: ({ weights }) => weights }),
  /** Effective maximum weight, null without a cap. */
  cap: composition.fixed(({ cap }) => cap),
  capped: composition.positions({ whole: ({ capped }) => capped }),
  redistributed: composition.fixed(({ redistributed }) => redistributed),
  uncapped: composition.f64({ whole: ({ weights, uncapped }) => (isEqual(weights, uncapped) ? weights : uncapped) }),
  /** Later dates of the schedule that it was carried out for as well. */
  also: composition.fixed(({ also }) => also),
  /** Null where every name traded had a bar. */
  staleFills: composition.optional<Recorded<typeof STALE_FILLS>, StaleFills, never>({
    whole: ({ staleFills }) => staleFills,
    added: never,
    field: STALE_FILLS,
  }),
});
export type Snapshot = Recorded<typeof SNAPSHOT>;

/** Compositions as they are recorded. @param fills by session */
export function snapshotsOf(compositions: readonly Composition[], fills: ReadonlyMap<number, StaleFills>): Snapshot[] {
  return compositions.map((one) => SNAPSHOT.whole(shownWith(one, fills)));
}

function shownWith(one: Composition, fills: ReadonlyMap<number, StaleFills>): ShownComposition {
  return { ...one, staleFills: fills.get(one.session) ?? null };
}

function never(): null {
  return null;
}

type Recorded<F> = F extends Field<infer T, never, never> ? T : never;

/** An index, or a bare series of levels, over a whole run. */
interface WholeBook {
  readonly days: Int32Array;
  readonly levels: Float64Array;
  readonly coverage: CalendarCoverage | null;
  /** Null for a bare series. */
  readonly index: { readonly book: Book; readonly compositions: { readonly list: readonly Composition[] } } | null;
  readonly frame: WeightsFrame | null;
}

/** The same over the sessions that are added. */
interface AddedBook {
  readonly days: Int32Array;
  readonly levels: Float64Array;
  readonly coverage: CalendarCoverage | null;
  readonly index: Pick<IndexContinuation, 'composed' | 'book'> | null;
  readonly divisor: Float64Array | null;
  readonly frame: AddedFrame | null;
}

const book = fieldsOf<WholeBook, AddedBook>();
const numbers = fieldsOf<Float64Array, Float64Array>();
const itself = <T>(value: T): T => value;

/** The levels of an index or of a bare series, and what an index consisted of. */
export const BOOK = group({
  /** [B] */
  days: book.i32({ whole: ({ days }) => days, added: ({ days }) => days }),
  coverage: book.anew({ whole: ({ coverage }) => coverage, after: ({ coverage }) => coverage }),
  /** Null for a bare series, which has nothing below either. */
  frame: book.optional({ whole: ({ frame }) => frame, added: ({ frame }) => frame, field: FRAME }),
  levels: book.f64({ whole: ({ levels }) => levels, added: ({ levels }) => levels }),
  divisor: book.optional({
    whole: ({ index }) => index && index.book.divisor,
    added: ({ divisor }) => divisor,
    field: numbers.f64({ whole: itself, added: itself }),
  }),
  snapshots: book.latest({
    item: SNAPSHOT,
    whole: (shown) => shownOf(shown.index, served(shown)),
    added: ({ index }) => shownOf(index, index?.composed ?? []),
    max: LIMITS.MAX_REBALANCES,
  }),
  rebalancesTotal: book.count({
    whole: (shown) => served(shown).length,
    added: ({ index }) => index?.composed.length ?? 0,
  }),
});
export type RecordedBook = Recorded<typeof BOOK>;

/** Compositions with what an index traded to them at carried prices. */
function shownOf(index: { readonly book: Book } | null, compositions: readonly Composition[]): ShownComposition[] {
  if (index === null || compositions.length === 0) return [];
  const fills = staleFillsOf(index.book);
  return compositions.map((one) => shownWith(one, fills));
}

/** Compositions that took effect. */
function served({ index }: WholeBook): readonly Composition[] {
  return index === null
    ? []
    : index.compositions.list.filter(({ session }) => session < index.book.from + index.book.length);
}

const both = <S, T>(of: (source: S) => T) => ({ whole: of, added: of });

const position = fieldsOf<PositionRows, PositionRows>();
const stayingPositions = ({ at }: PositionRows): number => LIMITS.MAX_POSITION_ROWS - at.length;
const POSITIONS = group({
  total: position.count(both(({ total }) => total)),
  units: position.f64({ ...both(({ units }) => units), stay: stayingPositions }),
  price: position.f64({ ...both(({ price }) => price), stay: stayingPositions }),
  value: position.f64({ ...both(({ value }) => value), stay: stayingPositions }),
  weight: position.f64({ ...both(({ weight }) => weight), stay: stayingPositions }),
  at: position.i32({ ...both(({ at }) => at), stay: stayingPositions }),
  columns: position.positions({ ...both(({ columns }) => columns), stay: stayingPositions }),
});

const transaction = fieldsOf<TransactionRows, TransactionRows>();
const stayingTransactions = ({ at }: TransactionRows): number => TRANSACTION_ROWS_MAX - at.length;
const TRANSACTIONS = group({
  total: transaction.count(both(({ total }) => total)),
  at: transaction.i32({ ...both(({ at }) => at), stay: stayingTransactions }),
  columns: transaction.positions({ ...both(({ columns }) => columns), stay: stayingTransactions }),
  notional: transaction.f64({ ...both(({ notional }) => notional), stay: stayingTransactions }),
  price: transaction.f64({ ...both(({ price }) => price), stay: stayingTransactions }),
  reason: transaction.u8({ ...both(({ reason }) => reason), stay: stayingTransactions }),
  isFree: transaction.u8({ ...both(({ isFree }) => isFree), stay: stayingTransactions }),
});

/** A whole run with the frame of its portfolio. */
export interface WholeRecord {
  readonly run: Run;
  readonly frame: WeightsFrame;
}

/** The sessions added to a stored run. */
export interface AddedRecord {
  readonly continuation: Continuation;
  /** Stored dates of the run, and of its books. */
  readonly dates: number;
  readonly before: { readonly [K in 'target' | 'optimised' | 'benchmark']: number };
  readonly trades: Trades;
  readonly gaps: Run['gaps'];
  /** Of the whole run. */
  readonly metrics: BacktestMetrics;
  readonly findings: readonly Finding[];
  readonly unfilled: readonly RecordedOrder[];
}

const record = fieldsOf<WholeRecord, AddedRecord>();

/** What the portfolio held and did. */
const PORTFOLIO = group({
  days: record.i32({ whole: ({ run }) => run.days, added: ({ continuation: { portfolio } }) => daysAfter(portfolio) }),
  /** The session before the first. */
  dayBefore: record.fixed(({ run }) => dayBefore(run.portfolio)),
  initialCapital: record.fixed(({ run }) => run.plan.request.initial_capital),
  /** Cost of a unit of traded notional. */
  costRate: record.fixed(({ run }) => run.plan.request.transaction_cost_bps / 10_000),
  /** Money, [T]. */
  value: record.f64({
    whole: ({ run }) => run.portfolio.value,
    added: ({ continuation }) => continuation.portfolio.value.subarray(1),
  }),
  /** The fraction of it in cash, [T]. */
  cash: record.f64({
    whole: ({ run }) => run.portfolio.cash,
    added: ({ continuation }) => continuation.portfolio.cash.subarray(1),
  }),
  frame: record.of({
    whole: ({ frame }) => frame,
    added: ({ continuation: { portfolio }, dates }) => ({ book: portfolio, portfolio, before: dates }),
    field: FRAME,
  }),
  positions: record.of({
    whole: ({ run }) => positionRows(run),
    added: ({ continuation: { portfolio, index }, dates }) =>
      positionRows({ portfolio: withoutFirst(portfolio), document: index.document }, dates),
    field: POSITIONS,
  }),
  transactions: record.of({
    whole: ({ run }) => transactionRows(run),
    added: ({ continuation: { portfolio, index }, trades, dates }) =>
      transactionRows({ portfolio, document: index.document, trades, index: { compositions: index } }, dates - 1),
    field: TRANSACTIONS,
  }),
});
export type RecordedPortfolio = Recorded<typeof PORTFOLIO>;

const gap = fieldsOf<RecordedGaps, RecordedGaps>();
/** Names without a bar on a day, and the day of the price they were taken at. */
export const GAPS = group({
  columns: gap.positions(both(({ columns }) => columns)),
  days: gap.i32(both(({ days }) => days)),
  pricedFrom: gap.i32(both(({ pricedFrom }) => pricedFrom)),
});

const priced = fieldsOf<RecordedPricing, RecordedPricing>();
/** Effective date of each rebalance, and the session it was priced from. */
export const PRICING = group({
  dates: priced.i32(both(({ dates }) => dates)),
  pricedFrom: priced.i32(both(({ pricedFrom }) => pricedFrom)),
});

/** Fields that are JSON as they are. */
export const PLAIN = group({
  runId: record.fixed(({ run }) => run.plan.runId),
  metrics: record.anew({ whole: ({ run }) => run.metrics, after: ({ metrics }) => metrics }),
  findings: record.anew({ whole: ({ run }) => run.findings, after: ({ findings }) => findings }),
  unfilled: record.anew<readonly RecordedOrder[]>({
    whole: ({ run }) => unfilledOf(run.portfolio),
    after: ({ unfilled }) => unfilled,
  }),
});

/** Fields with arrays. */
export const REST = group({
  benchmark: record.optional({ whole: wholeBenchmark, added: addedBenchmark, field: BOOK }),
  /** The index, of a derived one the index that it was made from. */
  target: record.of({
    whole: (source) => wholeIndex(source, source.run.parent ?? source.run.index),
    added(added) {
      const { parent, index, range } = added.continuation;
      return addedIndex(added, {
        index: parent ?? index,
        before: added.before.target,
        coverage: parent ? null : range.coverage,
      });
    },
    field: BOOK,
  }),
  /** A derived index itself. */
  optimised: record.optional({
    whole: (source) => source.run.parent && wholeIndex(source, source.run.index),
    added(added) {
      const { index, range } = added.continuation;
      return addedIndex(added, { index, before: added.before.optimised, coverage: range.coverage });
    },
    field: BOOK,
  }),
  portfolio: PORTFOLIO,
  gaps: record.of({
    whole: ({ run }) => gapsOf(run),
    added: ({ gaps, continuation }) => gapsOf({ gaps, portfolio: continuation.portfolio }),
    field: GAPS,
  }),
  pricing: record.of({
    whole: ({ run }) => pricingOf(run),
    added: ({ continuation }) => pricingOf(continuation),
    field: PRICING,
  }),
});

/**
 * What the record of a run consists of, on typed arrays: made from a run, or read from its file. `columns` and `capped` are
 * positions in `identifiers` everywhere.
 */
export interface RunRecord extends Recorded<typeof PLAIN>, Recorded<typeof REST> {
  readonly identifiers: readonly string[];
}

/** The record of a whole run. @cost one pass over trades and served rows */
export function recordOf(run: Run): RunRecord {
  const source = { run, frame: frameOf(run.portfolio) };
  return { identifiers: run.portfolio.sm.identifiers, ...PLAIN.whole(source), ...REST.whole(source) };
}

type ShownIndex = Pick<Run['index'], 'book' | 'compositions' | 'days' | 'coverage'>;

function wholeIndex({ run: { portfolio }, frame }: WholeRecord, index: ShownIndex): WholeBook {
  const { days, coverage } = index;
  return {
    days,
    coverage,
    index,
    levels: index.book.value,
    frame: sameFrame(index.book, portfolio) ? frame : frameOf(index.book),
  };
}

function wholeBenchmark(source: WholeRecord): WholeBook | null {
  const { benchmark } = source.run;
  if (!benchmark) return null;
  const {
    level: { days, values },
    index,
  } = benchmark;
  return index
    ? wholeIndex(source, { ...index, days })
    : { days, levels: values, coverage: null, index: null, frame: null };
}

interface AddedIndex {
  readonly index: IndexContinuation;
  /** Stored dates of the book. */
  readonly before: number;
  readonly coverage: CalendarCoverage | null;
}

function addedIndex({ continuation: { portfolio } }: AddedRecord, { index, before, coverage }: AddedIndex): AddedBook {
  const { book: added } = index;
  return {
    index,
    coverage,
    days: daysAfter(added),
    levels: added.value.subarray(1),
    divisor: added.divisor.subarray(1),
    frame: { book: added, portfolio, before },
  };
}

function addedBenchmark(added: AddedRecord): AddedBook | null {
  const { benchmark, series, range } = added.continuation;
  if (benchmark) {
    const { sm } = benchmark;
    return addedIndex(added, {
      index: benchmark,
      before: added.before.benchmark,
      coverage: coverageOf(sm.calendar, sm.market.dates, range),
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

/** Days of a book that begins with a session known before. */
function daysAfter({ sm, from, length }: Book): Int32Array {
  return sm.sessions.slice(from + 1, from + length);
}

/** A book without the session that it was resumed from. */
function withoutFirst(whole: Book): Book {
  const { from, length, columns, weights, value, counts } = whole;
  return {
    ...whole,
    from: from + 1,
    length: length - 1,
    weights: weights.subarray(columns.length),
    value: value.subarray(1),
    counts: counts.subarray(1),
  };
}

/** The session of the calendar before the first of the run; the calendar day before where the calendar begins there. */
function dayBefore({ sm, from }: Book): number {
  const { sessions } = sm.calendar;
  const first = sm.sessions[from]!;
  return sessions[sessions.indexOf(first) - 1] ?? first - 1;
}
