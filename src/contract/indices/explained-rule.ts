import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { type ThresholdType, THRESHOLDS } from '#domain/rules/thresholds.js';

export const Scalar = z.union([z.string(), z.number(), z.boolean()]).nullable();

export const ExplainedDatapoint = defineObject(() => ({
  path: z.string().meta({ description: 'Path in the definition that refers to the datapoint.' }),
  field: z.string().meta({ description: 'Description of the value that was read.' }),
  value: Scalar,
  from: z.string().nullable().meta({
    description:
      'First date that was read. It equals `to` for a single value, and is null for a value that is always valid.',
  }),
  to: z.string().nullable().meta({ description: 'Last date that was read.' }),
  observations: z.int().min(0).meta({
    description:
      'Number of values between these dates. For VOLATILITY, MOMENTUM, BETA and windows of RETURN, the number of returns between bars on consecutive sessions.',
  }),
  known_from: z.string().nullable().meta({
    description:
      'First session on which the datapoint can have a value: the first bar plus half of the window and the lag. Present only if the value is missing because the bars of the security started too late.',
  }),
})).meta({ id: 'ExplainedDatapoint' });

export const ExplainedThreshold = defineObject(() => ({
  type: z.enum(Object.keys(THRESHOLDS) as [ThresholdType, ...ThresholdType[]]).meta({
    description: `${Object.entries(THRESHOLDS)
      .map(([type, { help }]) => `\`${type}\` ${help}`)
      .join('; ')}.`,
  }),
  rank: z.int().nullable().meta({ description: 'Last rank that satisfies the threshold; null without a ranking.' }),
  value: z.number().nullable().meta({
    description: 'Bound; for a ranking, the value of the security at that rank. Null if there is none.',
  }),
  met: z.boolean().meta({ description: 'True if the security satisfied the threshold.' }),
  distance: z.number().nullable().meta({
    description:
      'Change of the value of the security that would satisfy the threshold. 0 if it is satisfied; null if the value is not a number.',
  }),
})).meta({ id: 'ExplainedThreshold', description: 'Threshold of a rule for a security.' });

export const ExplainedRule = defineObject(() => ({
  position: z.int().min(1),
  rule_id: z.string(),
  rule_type: z.string(),
  constituent: z.boolean().meta({ description: 'True if the previous composition contained the security.' }),
  kept: z.boolean(),
  test: z.string().meta({ description: 'The condition in words.' }),
  value: Scalar.meta({ description: 'Value of the security; null if missing.' }),
  threshold: z.number().nullable().meta({
    description:
      'Bound of the value. For a ranking, the value of the last security that satisfies the applicable threshold.',
  }),
  rank: z.int().nullable(),
  cutoff: z.int().nullable().meta({
    description: 'Last rank that satisfies the applicable threshold. With a buffer, it differs for constituents.',
  }),
  incumbent: z.boolean().meta({ description: 'True if the security stayed because it was a constituent.' }),
  distance: z.number().nullable().meta({
    description:
      'Distance of the value of an excluded security from its threshold. 0 for a kept security; null if the value is not a number.',
  }),
  thresholds: z.array(ExplainedThreshold).meta({
    description:
      'All thresholds for the security, beginning with the decisive threshold. `threshold`, `cutoff` and `distance` refer to the decisive threshold.',
  }),
  comparisons: z
    .array(
      z.strictObject({
        path: z.string(),
        test: z.string(),
        value: Scalar,
        outcome: z.boolean().nullable().meta({ description: 'Result of the comparison; null if unknown.' }),
      }),
    )
    .meta({ description: 'Comparisons of an expression with the value of the security.' }),
})).meta({ id: 'ExplainedRule' });
