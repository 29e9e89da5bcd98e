import type { PerformanceView } from '#clients/typescript/divisor.js';
import { AddSelect } from '../../components/add-select.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';

/** Maximum number of other indices in the chart. */
const OTHERS_MAX = 6;

/** Value of the parameter `with` after the user removed the underlying index of an overlay. */
const NO_OTHERS = 'none';

/**
 * Returns the other indices in the chart. The default for an overlay is the index below it, unless that is already the
 * benchmark.
 */
export function listOthers(underlying: string | null, performance: PerformanceView | null): readonly string[] {
  const chosenText = getParameter('with');
  if (chosenText !== null)
    return chosenText === NO_OTHERS ? [] : chosenText.split(',').filter(Boolean).slice(0, OTHERS_MAX);
  return underlying === null || performance === null || performance.benchmark === underlying ? [] : [underlying];
}

/** Removes one of the other indices from the chart. */
export function removeOther(others: readonly string[], removed: string): void {
  const remainingIds = others.filter((other) => other !== removed);
  setParameters({ with: remainingIds.length === 0 ? NO_OTHERS : remainingIds.join(',') });
}

/** Renders a selector that adds another index with a run. */
export function OtherIndices({ id, others }: { readonly id: string; readonly others: readonly string[] }) {
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }), {
    isLater: true,
  });
  const free = (runs.data?.backtests ?? []).filter(({ index_id: one }) => one !== id && !others.includes(one));
  if (free.length === 0 || others.length >= OTHERS_MAX) return null;
  return (
    <AddSelect
      label="Add an index"
      prompt="+ Index"
      options={free.map(({ index_id: one }) => ({ value: one, text: one }))}
      onAdd={(one) => setParameters({ with: [...others, one].join(','), unit: null })}
    />
  );
}
