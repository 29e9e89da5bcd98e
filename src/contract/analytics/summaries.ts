import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { RETURN_VARIANTS } from '#domain/market/market-data.js';
import { SeriesPayload, skippedFields } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';
import { defineFraction } from './fields.js';

const dayReturn = z
  .number()
  .nullable()
  .meta({ description: 'Return of the last session, a fraction; null with a single date.' });
const moveFields = {
  day_return: dayReturn,
  year_to_date: defineFraction(
    'Return since the last date of the previous calendar year, or since the first date of the run.',
  ),
  volatility: defineFraction(
    'Annualised standard deviation of the returns of the last year (252 returns, or 365 if the calendar trades every day), or of all returns if there are fewer.',
  ),
  total_return: defineFraction('Last level divided by the first, less 1.'),
  max_drawdown: defineFraction('Lowest drawdown, at most 0.'),
  trace: SeriesPayload.meta({
    description:
      'Levels of the last year: every fourth date from the last one on or before the same day one year earlier (or from the first date of the run), and the last date.',
  }),
};

export const IndexMoves = z.strictObject(moveFields).meta({ id: 'IndexMoves' });

export const RunSummaryRow = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  name: z.string(),
  run_at: z.string().nullable(),
  benchmark: z
    .string()
    .nullable()
    .meta({ description: 'Index or identifier with which the run was compared; null without a benchmark.' }),
  start: z.string().meta({ description: 'First date of the levels of the run.' }),
  end: z.string().meta({ description: 'Last date of the levels of the run.' }),
  level: z
    .number()
    .meta({ description: 'Level in index points on that date; for a strategy, its level (100 at the start).' }),
  return_variant: z.enum(RETURN_VARIANTS).meta({ description: 'Return variant of the levels.' }),
  ...moveFields,
  index: IndexMoves.nullable().meta({
    description:
      'The same figures for the index, on the dates of the run, before trading costs but after the costs of an overlay. Null for a strategy. All other figures describe the portfolio after costs.',
  }),
  last_rebalance: z.string(),
  next_rebalance: z.string().nullable().meta({
    description: 'First effective date of the schedule after the run; null for a strategy, or if unknown.',
  }),
  coming_rebalance: z.string().nullable().meta({
    description:
      'First effective date of the schedule after the run and not before today (UTC); null for a strategy, or if unknown.',
  }),
})).meta({ id: 'RunSummaryRow' });
export const RunSummaryCollection = defineObject(() => ({
  summaries: z.array(RunSummaryRow).meta({ description: 'One row per run, by id.' }),
  ...skippedFields,
})).meta({ id: 'RunSummaryCollection' });
export type RunSummaryCollection = z.infer<typeof RunSummaryCollection>;
/** Members of a summary row that depend only on the stored run. */
export type RunFigures = Omit<
  WithoutRunState<z.infer<typeof RunSummaryRow>>,
  'name' | 'run_at' | 'start' | 'benchmark' | 'next_rebalance' | 'coming_rebalance'
>;
