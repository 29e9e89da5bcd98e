import type { SweepView } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { formatCount, formatDecimal, formatPercent } from '../../words/numbers.js';
import { findBest } from './values.js';
import { formatChance } from './verdict.js';

/** Describes the probability of overfitting, with its colour. */
function rateOverfitting(overfitting: SweepView['overfitting']) {
  if (overfitting === null) return { note: 'needs two variants and enough dates' };
  const kind = { better_than_chance: '', near_chance: 'warning', overfit: 'down' }[
    overfitting.rating ?? 'better_than_chance'
  ];
  return { note: formatChance(overfitting), kind };
}

/** Renders the figures that show how reliable the ranking of a sweep is. Sharpe ratios are annualised. */
export function Figures({ view }: { readonly view: SweepView }) {
  const { selection, overfitting, variants, refused } = view;
  const best = findBest(view)?.metrics?.sharpe_ratio ?? null;
  return (
    <Metrics
      label="Figures of the sweep"
      metrics={[
        {
          term: 'Variants',
          value: formatCount(variants),
          note: refused > 0 ? `${refused} refused` : `${selection?.trials ?? 0} different`,
        },
        {
          term: 'Sharpe ratio, first by rank',
          value: formatDecimal(best, 3),
          note: `best by chance ${formatDecimal(annualiseChance(selection, best), 3)}`,
          help: 'Annualised. The best of as many variants is expected to show the second value if every true Sharpe ratio is zero.',
        },
        {
          term: 'Probability of overfitting',
          value: formatPercent(overfitting?.probability, 1),
          ...rateOverfitting(overfitting),
          help: 'Share of the splits of the history in which the best variant of one half ranks no better than the median in the other, and the share of a random choice',
        },
        {
          term: 'Splits with a loss',
          value: formatPercent(overfitting?.probability_of_loss, 1),
          note: 'Sharpe ratio below 0 in the other half',
          help: 'Share of the splits in which the chosen variant has a negative Sharpe ratio in the other half',
        },
        {
          term: 'Deflated Sharpe ratio',
          value: formatPercent(selection?.deflated_sharpe_ratio, 1),
          note: 'tests the return, not the ranking',
          help: 'Probability that the true Sharpe ratio exceeds the best by chance. It does not test whether the first variant is better than the others.',
        },
      ]}
    />
  );
}

/**
 * Returns the annualised Sharpe ratio that the best of all trials should have by chance. The factor between sessions
 * and years comes from the ratio of the first variant; without it, returns null.
 */
function annualiseChance(selection: SweepView['selection'], best: number | null): number | null {
  if (selection === null || best === null || selection.sharpe_ratio === 0) return null;
  return (selection.expected_maximum_sharpe_ratio * best) / selection.sharpe_ratio;
}
