import type { BacktestRequest } from '#contract/analytics/request.js';
import { assertOrder } from '#domain/schema/assert-order.js';
import type { BacktestPlan, ResolvedRequest, StrategyTerms } from '#domain/documents/backtest-plan.js';
import { assertHeldAsOne } from '#domain/books/overlay-portfolio.js';
import { assertSeriesBenchmark } from '#domain/books/series-benchmark.js';
import { requestedRange } from '#domain/books/window.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { dayFrom, type Day } from '#domain/time/days.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import { benchmarkNamed, type BenchmarkRef } from '#domain/documents/benchmark-ref.js';
import { isOverlayDocument, sourcesOf, type IndexDocument } from '#domain/documents/index-document.js';
import { marketFindings } from '#domain/checks/index-on-market.js';
import { lateRates } from '#domain/checks/late-rates.js';
import type { StrategyDocument } from '#domain/documents/strategy-document.js';
import { heldBytes } from '#base/memory/kept-memory.js';
import type { MarketData } from '#domain/market/market-data.js';
import { constraintFieldFindings } from '#domain/optimisation/field-uses.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { unknownField } from '#domain/refusals/unknown-field.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import type { DocumentStore } from '#store/port.js';
import { reachedBy } from '../indices/index-questions.js';
import { findIndex, requireIndex } from '../stored/stored-indices.js';
import { findConstraintSet, requireStrategy } from '../stored/stored-strategies.js';
import { plannedModels } from '../stored/used-models.js';

/** The plan of a backtest request, from stored documents. */
export interface BacktestPlans {
  /** @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, INVALID_RANGE, BENCHMARK_NOT_FOUND */
  planOf(runId: string, given: BacktestRequest): Promise<BacktestPlan>;
  /** A benchmark index with every document it reaches. @throws Refusal BENCHMARK_NOT_FOUND, DOCUMENT_UNREADABLE */
  benchmarkDocuments(benchmarkId: string): Promise<Record<string, IndexDocument>>;
  /**
   * What a view compares a run with, by its name: an index, or an identifier of a market, which is asked for only then.
   * @throws Refusal BENCHMARK_NOT_FOUND, DOCUMENT_UNREADABLE, and what asking for the market refuses
   */
  comparedWith(name: string, marketOf: () => Promise<MarketData | undefined>): Promise<ComparedWith>;
}

export function createBacktestPlans(documents: Pick<DocumentStore, 'get'>): BacktestPlans {
  const indexOf = (indexId: string) => findIndex(documents, indexId);

  /**
   * What is run, with every document it reaches: an index, or a strategy on its own terms, of which the request
   * overrides some.
   */
  async function planOf(runId: string, given: BacktestRequest): Promise<BacktestPlan> {
    const strategy =
      (await documents.get('strategy', runId)) === undefined
        ? undefined
        : (await requireStrategy(documents, runId)).strategy;
    const { document } =
      strategy === undefined ? await requireIndex(documents, runId) : { document: await followedIndex(strategy) };
    const request = filledIn({ ...given, benchmark: await benchmarkOf(given.benchmark) }, strategy);
    assertOrder(request);
    if (strategy === undefined) assertForeign(document, request);
    const reached = {
      ...(await reachedBy(documents, document)),
      ...(request.benchmark?.kind === 'index' ? await benchmarkDocuments(request.benchmark.id) : {}),
    };
    return {
      runId,
      name: (strategy ?? document).name,
      indexId: document.id,
      documents: reached,
      ...(await plannedModels(documents, reached)),
      request,
      ...(strategy === undefined ? {} : { strategy: await termsOf(strategy) }),
    };
  }

  /** @throws Refusal VALIDATION_FAILED when the constraint set is gone or cannot be read */
  async function termsOf({
    rebalance,
    drift_tolerance,
    exposure,
    constraint_set_id: setId,
  }: StrategyDocument): Promise<StrategyTerms> {
    const terms = { rebalance, drift_tolerance, exposure };
    if (setId === null) return terms;
    const set = await findConstraintSet(documents, setId);
    if (set !== undefined) return { ...terms, constraints: set.constraints };
    throw refuseWithFindings('strategy document', [
      {
        severity: 'error',
        code: 'CONSTRAINT_SET_NOT_FOUND',
        path: 'constraint_set_id',
        message: `No constraint set is stored under ${setId}.`,
        value: setId,
      },
    ]);
  }

  /** @throws Refusal VALIDATION_FAILED when the index is gone or cannot be read */
  async function followedIndex({ index_id: id }: StrategyDocument): Promise<IndexDocument> {
    const document = await indexOf(id);
    if (document !== undefined) return document;
    throw refuseWithFindings('strategy document', [
      {
        severity: 'error',
        code: 'UNKNOWN_INDEX',
        path: 'index_id',
        message: `No index is stored under ${id}.`,
        value: id,
      },
    ]);
  }

  async function benchmarkDocuments(benchmarkId: string): Promise<Record<string, IndexDocument>> {
    if ((await documents.get('index', benchmarkId)) === undefined)
      throw new Refusal('BENCHMARK_NOT_FOUND', `The benchmark ${benchmarkId} is not a stored index.`, {
        benchmark: benchmarkId,
      });
    return reachedBy(documents, (await requireIndex(documents, benchmarkId)).document);
  }

  async function comparedWith(name: string, marketOf: () => Promise<MarketData | undefined>): Promise<ComparedWith> {
    const { kind, id } = benchmarkNamed(name);
    if (kind === 'index' || (kind === null && (await documents.get('index', id)) !== undefined))
      return { indexId: id, documents: await benchmarkDocuments(id) };
    const market = await marketOf();
    if (market?.series?.has(id) === true || market?.identifiers.includes(id) === true)
      return { indexId: id, documents: {} };
    const what = kind === null ? 'neither a stored index nor an identifier' : 'no identifier';
    throw new Refusal('BENCHMARK_NOT_FOUND', `The benchmark ${id} is ${what} of the served store.`, { benchmark: id });
  }

  /** The benchmark that a request names by a text, in its parts. */
  async function benchmarkOf(given: BacktestRequest['benchmark']): Promise<BenchmarkRef | null | undefined> {
    if (typeof given !== 'string') return given;
    const { kind, id } = benchmarkNamed(given);
    const found = kind ?? ((await documents.get('index', id)) === undefined ? 'identifier' : 'index');
    return { id, kind: found, price_column: 'CLOSE' };
  }

  return { planOf, benchmarkDocuments, comparedWith };
}

