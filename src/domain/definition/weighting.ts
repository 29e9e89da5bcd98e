import { z } from 'zod';
import { defineObject } from '../base/schema.js';
import { NumberExpression } from '../datapoints/expression-checks.js';
import { Datapoint } from '../datapoints/fields.js';

export const GroupCap = defineObject(() => ({
  field: z.string().min(1).meta({ label: 'Grouped by', description: 'Reference column.' }),
  cap: z.number().gt(0).max(1).meta({ label: 'Cap', description: 'Largest weight of a group.', unit: 'fraction' }),
  groups: z
    .array(z.string())
    .nullable()
    .default(null)
    .meta({ label: 'Groups', description: 'Groups that are capped. Default: every group.' }),
})).meta({ id: 'GroupCap' });
export type GroupCap = z.infer<typeof GroupCap>;

const fractionSchema = z.number().gt(0).max(1);

const SingleLadder = defineObject(() => ({
  above: fractionSchema.meta({ description: 'The caps apply if any weight is above this value.', unit: 'fraction' }),
  to: fractionSchema.meta({ description: 'Maximum weight if the caps apply.', unit: 'fraction' }),
}))
  .refine(({ above, to }) => to <= above, {
    path: ['to'],
    params: { finding: 'EMPTY_RANGE' },
    error: ({ input }) => `is above \`above\`, which is ${(input as { above: number }).above}`,
  })
  .meta({ id: 'SingleLadder' });

const RANKED_CAPS_MAX = 100;

const rankedCapsSchema = z
  .array(fractionSchema)
  .min(1)
  .max(RANKED_CAPS_MAX)
  .refine((caps) => caps.every((cap, rank) => rank === 0 || cap <= caps[rank - 1]!), {
    params: { finding: 'EMPTY_RANGE' },
    error: 'increases from one rank to the next',
  });

const RankedLadder = defineObject(() => ({
  above: rankedCapsSchema.meta({
    description:
      'Limits by rank, largest weight first. The last limit applies to all further ranks. The caps apply if any weight is above the limit of its rank.',
    unit: 'fraction',
  }),
  to: rankedCapsSchema.meta({
    description: 'Maximum weights by rank if the caps apply. The last one applies to all further ranks.',
    unit: 'fraction',
  }),
}))
  .refine(
    ({ above, to }) =>
      Array.from({ length: Math.max(above.length, to.length) }, (_, rank) => rank).every(
        (rank) => findRankedCap(to, rank) <= findRankedCap(above, rank),
      ),
    {
      path: ['to'],
      params: { finding: 'EMPTY_RANGE' },
      error: ({ input }) =>
        `is above \`above\`, which is ${JSON.stringify((input as { above: number[] }).above)}, at a rank`,
    },
  )
  .meta({ id: 'RankedLadder' });

/** Returns the cap of a rank, from 0. The last cap applies to all further ranks. */
export const findRankedCap = (caps: readonly number[], rank: number): number => caps[Math.min(rank, caps.length - 1)]!;

/** Ways to reduce the total of large weights. */
const REDUCTIONS = ['all', 'smallest', 'smallest_until_kept'] as const;

const GroupLadder = defineObject(() => ({
  each_above: fractionSchema.meta({
    description: 'Weights above this value are added up. All other weights are capped at it.',
    unit: 'fraction',
  }),
  together_above: fractionSchema.meta({
    description: 'The caps apply if the total of these weights exceeds this value.',
    unit: 'fraction',
  }),
  to: fractionSchema.meta({
    description: 'Total of these weights if the caps apply; with the smallest first, the maximum of the total.',
    unit: 'fraction',
  }),
  reduce: z.enum(REDUCTIONS).optional().meta({
    description:
      'Weights that are reduced: all in proportion to their weights (all), the smallest one to `each_to`, one after the other, until the total is at most `to` (smallest), or the same, but the last one only as far as the total requires (smallest_until_kept). Default: all.',
  }),
  each_to: fractionSchema.optional().meta({
    description:
      'Weight to which the smallest is reduced, and maximum weight of the securities that take the excess. Only with a `reduce` of the smallest. Default: each_above.',
    unit: 'fraction',
  }),
}))
  .refine(({ together_above: above, to }) => to <= above, {
    path: ['to'],
    params: { finding: 'EMPTY_RANGE' },
    error: ({ input }) =>
      `is above \`together_above\`, which is ${(input as { together_above: number }).together_above}`,
  })
  .refine(({ each_above: above, each_to: to = 0 }) => to <= above, {
    path: ['each_to'],
    params: { finding: 'EMPTY_RANGE' },
    error: ({ input }) => `is above \`each_above\`, which is ${(input as { each_above: number }).each_above}`,
  })
  .refine(({ reduce = 'all', each_to: to }) => to === undefined || reduce !== 'all', {
    path: ['each_to'],
    params: { finding: 'NO_EFFECT' },
    error: 'has no effect if `reduce` is all',
  })
  .meta({ id: 'GroupLadder' });

