import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';

export const ExceededLimit = defineObject(() => ({
  label: z.string().meta({ description: 'Label of the bound, as in the binding constraints.' }),
  id: z.string().meta({ description: 'Id of the constraint in the request; empty if it has none.' }),
  type: z.string().meta({ description: 'Type of the constraint.' }),
  side: z.enum(['lower', 'upper', 'eq']).meta({ description: 'Bound that is violated; `eq` for an equality.' }),
  unit: z.enum(['fraction', 'count', 'value']).meta({ description: 'Unit of `value` and `limit`.' }),
  value: z.number().meta({ description: 'Value of the solution.' }),
  limit: z.number().meta({ description: 'Bound as requested.' }),
})).meta({ id: 'ExceededLimit', description: 'Soft bound that a solution violates.' });
export type ExceededLimit = z.infer<typeof ExceededLimit>;
