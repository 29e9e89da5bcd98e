import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { runState, type WithoutRunState } from '../run-state.js';

export const ReconciliationCheck = defineObject(() => ({
  name: z.string(),
  meaning: z.string(),
  left: z.number().nullable().meta({ description: 'Recomputed value; null for a comparison of bytes.' }),
  right: z.number().nullable(),
  residual: z.number(),
  tolerance: z
    .number()
    .meta({ description: 'Maximum difference, relative to the larger value, or to 1 if both values are smaller.' }),
  holds: z.boolean(),
})).meta({ id: 'ReconciliationCheck' });
export const ReconciliationView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  reconciles: z.boolean().meta({ description: 'True if every check succeeds.' }),
  checks: z.array(ReconciliationCheck),
  not_compared: z.array(z.string()).meta({
    description: 'Data that is not checked because runs of earlier versions do not store it, one sentence each.',
  }),
})).meta({ id: 'ReconciliationView' });
export type ReconciliationView = WithoutRunState<z.infer<typeof ReconciliationView>>;
