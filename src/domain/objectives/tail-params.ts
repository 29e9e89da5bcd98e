import { z } from 'zod';
import { LIMITS } from '../refusals/limits.js';

/** Parameters of objectives about the worst of historical scenarios. */
export const tailParams = z.strictObject({
  confidence: z.number().min(0).lt(1).default(0.95).meta({
    label: 'Confidence',
    help: 'Share of the scenarios that is better than those averaged; 0 averages all of them.',
    unit: 'fraction',
  }),
  scenarios: z.int().min(LIMITS.MIN_MODEL_OBSERVATIONS).max(LIMITS.MAX_SCENARIOS).nullable().default(null).meta({
    label: 'Scenarios',
    help: 'Sessions up to the decision whose returns are the scenarios; by default those of the risk model.',
    unit: 'sessions',
  }),
});

/** The share that a confidence leaves, in words. */
export function share(confidence: number): string {
  return `${Number((100 * (1 - confidence)).toPrecision(6))} %`;
}
