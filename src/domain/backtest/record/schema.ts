import { LIMITS } from '../../refusals/limits.js';
import { isEqual } from '../../numbers/number-types.js';
import type { Run } from '../run.js';
import type { Book } from '../../books/book.js';
import type { Composition, Compositions } from '../../books/compositions.js';
import type { RebalanceCause } from '../../schedule/rebalance-causes.js';
import { DEFAULT_REVIEW } from '../../schedule/review-scopes.js';
import type { StaleFills } from '../../books/stale-fills.js';
import { createFields, group, readMember, type Field } from './field.js';
import { createIndexShares, refuseMissingShares, type SharesOf } from '../../books/index-shares.js';
import { FRAME, createFrame } from './frame.js';
import { isPlace, countNumbers } from './number-places.js';
import {
  listGaps,
  createPositionRows,
  listPricing,
  TRANSACTION_ROWS_MAX,
  createTransactionRows,
  listUnfilledOrders,
  type PositionRows,
  type RecordedGaps,
  type RecordedOrder,
  type RecordedPricing,
  type TransactionRows,
} from './rows.js';
import {
  type ShownComposition,
  toShownComposition,
  returnNull,
  type WholeBook,
  type AddedBook,
  showComposition,
  serve,
  computeBoth,
  type WholeRecord,
  type AddedRecord,
  toWholeIndex,
  toWholeBenchmark,
  toAddedIndex,
  toAddedBenchmark,
  listDaysAfter,
  dropFirstSession,
  findDayBefore,
} from './sources.js';

/*
 * Catalogue of the record: one entry per field, with the field's source in a whole run and in an extension. Types,
 * packing, reading, extending and comparing derive from the catalogue.
 */

const fill = createFields<StaleFills, never>();
const STALE_FILLS = group({
  columns: fill.positions({ whole: ({ columns }) => columns }),
  /** Days of the prices used. */
  lastBars: fill.i32({ whole: ({ lastBars }) => lastBars }),
  ages: fill.i32({ whole: ({ ages }) => ages }),
});

const NUMBERS = createFields<Float64Array, never>().f64({ whole: (values) => values });

/** Recorded composition. Weights that no cap changed are stored once. */
const composition = createFields<ShownComposition, never>();
export const SNAPSHOT = group({
  date: composition.fixed(({ date }) => date),
  announced: composition.fixed(({ announced }) => announced),
  columns: composition.positions({ whole: ({ columns }) => columns }),
  weights: composition.f64({ whole: ({ weights }) => weights }),
  /** Effective maximum weight; null without a cap. */
  cap: composition.fixed(({ cap }) => cap),
  capped: composition.positions({ whole: ({ capped }) => capped }),
  redistributed: composition.fixed(({ redistributed }) => redistributed),
  uncapped: composition.f64({ whole: ({ weights, uncapped }) => (isEqual(weights, uncapped) ? weights : uncapped) }),
  /** Later schedule dates that fall on this session. */
  also: composition.fixed(({ also }) => also),
  /** Null if every traded security had a price bar. */
  staleFills: composition.later(
    composition.optional<Recorded<typeof STALE_FILLS>, StaleFills, never>({
      whole: ({ staleFills }) => staleFills,
      added: returnNull,
      field: STALE_FILLS,
    }),
  ),
  /** Trigger of the rebalance. */
  cause: composition.later(composition.fixed(({ cause }): RebalanceCause => cause ?? 'schedule')),
  /** Reference date. */
  reference: composition.later(composition.fixed(({ reference }) => reference)),
  /** Day whose closes converted target weights into index shares. */
  priced: composition.later(composition.fixed(({ priced }) => priced)),
  /** Reviews that decided the composition, in order. */
  reviews: composition.later(composition.fixed(({ reviews }): readonly string[] => reviews ?? [DEFAULT_REVIEW])),
  /** Fraction of the rebalance that is complete after this close; 1 unless it is phased. */
  phase: composition.later(composition.fixed(({ phase }) => phase?.fraction ?? 1)),
  targetColumns: composition.later(composition.positions({ whole: ({ targets }) => targets.columns })),
  targets: composition.later(composition.f64({ whole: ({ targets }) => targets.weights })),
  /** Index shares, and their ratio to float-adjusted shares; null if the composition has no shares. */
  shares: composition.later(composition.optional({ whole: ({ shares }) => shares, added: returnNull, field: NUMBERS })),
  factors: composition.later(
    composition.optional({ whole: ({ factors }) => factors, added: returnNull, field: NUMBERS }),
  ),
});
export type Snapshot = Recorded<typeof SNAPSHOT>;

