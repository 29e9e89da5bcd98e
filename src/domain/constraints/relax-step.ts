import { z } from 'zod';
import type { ConstraintClass } from './constraint-class.js';

type Params = Readonly<Record<string, unknown>>;

/** Entries of one derivation, and steps of one entry: 256 problems are tried at most. */
const ENTRIES_MAX = 16;
const STEPS_MAX = 16;

export const RelaxEntry = z
  .strictObject({
    row: z.string().min(1).max(64).meta({ label: 'Row', description: 'Id of the constraint row that is relaxed.' }),
    steps: z
      .array(z.union([z.number(), z.record(z.string(), z.unknown())]))
      .min(1)
      .max(STEPS_MAX)
      .meta({
        label: 'Steps',
        description:
          'Limits that the row takes one after the other: a number replaces its main limit, an object the parameters it names.',
      }),
  })
  .meta({ id: 'RelaxEntry', description: 'A constraint row with the limits it takes where no weights keep all rows.' });
export type RelaxEntry = z.infer<typeof RelaxEntry>;

/** In the order in which they are tried; each step keeps those before it. */
export const RelaxEntries = z.array(RelaxEntry).max(ENTRIES_MAX);

/** Parameters that may be the main limit of a row: the first of them that a class has. */
const MAIN_LIMITS = ['limit', 'upper', 'maximum', 'threshold', 'minimum'] as const;

/** The parameters of a step: a number as the main limit of its class; undefined of a class without one. */
export function stepParams(
  { params, isSymmetric }: Pick<ConstraintClass, 'params' | 'isSymmetric'>,
  step: RelaxEntry['steps'][number],
): Params | undefined {
  if (typeof step !== 'number') return step;
  if (isSymmetric) return { lower: -step, upper: step };
  const main = MAIN_LIMITS.find((name) => name in params.shape);
  return main === undefined ? undefined : { [main]: step };
}
