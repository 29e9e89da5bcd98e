import { z } from 'zod';
import { blockFields, blockKind, meaningsOf, namesOf } from '../block.js';

/** What the bars of a chart can be. */
export const BAR_SOURCES = {
  annual_returns: 'return of each calendar year',
  top_weights: 'the largest weights held on the last date',
  sector_weights: 'weight of each sector held on the last date, the largest first',
  contributions: 'the largest contributors to the return of the portfolio, then the largest detractors from it',
  liquidation:
    'share of a portfolio of `aum` that held the index before its latest rebalance which is sold within some days, at a tenth of the daily volume; nothing of an overlay',
  literal: 'the values of `values`',
} as const;
export type BarSource = keyof typeof BAR_SOURCES;

const BARS_MAX = 200;

export const barChart = blockKind({
  help: 'Bars of a run with their values, or values given by the template.',
  schema: z
    .strictObject({
      kind: z.literal('bar_chart'),
      ...blockFields,
      source: z
        .enum(namesOf(BAR_SOURCES))
        .default('annual_returns')
        .meta({ description: `What the bars are. ${meaningsOf(BAR_SOURCES)}.` }),
      limit: z.int().min(1).max(BARS_MAX).default(10).meta({
        description:
          'At most so many bars, of contributors and detractors the same number. A single sector beyond them is shown, several are summed up.',
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
  readers: {
    aum: { member: 'source', of: ['liquidation'] },
    values: { member: 'source', of: ['literal'] },
  },
});
