import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { MEASURED_VARIANTS } from '#domain/market/market-data.js';
import { Finding, SeriesPayload } from '../common.js';
import { RunKey, runState } from '../run-state.js';
import { defineFraction } from './fields.js';
import { BenchmarkStatistics } from './metrics.js';

export const CompareEntry = defineObject(() => ({
  ...runState,
  run_id: RunKey.nullable().meta({ description: 'Id of the run; null for a benchmark.' }),
  index_id: z.string(),
  return_variant: z
    .enum(MEASURED_VARIANTS)
    .meta({ description: 'Return variant of the levels; `raw` for unadjusted levels.' }),
  currency: z.string().meta({ description: 'Currency of the levels.' }),
  level: SeriesPayload,
  total_return: defineFraction('Last level divided by the first, less 1.'),
  periods_per_year: z.number().meta({
    description:
      'Common returns per year, by which the figures of the entry are annualised: 252, or 365 if the series has weekend dates, times the share of its sessions that are common. A benchmark has the number of the first run.',
  }),
  annualised_return: z
    .number()
    .nullable()
    .meta({ description: 'total_return per year of periods_per_year returns; null with one common date.' }),
  volatility: defineFraction('Annualised standard deviation of returns.'),
  sharpe_ratio: z.number().meta({ description: 'Mean return x periods_per_year / volatility; 0 without volatility.' }),
  max_drawdown: defineFraction('Lowest drawdown, at most 0.'),
  benchmark_statistics: BenchmarkStatistics.nullable().meta({
    description:
      'Figures relative to the benchmark of the request; null without a benchmark, for the benchmark itself, and with fewer than 3 common dates.',
  }),
})).meta({ id: 'CompareEntry' });
export type CompareEntry = z.infer<typeof CompareEntry>;
export const CompareView = defineObject(() => ({
  index_ids: z.array(z.string()),
  entries: z.array(CompareEntry),
  findings: z.array(Finding).meta({
    description:
      '`DIFFERENT_DATA`: the runs used different data. `RETURNS_DIFFER` and `CURRENCIES_DIFFER`: the levels are not comparable. `WINDOW_CUT`: the benchmark lacks common dates of the runs.',
  }),
  correlations: z.array(z.array(z.number().nullable())).meta({
    description:
      'Correlations of the returns, with rows and columns in the order of the entries. Null if a series is constant.',
  }),
  observations: z.int(),
  start: z.string(),
  end: z.string(),
})).meta({ id: 'CompareView' });
export type CompareView = z.infer<typeof CompareView>;
