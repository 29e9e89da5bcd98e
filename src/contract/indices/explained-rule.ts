import { z } from 'zod';
import { type ThresholdType, THRESHOLDS } from '#domain/rules/thresholds.js';

export const Scalar = z.union([z.string(), z.number(), z.boolean()]).nullable();

export const ExplainedDatapoint = z
  .strictObject({
    path: z.string().meta({ description: 'Where the definition names the datapoint.' }),
    field: z.string().meta({ description: 'What was read, in words.' }),
    value: Scalar,
    from: z.string().nullable().meta({
      description: 'First date read; equals `to` for a single value, null for a value that was always valid.',
    }),
    to: z.string().nullable().meta({ description: 'Last date read.' }),
    observations: z.int().min(0).meta({
      description:
        'Values found between them: for VOLATILITY, MOMENTUM, BETA and windows of RETURN the returns between bars on sessions in a row.',
    }),
    known_from: z.string().nullable().meta({
      description:
        'Of a missing value of a name whose bars began too late for it: the first session on which there can be one, half of its window and its lag after them. Null otherwise.',
    }),
  })
  .meta({ id: 'ExplainedDatapoint' });

export const ExplainedThreshold = z
  .strictObject({
    type: z.enum(Object.keys(THRESHOLDS) as [ThresholdType, ...ThresholdType[]]).meta({
      description: `${Object.entries(THRESHOLDS)
        .map(([type, { help }]) => `\`${type}\` ${help}`)
        .join('; ')}.`,
    }),
    rank: z.int().nullable().meta({ description: 'Last rank that reaches it; null off a ranking.' }),
    value: z.number().nullable().meta({
      description: 'The bound itself, of a ranking the value of the name at that rank; null where that has none.',
    }),
    met: z.boolean().meta({ description: 'Whether the name reached it.' }),
    distance: z.number().nullable().meta({
      description: "Move of the name's value that reaches it; 0 when met, null off the number line.",
    }),
  })
  .meta({ id: 'ExplainedThreshold', description: 'What a name had to reach under a rule.' });

export const ExplainedRule = z
  .strictObject({
    position: z.int().min(1),
    rule_id: z.string(),
    rule_type: z.string(),
    constituent: z.boolean().meta({ description: 'Whether the composition before had the name.' }),
    kept: z.boolean(),
    test: z.string().meta({ description: 'The condition in words.' }),
    value: Scalar.meta({ description: 'Value of the name; null when missing.' }),
    threshold: z.number().nullable().meta({
      description:
        'Bound the value was held against; for a ranking the value of the last name that reaches the threshold which the name faced.',
    }),
    rank: z.int().nullable(),
    cutoff: z.int().nullable().meta({
      description: 'Last rank that reaches the threshold which the name faced: of a buffer, another for constituents.',
    }),
    incumbent: z.boolean().meta({ description: 'Whether the name stayed because it was a constituent.' }),
    distance: z.number().nullable().meta({
      description: 'Move of the value of an excluded name to its threshold; 0 when kept; null off the number line.',
    }),
    thresholds: z.array(ExplainedThreshold).meta({
      description:
        'All that the name had to reach, the decisive one first: `threshold`, `cutoff` and `distance` are of that.',
    }),
    comparisons: z
      .array(
        z.strictObject({
          path: z.string(),
          test: z.string(),
          value: Scalar,
          outcome: z.boolean().nullable().meta({ description: 'Null when unknown.' }),
        }),
      )
      .meta({ description: 'Of an expression: each comparison with the value it met.' }),
  })
  .meta({ id: 'ExplainedRule' });
