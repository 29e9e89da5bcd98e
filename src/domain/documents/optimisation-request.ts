import { z } from 'zod';
import { assertNoErrors } from '../refusal.js';
import { checkShape, Id, IsoDate } from '../shape.js';
import { optimisationFields, optimisationFindings } from './optimisation-spec.js';

/** Request of an optimisation. */
export const OptimisationRequest = z.strictObject({
  index_id: Id.meta({ description: 'Index whose weights are the target.' }),
  constraint_set_id: Id,
  ...optimisationFields,
  as_of: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Rebalance to target: the latest on or before this day; null takes the latest.' }),
  start: IsoDate.nullable().default(null).meta({ description: 'First day of the window of the risk model.' }),
  end: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Last day of the window of the risk model; never past the decision of the rebalance.' }),
  risk_free_rate: z
    .number()
    .min(-1)
    .max(1)
    .default(0)
    .meta({ description: "Annual rate for the frontier's tangency point." }),
});
export type OptimisationRequest = z.infer<typeof OptimisationRequest>;

/** The request of a body. @throws Refusal VALIDATION_FAILED, each finding at its path */
export function readOptimisationRequest(body: Readonly<Record<string, unknown>>): OptimisationRequest {
  const { value, findings } = checkShape(OptimisationRequest, body);
  assertNoErrors('request', [...findings, ...optimisationFindings(body, '')]);
  if (value === undefined) throw new Error('a request without errors has a value');
  return value;
}