export const LadderCaps = defineObject(() => ({
  single: SingleLadder.optional().meta({ label: 'Single weights', description: 'First stage.' }),
  ranked: RankedLadder.optional().meta({
    label: 'Weights by rank',
    description: 'First stage with a cap for each rank, such as 35% for the largest weight and 20% for all others.',
  }),
  group: GroupLadder.optional().meta({ label: 'Total of large weights', description: 'Second stage.' }),
}))
  .refine(({ single, ranked, group }) => single !== undefined || ranked !== undefined || group !== undefined, {
    path: ['single'],
    params: { finding: 'REQUIRED' },
    error: 'or `ranked` or `group` is required',
  })
  .refine(({ single, ranked }) => single === undefined || ranked === undefined, {
    path: ['ranked'],
    params: { finding: 'CAP_INFEASIBLE' },
    error: 'cannot be combined with `single`, which is a cap of all ranks',
  })
  .meta({ id: 'LadderCaps' });
export type LadderCaps = z.infer<typeof LadderCaps>;

/** Maximum number of reviews over which a change is phased in: five years of monthly reviews. */
const STEPS_MAX = 60;

const expressionSchema = z.union([z.string().min(1).max(64), Datapoint, NumberExpression]);

export const PhaseIn = defineObject(() => ({
  field: expressionSchema.meta({
    label: 'Field',
    help: 'Datapoint or expression that multiplies the raw weights, such as FREE_FLOAT.',
    ref: 'Datapoint',
    format: 'expression',
  }),
  steps: z.int().min(1).max(STEPS_MAX).meta({
    label: 'Steps',
    help: 'Number of reviews over which a change of the field is phased in, in equal steps.',
    unit: 'reviews',
  }),
})).meta({ id: 'PhaseIn' });
export type PhaseIn = z.infer<typeof PhaseIn>;

export const WeightingSpec = defineObject(() => ({
  type: z.string().min(1).meta({ description: 'Weighting class; see /indices/rule-types.' }),
  params: z.record(z.string(), z.unknown()).default({}),
  cap: z
    .union([fractionSchema, z.string().min(1).max(64), Datapoint, NumberExpression])
    .nullable()
    .default(null)
    .meta({
      label: 'Cap',
      help: 'Maximum weight of a constituent: a number, or an expression such as min(0.09, 3 * weight_in("PARENT")), which is evaluated for each constituent. Default: no maximum.',
      unit: 'fraction',
      ref: 'Datapoint',
      format: 'expression',
    }),
  floor: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .default(null)
    .meta({ label: 'Floor', help: 'Minimum weight of a security. Default: no minimum.', unit: 'fraction' }),
  group_caps: z.array(GroupCap).max(100).default([]).meta({
    label: 'Caps of groups',
    help: 'Maximum weights of groups.',
  }),
  cap_by: z.string().min(1).max(64).optional().meta({
    label: 'Cap by',
    help: 'Reference column, such as ISSUER. `cap` and `ladder_caps` then limit the weight of each group of this column instead of each constituent. A constituent without a value is a separate group.',
  }),
  ladder_caps: LadderCaps.optional().meta({
    label: 'Caps in stages',
    help: 'Caps that apply if a limit is exceeded: first caps of single weights or of weights by rank, then a cap of the total of large weights.',
    ref: 'LadderCaps',
  }),
  phase_in: PhaseIn.optional().meta({
    label: 'Phase-in',
    help: 'Datapoint that multiplies the raw weights. Its changes are phased in over several reviews.',
    ref: 'PhaseIn',
  }),
})).meta({ id: 'WeightingSpec' });
export type WeightingSpec = z.infer<typeof WeightingSpec>;
