import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { BenchmarkRef } from '#domain/documents/benchmark-ref.js';
import { MEASURED_VARIANTS } from '#domain/market/market-data.js';
import { SeriesPayload } from '../common.js';
import { defineFraction } from './fields.js';

export const BacktestMetrics = defineObject(() => ({
  annualised_return: defineFraction(
    '(1 + total_return)^(y / n) - 1, where a year has y sessions: 252, or 365 where the calendar trades every day.',
  ),
  max_drawdown: defineFraction('Lowest drawdown, at most 0.'),
  sharpe_ratio: z
    .number()
    .meta({ description: 'Mean return x sessions of a year / volatility, risk-free rate 0; 0 without volatility.' }),
  total_return: defineFraction('Last level over the first, less 1.'),
  tracking_difference: z
    .number()
    .nullable()
    .meta({ description: 'total_return less that of the tracked index; null if the index itself is measured.' }),
  tracking_error: z.number().nullable().meta({
    description:
      'Annualised standard deviation of return differences to the tracked index; null if the index itself is measured.',
  }),
  volatility: defineFraction('Annualised standard deviation of returns.'),
})).meta({ id: 'BacktestMetrics' });

const defineRatio = (description: string) => z.number().nullable().meta({ description });

export const ReturnStatistics = defineObject(() => ({
  downside_volatility: defineFraction('sqrt(sessions of a year x mean of min(return, 0)^2).'),
  sortino_ratio: defineRatio('Mean return x sessions of a year / downside volatility; null without a fall.'),
  cvar_95: defineFraction(
    'Mean loss of the worst 5 % of the sessions, whose number is rounded up; positive for a loss.',
  ),
  skewness: defineRatio('Third central moment over the population standard deviation cubed; null without variation.'),
  hit_rate: defineFraction('Share of the sessions with a return above 0.'),
  best_return: defineFraction('Best session.'),
  worst_return: defineFraction('Worst session.'),
})).meta({ id: 'ReturnStatistics' });

export const BenchmarkStatistics = defineObject(() => ({
  observations: z.int().meta({ description: 'Dates in both series.' }),
  benchmark_return: defineFraction('Of the benchmark over the shared dates.'),
  excess_return: defineFraction('Return over the shared dates less that of the benchmark.'),
  tracking_error: defineFraction('Annualised standard deviation of return differences to the benchmark.'),
  information_ratio: defineRatio(
    'Mean active return x sessions of a year, divided by the annualised standard deviation of active returns.',
  ),
  up_capture: defineRatio(
    'Geometric mean return divided by that of the benchmark, on sessions with a positive benchmark return; null if there are none.',
  ),
  down_capture: defineRatio('Same ratio as capture_up, on sessions with a negative benchmark return.'),
})).meta({ id: 'BenchmarkStatistics' });

export const DrawdownRow = defineObject(() => ({
  peak: z.string().meta({ description: 'Last date at the high.' }),
  trough: z.string().meta({ description: 'Date of the lowest level.' }),
  recovery: z.string().nullable().meta({ description: 'First date back at the high; null if it is not reached.' }),
  depth: defineFraction('Lowest level over the high, less 1.'),
  sessions: z.int().meta({ description: 'From the high to the recovery, or to the last date.' }),
})).meta({ id: 'DrawdownRow' });

export const RelativeMetricsPayload = defineObject(() => ({
  reference: BenchmarkRef,
  start: z.string().meta({ description: 'First shared date, full timestamp.' }),
  end: z.string().meta({ description: 'Last shared date, full timestamp.' }),
  observations: z.int().meta({ description: 'Aligned dates used.' }),
  level: SeriesPayload,
  benchmark_return: z.number(),
  total_return: z.number(),
  excess_return: z.number().meta({ description: 'Return of the portfolio less that of the benchmark.' }),
  beta: z.number(),
  correlation: z.number(),
  tracking_error: z.number(),
  return_variant: z
    .enum(MEASURED_VARIANTS)
    .meta({ description: 'Return variant of the benchmark; raw for a column other than CLOSE.' }),
})).meta({ id: 'RelativeMetricsPayload' });
export type RelativeMetricsPayload = z.infer<typeof RelativeMetricsPayload>;
