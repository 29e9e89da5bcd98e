import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { BenchmarkRef } from '#domain/documents/benchmark-ref.js';
import { MEASURED_VARIANTS } from '#domain/market/market-data.js';
import { SeriesPayload } from '../common.js';
import { defineFraction } from './fields.js';

export const BacktestMetrics = defineObject(() => ({
  annualised_return: defineFraction(
    '(1 + total_return)^(y / n) - 1, where y is the number of sessions per year: 252, or 365 if the calendar trades every day.',
  ),
  max_drawdown: defineFraction('Lowest drawdown, at most 0.'),
  sharpe_ratio: z.number().meta({
    description: 'Mean return x sessions per year / volatility, with a risk-free rate of 0; 0 without volatility.',
  }),
  total_return: defineFraction('Last level divided by the first, less 1.'),
  tracking_difference: z
    .number()
    .nullable()
    .meta({ description: 'total_return less the total return of the tracked index; null if the index is measured.' }),
  tracking_error: z.number().nullable().meta({
    description:
      'Annualised standard deviation of the return differences to the tracked index; null if the index is measured.',
  }),
  volatility: defineFraction('Annualised standard deviation of returns.'),
})).meta({ id: 'BacktestMetrics' });

const defineRatio = (description: string) => z.number().nullable().meta({ description });

export const ReturnStatistics = defineObject(() => ({
  downside_volatility: defineFraction('sqrt(sessions per year x mean of min(return, 0)^2).'),
  sortino_ratio: defineRatio('Mean return x sessions per year / downside volatility; null if no return is negative.'),
  cvar_95: defineFraction(
    'Mean loss of the worst 5% of the sessions (their number is rounded up); positive for a loss.',
  ),
  skewness: defineRatio(
    'Third central moment divided by the cubed population standard deviation; null without variation.',
  ),
  hit_rate: defineFraction('Fraction of the sessions with a positive return.'),
  best_return: defineFraction('Best session.'),
  worst_return: defineFraction('Worst session.'),
})).meta({ id: 'ReturnStatistics' });

export const BenchmarkStatistics = defineObject(() => ({
  observations: z.int().meta({ description: 'Number of dates in both series.' }),
  benchmark_return: defineFraction('Return of the benchmark over the common dates.'),
  excess_return: defineFraction('Return over the common dates, less the return of the benchmark.'),
  tracking_error: defineFraction('Annualised standard deviation of the return differences to the benchmark.'),
  information_ratio: defineRatio(
    'Mean active return x sessions per year, divided by the annualised standard deviation of active returns.',
  ),
  up_capture: defineRatio(
    'Geometric mean return divided by the geometric mean return of the benchmark, on sessions with a positive benchmark return; null if there are none.',
  ),
  down_capture: defineRatio('Same ratio as up_capture, on sessions with a negative benchmark return.'),
})).meta({ id: 'BenchmarkStatistics' });

export const DrawdownRow = defineObject(() => ({
  peak: z.string().meta({ description: 'Last date at the high.' }),
  trough: z.string().meta({ description: 'Date of the lowest level.' }),
  recovery: z
    .string()
    .nullable()
    .meta({ description: 'First date on which the level is back at the high; null if it has not recovered.' }),
  depth: defineFraction('Lowest level divided by the high, less 1.'),
  sessions: z.int().meta({ description: 'Number of sessions from the high to the recovery, or to the last date.' }),
})).meta({ id: 'DrawdownRow' });

export const RelativeMetricsPayload = defineObject(() => ({
  reference: BenchmarkRef,
  start: z.string().meta({ description: 'First common date, as a full timestamp.' }),
  end: z.string().meta({ description: 'Last common date, as a full timestamp.' }),
  observations: z.int().meta({ description: 'Number of common dates.' }),
  level: SeriesPayload,
  benchmark_return: z.number(),
  total_return: z.number(),
  excess_return: z.number().meta({ description: 'Return of the portfolio less the return of the benchmark.' }),
  beta: z.number(),
  correlation: z.number(),
  tracking_error: z.number(),
  return_variant: z
    .enum(MEASURED_VARIANTS)
    .meta({ description: 'Return variant of the benchmark; `raw` for a column other than CLOSE.' }),
})).meta({ id: 'RelativeMetricsPayload' });
export type RelativeMetricsPayload = z.infer<typeof RelativeMetricsPayload>;
