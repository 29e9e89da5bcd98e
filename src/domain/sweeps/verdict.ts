import type { SweepTable } from './sweep-table.js';

/** A probability of overfitting above which a choice is no better than a coin. */
const CHANCE = 0.5;

/**
 * What the figures of a sweep come to, a sentence each. What is said of skill is said with what it was tested against,
 * and never without an overfitting above one half.
 */
export function verdictOf({ selection, overfitting, identical }: SweepTable): string[] {
  if (selection === null) return [];
  const { trials, deflatedSharpe } = selection;
  return [
    ...(identical.length === 0
      ? []
      : [`Variants of equal levels count as one trial: ${identical.map((group) => group.join(' = ')).join(', ')}.`]),
    ...(deflatedSharpe === null ? [] : [skillSentence(deflatedSharpe, trials, overfitting?.probability ?? null)]),
    ...(overfitting === null
      ? []
      : [
          `In ${percent(overfitting.probability)} of ${overfitting.combinations.toLocaleString('en-GB')} splits of time the best of one half was no better than the median of the other.`,
        ]),
  ];
}

function skillSentence(deflatedSharpe: number, trials: number, overfit: number | null): string {
  const best = trials === 1 ? 'it' : `the best of ${trials} trials`;
  const tested = `Tested against a true Sharpe ratio of zero, the first beats what ${best} would show by chance with a probability of ${percent(deflatedSharpe)}`;
  if (overfit === null || overfit <= CHANCE) return `${tested}.`;
  return `${tested}, but the probability of overfitting is ${percent(overfit)}, above one half: that it is first among these says nothing of how it will rank.`;
}

function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}
