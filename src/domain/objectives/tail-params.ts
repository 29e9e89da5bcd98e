import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { LIMITS } from '../refusals/limits.js';

/** Parameters of objectives and constraints that average the worst scenarios. */
export const tailParams = defineObject(() => ({
  confidence: z.number().min(0).lt(1).default(0.95).meta({
    label: 'Confidence',
    help: 'Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios.',
    unit: 'fraction',
  }),
  scenarios: z.int().min(LIMITS.MIN_MODEL_OBSERVATIONS).max(LIMITS.MAX_SCENARIOS).nullable().default(null).meta({
    label: 'Scenarios',
    help: 'Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model.',
    unit: 'sessions',
  }),
}));

/** Formats the share of the scenarios that is in the tail, for example `5%`. */
export function describeTailShare(confidence: number): string {
  return `${Number((100 * (1 - confidence)).toPrecision(6))}%`;
}
