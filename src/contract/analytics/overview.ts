import { z } from 'zod';
import { RETURN_VARIANTS } from '#domain/market/market-data.js';
import { SeriesPayload } from '../common.js';
import { stale, type Stateless } from '../run-state.js';
import { fraction } from './fields.js';
import { BacktestMetrics } from './metrics.js';

export const ConcentrationPayload = z
  .strictObject({
    constituents: z.int(),
    effective_assets: z.number(),
    herfindahl: z.number(),
    largest: z.number(),
    top_weights: z
      .record(z.string(), z.number())
      .meta({ description: 'Combined weight of the largest 1, 5, 10 and 20.' }),
  })
  .meta({ id: 'ConcentrationPayload' });

export const ExposurePayload = z
  .strictObject({
    long: z.number().meta({ description: 'Sum of the long weights.' }),
    short: z.number().meta({ description: 'Sum of the short weights, negative.' }),
    gross: z.number().meta({ description: 'Sum of the magnitudes of the weights.' }),
    net: z.number().meta({ description: 'Sum of the weights; what it leaves of 1 is cash.' }),
  })
  .meta({ id: 'ExposurePayload' });

export const ParentPayload = z
  .strictObject({
    index_id: z.string(),
    observations: z.int().meta({ description: 'Dates that the run and the parent share.' }),
    total_return: fraction('Of the parent over the shared dates.'),
    tracking_difference: fraction('Total return of the run less that of the parent.'),
    tracking_error: fraction('Annualised standard deviation of return differences to the parent.'),
  })
  .meta({ id: 'ParentPayload' });
export type ParentPayload = z.infer<typeof ParentPayload>;

export const OverviewView = z
  .strictObject({
    ...stale,
    index_id: z.string(),
    name: z.string(),
    concentration: ConcentrationPayload,
    exposure: ExposurePayload.optional().meta({
      description: 'Long, short, gross and net exposure of the last rebalance; absent without a short position.',
    }),
    level: SeriesPayload,
    metrics: BacktestMetrics,
    parent: ParentPayload.optional().meta({
      description:
        'How the run went beside the index that a derived index was made from. Absent from other runs, and from those of earlier versions.',
    }),
    return_variant: z.enum(RETURN_VARIANTS).optional().meta({
      description:
        'Return that the levels have: total on prices that include dividends, whatever the treatment asks for. Absent from runs of earlier versions.',
    }),
    observations: z.int(),
    rebalances: z.int(),
    last_rebalance: z.string(),
    start: z.string(),
    end: z.string(),
  })
  .meta({ id: 'OverviewView' });
export type OverviewView = Stateless<z.infer<typeof OverviewView>>;
