import { z } from 'zod';

/** A constraint as clients write it; its catalogue entry checks its parameters. */
export const ConstraintRow = z
  .strictObject({
    type: z.string().min(1).meta({ description: 'Constraint class; see /optimise/constraint-types.' }),
    id: z.string().max(64).default('').meta({
      description:
        'What answers call the row: up to 64 characters, once among the rows; its position where it is empty.',
    }),
    params: z.record(z.string(), z.unknown()).default({}),
  })
  .meta({ id: 'ConstraintRow' });
export type ConstraintRow = z.infer<typeof ConstraintRow>;
