import type { SweepView } from '#clients/typescript/divisor.js';
import { Banner } from '../../components/banner.js';
import { Metrics } from '../../components/metrics.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatCount, formatDecimal, formatPercent } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { listVariedParameters } from './parameters.js';
import { formatPointer, type ParameterLabels } from './values.js';

/** Probability of overfitting above which a choice is no better than a random choice. */
export const CHANCE_LEVEL = 0.5;

/** Returns true if the choice of the first variant is no better than a random choice. */
export const isOverfit = ({ overfitting }: SweepView): boolean => (overfitting?.probability ?? 0) > CHANCE_LEVEL;

/** Renders the figures of a sweep, which show how reliable its ranking is. Sharpe ratios are annualised. */
export function Figures({ view }: { readonly view: SweepView }) {
  const { selection, overfitting, variants, refused, rows } = view;
  const best = rows.find(({ rank }) => rank === 1)?.metrics?.sharpe_ratio ?? null;
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
          term: 'Sharpe ratio of the first',
          value: formatDecimal(best, 3),
          note: `best by chance ${formatDecimal(annualiseChance(selection, best), 3)}`,
          help: 'Annualised. The best of as many variants is expected to show the second value if every true Sharpe ratio is zero.',
        },
        {
          term: 'Probability of overfitting',
          value: formatPercent(overfitting?.probability, 1),
          note: isOverfit(view) ? 'above 50%: unreliable ranking' : 'below 50% is better than chance',
          kind: isOverfit(view) ? 'down' : '',
          help: 'Share of the splits of the history in which the best variant of one half ranks in the lower half of the other',
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
          note: isOverfit(view) ? 'tests the return, not the ranking' : 'probability',
          help: 'Probability that the true Sharpe ratio exceeds the best by chance. It does not test whether the first variant is better than the others.',
        },
      ]}
    />
  );
}

/** Warns that the first variant is no better than a random choice. */
export function Unreliable({ view: { overfitting } }: { readonly view: SweepView }) {
  if (overfitting === null) return null;
  return (
    <Banner kind="warning" title="Do not choose by this ranking">
      <p>
        In {formatPercent(overfitting.probability, 1)} of {formatCount(overfitting.combinations)} splits of the history,
        the best variant of one half was in the lower half of the ranking in the other. A random choice would be there
        in 50% of them.
      </p>
    </Banner>
  );
}

/**
 * Returns the annualised Sharpe ratio that the best of all trials is expected to show by chance; null without the ratio of
 * the first variant, which has the factor between sessions and years.
 */
function annualiseChance(selection: SweepView['selection'], best: number | null): number | null {
  if (selection === null || best === null || selection.sharpe_ratio === 0) return null;
  return (selection.expected_maximum_sharpe_ratio * best) / selection.sharpe_ratio;
}

/**
 * Returns a lookup of labels and units of the varied parameters; undefined until the definition is loaded. The labels are
 * derived from the pointers if it cannot be loaded.
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
  const varied = isKnown ? listVariedParameters(index.data as unknown as JsonObject, types.data!, 0) : []; // the response is plain JSON
  return (pointer) => varied.find((one) => one.pointer === pointer) ?? { label: formatPointer(pointer), unit: null };
}
