import type { BacktestRequest } from '#contract/analytics/request.js';
import { assertOrder } from '#domain/schema/assert-order.js';
import { assertForeign, resolveRequest } from '#domain/backtest/resolve-request.js';
import type { BacktestPlan, StrategyTerms } from '#domain/documents/backtest-plan.js';
import { parseBenchmark, type BenchmarkRef } from '#domain/documents/benchmark-ref.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { findStore, removeStores } from '#domain/documents/store-of-documents.js';
import type { StrategyDocument } from '#domain/documents/strategy-document.js';
import { countRetainedBytes } from '#base/memory/retained-memory.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import type { DocumentStore } from '#store/port.js';
import { resolveReached } from '../indices/reached-documents.js';
import { findIndex, requireIndex } from '../stored/stored-indices.js';
import { findConstraintSet, requireStrategy } from '../stored/stored-strategies.js';
import { planModels } from '../stored/used-models.js';

/** Plan of a run, and the store that its documents or its request name. The store is null for the active store. */
export interface PlannedRun {
  readonly plan: BacktestPlan;
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
    const strategy =
      (await documents.get('strategy', runId)) === undefined
        ? undefined
        : (await requireStrategy(documents, runId)).strategy;
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
    const plan = {
      runId,
      name: (strategy ?? document).name,
      indexId: document.id,
      documents: removeStores(reachedDocuments),
      ...(await planModels(documents, reachedDocuments)),
      request,
      ...(strategy === undefined ? {} : { strategy: await readTerms(strategy) }),
    };
    return { plan, storeId: findStore(reachedDocuments, request.store_id) };
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
