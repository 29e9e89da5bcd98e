import type { SweepView } from '#contract/sweeps.js';
import { formatDay } from '#domain/time/days.js';
import type { ChoiceByFolds } from '#domain/sweeps/choose-by-folds.js';
import type { Distribution } from '#domain/simulation/summarise.js';

/**
 * Returns the performance that results if the best variant of a sweep is selected in one part of the history and
 * measured in another.
 */
export function createFoldsView({
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
