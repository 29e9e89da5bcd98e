import type { SimulationView } from '#contract/simulations.js';
import type { SweepView } from '#contract/sweeps.js';
import type {
  Distribution,
  SimulationPlan,
  SimulationRequest,
  SimulationSummary,
} from '#domain/analytics/simulation.js';
import { LIMITS } from '#domain/base/limits.js';
import { formatDay } from '#domain/base/time.js';
import type { ChoiceByFolds } from '#domain/studies/folds.js';
import { rateOverfitting } from '#domain/studies/overfitting.js';
import { createVerdict, type Fan, FAN_SHARES, type SweepRow, type SweepTable } from '#domain/studies/sweep-table.js';
import { createMapTerms, createPatch, type RankingName, type Variation } from '#domain/studies/sweep.js';

interface SimulationViewInput {
  readonly runId: string;
  readonly request: SimulationRequest;
  readonly plan: SimulationPlan;
  readonly summary: SimulationSummary;
  /** Number of returns of the run. The next two fields are the first and the last date, YYYY-MM-DD. */
  readonly observations: number;
  readonly observedStart: string;
  readonly observedEnd: string;
  /** Mean return per session. */
  readonly mean: number;
  readonly deviation: number;
  /** Number of sessions per year. */
  readonly periods: number;
  readonly factorShare: number | null;
  /** Simulated sessions, [horizon], as dates YYYY-MM-DD. */
  readonly dates: readonly string[];
  readonly precision: SimulationView['precision'];
}

export function createSimulationView(input: SimulationViewInput): SimulationView {
  const { request, plan, summary, observedEnd } = input;
  return {
    index_id: input.runId,
    method: request.method,
    horizon: plan.horizon,
    paths: plan.paths,
    seed: plan.seed,
    observations: input.observations,
    observed_start: input.observedStart,
    observed_end: observedEnd,
    mean_return: input.mean,
    volatility: input.deviation * Math.sqrt(input.periods),
    factor_share: input.factorShare,
    levels: {
      index: [observedEnd, ...input.dates],
      columns: request.percentiles.map(String),
      data: summary.levels.map((row) => [...row]),
    },
    total_return: summary.totalReturn,
    max_drawdown: summary.maxDrawdown,
    time_under_water: summary.timeUnderWater,
    shortfall: { level: request.level, at_end: summary.shortfall.atEnd, at_any_time: summary.shortfall.atAnyTime },
    precision: input.precision,
  };
}

/**
 * Returns the performance that results if the best variant of a sweep is selected in one part of the history and
 * measured in another.
 */
function createFoldsView({
  folds,
  groups,
  observations,
  left,
  choices,
  paths,
  inSample,
  outOfSample,
  overPaths,
  probabilityOfLoss,
}: ChoiceByFolds): NonNullable<SweepView['folds']> {
  return {
    method: folds.method,
    select_by: folds.select_by,
    groups: groups.map(({ start, end }) => ({ start: formatDay(start), end: formatDay(end) })),
    observations,
    left_before: left.before,
    left_after: left.after,
    choices: choices.map(({ train, test, trial, inSample: inside, outOfSample: outside, rank }) => ({
      train: [...train],
      test: [...test],
      variant: trial,
      in_sample: inside,
      out_of_sample: outside,
      rank,
    })),
    chosen: listChosen(choices),
    in_sample: copyDistribution(inSample),
    out_of_sample: copyDistribution(outOfSample),
    paths: paths.map((path) => ({ ...path })),
    over_paths: {
      annualised_return: copyDistribution(overPaths.annualised_return),
      max_drawdown: copyDistribution(overPaths.max_drawdown),
      sharpe_ratio: copyDistribution(overPaths.sharpe_ratio),
      total_return: copyDistribution(overPaths.total_return),
      volatility: copyDistribution(overPaths.volatility),
    },
    probability_of_loss: probabilityOfLoss,
  };
}

