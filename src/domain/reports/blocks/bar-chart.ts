import { z } from 'zod';
import { blockFields, blockKind } from '../block.js';

export const BAR_SOURCES = ['annual_returns', 'top_weights', 'sector_weights', 'contributions', 'literal'] as const;
export type BarSource = (typeof BAR_SOURCES)[number];

const BARS_MAX = 200;

export const barChart = blockKind({
  help: 'Bars with their values: returns by year, the largest weights, weights by sector, the largest and smallest contributions, or values given by the template.',
  schema: z
    .strictObject({
      kind: z.literal('bar_chart'),
      ...blockFields,
      source: z.enum(BAR_SOURCES).default('annual_returns').meta({ description: 'What the bars are.' }),
      limit: z.int().min(1).max(BARS_MAX).default(10).meta({ description: 'At most so many bars.' }),
      values: z
        .record(z.string().max(80), z.number())
        .refine((values) => Object.keys(values).length <= BARS_MAX, {
          params: { finding: 'OUT_OF_RANGE' },
          error: `has more than ${BARS_MAX} entries`,
        })
        .nullable()
        .default(null)
        .meta({ description: 'Label to value, for a literal chart.' }),
    })
    .superRefine(({ source, values }, context) => {
      if (source === 'literal' && values === null)
        context.addIssue({
          code: 'custom',
          message: 'is required for a literal chart',
          path: ['values'],
          params: { finding: 'REQUIRED' },
        });
    })
    .meta({ id: 'BarChartBlock' }),
  example: {
    kind: 'bar_chart',
    title: 'Returns by year',
    index_id: 'LARGE-100',
    source: 'annual_returns',
    limit: 10,
    width: 'half',
  },
  runUse: ({ source }) => (source === 'literal' ? 'never' : 'always'),
});
