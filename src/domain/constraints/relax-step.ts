import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import type { ConstraintClass } from './constraint-class.js';

type Params = Readonly<Record<string, unknown>>;

/** Maximum number of entries in one derivation, and of steps in one entry: 256 problems in total. */
const ENTRIES_MAX = 16;
const STEPS_MAX = 16;

export const RelaxEntry = defineObject(() => ({
  row: z.string().min(1).max(64).meta({ label: 'Row', description: 'Id of the constraint that is relaxed.' }),
  steps: z
    .array(z.union([z.number(), z.record(z.string(), z.unknown())]))
    .min(1)
    .max(STEPS_MAX)
    .meta({
      label: 'Steps',
      description:
        'Limits that are tried in order. A number replaces the main limit of the constraint, and an object replaces the parameters that it contains.',
    }),
})).meta({ id: 'RelaxEntry', description: 'Constraint with the limits that are tried if the problem is infeasible.' });
export type RelaxEntry = z.infer<typeof RelaxEntry>;

/** Entries in the order of trial. Each step is applied in addition to the previous steps. */
export const RelaxEntries = z.array(RelaxEntry).max(ENTRIES_MAX);

/** Parameters that can be the main limit of a class, in order of precedence. */
const MAIN_LIMITS = ['limit', 'upper', 'maximum', 'threshold', 'minimum', 'lower'] as const;

/**
 * Returns the parameters that a step changes. If the step is a number, it changes the main limit of the class. Returns
 * undefined if the class has none.
 */
export function findStepParameter(
  { params, isSymmetric }: Pick<ConstraintClass, 'params' | 'isSymmetric'>,
  step: RelaxEntry['steps'][number],
): Params | undefined {
  if (typeof step !== 'number') return step;
  if (isSymmetric) return { lower: -step, upper: step };
  const main = MAIN_LIMITS.find((name) => name in params.shape);
  return main === undefined ? undefined : { [main]: step };
}
