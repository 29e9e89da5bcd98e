import type { OptimisationRunResult } from '#clients/typescript/divisor.js';
import { bps, figure, NONE, percent } from '../../words/numbers.js';

/** The measure in which an objective is told: the root of a variance, a return, or a number without a unit. */
type Measure = 'root' | 'return' | 'plain';

interface Told {
  readonly measure: Measure;
  /** What the objective value is. */
  readonly value: string;
}

/** As the sentences of a run tell them. */
const OBJECTIVES: Readonly<Record<string, Told>> = {
  min_tracking_error: { measure: 'root', value: 'tracking variance' },
  min_variance: { measure: 'root', value: 'variance' },
  max_return: { measure: 'return', value: 'expected return' },
  max_utility: { measure: 'return', value: 'utility' },
};

/** Runs that an earlier version stored say nothing of their objective: it was the only one. */
const objectiveOf = (run: Partial<OptimisationRunResult>): string => run.objective_type ?? 'min_tracking_error';

/** The objective value with what it is, as a tile has it. */
export function objectiveTile(run: OptimisationRunResult) {
  const type = objectiveOf(run);
  const { measure, value } = OBJECTIVES[type] ?? { measure: 'plain', value: type.replace('max_', '') };
  const help = 'The value of the objective, costs included';
  const term = `Objective: ${value.replaceAll('_', ' ')}`;
  if (measure === 'return') return { term, value: percent(run.objective_value), help };
  if (measure === 'plain') return { term, value: figure(run.objective_value), help };
  const root = Math.sqrt(Math.max(0, run.objective_value));
  return {
    term,
    value: figure(run.objective_value),
    help: `${help}; below it its root`,
    note: `root ${percent(root)}`,
  };
}

type Maybe = number | null | undefined;

/** Changes of the objective value of a run, in the measure of its sentences. */
export function changesOf(run: OptimisationRunResult) {
  const { measure } = OBJECTIVES[objectiveOf(run)] ?? { measure: 'plain' };
  const { objective_value: value } = run;
  const root = (variance: number) => Math.sqrt(Math.max(0, variance));
  return {
    /** A change of the objective value as it came out of another solve. */
    step(change: Maybe): string {
      if (change === null || change === undefined) return NONE;
      if (measure === 'plain') return figure(change);
      return bps(measure === 'return' ? change : root(value + change) - root(value));
    },
    /** By how much the value is worse than another one; never less than nothing. */
    cost(without: Maybe): string {
      if (without === null || without === undefined) return NONE;
      if (measure === 'plain') return figure(Math.abs(value - without));
      return bps(Math.abs(measure === 'return' ? value - without : root(value) - root(without)));
    },
    /** A small change of the objective value, by its slope; none at a variance of nothing, where the root has none. */
    slope(change: Maybe): string {
      if (change === null || change === undefined) return NONE;
      if (measure === 'plain') return figure(change);
      if (measure === 'return') return bps(change);
      return value <= 0 ? NONE : bps(change / (2 * root(value)));
    },
    /** The objective value of another solve. */
    level(other: Maybe): string {
      if (other === null || other === undefined || measure === 'plain') return figure(other);
      return percent(measure === 'return' ? other : root(other));
    },
  };
}
export type Changes = ReturnType<typeof changesOf>;

/** `PositionBounds[small]:upper:CAVX` reads `Position bounds small, upper, CAVX`; the id that says the same again is left away. */
export function rowWords(label: string): string {
  const [, type, id, rest] = /^(\w+)(?:\[([^\]]*)\])?(?::(.*))?$/.exec(label) ?? [];
  if (type === undefined) return label;
  const spaced = type.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  const own = id === undefined || id.replaceAll(/[-_]/g, ' ') === spaced ? '' : ` ${id}`;
  const words = `${spaced.charAt(0).toUpperCase()}${spaced.slice(1)}${own}`;
  return rest === undefined ? words : [words, ...rest.split(':')].join(', ');
}
