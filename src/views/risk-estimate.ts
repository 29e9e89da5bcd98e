import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { alignMarket, openMarketOn, type SessionMarket } from '#domain/market/session-market.js';
import { type Calendars, createDaysCalendar } from '#domain/calendars/calendar.js';
import type { CrossSections } from '#domain/datapoints/cross-section.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import {
  addSpinOffValue,
  createReturnTerms,
  createSecurityTerms,
  type GrowthTerms,
} from '#domain/market/action-effects.js';
import { computeGrowth } from '#domain/market/growth.js';
import { type MarketData, narrowMarket } from '#domain/market/market-data.js';
import { estimateFrom, estimateOverRange, estimatePanel, type RiskModelEstimate } from '#domain/risk/estimation.js';
import { isFactorEstimator } from '#domain/risk/model-terms.js';
import { type Estimator, type RiskModelRequest, type StoredDiagnostics } from '#domain/risk/risk-models.js';
import {
  computeDailyReturns,
  createReturnSource,
  findReturnSpan,
  type ReturnSource,
} from '#domain/risk/return-panel.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { EstimateStage } from '#kernels/moments/estimate-covariance.js';
import { createFactorModelPayload } from './risk-model.js';

/**
 * Returns the datapoints of a market with the settings of an index. If `terms` is null, they are for securities outside
 * of an index.
 */
export function createDatapoints(
  market: SessionMarket,
  terms: { readonly treatment: TreatmentSpec; readonly currency: string } | null,
): CrossSections {
  return createIndexCrossSections({ market, ...(terms ?? { treatment: TreatmentSpec.parse({}), currency: '' }) });
}

/** Securities of an estimate. They also determine the sessions and the currency of the returns. */
export type EstimateUniverse =
  /**
   * Given securities. The sessions are the days on which at least one of them has a bar; each return is in the currency
   * of the security.
   */
  | { readonly kind: 'names'; readonly identifiers: readonly string[] }
  /** Securities that a run held last, on the sessions and in the currency of its index. */
  | {
      readonly kind: 'run';
      readonly listHeldIdentifiers: () => readonly string[];
      readonly calendar: string;
      readonly currency: string;
      readonly treatment: TreatmentSpec;
    };

interface EstimateInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly universe: EstimateUniverse;
  readonly request: RiskModelRequest;
}

type EstimateProgress = (stage: EstimateStage, covariance: Float64Array) => void;

/**
 * Reads the returns of an estimate. The estimate itself must be computed within the scope of an engine.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 */
export function prepareEstimate(input: EstimateInput) {
  const { market, request } = input;
  const returns = estimateOverRange(request, market, () => readReturns(input));
  const describeResult = (estimate: DescribedEstimate) => describeEstimate(returns, request, estimate);
  return {
    /** Number of securities that can be estimated. */
    securities: returns.coverage.columns.length,
    /** Estimates the model with its full covariance matrix. */
    whole: (engine: Engine, onStage: EstimateProgress = () => {}) => {
      const { covariance, ...estimate } = estimateOverRange(request, market, () =>
        estimateFrom(engine, returns, request, onStage),
      );
      return { covariance, ...describeResult(estimate), precision: engine.precision };
    },
    /** Estimates the model without the covariance matrix. */
    panel: (engine: Engine) => estimateOverRange(request, market, () => estimatePanel(engine, returns, request)),
    describe: describeResult,
  };
}

export type PreparedEstimate = ReturnType<typeof prepareEstimate>;

type DescribedEstimate = Omit<RiskModelEstimate, 'covariance'>;

/** Returns the members of a model except its covariance matrix. */
function describeEstimate(
  { sm }: ReturnSource,
  request: RiskModelRequest,
  { coverage, diagnostics, factors }: DescribedEstimate,
) {
  const span = findReturnSpan(sm, coverage);
  const assetIds = Array.from(coverage.columns, (column) => sm.identifiers[column]!);
  return {
    factors: factors === null ? null : factors.model,
    assetIds,
    diagnostics: {
      assets: assetIds.length,
      observations: coverage.sessions.length,
      average_correlation: diagnostics.averageCorrelation,
      condition_number: diagnostics.conditionNumber,
      intensity: diagnostics.intensity,
      positive_semi_definite: diagnostics.isPositiveSemiDefinite,
      repaired: diagnostics.isRepaired,
      smallest_eigenvalue: diagnostics.smallestEigenvalue,
      target: request.estimator === 'shrinkage' ? request.target : null,
    } satisfies StoredDiagnostics,
    factorModel: factors && createFactorModelPayload(factors),
    excluded: Object.fromEntries([...coverage.excluded].map(([column, why]) => [sm.identifiers[column]!, why])),
    observedStart: formatDay(span.first),
    observedEnd: formatDay(span.last),
  };
}

