import type { RiskDecomposition, TotalRiskDecomposition } from '#contract/analytics/analytics.js';
import type { RollingRiskView } from '#contract/analytics/run-views.js';
import type { WithoutRunState } from '#contract/run.js';
import {
  computeRollingRisk,
  DEFAULT_RISK_WINDOW,
  type RiskMemory,
  type RiskReference,
  type RollingRisk,
} from '#domain/analytics/returns.js';
import type { Finding } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { estimatePeriodsPerYear } from '#domain/calendars/calendar.js';
import type { FactorModelName, FactorSplit } from '#domain/risk/contributions.js';
import type { FactorEstimator } from '#domain/risk/model-terms.js';
import { type Producer, yieldBatches } from './formats/batch.js';
import {
  createJsonObject,
  createTextMember,
  createValueMember,
  createWrittenMember,
  type JsonWriter,
  writeDatedTable,
} from './json/writer.js';
import { createSpan, readRunLevels } from './run-columns.js';

export const produceRisk: Producer<'risk'> = ({ columns, window }, offset) => {
  const { days, level, index } = readRunLevels(columns);
  const result = computeRollingRisk(level, index, { window: DEFAULT_RISK_WINDOW }, estimatePeriodsPerYear(days));
  const shownDays = days.subarray(result.from);
  const { from, to } = createSpan(shownDays, window);
  return yieldBatches<'risk'>(
    {
      count: to - from,
      columns: {
        date: shownDays.subarray(from, to),
        volatility: result.volatility.subarray(from, to),
        index_volatility: result.indexVolatility.subarray(from, to),
        tracking_error: result.trackingError.subarray(from, to),
        beta: result.beta.subarray(from, to),
        correlation: result.correlation.subarray(from, to),
      },
    },
    offset,
  );
};

/** Maximum difference at which the parts of a variance count as adding up to the whole. */
const RECONCILES_WITHIN = 1e-12;

/** Variance split by factors, and the risk model that was used. */
export interface MeasuredFactors extends FactorSplit {
  readonly model: FactorModelName | 'imported';
  readonly coveredWeight: number;
  readonly uncovered: readonly string[];
  /** Id of a stored risk model; null for a model estimated over the window of the run. */
  readonly riskModel: string | null;
  /** Estimator selected by name; null if none was selected. */
  readonly estimator: FactorEstimator | null;
  /** Number of sessions whose returns the model is estimated from; null for a stored model. */
  readonly observations: number | null;
  readonly window: { readonly window_start: string; readonly window_end: string };
  readonly findings: readonly Finding[];
}

/** Benchmark and dates of a variance. */
interface DecompositionOf extends Pick<TotalRiskDecomposition, 'requested_as_of' | 'as_of'> {
  /** Benchmark of the active variance; null for the total variance of the holdings. */
  readonly benchmark: string | null;
}

/** Decomposition with findings of the domain, whose lists are read-only. */
type WithFindings<D> = Omit<D, 'findings'> & { readonly findings: readonly Finding[] };

/** Converts a variance split by factors to its form in the API. */
export function decomposeRisk(
  { model, factors, exposures, contributions, window, ...risk }: MeasuredFactors,
  { benchmark, ...dates }: DecompositionOf,
): WithFindings<RiskDecomposition> | WithFindings<TotalRiskDecomposition> {
  const residual = risk.totalVariance - risk.factorVariance - risk.specificVariance;
  return {
    contributions: { ...contributions },
    factor_share: risk.factorShare,
    factor_variance: risk.factorVariance,
    specific_variance: risk.specificVariance,
    total_variance: risk.totalVariance,
    ...(benchmark === null ? { volatility: risk.volatility } : { tracking_error: risk.volatility, benchmark }),
    residual,
    reconciles: Math.abs(residual) <= RECONCILES_WITHIN,
    model,
    factors: [...factors],
    exposures: { ...exposures },
    covered_weight: risk.coveredWeight,
    risk_model: risk.riskModel,
    risk_estimator: risk.estimator,
    uncovered: [...risk.uncovered],
    ...window,
    observations: risk.observations,
    findings: risk.findings,
    ...dates,
  };
}

interface RollingRiskInput {
  readonly runId: string;
  readonly memory: RiskMemory;
  readonly against: RiskReference;
  /** Id of the benchmark; null if the run is compared with its index. */
  readonly benchmarkId: string | null;
  /** Days of the run, [T]. */
  readonly days: Int32Array;
  readonly risk: RollingRisk;
  readonly findings: readonly Finding[];
}

const listColumnsAgainst = (against: RiskReference) =>
  [
    { name: 'volatility', of: 'volatility' },
    { name: `${against}_volatility`, of: 'indexVolatility' },
    { name: 'tracking_error', of: 'trackingError' },
    { name: 'beta', of: 'beta' },
    { name: 'correlation', of: 'correlation' },
  ] as const;

/**
 * Returns the position of the first value that is shown. With exponential weights, earlier values are based on too few
 * returns.
 */
function findFirstDate(memory: RiskMemory): number {
  return 'window' in memory ? 0 : LIMITS.MIN_NAME_OBSERVATIONS;
}

const ROLLING_RISK = createJsonObject<WithoutRunState<RollingRiskView>, RollingRiskInput>({
  index_id: createTextMember(({ runId }) => runId),
  window: createValueMember(({ memory }) => ('window' in memory ? memory.window : null)),
  half_life: createValueMember(({ memory }) => ('halfLife' in memory ? memory.halfLife : null)),
  against: createTextMember(({ against }) => against),
  benchmark_id: createValueMember(({ benchmarkId }) => benchmarkId),
  findings: createWrittenMember((json, { findings }) => json.value(findings)),
  risk: createWrittenMember((json, { memory, against, days, risk }) => {
    const hiddenCount = Math.max(0, findFirstDate(memory) - risk.from);
    writeDatedTable(json, {
      days: days.subarray(risk.from + hiddenCount),
      columns: listColumnsAgainst(against).map(({ name, of }) => ({ name, values: risk[of].subarray(hiddenCount) })),
      holes: 'refused',
    });
  }),
});

/**
 * Writes a RollingRiskView as JSON.
 * @throws Refusal NUMERIC_FAILURE if a value is not finite
 * @cost 20 ns per number
 */
export function writeRollingRisk(json: JsonWriter, input: RollingRiskInput): void {
  ROLLING_RISK.write(json, input);
}
