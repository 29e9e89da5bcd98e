import { z } from 'zod';
import { BenchmarkRef } from '#domain/documents/benchmark-ref.js';
import { RETURN_VARIANTS } from '#domain/market/market-data.js';
import { SeriesPayload } from '../common.js';
import { fraction } from './fields.js';

export const BacktestMetrics = z
  .strictObject({
    annualised_return: fraction('(1 + total_return)^(252 / n) - 1.'),
    max_drawdown: fraction('Lowest drawdown, at most 0.'),
    sharpe_ratio: z
      .number()
      .meta({ description: 'Mean return x 252 / volatility, risk-free rate 0; 0 without volatility.' }),
    total_return: fraction('Last level over the first, less 1.'),
    tracking_difference: z.number().nullable().meta({ description: 'total_return less that of the tracked index.' }),
    tracking_error: z
      .number()
      .nullable()
      .meta({ description: 'Annualised standard deviation of return differences to the tracked index.' }),
    volatility: fraction('Annualised standard deviation of returns.'),
  })
  .meta({ id: 'BacktestMetrics' });

export const RelativeMetricsPayload = z
  .strictObject({
    reference: BenchmarkRef,
    start: z.string().meta({ description: 'First date both series share, full timestamp.' }),
    end: z.string().meta({ description: 'Last shared date, full timestamp.' }),
    observations: z.int().meta({ description: 'Aligned dates used.' }),
    level: SeriesPayload,
    benchmark_return: z.number(),
    total_return: z.number(),
    excess_return: z.number().meta({ description: 'Portfolio less benchmark.' }),
    beta: z.number(),
    correlation: z.number(),
    tracking_error: z.number(),
    return_variant: z
      .enum([...RETURN_VARIANTS, 'raw'])
      .meta({ description: 'How the benchmark was read: its return variant, or raw for a column other than CLOSE.' }),
  })
  .meta({ id: 'RelativeMetricsPayload' });
export type RelativeMetricsPayload = z.infer<typeof RelativeMetricsPayload>;