type Recorded<F> = F extends Field<infer T, never, never> ? T : never;

const book = createFields<WholeBook, AddedBook>();
const numbers = createFields<Float64Array, Float64Array>();
const itself = <T>(value: T): T => value;

/** Levels of an index or a plain series, with the compositions of an index. */
export const BOOK = group({
  /** [B] */
  days: book.i32({ whole: ({ days }) => days, added: ({ days }) => days }),
  coverage: book.anew({ whole: ({ coverage }) => coverage, after: ({ coverage }) => coverage }),
  /** Null for a plain series, like the fields below. */
  frame: book.optional({ whole: ({ frame }) => frame, added: ({ frame }) => frame, field: FRAME }),
  levels: book.f64({ whole: ({ levels }) => levels, added: ({ levels }) => levels }),
  divisor: book.optional({
    whole: ({ index }) => index && index.book.divisor,
    added: ({ divisor }) => divisor,
    field: numbers.f64({ whole: itself, added: itself }),
  }),
  /** Ordinary dividends in points of the price return; null if dividends are reinvested in the paying security. */
  dividendPoints: book.later(
    book.optional({
      whole: ({ index }) => index?.book.reinvested?.points ?? null,
      added: ({ index }) => index?.book.reinvested?.points.subarray(1) ?? null,
      field: numbers.f64({ whole: itself, added: itself }),
    }),
  ),
  snapshots: book.latest({
    item: SNAPSHOT,
    whole: (shown) => showComposition(findPricedIndex(shown.index?.book, shown.index?.compositions), serve(shown)),
    added: ({ index }) => showComposition(findPricedIndex(index?.book, index), index?.composed ?? []),
    max: LIMITS.MAX_REBALANCES,
  }),
  rebalancesTotal: book.count({
    whole: (shown) => serve(shown).length,
    added: ({ index }) => index?.composed.length ?? 0,
  }),
});
export type RecordedBook = Recorded<typeof BOOK>;

/** Returns the book of an index with the currency of the level; null for a plain series. */
function findPricedIndex(book: Book | undefined, of: Pick<Compositions, 'document'> | null | undefined) {
  return book === undefined || !of ? null : { book, currency: of.document.currency };
}

const position = createFields<PositionRows, PositionRows>();
const stayingPositions = ({ at }: PositionRows): number => LIMITS.MAX_POSITION_ROWS - at.length;
const POSITIONS = group({
  total: position.count(computeBoth(({ total }) => total)),
  units: position.f64({ ...computeBoth(({ units }) => units), stay: stayingPositions }),
  price: position.f64({ ...computeBoth(({ price }) => price), stay: stayingPositions }),
  value: position.f64({ ...computeBoth(({ value }) => value), stay: stayingPositions }),
  weight: position.f64({ ...computeBoth(({ weight }) => weight), stay: stayingPositions }),
  at: position.i32({ ...computeBoth(({ at }) => at), stay: stayingPositions }),
  columns: position.positions({ ...computeBoth(({ columns }) => columns), stay: stayingPositions }),
});

