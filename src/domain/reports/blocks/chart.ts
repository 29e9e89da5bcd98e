import { z } from 'zod';
import { blockFields, blockKind } from '../block.js';

export const CHART_LINES = ['level', 'index_level', 'benchmark', 'drawdown', 'rolling_volatility'] as const;
export type ChartLine = (typeof CHART_LINES)[number];

export const chart = blockKind({
  help: 'Lines of a run over time. Levels share one panel; drawdown and rolling volatility have panels of their own below it.',
  schema: z
    .strictObject({
      kind: z.literal('chart'),
      ...blockFields,
      lines: z
        .array(z.enum(CHART_LINES))
        .min(1)
        .max(CHART_LINES.length)
        .default(['level'])
        .meta({ description: 'Series drawn; the benchmark only where the run has one.' }),
      log_scale: z.boolean().default(false).meta({ description: 'Logarithmic axis for the levels.' }),
      height: z
        .number()
        .min(60)
        .max(1000)
        .default(180)
        .meta({ description: 'Height of the chart in points; at most that of the page.' }),
    })
    .meta({ id: 'ChartBlock' }),
  example: {
    kind: 'chart',
    title: 'Level',
    index_id: 'LARGE-100',
    lines: ['level', 'benchmark'],
    log_scale: true,
    height: 200,
  },
  runUse: () => 'always',
});
