import type { SweepView } from '#clients/typescript/divisor.js';
import { Banner } from '../../components/banner.js';
import { Metrics } from '../../components/metrics.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatCount, formatDecimal, formatPercent } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { computeChanceLevel, isNearChance, isOverfit } from './chance.js';
import { listVariedParameters } from './parameters.js';
import { findBest, formatPointer, type ParameterLabels } from './values.js';

/** Describes the probability of overfitting, with its colour. */
function rateOverfitting(view: SweepView) {
  const chanceText = formatPercent(computeChanceLevel(view), 1);
  if (isOverfit(view)) return { note: `above ${chanceText}, a random choice`, kind: 'down' };
  if (isNearChance(view)) return { note: `hardly below ${chanceText}, a random choice`, kind: 'warning' };
  return { note: `a random choice: ${chanceText}` };
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
          ...rateOverfitting(view),
          help: 'Share of the splits of the history in which the best variant of one half ranks no better than the median in the other',
        },
        {
          term: 'Losses out of sample',
          value: formatPercent(overfitting?.probability_of_loss, 1),
          note: 'of the splits',
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

/** Returns true if the first variant is not better than a random selection, or hardly better. */
export const isUnreliable = (view: SweepView): boolean => isOverfit(view) || isNearChance(view);

/** Renders a warning if the first variant is not better than a random selection, or hardly better. */
export function Unreliable({ view }: { readonly view: SweepView }) {
  const { overfitting } = view;
  if (overfitting === null || !isUnreliable(view)) return null;
  return (
    <Banner
      kind="warning"
      title={isOverfit(view) ? 'Do not choose by this ranking' : 'The ranking is hardly better than chance'}
    >
      <p>
        In {formatPercent(overfitting.probability, 1)} of {formatCount(overfitting.combinations)} splits of the history,
        the best variant of one half ranked no better than the median in the other. A random choice would do so in{' '}
        {formatPercent(computeChanceLevel(view), 1)} of them.
      </p>
    </Banner>
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

/**
 * Returns a function that finds the label and unit of a varied parameter. Returns undefined until the definition is
 * loaded. If it cannot be loaded, labels come from the pointers.
 */
export function useParameterLabels(id: string): ParameterLabels | undefined {
  const types = useResource('rule types', (signal) => service.value.call('listRuleTypes', { signal }), {
    follows: false,
  });
  const index = useResource(`index ${id}`, (signal) =>
    service.value.call('getIndex', { params: { index_id: id }, signal }),
  );
  const isKnown = types.data !== undefined && index.data !== undefined;
  if ((types.data === undefined && types.trouble === null) || (index.data === undefined && index.trouble === null))
    return undefined;
  const variedParameters = isKnown ? listVariedParameters(index.data as unknown as JsonObject, types.data!, 0) : []; // the response is plain JSON
  return (pointer) =>
    variedParameters.find((one) => one.pointer === pointer) ?? { label: formatPointer(pointer), unit: null };
}