const transaction = createFields<TransactionRows, TransactionRows>();
const stayingTransactions = ({ at }: TransactionRows): number => TRANSACTION_ROWS_MAX - at.length;
export const TRANSACTIONS = group({
  total: transaction.count(computeBoth(({ total }) => total)),
  at: transaction.i32({ ...computeBoth(({ at }) => at), stay: stayingTransactions }),
  columns: transaction.positions({ ...computeBoth(({ columns }) => columns), stay: stayingTransactions }),
  notional: transaction.f64({ ...computeBoth(({ notional }) => notional), stay: stayingTransactions }),
  price: transaction.f64({ ...computeBoth(({ price }) => price), stay: stayingTransactions }),
  reason: transaction.u8({ ...computeBoth(({ reason }) => reason), stay: stayingTransactions }),
  isFree: transaction.u8({ ...computeBoth(({ isFree }) => isFree), stay: stayingTransactions }),
});

export type RecordedTransactions = Recorded<typeof TRANSACTIONS>;

const record = createFields<WholeRecord, AddedRecord>();

/** Holdings and trades of the portfolio. */
const PORTFOLIO = group({
  days: record.i32({
    whole: ({ run }) => run.days,
    added: ({ continuation: { portfolio } }) => listDaysAfter(portfolio),
  }),
  /** Session before the first session of the run. */
  dayBefore: record.fixed(({ run }) => findDayBefore(run.portfolio)),
  initialCapital: record.fixed(({ run }) => run.plan.request.initial_capital),
  /** Cost per unit of traded notional. */
  costRate: record.fixed(({ run }) => run.plan.request.transaction_cost_bps / 10_000),
  /** Portfolio value in money, [T]. */
  value: record.f64({
    whole: ({ run }) => run.portfolio.value,
    added: ({ continuation }) => continuation.portfolio.value.subarray(1),
  }),
  /** Cash as a fraction of the portfolio value, [T]. */
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
    whole: ({ run }) => createPositionRows(run),
    added: ({ continuation: { portfolio, index }, dates }) =>
      createPositionRows({ portfolio: dropFirstSession(portfolio), document: index.document }, dates),
    field: POSITIONS,
  }),
  transactions: record.of({
    whole: ({ run }) => createTransactionRows(run),
    added: ({ continuation: { portfolio, index }, trades, dates }) =>
      createTransactionRows({ portfolio, document: index.document, trades, index: { compositions: index } }, dates - 1),
    field: TRANSACTIONS,
  }),
});
export type RecordedPortfolio = Recorded<typeof PORTFOLIO>;

const gap = createFields<RecordedGaps, RecordedGaps>();
/** Securities without a price bar on a day, with the day of the price used instead. */
export const GAPS = group({
  columns: gap.positions(computeBoth(({ columns }) => columns)),
  days: gap.i32(computeBoth(({ days }) => days)),
  pricedFrom: gap.i32(computeBoth(({ pricedFrom }) => pricedFrom)),
});

const priced = createFields<RecordedPricing, RecordedPricing>();
/** Effective date of each rebalance, with the session of the prices used. */
export const PRICING = group({
  dates: priced.i32(computeBoth(({ dates }) => dates)),
  pricedFrom: priced.i32(computeBoth(({ pricedFrom }) => pricedFrom)),
});

/** Fields stored as plain JSON. */
export const PLAIN = group({
  runId: record.fixed(({ run }) => run.plan.runId),
  metrics: record.anew({ whole: ({ run }) => run.metrics, after: ({ metrics }) => metrics }),
  findings: record.anew({ whole: ({ run }) => run.findings, after: ({ findings }) => findings }),
  unfilled: record.anew<readonly RecordedOrder[]>({
    whole: ({ run }) => listUnfilledOrders(run.portfolio),
    after: ({ unfilled }) => unfilled,
  }),
});

