import type { ChoiceByFolds, FoldsTooShort } from './choose-by-folds.js';
import { rateOverfitting } from './overfitting-rating.js';
import type { FoldRanking } from './rankings.js';
import type { SweepTable } from './sweep-table.js';

/**
 * Describes the figures of a sweep, one sentence each. A statement about skill names its benchmark. It is omitted if
 * the choice is no better than a random one.
 */
export function createVerdict({ selection, overfitting, folds, identical }: SweepTable): string[] {
  if (selection === null) return [];
  const { trials, deflatedSharpe } = selection;
  const isOverfit = overfitting !== null && rateOverfitting(overfitting) === 'overfit';
  return [
    ...(identical.length === 0 ? [] : [describeIdentical(identical)]),
    ...(deflatedSharpe === null || isOverfit ? [] : [describeSkill(deflatedSharpe, trials)]),
    ...(overfitting === null
      ? []
      : [
          `In ${formatPercent(overfitting.probability)} of ${overfitting.combinations.toLocaleString('en-GB')} splits of the history, the variant that was best in one half ranked no better than the median in the other; a random choice would do so in ${formatPercent(overfitting.chanceLevel)}${isOverfit ? ': the first rank here does not predict the future rank' : ''}.`,
        ]),
    ...(folds === null ? [] : describeFolds(folds)),
  ];
}

/** Maximum number of variant groups in a sentence, and of variants per group. */
const GROUPS_MAX = 100;
const MEMBERS_MAX = 20;

function describeIdentical(identical: SweepTable['identical']): string {
  const groups = identical.slice(0, GROUPS_MAX).map((group) => {
    const moreCount = group.length - MEMBERS_MAX;
    return joinWords(
      group
        .slice(0, MEMBERS_MAX)
        .map(String)
        .concat(moreCount > 0 ? [`${moreCount} more`] : []),
    );
  });
  const moreGroups = identical.length - GROUPS_MAX;
  if (groups.length === 1) return `Variants ${groups[0]} have identical levels and count as one trial.`;
  return `Variants with identical levels count as one trial each: ${groups.join('; ')}${moreGroups > 0 ? `; and ${moreGroups} more groups` : ''}.`;
}

/** Joins two or more words, as in `0, 2 and 5`. */
const joinWords = (words: readonly string[]): string => `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

function describeSkill(deflatedSharpe: number, trialCount: number): string {
  const chanceText = trialCount === 1 ? 'one trial' : `the best of ${trialCount} trials`;
  return `The Sharpe ratio of the first variant exceeds that of ${chanceText} without skill with a probability of ${formatPercent(deflatedSharpe)} (deflated Sharpe ratio).`;
}

const METRIC_PHRASES: Readonly<Record<FoldRanking, string>> = {
  sharpe_ratio: 'Sharpe ratio',
  annualised_return: 'annualised return',
  max_drawdown: 'drawdown',
  volatility: 'volatility',
};

/**
 * Describes the results of the choice in sample and out of sample. Both are means over the same splits; the paths, which
 * join the tests of several splits, have a separate sentence.
 */
function describeFolds(folds: ChoiceByFolds | FoldsTooShort): string[] {
  if (folds.kind === 'short')
    return [
      `The choice was not tested by folds: the variants have ${folds.observations} common returns, but the folds need ${folds.needed}.`,
    ];
  const { folds: terms, choices, paths, inSample, outOfSample, overPaths, probabilityOfLoss } = folds;
  const metric = terms.select_by;
  const write = metric === 'sharpe_ratio' ? (value: number) => value.toFixed(2) : formatPercent;
  const pathDistribution = overPaths[metric];
  const { percentiles } = pathDistribution;
  const pathText =
    paths.length === 1
      ? `Joined to one path, the returns out of sample have ${write(pathDistribution.mean)}.`
      : `Joined to ${paths.length} paths, the returns out of sample have a median of ${write(percentiles['0.5']!)} (${write(percentiles['0.05']!)} to ${write(percentiles['0.95']!)} from the 5th to the 95th percentile); ${formatPercent(probabilityOfLoss)} of the paths lose.`;
  return [
    `Chosen by ${METRIC_PHRASES[metric]} over ${choices.length} splits, the best shows ${write(inSample.mean)} on average in sample and ${write(outOfSample.mean)} on average out of sample.`,
    pathText,
  ];
}

function formatPercent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)}%`;
}
