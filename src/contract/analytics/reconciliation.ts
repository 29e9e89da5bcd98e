import { z } from 'zod';
import { runState, type Stateless } from '../run-state.js';

export const ReconciliationCheck = z
  .strictObject({
    name: z.string(),
    meaning: z.string(),
    left: z
      .number()
      .nullable()
      .meta({ description: 'The side that was computed again; null where bytes are compared.' }),
    right: z.number().nullable(),
    residual: z.number(),
    tolerance: z.number().meta({ description: 'Relative to the larger side, at least to 1.' }),
    holds: z.boolean(),
  })
  .meta({ id: 'ReconciliationCheck' });
export const ReconciliationView = z
  .strictObject({
    ...runState,
    index_id: z.string(),
    reconciles: z.boolean().meta({ description: 'Whether every check holds.' }),
    checks: z.array(ReconciliationCheck),
    not_compared: z.array(z.string()).meta({
      description: 'What runs of earlier versions do not store, so that no check is about it, a sentence each.',
    }),
  })
  .meta({ id: 'ReconciliationView' });
export type ReconciliationView = Stateless<z.infer<typeof ReconciliationView>>;
