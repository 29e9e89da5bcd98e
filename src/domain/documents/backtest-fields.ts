import { z } from 'zod';
import { IsoDate } from '../schema/shape.js';
import { BenchmarkRef } from './benchmark-ref.js';

/** The terms of a backtest that a request and a strategy have in common. */
export const BacktestFields = z.strictObject({
  benchmark: BenchmarkRef.nullable()
    .default(null)
    .meta({ description: 'External benchmark: a second comparison beside the tracked index.' }),
  start: IsoDate.nullable()
    .default(null)
    .meta({ description: 'First day; the base date of the index by default, and never before it.' }),
  end: IsoDate.nullable().default(null).meta({ description: 'Last day; the last of the served store by default.' }),
  initial_capital: z
    .number()
    .gt(0)
    .max(1e15)
    .default(1_000_000)
    .meta({ description: 'Money the portfolio starts with, in the index currency.' }),
  transaction_cost_bps: z
    .number()
    .min(0)
    .max(1000)
    .default(0)
    .meta({ description: 'Cost of a trade in basis points of its notional.' }),
  as_known: z.literal('decision').optional().meta({
    description:
      'Decide each rebalance on the newest version of the data that was known at the end of its decision date; levels are computed from the content of the run.',
  }),
});
export type BacktestFields = z.infer<typeof BacktestFields>;
