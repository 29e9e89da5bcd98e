import { countRetainedBytes } from '#base/memory.js';
import type { BacktestRequest } from '#contract/run.js';
import { assertForeign, resolveRequest } from '#domain/backtest/plan.js';
import { findFirstAtLeast } from '#domain/base/numbers.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type AsKnownOn, assertOrder } from '#domain/base/requested-dates.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { assertScheduled } from '#domain/books/composer.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { BacktestPlan, StrategyTerms } from '#domain/definition/backtest-plan.js';
import {
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  isSetKind,
} from '#domain/definition/index-document.js';
import { findStore, removeStores } from '#domain/definition/references.js';
import { type BenchmarkRef, parseBenchmark } from '#domain/definition/runs.js';
import type { StrategyDocument } from '#domain/definition/strategies.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { EarlierContentReferences } from '#jobs/tasks/catalogue.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import { readHead } from '#store/history/history.js';
import type { DocumentStore } from '#store/port.js';
import { findIndex, requireIndex, resolveReached } from '../indices/documents.js';
import { findConstraintSet, findStrategy } from '../indices/strategies.js';
import { readUsedModels, toPlannedModels, type UsedModels } from '../shared/model-documents.js';

/** Plan of a run, and the store that its documents or its request name. The store is null for the active store. */
export interface PlannedRun {
  readonly plan: BacktestPlan;
  /** Stored risk models that the documents use. The plan does not state their stores. */
  readonly models: UsedModels;
  readonly storeId: string | null;
}

/** Plans of backtest requests, made from stored documents. */
export interface BacktestPlans {
  /**
   * Plans a run. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, INVALID_RANGE,
   * BENCHMARK_NOT_FOUND
   */
  planRun(runId: string, request: BacktestRequest): Promise<PlannedRun>;
  /**
   * Returns a benchmark index and every document that it refers to. @throws Refusal BENCHMARK_NOT_FOUND,
   * DOCUMENT_UNREADABLE
   */
  benchmarkDocuments(benchmarkId: string): Promise<Record<string, IndexDocument>>;
  /**
   * Finds the benchmark of a view by its name. The name is an index or an identifier of the market; only an identifier
   * loads the market.
   * @throws Refusal BENCHMARK_NOT_FOUND, DOCUMENT_UNREADABLE, and the refusals of loading the market
   */
  comparedWith(name: string, loadMarket: () => Promise<MarketData | undefined>): Promise<ComparedWith>;
}

