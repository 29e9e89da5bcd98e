import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { RETURN_VARIANTS } from '#domain/market/market-data.js';
import { BenchmarkName } from '#domain/documents/benchmark-ref.js';
import { ESTIMATORS } from '#domain/risk/risk-model-document.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { FACTOR_ESTIMATORS } from '#domain/risk/factor-model.js';
import { FACTOR_MODELS } from '#domain/risk/factor-risk.js';
import { ATTRIBUTION_MODELS } from '#domain/risk/factors/factor-attribution.js';
import { AssetIdentifier, Id, IsoDate } from '#domain/schema/shape.js';
import { compositionErrors, listingQuery } from '../common.js';
import { defineRoutes } from '../route.js';
import { RunOf, runQuery } from '../run-state.js';
import { BacktestBatch, BacktestBatchRequest } from './batch.js';
import { BacktestRequest } from './request.js';
import { BacktestResultSummary, BacktestRecordCollection } from './record.js';
import { BacktestRunResult, BacktestJobStatus } from './run.js';
import { OverviewView } from './overview.js';
import { AttributionView, FactorAttributionView, GroupAttributionView } from './attribution.js';
import { ReconciliationView } from './reconciliation.js';
import { AssetView } from './asset.js';
import { CompareView } from './compare.js';
import { RiskDecomposition, TotalRiskDecomposition, WeightsView } from './weights.js';
import { LevelsView } from './levels.js';

const params = defineObject(() => ({ index_id: Id }));
const window = {
  start: IsoDate.optional().meta({ description: 'First day. Default: the first date of the run.' }),
  end: IsoDate.optional().meta({ description: 'Last day. Default: the last date of the run.' }),
};
const asOf = {
  as_of: IsoDate.optional().meta({
    description: 'Latest date of the run on or before this day. Default: the last date.',
  }),
};
/** Parameters that select the factors of a variance. */
const createFactorQuery = () => ({
  model: z.enum(FACTOR_MODELS).optional().meta({
    description:
      'Factors over the window of the run: market and sectors (`market_sector`, `industries`), principal components (`statistical`), or market, sectors and styles (`styles`). Default: market_sector. Excludes risk_model.',
  }),
  risk_model: Id.optional().meta({
    description: 'Stored risk model that provides the factors: statistical, industries or styles.',
  }),
  risk_estimator: z.enum(FACTOR_ESTIMATORS).optional().meta({
    description: 'Estimator of the factors over the window of the run. Excludes model and risk_model.',
  }),
  factors: z
    .int()
    .min(1)
    .max(20)
    .optional()
    .meta({ description: 'Number of principal components of `statistical`. Default: 5.' }),
});
const runErrors = ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NUMERIC_FAILURE'] as const;
/** Errors of a view that needs prices while the store of the run is not active. */
const priceErrors = [...runErrors, 'STORE_MISMATCH'] as const;
/** Errors of a benchmark that is computed from its definition. */
const benchmarkErrors = [...compositionErrors, 'BENCHMARK_NOT_FOUND', 'NO_DATA_SOURCE', 'NOT_SUPPORTED'] as const;
const tag = 'analytics';

