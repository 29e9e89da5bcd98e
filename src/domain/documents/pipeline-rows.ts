import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Maximum number of fallbacks of a rule. */
const FALLBACKS_MAX = 8;

export const RuleFallback = defineObject(() => ({
  when_fewer_than: z.int().min(1).max(20_000).meta({
    description: 'The parameters are used if the previous parameters keep fewer securities than this number.',
  }),
  params: z
    .record(z.string(), z.unknown())
    .meta({ description: 'Parameters that replace parameters of the rule. All other parameters do not change.' }),
})).meta({ id: 'RuleFallback' });
export type RuleFallback = z.infer<typeof RuleFallback>;

export const RuleSpec = defineObject(() => ({
  id: z.string().min(1).max(64).meta({ description: 'Id of the rule, unique within the pipeline.' }),
  type: z.string().min(1).meta({ description: 'Rule class; see /indices/rule-types.' }),
  params: z.record(z.string(), z.unknown()).default({}),
  fallback: z
    .array(RuleFallback)
    .max(FALLBACKS_MAX)
    .optional()
    .meta({ description: 'Parameters that are tried, in order, if the rule keeps too few securities.' }),
})).meta({ id: 'RuleSpec' });
export type RuleSpec = z.infer<typeof RuleSpec>;
