import { z } from 'zod';
import { MEASURED_VARIANTS } from '#domain/market/market-data.js';
import { Finding, SeriesPayload } from '../common.js';
import { RunKey, runState } from '../run-state.js';
import { fraction } from './fields.js';

export const CompareEntry = z
  .strictObject({
    ...runState,
    run_id: RunKey.nullable().meta({ description: 'Id of the run that is shown; null of a benchmark.' }),
    index_id: z.string(),
    return_variant: z
      .enum(MEASURED_VARIANTS)
      .meta({ description: 'Return of the levels, raw for those taken as they stand.' }),
    currency: z.string().meta({ description: 'Currency of the levels.' }),
    level: SeriesPayload,
    total_return: fraction('Last level over the first, less 1.'),
    volatility: fraction('Annualised standard deviation of returns.'),
    sharpe_ratio: z
      .number()
      .meta({ description: 'Mean return x sessions of a year / volatility; 0 without volatility.' }),
    max_drawdown: fraction('Lowest drawdown, at most 0.'),
  })
  .meta({ id: 'CompareEntry' });
export type CompareEntry = z.infer<typeof CompareEntry>;
export const CompareView = z
  .strictObject({
    index_ids: z.array(z.string()),
    entries: z.array(CompareEntry),
    findings: z.array(Finding).meta({
      description:
        '`DIFFERENT_DATA` when the runs were made on different contents, `RETURNS_DIFFER` and `CURRENCIES_DIFFER` when the levels are no like for like, `WINDOW_CUT` when the benchmark lacks dates that they share.',
    }),
    correlations: z.array(z.array(z.number().nullable())).meta({
      description: 'Of the returns, by the order of the entries in both directions; null where one does not vary.',
    }),
    observations: z.int(),
    start: z.string(),
    end: z.string(),
  })
  .meta({ id: 'CompareView' });
export type CompareView = z.infer<typeof CompareView>;
