import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { SeriesPayload } from '../common.js';
import { createJobStatus } from '../jobs.js';
import { BacktestMetrics, RelativeMetricsPayload } from './metrics.js';
import { gapsAndPricing } from './prices.js';
import { provenance } from './provenance.js';
import { RebalanceSnapshot } from './record.js';

export const BacktestRunResult = defineObject(() => ({
  annual_returns: z
    .record(z.string(), z.number())
    .meta({ description: 'Return of each calendar year. The returns compound to the total return.' }),
  benchmark: RelativeMetricsPayload.nullable(),
  drawdown: SeriesPayload,
  index_level: SeriesPayload,
  index_version: z.int().min(1).nullable().optional().meta({
    description: 'Version of the index or strategy. Null if it has none; absent in results of earlier versions.',
  }),
  initial_capital: z.number(),
  level: SeriesPayload,
  metrics: BacktestMetrics,
  ...gapsAndPricing,
  rebalances: z
    .array(RebalanceSnapshot)
    .meta({ description: 'Compositions of the run, beginning with the composition in force at the start.' }),
  rebalances_total: z.int().meta({
    description:
      'Total number of compositions. It exceeds the number of returned compositions only if the weights exceed the maximum size of a result.',
  }),
  returns: SeriesPayload,
  total_costs: z.number(),
  ...provenance,
})).meta({ id: 'BacktestRunResult' });
export type BacktestRunResult = z.infer<typeof BacktestRunResult>;

export const BacktestJobStatus = createJobStatus('BacktestJobStatus', 'backtest', BacktestRunResult);
