import { z } from 'zod';

/** Steps of one rule. */
const FALLBACKS_MAX = 8;

export const RuleFallback = z
  .strictObject({
    when_fewer_than: z
      .int()
      .min(1)
      .max(20_000)
      .meta({ description: 'Taken where fewer securities than this are kept by the parameters before.' }),
    params: z
      .record(z.string(), z.unknown())
      .meta({ description: 'Parameters that take the place of those of the rule; the others stay.' }),
  })
  .meta({ id: 'RuleFallback' });
export type RuleFallback = z.infer<typeof RuleFallback>;

export const RuleSpec = z
  .strictObject({
    id: z.string().min(1).max(64).meta({ description: 'Client-assigned, unique within the pipeline.' }),
    type: z.string().min(1).meta({ description: 'Rule class; see /indices/rule-types.' }),
    params: z.record(z.string(), z.unknown()).default({}),
    fallback: z
      .array(RuleFallback)
      .max(FALLBACKS_MAX)
      .optional()
      .meta({ description: 'Parameters that are taken, in order, while the rule keeps too few.' }),
  })
  .meta({ id: 'RuleSpec' });
export type RuleSpec = z.infer<typeof RuleSpec>;
