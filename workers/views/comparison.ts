import type { DatedSeries } from '#domain/analytics/relative-returns.js';
import { computeRollingRisk } from '#domain/analytics/returns.js';
import { warnOfCutBenchmark } from '#domain/backtest/findings.js';
import { restoreTreatment, type RunHeader } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay } from '#domain/base/time.js';
import { assertAboveZero, createSeriesBenchmark } from '#domain/books/benchmark.js';
import type { Book } from '#domain/books/book.js';
import { createComposer } from '#domain/books/composer.js';
import { findCompositionInForce } from '#domain/books/compositions.js';
import { listBookDays, simulateIndexBook } from '#domain/books/index-run.js';
import { openMarketOn } from '#domain/market/session-market.js';
import { estimateCommonPeriods, listClosures } from '#domain/calendars/calendar.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import { parseAcceptedIndex } from '#domain/definition/index-validation.js';
import { resolveTreatment } from '#domain/definition/treatment.js';
import { equalWeight } from '#domain/definition/weighting-classes.js';
import {
  addSeries,
  type MarketData,
  type MarketHandle,
  type MeasuredVariant,
  readClassification,
  readReference,
  resolveVariant,
} from '#domain/market/market-data.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import type { ComparedWith, CompareViewInput, InputOfView } from '#jobs/tasks/views.js';
import type { Engine } from '#kernels/engines/engine.js';
import { type ComparedLevels, compareRuns, type RunComparison } from '#views/comparison.js';
import { createGroupsView } from '#views/attribution.js';
import { createReconcileView, type MeasuredRisk, type StoredFile } from '#views/reconcile.js';
import { readRunLevels } from '#views/run-columns.js';
import { writeRollingRisk } from '#views/run-risk.js';
import { openCachedCalendars, openCachedMarket, openModels, runOnEngine } from '../input/inputs.js';
import { completeHashes, useRunFile } from '../run-files.js';
import {
  assertPriced,
  type ComputedView,
  createWindow,
  listHoldingsByName,
  measureRisk,
  readHoldings,
} from './run-holdings.js';

interface BenchmarkInput {
  readonly indexId: string;
  readonly documents: ComparedWith['documents'];
  readonly models?: ComparedWith['models'];
  readonly market: MarketData | null;
  readonly day: Day;
  /** Called at intervals during the run. */
  readonly onPart?: (() => void) | undefined;
}

/**
 * Maximum number of books (holdings of an index by day) that a thread caches per market. The second value limits the
 * bytes of weights of one book.
 */
const BOOKS_MAX = 2;
const BOOK_BYTES_MAX = 64 * 2 ** 20;

/**
 * Books up to the last session of their market. The book whose last use is oldest comes first. The books are released
 * with the market.
 */
const booksByMarket = new WeakMap<MarketData, Map<string, Book>>();

/**
 * Runs an index from its definition and returns a book (its holdings by day) that reaches a day. Later data does not
 * change earlier days, so that one book serves every requested day.
 * @throws Refusal NO_DATA_SOURCE, NO_DATA_AT_DATE, and the refusals of the index run
 * @cost of running the index, once per definition and market
 */
function runBenchmarkBook(engine: Engine, input: BenchmarkInput): Book {
  const market = requireMarket(input);
  const books = getBooks(market);
  const key = JSON.stringify([input.indexId, input.documents, input.models]);
  const cachedBook = books.get(key);
  const book = cachedBook ?? findWholeBook(engine, { ...input, market }) ?? runBookUntil(engine, { ...input, market });
  books.delete(key);
  const isWhole = book.from + book.length === book.sm.sessions.length;
  if (isWhole && book.weights.byteLength <= BOOK_BYTES_MAX) books.set(key, book);
  if (books.size > BOOKS_MAX) books.delete(books.keys().next().value!);
  if (book.from > findLastAtMost(book.sm.sessions, input.day))
    throw refuseTooEarly(input, formatDay(book.sm.sessions[book.from]!));
  return book;
}

