import type { SweepView } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { count, decimal, percent } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { listVariedParameters } from './parameters.js';
import { pointerLabel, type ParameterLabels } from './values.js';

/** Probability of overfitting above which a choice is no better than a random choice. */
export const CHANCE = 0.5;

/** Renders the figures of a sweep, which show how reliable its ranking is. */
export function Figures({ view: { selection, overfitting, variants, refused } }: { readonly view: SweepView }) {
  const isOverfit = (overfitting?.probability ?? 0) > CHANCE;
  return (
    <Metrics
      label="Figures of the sweep"
      metrics={[
        {
          term: 'Variants',
          value: count(variants),
          note: refused > 0 ? `${refused} refused` : `${selection?.trials ?? 0} trials`,
        },
        {
          term: 'Deflated Sharpe ratio',
          value: percent(selection?.deflated_sharpe_ratio),
          note: 'probability',
          help: 'Probability that the true Sharpe ratio exceeds what the best of all trials would show if all true ones were zero',
        },
        {
          term: 'Probability of overfitting',
          value: percent(overfitting?.probability),
          note: isOverfit ? 'above one half' : undefined,
          kind: isOverfit ? 'down' : '',
          help: 'Share of the selections whose choice is no better than the median out of sample',
        },
        {
          term: 'Loss out of sample',
          note: 'probability',
          value: percent(overfitting?.probability_of_loss),
          help: 'Share whose choice has a negative Sharpe ratio out of sample',
        },
        {
          term: 'Best by chance',
          value: decimal(selection?.expected_maximum_sharpe_ratio, 4),
          note: 'Sharpe ratio, one session',
          help: 'Sharpe ratio of a session that the best of as many trials is expected to show where every true one is zero',
        },
        {
          term: 'First by rank',
          value: decimal(selection?.sharpe_ratio, 4),
          note: 'Sharpe ratio, one session',
          help: 'Not annualised; the ranking shows it annualised',
        },
      ]}
    />
  );
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
  return (pointer) => varied.find((one) => one.pointer === pointer) ?? { label: pointerLabel(pointer), unit: null };
}