export function createBacktestPlans(documents: Pick<DocumentStore, 'get'>): BacktestPlans {
  const readIndex = (indexId: string) => findIndex(documents, indexId);

  /**
   * Plans a run of an index or a strategy. A strategy adds its own terms, and the request can override some of them.
   * The plan includes all documents that the index refers to.
   */
  async function planRun(runId: string, requestedTerms: BacktestRequest): Promise<PlannedRun> {
    const strategy = (await findStrategy(documents, runId))?.strategy;
    const { document } =
      strategy === undefined ? await requireIndex(documents, runId) : { document: await findFollowedIndex(strategy) };
    const request = resolveRequest(
      { ...requestedTerms, benchmark: await readBenchmark(requestedTerms.benchmark) },
      strategy,
    );
    assertOrder(request);
    if (strategy === undefined) assertForeign(document, request);
    const reachedDocuments = {
      ...(await resolveReached(documents, document)),
      ...(request.benchmark?.kind === 'index' ? await readBenchmarkDocuments(request.benchmark.id) : {}),
    };
    const models = await readUsedModels(documents, reachedDocuments);
    const plan = {
      runId,
      name: (strategy ?? document).name,
      indexId: document.id,
      documents: removeStores(reachedDocuments),
      ...toPlannedModels(models),
      request,
      ...(strategy === undefined ? {} : { strategy: await readTerms(strategy) }),
    };
    return { plan, models, storeId: findStore(reachedDocuments, request.store_id) };
  }

  /**
   * Returns the terms of a strategy. @throws Refusal VALIDATION_FAILED if the constraint set was deleted or is
   * unreadable
   */
  async function readTerms({
    rebalance,
    drift_tolerance,
    exposure,
    constraint_set_id: setId,
  }: StrategyDocument): Promise<StrategyTerms> {
    const terms = { rebalance, drift_tolerance, exposure };
    if (setId === null) return terms;
    const constraintSet = await findConstraintSet(documents, setId);
    if (constraintSet !== undefined) return { ...terms, constraints: constraintSet.constraints };
    throw refuseWithFindings('strategy document', [
      {
        severity: 'error',
        code: 'CONSTRAINT_SET_NOT_FOUND',
        path: 'constraint_set_id',
        message: `No constraint set is stored under the id ${setId}.`,
        value: setId,
      },
    ]);
  }

  /** Returns the index of a strategy. @throws Refusal VALIDATION_FAILED if the index was deleted or is unreadable */
  async function findFollowedIndex({ index_id: id }: StrategyDocument): Promise<IndexDocument> {
    const document = await readIndex(id);
    if (document !== undefined) return document;
    throw refuseWithFindings('strategy document', [
      {
        severity: 'error',
        code: 'UNKNOWN_INDEX',
        path: 'index_id',
        message: `No index is stored under the id ${id}.`,
        value: id,
      },
    ]);
  }

  async function readBenchmarkDocuments(benchmarkId: string): Promise<Record<string, IndexDocument>> {
    if ((await documents.get('index', benchmarkId)) === undefined)
      throw new Refusal('BENCHMARK_NOT_FOUND', `The benchmark ${benchmarkId} is not a stored index.`, {
        benchmark: benchmarkId,
      });
    return resolveReached(documents, (await requireIndex(documents, benchmarkId)).document);
  }

  async function readComparedWith(
    name: string,
    loadMarket: () => Promise<MarketData | undefined>,
  ): Promise<ComparedWith> {
    const { kind, id } = parseBenchmark(name);
    if (kind === 'index' || (kind === null && (await documents.get('index', id)) !== undefined))
      return { indexId: id, documents: await readBenchmarkDocuments(id) };
    const market = await loadMarket();
    if (market?.series?.has(id) === true || market?.identifiers.includes(id) === true)
      return { indexId: id, documents: {} };
    const mismatch = kind === null ? 'neither a stored index nor an identifier' : 'no identifier';
    throw new Refusal('BENCHMARK_NOT_FOUND', `The benchmark ${id} is ${mismatch} of the data store of the runs.`, {
      benchmark: id,
    });
  }

  /** Returns the components of the benchmark that a request names. */
  async function readBenchmark(benchmark: BacktestRequest['benchmark']): Promise<BenchmarkRef | null | undefined> {
    if (typeof benchmark !== 'string') return benchmark;
    const { kind, id } = parseBenchmark(benchmark);
    const benchmarkKind = kind ?? ((await documents.get('index', id)) === undefined ? 'identifier' : 'index');
    return { id, kind: benchmarkKind, price_column: 'CLOSE' };
  }

  return { planRun, benchmarkDocuments: readBenchmarkDocuments, comparedWith: readComparedWith };
}

/**
 * Number of double-precision panels that a run allocates in addition to the shared market: three variants of growth
 * factors, weights, columns and text.
 */
const PANELS_PER_RUN = 10;

/** Estimates the maximum memory of a backtest on a market. */
export function estimateBacktestBytes({ dates, identifiers }: MarketData): number {
  return 64 * 2 ** 20 + PANELS_PER_RUN * countRetainedBytes(8 * dates.length * identifiers.length);
}

export interface DecisionSpan {
  readonly market: MarketData;
  /** Last date on which decisions are made; null for the last date of the market. */
  readonly end: string | null;
  readonly documents: Readonly<Record<string, IndexDocument>>;
}

/**
 * Refuses decisions on data as it was known if the first available version is later than all decisions.
 * @throws Refusal NO_DATA_KNOWN, LOOK_AHEAD
 */
export function assertSomeVersion(
  { knownOn, earlier }: EarlierContentReferences,
  { market, end, documents }: DecisionSpan,
): void {
  assertScheduled(documents);
  const firstKnownOn = earlier.at(-1)?.knownOn ?? knownOn;
  const last = findLastDay(market, end);
  if (firstKnownOn <= last) return;
  const message = `No decision up to ${formatDay(last)} can be made on known data: the first available version of the data store ${market.datasetId} was known on ${formatDay(firstKnownOn)}.`;
  throw refuseUnknown(message, { datasetId: market.datasetId, decision: last, first: firstKnownOn });
}

/**
 * Makes the check of `assertSomeVersion`. Also refuses a definition if its first decision is certainly earlier than the
 * first version. A universe that follows another index is known only after it was computed.
 * @throws Refusal NO_DATA_KNOWN, LOOK_AHEAD
 * @cost of a row of closes per definition
 */
