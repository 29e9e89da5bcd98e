import type { SweepView } from '#contract/sweeps.js';
import { formatDay } from '#domain/time/days.js';
import type { RankingName } from '#domain/sweeps/rankings.js';
import type { SweepTable } from '#domain/sweeps/sweep-table.js';
import { mapTerms } from '#domain/sweeps/map-terms.js';
import { foldsView } from './sweep-folds-view.js';
import { verdictOf } from '#domain/sweeps/verdict.js';
import type { Patch } from '#domain/sweeps/variants.js';

export interface SweepViewInput {
  readonly sweepId: string;
  readonly indexId: string;
  readonly rankBy: RankingName;
  /** By variant. */
  readonly patches: readonly Patch[];
  readonly table: SweepTable;
  readonly storeContentHash: string;
  readonly engineVersion: string;
}

export function sweepView({
  sweepId,
  indexId,
  rankBy,
  patches,
  table,
  storeContentHash,
  engineVersion,
}: SweepViewInput): SweepView {
  const { rows, selection, overfitting, folds, identical } = table;
  return {
    sweep_id: sweepId,
    index_id: indexId,
    variants: rows.length,
    refused: rows.filter(({ rank }) => rank === null).length,
    rank_by: rankBy,
    rows: rows.map(({ rank, variant, run, error, deflatedSharpe }) => ({
      rank,
      variant,
      patch: { ...patches[variant] },
      metrics: run && { ...run.metrics },
      total_costs: run && run.totalCosts,
      start: run && formatDay(run.days[0]!),
      end: run && formatDay(run.days.at(-1)!),
      observations: run && run.days.length,
      deflated_sharpe_ratio: deflatedSharpe,
      error: error && { ...error, detail: error.detail && { ...error.detail } },
    })),
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
      probability_of_loss: overfitting.probabilityOfLoss,
      median_logit: overfitting.medianLogit,
      combinations: overfitting.combinations,
      partitions: overfitting.partitions,
      observations: overfitting.observations,
    },
    folds: folds?.kind === 'chosen' ? foldsView(folds) : null,
    identical_variants: identical.map((group) => [...group]),
    map: mapOf(patches, rankBy),
    verdict: verdictOf(table),
    store_content_hash: storeContentHash,
    engine_version: engineVersion,
  };
}

function mapOf(patches: readonly Patch[], rankBy: RankingName): NonNullable<SweepView['map']> {
  const { parameters, ...terms } = mapTerms(patches, rankBy);
  return { ...terms, parameters: parameters.map(({ pointer, values }) => ({ pointer, values: [...values] })) };
}