/** Returns the weights of an index on a day. @throws Refusal like `runBenchmarkBook` */
function computeBenchmarkWeights(engine: Engine, input: BenchmarkInput): ReadonlyMap<string, number> {
  const { sm, columns, weights, from } = runBenchmarkBook(engine, input);
  const row = (findLastAtMost(sm.sessions, input.day) - from) * columns.length;
  return new Map(
    [...columns].flatMap((column, slot): [string, number][] =>
      weights[row + slot] !== 0 ? [[sm.identifiers[column]!, weights[row + slot]!]] : [],
    ),
  );
}

interface ServedInput extends BenchmarkInput {
  readonly market: MarketData;
}

/**
 * Returns the book up to the end of the market. Undefined if the rules refuse an event: it may be later than the
 * requested day, so the caller computes the book only up to that day.
 */
function findWholeBook(engine: Engine, input: ServedInput): Book | undefined {
  try {
    return runBookUntil(engine, { ...input, day: input.market.dates.at(-1)! });
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}

function runBookUntil(engine: Engine, input: ServedInput): Book {
  const { indexId, documents, models, market, day, onPart = () => {} } = input;
  const composer = createComposer({
    market,
    calendars: openCachedCalendars(listClosures(documents)),
    documents,
    models: openModels(models),
    until: day,
    createDecider: createIndexDeciders(engine),
  });
  const compositions = composer.compositions(indexId);
  const session = findLastAtMost(compositions.sm.sessions, day);
  if (!findCompositionInForce(compositions.list, session)) throw refuseTooEarly(input, documents[indexId]!.base_date);
  onPart();
  return simulateIndexBook({ compositions, to: session, tick: onPart });
}

function refuseTooEarly({ indexId, day }: BenchmarkInput, begins: string): Refusal {
  return new Refusal(
    'NO_DATA_AT_DATE',
    `The benchmark ${indexId} begins on ${begins}; it has no holdings on ${formatDay(day)}.`,
  );
}

export function requireMarket({ market }: { readonly market: MarketData | null }): MarketData {
  if (!market) throw new Refusal('NO_DATA_SOURCE', 'No data store is active to run the benchmark on.');
  return market;
}

function getBooks(market: MarketData): Map<string, Book> {
  const cachedBook = booksByMarket.get(market) ?? new Map<string, Book>();
  booksByMarket.set(market, cachedBook);
  return cachedBook;
}

/** Benchmark of a run on a market. */
export interface ComparedBenchmark {
  readonly id: string;
  /** Return variant of the benchmark's levels; raw for a series. */
  readonly variant: MeasuredVariant;
  readonly currency: string;
  /** Market that contains both sides of the comparison. A series that is compared is added as a security. */
  readonly market: MarketData;
  /** Returns the benchmark's weights on a day. @throws Refusal NO_DATA_AT_DATE, and the refusals of an index run */
  weightsOn(engine: Engine, day: Day): ReadonlyMap<string, number>;
  /** Returns the benchmark as a book (its holdings by day) that reaches a day. @throws the refusals of `weightsOn` */
  bookTo(engine: Engine, day: Day): Book;
  /**
   * Returns the benchmark's levels up to at least the last of the days. The levels of an index begin at its first
   * session. The levels of an identifier are on the sessions of the run. They begin at the first of the days with a
   * value, like the benchmark of a run.
   * @throws the refusals of `weightsOn`
   */
  levelsOver(engine: Engine, days: Int32Array): DatedSeries;
}

/**
 * Opens an index, or an identifier as a single holding. The identifier is a security of the market or one of its
 * series.
 * @param header header of the run, whose calendar, currency and treatment apply to an identifier
 */
export function openCompared(
  { indexId, documents, ...used }: ComparedWith & Pick<BenchmarkInput, 'onPart'>,
  market: MarketData,
  header: RunHeader,
): ComparedBenchmark {
  if (Object.hasOwn(documents, indexId)) {
    const input = { indexId, documents, ...used, market };
    const getBookTo = (engine: Engine, day: Day): Book => runBenchmarkBook(engine, { ...input, day });
    const document = documents[indexId]!;
    const treatment = resolveTreatment(document, (id) => documents[id])!; // the documents include every document that it refers to
    return {
      id: indexId,
      variant: resolveVariant(market, treatment.dividends),
      currency: document.currency,
      market,
      weightsOn: (engine, day) => computeBenchmarkWeights(engine, { ...input, day }),
      bookTo: getBookTo,
      levelsOver(engine, days) {
        const book = getBookTo(engine, days.at(-1)!);
        return { days: listBookDays(book), values: book.value };
      },
    };
  }
  const series = market.series?.get(indexId);
  const widerMarket = series === undefined ? market : addSeries(market, series);
  return {
    id: indexId,
    variant: series === undefined ? header.variant : 'raw',
    currency: header.currency,
    market: widerMarket,
    weightsOn(_engine, day) {
      const first = findFirstBar(widerMarket, indexId);
      if (first === undefined || first > day)
        throw new Refusal(
          'NO_DATA_AT_DATE',
          `The benchmark ${indexId} has no price on or before ${formatDay(day)}; its first price is on ${first === undefined ? 'no day' : formatDay(first)}.`,
        );
      return new Map([[indexId, 1]]);
    },
    bookTo(engine, day) {
      const singleIndex = createSingleHoldingIndex(widerMarket, indexId, header);
      const calendar = openCachedCalendars(header.closures).get(header.calendar)!; // the run was computed with this calendar
      if (series !== undefined) assertAboveZero(series, calendar, { start: series.days[0] ?? day, end: day });
      return runBenchmarkBook(engine, {
        indexId: singleIndex.id,
        documents: { [singleIndex.id]: singleIndex },
        market: widerMarket,
        day,
      });
    },
    levelsOver(_engine, days) {
      const document = createSingleHoldingIndex(widerMarket, indexId, header);
      const sm = openMarketOn({ market, calendars: openCachedCalendars(header.closures), code: document.calendar });
      const from = findFirstAtLeast(sm.sessions, days[0]!);
      const to = findLastAtMost(sm.sessions, days.at(-1)!);
      const reference = { kind: 'identifier', id: indexId, price_column: 'CLOSE' } as const;
      const emptyLevels = { level: Number.NaN, first: Number.NaN };
      return createSeriesBenchmark({ sm, document, treatment: document.pipeline!.treatment }, reference, {
        from,
        to,
        begin: emptyLevels,
      }).series;
    },
  };
}

/** Returns the day of the first CLOSE of a security. Returns undefined if it has none. */
function findFirstBar({ identifiers, dates, fields }: MarketData, identifier: string): Day | undefined {
  const column = identifiers.indexOf(identifier);
  const close = fields.get('CLOSE')!;
  const row = dates.findIndex((_, t) => !Number.isNaN(close[t * identifiers.length + column]!));
  return dates[row];
}

/**
 * Creates an index of one security with the settings of a run, from its first price. @throws Refusal NO_DATA_AT_DATE
 */
function createSingleHoldingIndex(
  market: MarketData,
  identifier: string,
  { calendar: code, closures, currency, treatment, variant }: RunHeader,
): IndexDocument {
  const { sessions } = openCachedCalendars(closures).get(code)!; // the run was computed with this calendar
  const first = findFirstBar(market, identifier);
  const base = first === undefined ? undefined : sessions[findFirstAtLeast(sessions, first)];
  if (base === undefined)
    throw new Refusal('NO_DATA_AT_DATE', `The benchmark ${identifier} has no price on a session of ${code}.`);
  const id = identifier.replaceAll(/[^\w-]/g, '-');
  const body = {
    id,
    name: identifier,
    calendar: code,
    currency,
    base_date: formatDay(base),
    universe: { kind: 'list', identifiers: [identifier] },
    rebalance: { frequency: 'none' },
    pipeline: {
      weighting: { type: equalWeight.type },
      treatment: { ...restoreTreatment(treatment), dividends: variant },
    },
  };
  return parseAcceptedIndex(body)!; // the document satisfies its schema
}

/**
 * Compares stored runs. A benchmark with the settings of the first run comes last.
 * @throws Refusal NO_COMMON_DATES, and the refusals of the benchmark run
 */
export async function showComparison(input: CompareViewInput): Promise<RunComparison> {
  const benchmark = await readBenchmarkLevels(input);
  return addRuns(input.columns, (runs) => compareRuns(runs, input, benchmark));
}

async function readBenchmarkLevels({
  columns: [first],
  benchmark,
  market,
}: CompareViewInput): Promise<ComparedLevels | null> {
  if (benchmark === null) return null;
  const { header, days } = useRunFile(first!, (run) => ({ header: run.header, days: run.i32('days').slice() }));
  const otherComparedBenchmark = openCompared(benchmark, openCachedMarket(market!), header);
  const { days: dated, values } = await runOnEngine((engine) => otherComparedBenchmark.levelsOver(engine, days));
  return {
    id: otherComparedBenchmark.id,
    days: dated,
    level: values,
    variant: otherComparedBenchmark.variant,
    currency: otherComparedBenchmark.currency,
  };
}

/** Opens several runs and passes them to a function. Closes them after the function has ended. */
function addRuns<T>(
  paths: readonly string[],
  use: (runs: readonly RunColumns[]) => T,
  opened: readonly RunColumns[] = [],
): T {
  const [first, ...rest] = paths;
  return first === undefined ? use(opened) : useRunFile(first, (run) => addRuns(rest, use, [...opened, run]));
}

/** Computes contributions by group, next to a benchmark if one is requested. */
export function showGroups({
  columns,
  by,
  benchmark,
  market: handle,
  linking,
  currency,
  ...query
}: InputOfView<'groups'>): Promise<object> {
  const market = openCachedMarket(handle);
  return runOnEngine((engine) =>
    useRunFile(columns, (run) => {
      const otherComparedBenchmark = benchmark && openCompared(benchmark, market, run.header);
      return createGroupsView(run, {
        window: createWindow(query),
        by,
        linking,
        separatesCurrency: currency === 'separate',
        findGroup: (name, day) => readClassification(readReference(market.reference, name, by, day)),
        benchmark: otherComparedBenchmark && {
          ...otherComparedBenchmark,
          book: otherComparedBenchmark.bookTo(engine, run.i32('days').at(-1)!),
        },
      });
    }),
  );
}

type ReconcileInput = InputOfView<'reconcile'>;

/**
 * Checks the relations between the figures of a stored run by computing them again. Also checks the current files of
 * the run.
 */
export async function showReconciliation(input: ReconcileInput, { report }: TaskControl): Promise<object> {
  const risk = await measureLastRisk(input);
  const onDate = (): void => report(0);
  return useRunFile(input.columns, (run) => createReconcileView(run, () => listStoredFiles(input), { risk, onDate }));
}

function listStoredFiles({ files, cells }: ReconcileInput): StoredFile[] {
  const result = completeHashes({ paths: files.map(({ path }) => path), cells });
  return files.map(({ name, sha256 }, k) => ({ name, recorded: sha256, found: result[k]! }));
}

/** Measures the risk of the last holdings of a run. Returns null if the served market does not have the data. */
async function measureLastRisk({ columns, market: handle, benchmark }: ReconcileInput): Promise<MeasuredRisk | null> {
  if (!handle) return null;
  try {
    const runHoldings = useRunFile(columns, (run) => readHoldings(run, null));
    const market = openCachedMarket(handle);
    return await runOnEngine((engine) => {
      const weights =
        benchmark && computeBenchmarkWeights(engine, { ...benchmark, market, day: runHoldings.weights.day });
      return {
        names: [...listHoldingsByName(runHoldings.weights.names, runHoldings.weights.held).keys()],
        ...measureRisk(engine, {
          runHoldings,
          market,
          benchmark: benchmark && { id: benchmark.indexId, weights: weights! },
        }),
      };
    });
  } catch (thrown) {
    if (thrown instanceof Refusal) return null;
    throw thrown;
  }
}

/** Number of bytes per row: a date and five numbers. */
const ROW_BYTES = 120;

/**
 * Computes the rolling risk of a stored run.
 * @throws Refusal RISK_INSUFFICIENT_DATA if the market has no price of the run's holdings
 */
export async function showRollingRisk(query: InputOfView<'rolling-risk'>): Promise<ComputedView> {
  const { columns, runId, memory, against, benchmark, market } = query;
  const levelHistory = useRunFile(columns, (run) => ({
    header: run.header,
    benchmarkId: against === 'benchmark' ? (run.header.benchmark?.id ?? null) : null,
    ...(benchmark === null && against === 'benchmark' ? createBenchmarkLevels(run) : createIndexLevels(run)),
  }));
  const { names } = levelHistory.header;
  const { benchmarkId, runDays, days, level, reference } =
    benchmark === null
      ? levelHistory
      : { benchmarkId: benchmark.indexId, ...(await readNamedLevels(levelHistory, benchmark, market!)) };
  if (market && days.length > 0) assertPriced(openCachedMarket(market), { names, first: days[0]!, last: days.at(-1)! });
  const risk = computeRollingRisk(level, reference, memory, estimateCommonPeriods(days, runDays));
  const findings = benchmarkId === null || days.length === 0 ? [] : warnOfCutBenchmark(benchmarkId, days, runDays);
  return {
    bytes: ROW_BYTES * days.length,
    write: (json) => writeRollingRisk(json, { runId, memory, against, benchmarkId, days, risk, findings }),
  };
}

/** Levels of a run and of its reference, on their common dates, [T] each. */
interface Levels {
  readonly runDays: Int32Array;
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly reference: Float64Array;
}

function createIndexLevels(run: RunColumns): Levels {
  const { days, level, index } = readRunLevels(run);
  return { runDays: days, days, level, reference: index };
}

function createBenchmarkLevels(run: RunColumns): Levels {
  if (!run.has('benchmarkDays')) return { runDays: NO_DAYS, days: NO_DAYS, level: NO_VALUES, reference: NO_VALUES };
  const { days: all, level } = readRunLevels(run);
  const days = run.i32('benchmarkDays').slice();
  const benchmarkLevel = Float64Array.from(days, (day) => level[findLastAtMost(all, day)]!);
  return { runDays: all, days, level: benchmarkLevel, reference: run.f64('benchmarkLevel').slice() };
}

async function readNamedLevels(
  { header, days, level }: Levels & { readonly header: RunHeader },
  benchmark: ComparedWith,
  market: MarketHandle,
): Promise<Levels> {
  const otherComparedBenchmark = openCompared(benchmark, openCachedMarket(market), header);
  const datedLevels = await runOnEngine((engine) => otherComparedBenchmark.levelsOver(engine, days));
  const valueByDay = new Map(Array.from(datedLevels.days, (day, t) => [day, datedLevels.values[t]!]));
  const commonDays = days.filter((day) => valueByDay.has(day));
  return {
    runDays: days,
    days: commonDays,
    level: Float64Array.from(commonDays, (day) => level[findLastAtMost(days, day)]!),
    reference: Float64Array.from(commonDays, (day) => valueByDay.get(day)!),
  };
}

const NO_VALUES = new Float64Array(0);
const NO_DAYS = new Int32Array(0);
