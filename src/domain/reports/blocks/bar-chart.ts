import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { blockFields, defineBlockKind, listMeanings, listNames } from '../block.js';

/** Sources of the bars in a chart. */
export const BAR_SOURCES = {
  annual_returns: 'return of each calendar year',
  top_weights: 'largest weights on the last date',
  sector_weights: 'weight of each sector on the last date, beginning with the largest',
  contributions: 'largest contributors to the return of the portfolio, followed by the largest detractors',
  liquidation:
    'fraction of a portfolio of `aum` that can be sold within a number of days at a tenth of the daily volume; the portfolio held the index before its latest rebalance; empty for an overlay',
  literal: 'the values of `values`',
} as const;
export type BarSource = keyof typeof BAR_SOURCES;

const BARS_MAX = 200;

export const barChart = defineBlockKind({
  help: 'Bars of figures of a run, or of values in the template.',
  schema: defineObject(() => ({
    kind: z.literal('bar_chart'),
    ...blockFields,
    source: z
      .enum(listNames(BAR_SOURCES))
      .default('annual_returns')
      .meta({ description: `Source of the bars. ${listMeanings(BAR_SOURCES)}.` }),
    limit: z.int().min(1).max(BARS_MAX).default(10).meta({
      description:
        'Maximum number of bars, with equal numbers of contributors and detractors. A single further sector is shown; several further sectors are added up.',
    }),
    aum: z
      .number()
      .gt(0)
      .max(1e15)
      .default(100_000_000)
      .meta({ description: 'Value of the portfolio that is sold, in the currency of the index.' }),
    values: z
      .record(z.string().max(80), z.number())
      .refine((values) => Object.keys(values).length <= BARS_MAX, {
        params: { finding: 'OUT_OF_RANGE' },
        error: `has more than ${BARS_MAX} entries`,
      })
      .nullable()
      .default(null)
      .meta({ description: 'Values by label, for a literal chart.' }),
  }))
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
  readers: {
    aum: { member: 'source', of: ['liquidation'] },
    values: { member: 'source', of: ['literal'] },
  },
});