/** The terms of a run: as given, else the strategy's, else the defaults. */
function filledIn(given: BacktestRequest, strategy: StrategyDocument | undefined): ResolvedRequest {
  const own = strategy && {
    benchmark: strategy.benchmark,
    start: strategy.start,
    end: strategy.end,
    initial_capital: strategy.initial_capital,
    transaction_cost_bps: strategy.transaction_cost_bps,
  };
  const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return BacktestFields.parse({ ...own, ...asked });
}

/** An index has nothing to learn from itself as a benchmark. */
function assertForeign({ id }: IndexDocument, { benchmark }: ResolvedRequest): void {
  if (benchmark?.kind !== 'index' || benchmark.id !== id) return;
  throw refuseWithFindings('request', [
    {
      severity: 'error',
      code: 'BENCHMARK_IS_SELF',
      message: `The benchmark ${id} is the index itself.`,
      path: 'benchmark.id',
      value: id,
    },
  ]);
}

/**
 * What a plan may not ask of a market, as far as it is known without running it.
 * @throws Refusal VALIDATION_FAILED, BENCHMARK_NOT_FOUND, CALENDAR_NOT_COVERED, NO_DATA_IN_RANGE, RANGE_TOO_SHORT, FX_MISSING, NUMERIC_FAILURE
 */
export function assertRunnable(
  plan: BacktestPlan,
  { market, calendars }: { readonly market: MarketData; readonly calendars: Calendars },
): void {
  const { indexId, documents, request, strategy } = plan;
  const document = documents[indexId]!;
  if (isOverlayDocument(document)) assertHeldAsOne(plan);
  const calendar = calendars.get(document.calendar);
  if (!calendar)
    throw refuseWithFindings('index document', [
      {
        severity: 'error',
        code: 'UNKNOWN_CALENDAR',
        message: `The calendar ${document.calendar} is not known.`,
        path: 'calendar',
      },
    ]);
  for (const reached of Object.values(documents))
    assertNoErrors(`index document ${reached.id}`, [
      ...marketFindings(reached, market, { severity: 'error', indexOf: (id) => documents[id] }),
      ...lateRates(reached.id, { documents, market, calendars }),
    ]);
  if (strategy?.constraints)
    assertNoErrors(
      'constraint set',
      constraintFieldFindings(strategy.constraints, market, { path: 'constraints', severity: 'error' }),
    );
  assertIdentifierBenchmark(market, request);
  const range = requestedRange({ document, calendar, dates: market.dates, request });
  const series = request.benchmark?.kind === 'identifier' ? market.series?.get(request.benchmark.id) : undefined;
  if (series === undefined) return;
  const start = Math.max(range.start, earliestBegin(document, documents));
  assertSeriesBenchmark(series, document, { market, calendar, range: { start, end: range.end } });
}

/** Day before which an index does not begin: an overlay waits for what it stands on. */
function earliestBegin(document: IndexDocument, documents: BacktestPlan['documents']): Day {
  const beneath = isOverlayDocument(document) ? sourcesOf(document) : [];
  return Math.max(dayFrom(document.base_date), ...beneath.map((id) => earliestBegin(documents[id]!, documents)));
}

function assertIdentifierBenchmark(market: MarketData, { benchmark }: ResolvedRequest): void {
  if (benchmark?.kind !== 'identifier') return;
  const { id, price_column: column } = benchmark;
  const isSeries = market.series?.has(id) === true;
  if (!isSeries && !market.identifiers.includes(id))
    throw new Refusal('BENCHMARK_NOT_FOUND', `The served store holds no identifier ${id}.`, { benchmark: id });
  const accepted = isSeries ? ['CLOSE'] : [...market.fields.keys()];
  if (accepted.includes(column)) return;
  const holder = isSeries ? `series ${id}` : 'served store';
  const sentence = `The ${holder} has no column ${column}; it has ${accepted.join(', ')}.`;
  throw refuseWithFindings('request', [
    {
      severity: 'error',
      path: 'benchmark.price_column',
      ...unknownField(sentence, { name: column, accepted }),
    },
  ]);
}

/** Panels of doubles a run makes beside the shared market: growth in three variants, weights, columns, text. */
const PANELS_PER_RUN = 10;

/** Largest memory a backtest on a market needs. */
export function estimatedBytes({ dates, identifiers }: MarketData): number {
  return 64 * 2 ** 20 + PANELS_PER_RUN * heldBytes(8 * dates.length * identifiers.length);
}
