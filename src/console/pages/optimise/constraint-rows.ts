import type { ConstraintCost, OptimisationRunResult, SensitivityRow } from '#clients/typescript/divisor.js';
import { listBindingSiblings } from './bounds.js';

type SolvedConstraint = NonNullable<OptimisationRunResult['constraints']>[number];
type Figure = 'value' | 'limit' | 'slack';

/** Side of a constraint with its use. Runs of earlier versions have no figures. */
interface Side extends Omit<SolvedConstraint, Figure> {
  readonly value: number | null;
  readonly limit: number | null;
  readonly slack: number | null;
}

/** Side of a constraint of the request, with its use and what it costs. */
export interface ConstraintRow extends Pick<Side, 'label' | 'unit' | Figure> {
  readonly state: 'binding' | 'equality' | 'exceeded' | 'met';
  /** Cost of the whole constraint. */
  readonly cost: ConstraintCost | undefined;
  /** Effect of relaxing the bound. */
  readonly relaxed: SensitivityRow | undefined;
}

/** Returns the labels of the binding bounds of a run. */
export const listBindingLabels = ({ binding }: OptimisationRunResult): readonly string[] =>
  binding.flatMap((bound) => bound?.['label'] ?? []);

/**
 * Returns a row per constraint of the request: its side that is nearest to its bound, or every side that is binding or
 * exceeded.
 */
export function listConstraintRows(run: OptimisationRunResult): readonly ConstraintRow[] {
  const { constraint_costs: costs = [], sensitivities = [] } = run;
  const binding = listBindingLabels(run);
  const sides: readonly Side[] = run.constraints ?? listBindingSides(run);
  // Every side of a run of an earlier version is binding; the others have a slack.
  const isShown = ({ index, slack, binding: isBinding }: Side) =>
    isBinding || !sides.some((other) => other.index === index && other.slack! < slack!);
  return sides.filter(isShown).flatMap((side): readonly ConstraintRow[] => {
    const { label, unit, index, slack } = side;
    if (index === null) return [];
    const { state, value, limit } = findUse(side, run);
    const effects = sensitivities.filter(
      (one) => one.index === index && side.side === (one.change > 0 ? 'upper' : 'lower'),
    );
    const cost = costs.find((one) => one.index === index);
    return (effects.length > 0 ? effects : [undefined]).map((relaxed) => {
      const row = { label, unit, state, value, limit, slack, cost, relaxed };
      // Bounds of several securities can differ (index weight plus 2%), but they share a parameter.
      const isShared = relaxed !== undefined && listBindingSiblings(label, binding).length > 1;
      return isShared ? { ...row, value: relaxed.from, limit: relaxed.from } : row;
    });
  });
}

/** Returns the state, value and bound of a side: those of its first violated bound if it has one. */
function findUse(
  { label, side, binding, value, limit }: Side,
  { exceeded = [] }: OptimisationRunResult,
): Pick<ConstraintRow, 'state' | 'value' | 'limit'> {
  const [excess] = listBindingSiblings(
    label,
    exceeded.map((one) => one.label),
  ).flatMap((violated) => exceeded.filter((one) => one.label === violated));
  if (excess !== undefined) return { state: 'exceeded', value: excess.value, limit: excess.limit };
  if (side === 'eq') return { state: 'equality', value, limit };
  return { state: binding ? 'binding' : 'met', value, limit };
}

/** Returns the binding sides of a run of an earlier version, which has no others. */
function listBindingSides({ binding }: OptimisationRunResult): readonly Side[] {
  const sides = new Map<string, Side>();
  for (const bound of binding) {
    const { label = '', id = '', index = '', type = '', side, unit } = (bound ?? {}) as Record<string, string>;
    const key = `${index} ${side}`;
    if (index === '' || sides.has(key)) continue;
    sides.set(key, {
      label,
      id,
      index: Number(index),
      type,
      side: side as Side['side'],
      unit: unit as Side['unit'],
      value: null,
      limit: null,
      slack: null,
      binding: true,
    });
  }
  return [...sides.values()];
}
