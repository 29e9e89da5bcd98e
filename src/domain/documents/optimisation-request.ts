import { z } from 'zod';
import { LIMITS } from '../refusals/limits.js';
import { assertNoErrors } from '../refusals/refusal.js';
import { checkShape, Id, IsoDate } from '../schema/shape.js';
import { optimisationFields, optimisationFindings } from './optimisation-spec.js';
import { requestWithTrees } from './request-expressions.js';

const Resampling = z
  .strictObject({
    draws: z.int().min(1).max(LIMITS.MAX_FRONTIER_DRAWS).default(100).meta({ description: 'Histories drawn.' }),
    seed: z.int().min(0).default(0).meta({ description: 'Equal seeds give equal draws, on any number of workers.' }),
    sessions: z
      .int()
      .min(LIMITS.MIN_MODEL_OBSERVATIONS)
      .max(LIMITS.MAX_SCENARIOS)
      .nullable()
      .default(null)
      .meta({ description: 'Returns of each history; null draws as many as the window has.' }),
  })
  .meta({
    id: 'Resampling',
    description:
      'A frontier averaged over draws from the estimated moments, beside the one of the estimates themselves.',
  });

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
  resampling: Resampling.nullable().default(null),
});
export type OptimisationRequest = z.infer<typeof OptimisationRequest>;

/** The request of a body. @throws Refusal VALIDATION_FAILED, each finding at its path */
export function readOptimisationRequest(body: Readonly<Record<string, unknown>>): OptimisationRequest {
  const { body: read, findings: ofTexts } = requestWithTrees(body);
  const { value, findings } = checkShape(OptimisationRequest, read);
  assertNoErrors('request', [...findings, ...ofTexts, ...optimisationFindings(read, '')]);
  if (value === undefined) throw new Error('a request without errors has a value');
  return value;
}
