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

export const GroupCap = z
  .strictObject({
    field: z.string().min(1).meta({ label: 'Grouped by', description: 'Reference column.' }),
    cap: z.number().gt(0).max(1).meta({ label: 'Cap', description: 'Largest weight of a group.', unit: 'fraction' }),
    groups: z
      .array(z.string())
      .nullable()
      .default(null)
      .meta({ label: 'Groups', description: 'Those that are capped; each of them unless given.' }),
  })
  .meta({ id: 'GroupCap' });
export type GroupCap = z.infer<typeof GroupCap>;

export const WeightingSpec = z
  .strictObject({
    type: z.string().min(1).meta({ description: 'Weighting class; see /indices/rule-types.' }),
    params: z.record(z.string(), z.unknown()).default({}),
    cap: z
      .number()
      .gt(0)
      .max(1)
      .nullable()
      .default(null)
      .meta({ label: 'Cap', help: 'Largest weight of a name; none unless given.', unit: 'fraction' }),
    floor: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .default(null)
      .meta({ label: 'Floor', help: 'Least weight of a name; none unless given.', unit: 'fraction' }),
    group_caps: z.array(GroupCap).max(100).default([]).meta({
      label: 'Caps of groups',
      help: 'Largest weights of groups.',
    }),
  })
  .meta({ id: 'WeightingSpec' });
export type WeightingSpec = z.infer<typeof WeightingSpec>;
