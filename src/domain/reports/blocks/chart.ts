import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { LIMIT_RULE_NAMES } from '../../compliance/rules.js';
import { blockFields, defineBlockKind, listMeanings, listNames } from '../block.js';

/** Lines in a chart. */
export const CHART_LINES = {
  level: 'portfolio, rebased to 100',
  index_level: 'index that the portfolio follows, rebased to 100',
  benchmark: 'benchmark, rebased to 100, if the run has one',
  drawdown: 'level relative to its running maximum, less 1',
  rolling_volatility: 'annualised volatility of the latest 252 sessions, or fewer for a short run',
  headroom: 'distance to the nearest bound of a concentration rule, set by `rule` and `fallback_rule`',
  sector_weights: 'weights of the three sectors with the largest mean weight',
} as const;
export type ChartLine = keyof typeof CHART_LINES;

const NAMES = listNames(CHART_LINES);

export const chart = defineBlockKind({
  help: 'Lines of a run over time. Levels are in one panel. Other lines have separate panels below it.',
  schema: defineObject(() => ({
    kind: z.literal('chart'),
    ...blockFields,
    lines: z
      .array(z.enum(NAMES))
      .min(1)
      .max(NAMES.length)
      .default(['level'])
      .meta({ description: `Series of the chart. ${listMeanings(CHART_LINES)}.` }),
    log_scale: z.boolean().default(false).meta({ description: 'True draws a logarithmic axis for the levels.' }),
    rule: z.enum(LIMIT_RULE_NAMES).nullable().default(null).meta({
      description: 'Published concentration rule whose headroom is drawn. Default: the rule that triggers rebalances.',
    }),
    fallback_rule: z.enum(LIMIT_RULE_NAMES).nullable().default(null).meta({
      description:
        'Rule whose headroom is drawn if `rule` is absent and no rule triggers rebalances of the index. Default: none.',
    }),
    height: z
      .number()
      .min(60)
      .max(1000)
      .default(180)
      .meta({ description: 'Height of the chart in points, at most the height of the page.' }),
  })).meta({ id: 'ChartBlock' }),
  example: {
    kind: 'chart',
    title: 'Level',
    index_id: 'LARGE-100',
    lines: ['level', 'benchmark'],
    log_scale: true,
    height: 200,
  },
  runUse: () => 'always',
  readers: {
    log_scale: { member: 'lines', of: ['level', 'index_level', 'benchmark'] },
    rule: { member: 'lines', of: ['headroom'] },
    fallback_rule: { member: 'lines', of: ['headroom'] },
  },
});
