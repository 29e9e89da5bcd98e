import type { TriggeredRebalance } from '../schedule/index-schedule.js';
import type { Compositions } from '../books/compositions.js';

/**
 * Returns the rebalances of a run that breaches triggered, in ascending order. The list includes a pending rebalance.
 * For an overlay, it contains the triggered rebalances of the underlying indices.
 */
export function listCalledRebalances(index: Compositions): TriggeredRebalance[] {
  const byEffective = new Map(
    selectCalledRebalances(index).map((triggeredRebalance) => [triggeredRebalance.effective, triggeredRebalance]),
  );
  return [...byEffective.values()].toSorted((a, b) => a.effective - b.effective);
}

function selectCalledRebalances({ list, sm, called, overlay }: Compositions): TriggeredRebalance[] {
  if (overlay !== undefined) return overlay.sources.flatMap(selectCalledRebalances);
  const breachRebalances = list
    .filter(({ cause }) => cause === 'breach')
    .map(({ date, decision }) => ({ decision: sm.sessions[decision]!, effective: date }));
  if (called === undefined || called.effective === null) return breachRebalances;
  return [...breachRebalances, { decision: sm.sessions[called.session]!, effective: called.effective }];
}
