import type { JobStatus, SweepView } from '#clients/typescript/divisor.js';
import { Facts } from '../../components/facts.js';
import { formatDecimal, formatPercent } from '../../words/numbers.js';
import { useParameterLabels } from '../sweeps/parameter-labels.js';
import { findBest, listSettings } from '../sweeps/values.js';

/** Renders the best variant and the probability of overfitting of a successful sweep. */
export function SweepOutcome({ job: { result } }: { readonly job: JobStatus }) {
  const view = result as SweepView | null; // the kind of the job determines the type of its result
  const best = view === null ? undefined : findBest(view);
  const labelsOf = useParameterLabels(view === null ? [] : [view.index_id]);
  if (view === null || best === undefined || labelsOf === undefined) return null;
  const ratio = formatDecimal(best.metrics?.sharpe_ratio ?? null, 3);
  return (
    <section aria-label="Result">
      <h3>Result</h3>
      <Facts
        facts={[
          ['Best variant', `${listSettings(best.patch, labelsOf(view.index_id))}, Sharpe ratio ${ratio}`],
          ['Probability of overfitting', view.overfitting && formatPercent(view.overfitting.probability, 1)],
        ]}
      />
    </section>
  );
}
