import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { type ThresholdType, THRESHOLDS } from '#domain/rules/thresholds.js';

export const Scalar = z.union([z.string(), z.number(), z.boolean()]).nullable();

export const ExplainedDatapoint = defineObject(() => ({
  path: z.string().meta({ description: 'Path in the definition that names the datapoint.' }),
  field: z.string().meta({ description: 'Description of the value that was read.' }),
  value: Scalar,
  from: z.string().nullable().meta({
    description: 'First date that was read; equals `to` for a single value, null for a value that is always valid.',
  }),
  to: z.string().nullable().meta({ description: 'Last date that was read.' }),
  observations: z.int().min(0).meta({
    description:
      'Number of values between these dates. For VOLATILITY, MOMENTUM, BETA and windows of RETURN: the number of returns between bars on consecutive sessions.',
  }),
  known_from: z.string().nullable().meta({
    description:
      'First session on which a value is possible, half of the window plus the lag after the first bar; set only if the value is missing because the bars of the security started too late.',
  }),
})).meta({ id: 'ExplainedDatapoint' });

export const ExplainedThreshold = defineObject(() => ({
  type: z.enum(Object.keys(THRESHOLDS) as [ThresholdType, ...ThresholdType[]]).meta({
    description: `${Object.entries(THRESHOLDS)
      .map(([type, { help }]) => `\`${type}\` ${help}`)
      .join('; ')}.`,
  }),
  rank: z.int().nullable().meta({ description: 'Last rank that meets the threshold; null if there is no ranking.' }),
  value: z.number().nullable().meta({
    description: 'The bound, or for a ranking the value of the security at that rank; null if it has none.',
  }),
  met: z.boolean().meta({ description: 'True if the security met the threshold.' }),
  distance: z.number().nullable().meta({
    description: "Change of the security's value that meets the threshold; 0 if met, null if it is not a number.",
  }),
})).meta({ id: 'ExplainedThreshold', description: 'Threshold of a rule for a security.' });

export const ExplainedRule = defineObject(() => ({
  position: z.int().min(1),
  rule_id: z.string(),
  rule_type: z.string(),
  constituent: z.boolean().meta({ description: 'True if the previous composition had the security.' }),
  kept: z.boolean(),
  test: z.string().meta({ description: 'The condition in words.' }),
  value: Scalar.meta({ description: 'Value of the security; null if missing.' }),
  threshold: z.number().nullable().meta({
    description:
      'Bound for the value. For a ranking: the value of the last security that meets the threshold that applies to this security.',
  }),
  rank: z.int().nullable(),
  cutoff: z.int().nullable().meta({
    description: 'Last rank that meets the applicable threshold; with a buffer it differs for constituents.',
  }),
  incumbent: z.boolean().meta({ description: 'True if the security stayed because it was a constituent.' }),
  distance: z.number().nullable().meta({
    description:
      'Distance of the value of an excluded security to its threshold; 0 if kept, null if it is not a number.',
  }),
  thresholds: z.array(ExplainedThreshold).meta({
    description:
      'All thresholds for the security, the decisive one first; `threshold`, `cutoff` and `distance` refer to the decisive threshold.',
  }),
  comparisons: z
    .array(
      z.strictObject({
        path: z.string(),
        test: z.string(),
        value: Scalar,
        outcome: z.boolean().nullable().meta({ description: 'Null if unknown.' }),
      }),
    )
    .meta({ description: 'Comparisons of an expression with the value of the security.' }),
})).meta({ id: 'ExplainedRule' });
