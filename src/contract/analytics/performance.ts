import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { MEASURED_VARIANTS, RETURN_VARIANTS } from '#domain/market/market-data.js';
import { Finding, SeriesPayload } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';
import { defineFraction } from './fields.js';
import { BacktestMetrics, BenchmarkStatistics, DrawdownRow, ReturnStatistics } from './metrics.js';

/** Series of a run for which performance figures are available. */
export const MEASURED_SERIES = ['portfolio', 'index'] as const;

export const PerformanceView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  of: z.enum(MEASURED_SERIES).meta({
    description: 'Series that all figures describe: the portfolio after costs, or the index that it tracks.',
  }),
  return_variant: z.enum(RETURN_VARIANTS).meta({ description: 'Return variant of the measured series.' }),
  requested_start: z.string(),
  requested_end: z.string(),
  start: z.string().meta({ description: 'First date of the run in the window.' }),
  end: z.string().meta({ description: 'Last date of the run in the window.' }),
  observations: z.int(),
  end_level: z.number().meta({
    description: 'Level on `end`: of the index in points, or of the portfolio, which is 100 at the start of its run.',
  }),
  day_return: defineFraction('Return of the session `end`.'),
  level: SeriesPayload.meta({ description: 'Measured level, 100 on the first date.' }),
  index_level: SeriesPayload.meta({
    description: 'Level of the tracked index in its return variant, 100 on the first date.',
  }),
  benchmark: z.string().nullable().meta({ description: 'Benchmark of the run; null if there is none.' }),
  benchmark_variant: z.enum(MEASURED_VARIANTS).nullable().meta({
    description:
      'Return variant of the benchmark; `raw` for unadjusted levels. Null if there is no benchmark, and in runs of earlier versions.',
  }),
  benchmark_level: SeriesPayload.nullable().meta({
    description: 'Level of the benchmark, 100 on the first common date of the window; null if there is none.',
  }),
  drawdown: SeriesPayload.meta({ description: 'Level relative to its peak in the window, less 1; 0 at a high.' }),
  metrics: BacktestMetrics.meta({ description: 'Figures of the window.' }),
  statistics: ReturnStatistics.meta({ description: 'Distribution of the returns of the window.' }),
  benchmark_statistics: BenchmarkStatistics.nullable().meta({
    description: 'Comparison with the benchmark on the common dates of the window; null with fewer than three.',
  }),
  drawdowns: z
    .array(DrawdownRow)
    .meta({ description: 'The ten deepest drawdowns of the window, beginning with the deepest.' }),
  annual_returns: z.record(z.string(), z.number()).meta({
    description: 'Return of each calendar year within the window. The returns compound to the total return.',
  }),
  findings: z.array(Finding).meta({
    description: '`WINDOW_CUT`: the benchmark lacks dates of the window.',
  }),
  monthly_returns: z.record(z.string(), z.number()).meta({
    description: 'Return of each month (YYYY-MM) within the window. The returns compound to the total return.',
  }),
})).meta({ id: 'PerformanceView' });
export type PerformanceView = WithoutRunState<z.infer<typeof PerformanceView>>;