/** Returns the selected variants, sorted by descending number of selections and then by position. */
function listChosen(choices: ChoiceByFolds['choices']): { variant: number; splits: number }[] {
  const counts = new Map<number, number>();
  for (const { trial } of choices) counts.set(trial, (counts.get(trial) ?? 0) + 1);
  return [...counts]
    .map(([variant, splits]) => ({ variant, splits }))
    .toSorted((a, b) => b.splits - a.splits || a.variant - b.variant);
}

function copyDistribution(distribution: Distribution): Distribution & { percentiles: Record<string, number> } {
  return { ...distribution, percentiles: { ...distribution.percentiles } };
}

interface SweepViewInput {
  readonly sweepId: string;
  readonly indexId: string;
  readonly rankBy: RankingName;
  readonly variation: Variation;
  readonly table: SweepTable;
  readonly storeContentHash: string;
  readonly engineVersion: string;
}

export function createSweepView({
  sweepId,
  indexId,
  rankBy,
  variation,
  table,
  storeContentHash,
  engineVersion,
}: SweepViewInput): SweepView {
  const { rows, selection, overfitting, folds, identical, fan } = table;
  return {
    sweep_id: sweepId,
    index_id: indexId,
    variants: rows.length,
    refused: rows.filter(({ rank }) => rank === null).length,
    rank_by: rankBy,
    rows: rows.slice(0, LIMITS.MAX_SWEEP_RESULT_ROWS).map((row) => createSweepRow(row, variation)),
    selection: selection && {
      trials: selection.trials,
      sharpe_ratio: selection.best.sharpe,
      skewness: selection.best.skewness,
      kurtosis: selection.best.kurtosis,
      observations: selection.best.observations,
      sharpe_variance: selection.sharpeVariance,
      expected_maximum_sharpe_ratio: selection.expectedMaximumSharpe,
      deflated_sharpe_ratio: selection.deflatedSharpe,
    },
    overfitting: overfitting && {
      probability: overfitting.probability,
      chance_level: overfitting.chanceLevel,
      rating: rateOverfitting(overfitting),
      probability_of_loss: overfitting.probabilityOfLoss,
      median_logit: overfitting.medianLogit,
      combinations: overfitting.combinations,
      partitions: overfitting.partitions,
      observations: overfitting.observations,
    },
    folds: folds?.kind === 'chosen' ? createFoldsView(folds) : null,
    folds_shortage: folds?.kind === 'short' ? { observations: folds.observations, needed: folds.needed } : null,
    identical_variants: identical.map((group) => [...group]),
    fan: fan && createFanView(fan),
    map: createMap(variation, rankBy),
    verdict: createVerdict(table),
    store_content_hash: storeContentHash,
    engine_version: engineVersion,
  };
}

export function createSweepRow(
  { rank, variant, run, error, deflatedSharpe }: SweepRow,
  variation: Variation,
): SweepView['rows'][number] {
  return {
    rank,
    variant,
    patch: { ...createPatch(variation, variant) },
    metrics: run && { ...run.metrics },
    total_costs: run && run.totalCosts,
    start: run && formatDay(run.start),
    end: run && formatDay(run.end),
    observations: run && run.observations,
    deflated_sharpe_ratio: deflatedSharpe,
    error: error && { ...error, detail: error.detail && { ...error.detail } },
  };
}

function createFanView({ days, variants, quantiles, first, levels }: Fan): NonNullable<SweepView['fan']> {
  return {
    index: Array.from(days, formatDay),
    variants,
    quantiles: FAN_SHARES.map((share, k) => ({ share, data: [...quantiles[k]!] })),
    first: first && [...first],
    levels: levels.map(({ variant, curve }) => ({ variant, data: [...curve] })),
  };
}

function createMap(variation: Variation, rankBy: RankingName): NonNullable<SweepView['map']> {
  const { parameters, ...terms } = createMapTerms(variation, rankBy);
  return { ...terms, parameters: parameters.map(({ pointer, values }) => ({ pointer, values: [...values] })) };
}