export function assertFirstVersion(
  earlierContents: EarlierContentReferences,
  span: DecisionSpan & { readonly calendars: Calendars },
): void {
  assertSomeVersion(earlierContents, span);
  const { market, end, documents, calendars } = span;
  const { datasetId } = market;
  const firstKnownOn = earlierContents.earlier.at(-1)?.knownOn ?? earlierContents.knownOn;
  for (const document of Object.values(documents)) {
    const day = findFirstSession(document, market, calendars);
    if (day === undefined || day >= firstKnownOn || day > findLastDay(market, end)) continue;
    const message = `The decision of ${formatDay(day)}, the first of the index ${document.id}, is before the first available version of the data store ${datasetId}, known on ${formatDay(firstKnownOn)}.`;
    throw refuseUnknown(message, { datasetId, decision: day, first: firstKnownOn });
  }
}

/** Returns the session on which an index begins. Returns undefined if only the computation can determine it. */
function findFirstSession(document: IndexDocument, market: MarketData, calendars: Calendars): Day | undefined {
  const { dates, identifiers } = market;
  const calendar = calendars.get(document.calendar);
  const closes = market.fields.get('CLOSE');
  if (calendar === undefined || closes === undefined) return undefined;
  let row = findFirstAtLeast(dates, parseValidDay(document.base_date));
  while (row < dates.length && !calendar.isSession(dates[row]!)) row++;
  const day = dates[row];
  if (day === undefined) return undefined;
  const isMember = createMembershipTest(document, market, day);
  const isBegun = identifiers.some(
    (identifier, column) => isMember?.(identifier) === true && closes[row * identifiers.length + column]! > 0,
  );
  return isBegun ? day : undefined;
}

/** Format of identifiers of exchange rates. A universe does not contain exchange rates. */
const FIRST_USE_RATE = /^[A-Z]{6}$/;

/**
 * Returns a function that tests whether a security is in the universe of an index on a day. Returns undefined if
 * another index may determine the universe.
 */
function createMembershipTest(
  document: IndexDocument,
  { universes }: MarketData,
  day: Day,
): ((identifier: string) => boolean) | undefined {
  if (isDerivedDocument(document) || isOverlayDocument(document)) return undefined;
  const { universe } = document;
  if (universe?.kind === 'index' || isSetKind(universe?.kind)) return undefined;
  if (universe?.kind === 'list' || universe?.kind === 'watchlist') {
    const names = new Set(universe.identifiers);
    return (identifier) => names.has(identifier);
  }
  if (universe?.kind !== 'named') return (identifier) => !FIRST_USE_RATE.test(identifier);
  const members = new Set(
    universes.flatMap(({ universe: name, identifier, start, end }) =>
      name === universe.id && (start === null || start <= day) && (end === null || day < end) ? [identifier] : [],
    ),
  );
  return (identifier) => members.has(identifier);
}

const findLastDay = ({ dates }: MarketData, end: string | null): Day =>
  Math.min(dates.at(-1)!, end === null ? Infinity : parseValidDay(end));

function refuseUnknown(
  message: string,
  { datasetId, decision, first }: { readonly datasetId: string; readonly decision: Day; readonly first: Day },
): Refusal {
  const detail = { store_id: datasetId, decision_date: formatDay(decision), first_known_on: formatDay(first) };
  return new Refusal('NO_DATA_KNOWN', message, detail);
}

export interface RequestedBacktest {
  readonly request: BacktestRequest;
  readonly asKnownOn?: AsKnownOn | undefined;
}

export interface VersionedPlan extends PlannedRun {
  /** Version of the index or strategy; null if it has no version. */
  readonly version: number | null;
}

/** Plan for which a market has the data. */
export interface RunnablePlan extends VersionedPlan {
  readonly market: MarketData;
  /** Version of the data if the client requested an earlier version; otherwise empty. */
  readonly dataVersion: { readonly data_version?: number };
}

export interface VersionedPlanInput {
  readonly documents: DocumentStore;
  readonly plans: Pick<BacktestPlans, 'planRun'>;
  readonly runId: string;
  readonly request: BacktestRequest;
}

/** Returns a plan and the version of its index or strategy. The document did not change during the read. */
export async function readPlanVersion({
  documents,
  plans,
  runId,
  request,
}: VersionedPlanInput): Promise<VersionedPlan> {
  for (;;) {
    const version = await readSubjectVersion(documents, runId);
    const plannedRun = await plans.planRun(runId, request);
    if ((await readSubjectVersion(documents, runId)) === version) return { ...plannedRun, version };
  }
}

/**
 * Returns the version of the index or strategy with the id of a run. An index and a strategy never have the same id.
 */
async function readSubjectVersion(documents: DocumentStore, id: string): Promise<number | null> {
  const kind = (await documents.get('strategy', id)) === undefined ? 'index' : 'strategy';
  return (await readHead(documents, { kind, id }))?.latest ?? null;
}
