import type { SweepView } from '#contract/sweeps.js';
import { formatDay } from '#domain/time/days.js';
import type { RankingName } from '#domain/sweeps/rankings.js';
import type { SweepRow, SweepTable } from '#domain/sweeps/sweep-table.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { rateOverfitting } from '#domain/sweeps/overfitting-rating.js';
import { FAN_SHARES, type Fan } from '#domain/sweeps/fan.js';
import { createMapTerms } from '#domain/sweeps/map-terms.js';
import { createFoldsView } from './sweep-folds-view.js';
import { createVerdict } from '#domain/sweeps/verdict.js';
import { createPatch, type Variation } from '#domain/sweeps/variants.js';

export interface SweepViewInput {
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
