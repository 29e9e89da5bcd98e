import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { runState, type WithoutRunState } from '../run-state.js';

export const ReconciliationCheck = defineObject(() => ({
  name: z.string(),
  meaning: z.string(),
  left: z.number().nullable().meta({ description: 'The recomputed side; null for a comparison of bytes.' }),
  right: z.number().nullable(),
  residual: z.number(),
  tolerance: z.number().meta({ description: 'Relative to the larger side, or to 1 if both are smaller.' }),
  holds: z.boolean(),
})).meta({ id: 'ReconciliationCheck' });
export const ReconciliationView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  reconciles: z.boolean().meta({ description: 'True if every check holds.' }),
  checks: z.array(ReconciliationCheck),
  not_compared: z.array(z.string()).meta({
    description:
      'Data that runs of earlier versions do not store, and that is therefore not checked, one sentence each.',
  }),
})).meta({ id: 'ReconciliationView' });
export type ReconciliationView = WithoutRunState<z.infer<typeof ReconciliationView>>;