/** Fields that contain arrays. */
export const REST = group({
  benchmark: record.optional({ whole: toWholeBenchmark, added: toAddedBenchmark, field: BOOK }),
  /** Index that the portfolio tracks; for a derived index, the parent of that index. */
  target: record.of({
    whole: (source) => toWholeIndex(source, source.run.parent ?? source.run.index),
    added(added) {
      const { parent, index, range } = added.continuation;
      return toAddedIndex(added, {
        index: parent ?? index,
        before: added.before.target,
        coverage: parent ? null : range.coverage,
      });
    },
    field: BOOK,
  }),
  /** Book of the derived index. */
  optimised: record.optional({
    whole: (source) => source.run.parent && toWholeIndex(source, source.run.index),
    added(added) {
      const { index, range } = added.continuation;
      return toAddedIndex(added, { index, before: added.before.optimised, coverage: range.coverage });
    },
    field: BOOK,
  }),
  portfolio: PORTFOLIO,
  gaps: record.of({
    whole: ({ run }) => listGaps(run),
    added: ({ gaps, continuation }) => listGaps({ gaps, portfolio: continuation.portfolio }),
    field: GAPS,
  }),
  pricing: record.of({
    whole: ({ run }) => listPricing(run),
    added: ({ continuation }) => listPricing(continuation),
    field: PRICING,
  }),
});

/**
 * Contents of the record of a run as typed arrays, created from a run or read from its file. `columns` and `capped` are
 * positions in `identifiers` everywhere.
 */
export interface RunRecord extends Recorded<typeof PLAIN>, Recorded<typeof REST> {
  readonly identifiers: readonly string[];
}

/**
 * Maximum number of weights in the rebalances of one result; older rebalances are omitted. 2,000,000 weights are about
 * 60 MB of text.
 */
const REBALANCE_CELLS_MAX = 2_000_000;

const rebalances = createFields<Pick<WholeRecord, 'run'>, AddedRecord>().latest({
  item: SNAPSHOT,
  whole: ({ run: { rebalances: list, staleFills, portfolio, plan, index, document } }) => {
    const sharesOf = plan.strategy
      ? refuseMissingShares(portfolio.sm)
      : createIndexShares(index.book, document.currency);
    return listShownAll(list, { fills: staleFills, sharesOf });
  },
  added: ({ plan, staleFills, continuation: { rebalances: list, index } }) => {
    const { sm, book, document } = index;
    const sharesOf = plan.strategy ? refuseMissingShares(sm) : createIndexShares(book, document.currency);
    return listShownAll(list, { fills: staleFills, sharesOf });
  },
  max: Infinity,
});

function listShownAll(
  compositions: readonly Composition[],
  terms: { readonly fills: ReadonlyMap<number, StaleFills>; readonly sharesOf: SharesOf },
): ShownComposition[] {
  return compositions.map((one) => toShownComposition(one, terms));
}

/** Rebalances of the run, beginning with the one in force at its start, limited to `REBALANCE_CELLS_MAX` weights. */
export const REBALANCES: Field<readonly Snapshot[], Pick<WholeRecord, 'run'>, AddedRecord> = {
  ...rebalances,
  whole: (source) => latestThatFit(rebalances.whole(source), ({ columns }) => columns.length),
  extend(packed, added, into) {
    const all = rebalances.extend(packed, added, into) as readonly unknown[]; // the packed form of `latest` is a list of items
    return latestThatFit(all, (one) => {
      const columns = readMember(one, 'columns');
      return isPlace(columns) ? countNumbers(columns) : 0;
    });
  },
};

function latestThatFit<T>(list: readonly T[], cellsOf: (one: T) => number): readonly T[] {
  let cells = 0;
  const from = list.findLastIndex((one) => (cells += cellsOf(one)) > REBALANCE_CELLS_MAX) + 1;
  return list.slice(from);
}

/** Shape of all fields of a record. A change of the shape changes the stored text of an otherwise equal run. */
export const RECORD_SHAPE = PLAIN.shape + REST.shape;

/** Returns the record of a whole run. @cost one pass over trades and served rows */
export function recordOf(run: Run): RunRecord {
  const source = { run, frame: createFrame(run.portfolio) };
  return { identifiers: run.portfolio.sm.identifiers, ...PLAIN.whole(source), ...REST.whole(source) };
}
