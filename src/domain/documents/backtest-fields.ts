import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { Id, IsoDate } from '../schema/shape.js';
import { BenchmarkRef } from './benchmark-ref.js';

/** Common terms of a backtest request and a strategy. */
export const BacktestFields = defineObject(() => ({
  benchmark: BenchmarkRef.nullable()
    .default(null)
    .meta({ description: 'Benchmark: a second comparison in addition to the tracked index.' }),
  start: IsoDate.nullable()
    .default(null)
    .meta({ description: 'First day. Default: the base date of the index. Earlier days are not possible.' }),
  end: IsoDate.nullable().default(null).meta({ description: 'Last day. Default: the last day of the data.' }),
  initial_capital: z
    .number()
    .gt(0)
    .max(1e15)
    .default(1_000_000)
    .meta({ description: 'Initial value of the portfolio, in the index currency.' }),
  transaction_cost_bps: z
    .number()
    .min(0)
    .max(1000)
    .default(0)
    .meta({ description: 'Cost of a trade in basis points of its notional.' }),
  as_known: z.literal('decision').optional().meta({
    description:
      'Each rebalance uses the newest version of the data known at the end of its decision date. Levels are computed from the data of the run.',
  }),
  store_id: Id.optional().meta({
    description: 'Data store of the run, for an index without a store. Default: the active store.',
  }),
}));
export type BacktestFields = z.infer<typeof BacktestFields>;