export const analyticsRoutes = defineRoutes({
  startBacktest: {
    method: 'POST',
    path: '/analytics/{index_id}/backtest',
    onStore: 'body',
    scope: 'run',
    tag,
    summary: 'Runs a backtest of an index or a strategy as a job.',
    description:
      'Invalid requests are refused before the job is queued: unknown benchmarks, ranges outside the calendar or the store, and ranges with fewer than two sessions.',
    params,
    body: {
      schema: BacktestRequest,
      optional: true,
      example: { start: '2020-01-02', end: '2024-12-31', transaction_cost_bps: 10 },
    },
    success: { status: 202, description: 'The job; see Location.', schema: BacktestJobStatus },
    unchanged: {
      status: 200,
      description: 'With `if_stale`, the result of the stored run, which equals a new run of this request.',
      schema: BacktestRunResult,
    },
    errors: [
      'LOOK_AHEAD',
      'NO_DATA_KNOWN',
      'VERSION_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'INDEX_NOT_FOUND',
      'BENCHMARK_NOT_FOUND',
      'INVALID_RANGE',
      'CALENDAR_NOT_COVERED',
      'NO_DATA_IN_RANGE',
      'RANGE_TOO_SHORT',
      'FX_MISSING',
      'NO_RATE',
      'NUMERIC_FAILURE',
      'JOB_RUNNING',
      'NO_DATA_SOURCE',
      'NOT_SUPPORTED',
    ],
  },
  startBacktests: {
    method: 'POST',
    path: '/analytics/backtests',
    onStore: 'body',
    scope: 'run',
    tag,
    summary: 'Runs backtests of many indices and strategies, each as a separate job.',
    description:
      'Each id has a separate entry. If one id is refused, for example because it is unknown or a queue is full, the others still run. With `if_stale`, only ids with a stale run are run. You can therefore repeat a partly successful request.',
    body: {
      schema: BacktestBatchRequest,
      example: { ids: ['LARGE-100', 'EQUAL-100'], if_stale: true },
    },
    startsJobs: true,
    success: { status: 200, description: 'An entry for each id, in the order of the request.', schema: BacktestBatch },
    errors: ['NO_DATA_SOURCE'],
  },
  listBacktests: {
    method: 'GET',
    path: '/analytics/backtests',
    scope: 'read',
    tag,
    summary: 'Lists stored records by id.',
    query: listingQuery,
    success: { status: 200, description: 'The records.', schema: BacktestRecordCollection },
    errors: [],
  },
  compareRuns: {
    method: 'GET',
    path: '/analytics/compare',
    scope: 'read',
    tag,
    summary: 'Compares levels, figures and correlations of several stored runs on their common dates.',
    description:
      'With `Accept: text/csv`, returns the levels with one row per date and one column per run. A benchmark is the last entry. It uses the calendar and the currency of the first run. An identifier is compared on the dates on which it has a value.',
    query: defineObject(() => ({
      ids: z
        .array(RunOf)
        .min(1)
        .max(LIMITS.MAX_COMPARE_IDS)
        .meta({
          description: `2 to ${LIMITS.MAX_COMPARE_IDS} ids, or ID@RUN for an earlier run. With a benchmark, one id is sufficient.`,
        }),
      benchmark: BenchmarkName.optional(),
      ...window,
    })),
    success: { status: 200, description: 'The comparison.', schema: CompareView, media: ['text/csv'] },
    errors: [...priceErrors, ...benchmarkErrors, 'INVALID_RANGE', 'NO_COMMON_DATES'],
  },
  getRecord: {
    method: 'GET',
    path: '/analytics/{index_id}/record',
    scope: 'read',
    tag,
    summary: 'Returns the stored record of a run.',
    params,
    query: z.strictObject(runQuery),
    success: { status: 200, description: 'The record.', schema: BacktestResultSummary },
    errors: runErrors,
  },
  deleteRecord: {
    method: 'DELETE',
    path: '/analytics/{index_id}/record',
    scope: 'write',
    tag,
    summary: 'Deletes the stored run.',
    params,
    versioned: true,
    success: { status: 204, description: 'Deleted.' },
    errors: ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND'],
  },
  getOverview: {
    method: 'GET',
    path: '/analytics/{index_id}/overview',
    scope: 'read',
    tag,
    summary: 'Returns level, metrics and concentration of a run.',
    params,
    query: z.strictObject(runQuery),
    success: { status: 200, description: 'The overview.', schema: OverviewView },
    errors: runErrors,
  },
  getAttribution: {
    method: 'GET',
    path: '/analytics/{index_id}/attribution',
    scope: 'read',
    tag,
    summary:
      'Returns the contributions of the securities to the return of a window. The contributions are linked, so that they add up to the return exactly.',
    params,
    query: defineObject(() => ({ ...runQuery, ...window })),
    view: { name: 'attribution', needs: ['window'] },
    success: { status: 200, description: 'The attribution.', schema: AttributionView },
    errors: [...runErrors, 'INVALID_RANGE', 'RANGE_TOO_SHORT', 'TOTAL_LOSS'],
  },
  getGroupAttribution: {
    method: 'GET',
    path: '/analytics/{index_id}/attribution/groups',
    scope: 'read',
    tag,
    summary: 'Returns contributions by group, and allocation, selection and interaction against a benchmark index.',
    description:
      'Effects are computed for each period as defined by Brinson and Fachler, and linked as defined by Cariño. They add up to the active return exactly. The benchmark is run from its definition and must have every date of the window.',
    params,
    query: defineObject(() => ({
      ...runQuery,
      by: z.string().min(1).max(64).default('SECTOR').meta({ description: 'Reference column to group by.' }),
      benchmark: BenchmarkName.optional(),
      ...window,
    })),
    view: { name: 'groups', needs: ['window', 'benchmark', 'market', 'group-column'] },
    success: { status: 200, description: 'The groups.', schema: GroupAttributionView },
    errors: [...priceErrors, ...benchmarkErrors, 'INVALID_RANGE', 'TOTAL_LOSS', 'NO_COMMON_DATES'],
  },
  reconcileRun: {
    method: 'GET',
    path: '/analytics/{index_id}/reconcile',
    scope: 'read',
    tag,
    summary: 'Recomputes the accounting identities of the stored run.',
    description:
      'Each check returns both values, the residual, the tolerance and the verdict. Stored bytes are hashed again to detect changed records.',
    params,
    query: z.strictObject(runQuery),
    view: { name: 'reconcile', needs: ['run-benchmark', 'files', 'own-market'], isMadeAnew: true },
    success: { status: 200, description: 'The checks.', schema: ReconciliationView },
    errors: runErrors,
  },
  getRunAsset: {
    method: 'GET',
    path: '/analytics/{index_id}/assets/{identifier}',
    scope: 'read',
    tag,
    summary: 'Returns one security of a run: its price, its weights, and its correlation with the run.',
    params: defineObject(() => ({ index_id: Id, identifier: AssetIdentifier })),
    query: z.strictObject(runQuery),
    view: { name: 'asset', needs: ['same-store'] },
    success: { status: 200, description: 'The security.', schema: AssetView },
    errors: [...priceErrors, 'ASSET_NOT_IN_RUN', 'NO_COMMON_DATES'],
  },
  getWeights: {
    method: 'GET',
    path: '/analytics/{index_id}/weights',
    scope: 'read',
    tag,
    summary: 'Returns the holdings of the index on a date, with concentration, drift and risk.',
    params,
    query: defineObject(() => ({
      ...runQuery,
      ...asOf,
      benchmark: BenchmarkName.optional(),
      risk: z.boolean().default(false).meta({ description: 'True adds risk contributions.' }),
      risk_model: Id.optional().meta({
        description: 'Stored risk model for the risk contributions. They then need no prices.',
      }),
      risk_estimator: z.enum(ESTIMATORS).optional().meta({
        description:
          'Estimator of a covariance over the window of the run, with default settings. It adds risk contributions. Excludes risk_model.',
      }),
    })),
    view: { name: 'weights', needs: ['risk'] },
    success: { status: 200, description: 'The weights.', schema: WeightsView },
    errors: [...priceErrors, ...benchmarkErrors, 'RISK_MODEL_NOT_FOUND'],
  },
  getFactorRisk: {
    method: 'GET',
    path: '/analytics/{index_id}/factor-risk',
    scope: 'read',
    tag,
    summary: 'Splits the active variance against a benchmark index into factor risk and specific risk.',
    params,
    query: defineObject(() => ({
      ...runQuery,
      ...asOf,
      benchmark: BenchmarkName,
      ...createFactorQuery(),
    })),
    view: { name: 'factor-risk', needs: ['factors', 'benchmark', 'market'] },
    success: { status: 200, description: 'The decomposition.', schema: RiskDecomposition },
    errors: [...priceErrors, ...benchmarkErrors, 'RISK_MODEL_NOT_FOUND', 'MODEL_LACKS_NAMES'],
  },
  getTotalRisk: {
    method: 'GET',
    path: '/analytics/{index_id}/total-risk',
    scope: 'read',
    tag,
    summary: 'Splits the total variance of the holdings into factor risk and specific risk.',
    params,
    query: defineObject(() => ({ ...runQuery, ...asOf, ...createFactorQuery() })),
    view: { name: 'total-risk', needs: ['factors', 'market'] },
    success: { status: 200, description: 'The decomposition.', schema: TotalRiskDecomposition },
    errors: [
      ...priceErrors,
      'NO_DATA_SOURCE',
      'NO_DATA_AT_DATE',
      'FX_MISSING',
      'RISK_INSUFFICIENT_DATA',
      'RISK_MODEL_NOT_FOUND',
      'MODEL_LACKS_NAMES',
    ],
  },
  getFactorAttribution: {
    method: 'GET',
    path: '/analytics/{index_id}/factor-attribution',
    scope: 'read',
    tag,
    summary: 'Attributes the return of a run to market, sectors and styles.',
    description:
      'In each calendar month, the returns of all securities of the store are regressed on exposures known at the previous close. Contributions of all sessions are linked, so that they add up to the total return.',
    params,
    query: defineObject(() => ({
      ...runQuery,
      model: z
        .enum(ATTRIBUTION_MODELS)
        .default('styles')
        .meta({ description: 'Market, sectors and styles, or market and sectors.' }),
      ...window,
    })),
    view: { name: 'factor-attribution', needs: ['window', 'market'] },
    success: { status: 200, description: 'The attribution.', schema: FactorAttributionView },
    errors: [...priceErrors, 'INVALID_RANGE', 'RANGE_TOO_SHORT', 'TOTAL_LOSS', 'NO_DATA_SOURCE'],
  },
  getLevels: {
    method: 'GET',
    path: '/analytics/{index_id}/levels',
    scope: 'read',
    tag,
    summary: 'Returns the index levels of a run in any return variant, with the divisor.',
    params,
    query: defineObject(() => ({
      ...runQuery,
      variant: z.enum(RETURN_VARIANTS).optional().meta({
        description:
          'Return variant. Default: the variant of the index. A run on prices that include dividends has only `total`.',
      }),
      ...window,
    })),
    view: { name: 'levels', needs: ['window'] },
    success: {
      status: 200,
      description: 'The levels. A window is cut from the whole series and is not rebased.',
      schema: LevelsView,
    },
    errors: [...runErrors, 'INVALID_RANGE', 'VARIANT_NOT_AVAILABLE'],
  },
});
