import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Constraint as a client writes it. The schema of the constraint class checks the parameters. */
export const ConstraintRow = defineObject(() => ({
  type: z.string().min(1).meta({ description: 'Constraint class; see /optimise/constraint-types.' }),
  id: z.string().max(64).default('').meta({
    description:
      'Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.',
  }),
  params: z.record(z.string(), z.unknown()).default({}),
})).meta({ id: 'ConstraintRow' });
export type ConstraintRow = z.infer<typeof ConstraintRow>;
