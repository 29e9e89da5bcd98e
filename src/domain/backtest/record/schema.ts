import { LIMITS } from '../../refusals/limits.js';
import { isEqual } from '../../numbers/number-types.js';
import type { Run } from '../run.js';
import type { Book } from '../../books/book.js';
import type { Composition, Compositions } from '../../books/compositions.js';
import type { RebalanceCause } from '../../schedule/rebalance-causes.js';
import { DEFAULT_REVIEW } from '../../schedule/review-scopes.js';
import type { StaleFills } from '../../books/stale-fills.js';
import { createFields, createFieldGroup, readMember, type Field } from './field.js';
import { createIndexShares, omitIndexShares, type IndexSharesReader } from '../../books/index-shares.js';
import { FRAME, createFrame } from './frame.js';
import { isArrayLocation, countNumbers } from './number-places.js';
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
  type PresentedComposition,
  toPresentedComposition,
  returnNull,
  type WholeBook,
  type AppendedBook,
  showComposition,
  listEffectiveCompositions,
  createSourcePair,
  type WholeRecord,
  type AppendedRecord,
  toWholeIndex,
  toWholeBenchmark,
  toAppendedIndex,
  toAppendedBenchmark,
  listLaterDays,
  removeFirstSession,
  findPreviousDay,
} from './sources.js';

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

/** Fields that contain arrays. */
export const ARRAY_FIELDS = createFieldGroup({
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
    whole: ({ run }) => listGaps(run),
    added: ({ gaps, continuation }) => listGaps({ gaps, portfolio: continuation.portfolio }),
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
export interface RunRecord extends FieldValue<typeof JSON_FIELDS>, FieldValue<typeof ARRAY_FIELDS> {
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
  return { identifiers: run.portfolio.sm.identifiers, ...JSON_FIELDS.whole(source), ...ARRAY_FIELDS.whole(source) };
}