/**
 * Reads the returns of the securities, in the order of the identifiers.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 */
function readReturns({ market, calendars, universe, request }: EstimateInput): ReturnSource {
  const from = request.start === null ? null : parseValidDay(request.start);
  const to = request.end === null ? null : parseValidDay(request.end);
  const terms = createTerms(universe, request.returns);
  if (universe.kind === 'names' && !isFactorEstimator(request.estimator)) {
    const columnByIdentifier = new Map(market.identifiers.map((identifier, column) => [identifier, column]));
    const columns = selectKnownColumns(market, universe.identifiers, (id) => columnByIdentifier.get(id) ?? -1);
    return computeDailyReturns(market, { columns, from, to }, terms);
  }
  const sm =
    universe.kind === 'names'
      ? createSecurityDays(market, calendars, {
          identifiers: universe.identifiers,
          estimator: request.estimator,
          from,
          to,
        })
      : openMarketOn({ market, calendars, code: universe.calendar });
  const requestedColumns = selectKnownColumns(
    market,
    universe.kind === 'names' ? universe.identifiers : universe.listHeldIdentifiers(),
    sm.columnOf,
  );
  const window = {
    sm,
    growth: computeGrowth(sm, terms),
    datapoints: createDatapoints(sm, universe.kind === 'names' ? null : universe),
    from: from === null ? 0 : findFirstAtLeast(sm.sessions, from),
    to: to === null ? sm.sessions.length - 1 : findLastAtMost(sm.sessions, to),
  };
  return createReturnSource(window, requestedColumns);
}

/**
 * Returns the columns of the identifiers that are in the market.
 * @throws Refusal RISK_INSUFFICIENT_DATA if there are none
 */
function selectKnownColumns(
  { datasetId: storeId }: Pick<MarketData, 'datasetId'>,
  identifiers: readonly string[],
  columnByIdentifier: (identifier: string) => number,
): number[] {
  const columns = identifiers.map(columnByIdentifier).filter((column) => column >= 0);
  if (columns.length > 0) return columns;
  const message = `None of the ${identifiers.length} securities is in the data store ${storeId}.`;
  throw new Refusal('RISK_INSUFFICIENT_DATA', message, { assets: 0 });
}

/** Data that an estimator reads in addition to returns. */
const READS: Partial<Record<Estimator, 'reference' | 'datapoints'>> = {
  industries: 'reference',
  styles: 'datapoints',
};

interface SecurityDays {
  readonly identifiers: readonly string[];
  readonly estimator: Estimator;
  readonly from: Day | null;
  readonly to: Day | null;
}

/** Returns the market of given securities on the days of the window on which at least one of them has a bar. */
export function createSecurityDays(
  market: MarketData,
  calendars: Calendars,
  { identifiers, estimator, from, to }: SecurityDays,
): SessionMarket {
  const selectedIdentifiers = new Set(identifiers);
  const columns = market.identifiers.flatMap((identifier, column) =>
    selectedIdentifiers.has(identifier) ? [column] : [],
  );
  const valuedMarket = { ...market, actions: market.actions.map((action) => addSpinOffValue(market, action)) };
  const narrowedMarket = narrowMarket(valuedMarket, { columns, from, to, keeps: READS[estimator] });
  return alignMarket({ market: narrowedMarket, calendar: createDaysCalendar(narrowedMarket.dates), calendars });
}

function createTerms(universe: EstimateUniverse, variant: 'total' | 'price'): GrowthTerms {
  return universe.kind === 'run'
    ? createReturnTerms(universe.treatment, universe.currency, variant)
    : createPlainTerms(variant);
}

/**
 * Returns the growth terms for individual securities. Dividends are treated as requested, splits and special dividends
 * are applied, and each security is in its own currency.
 */
export function createPlainTerms(variant: 'total' | 'price'): GrowthTerms {
  return createSecurityTerms(variant, '');
}
