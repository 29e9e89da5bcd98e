import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { Id } from '../schema/shape.js';
import { BacktestFields } from './backtest-fields.js';
import { RebalanceSpec } from '../schedule/rebalance-spec.js';

/** Portfolio that follows an index under its own execution terms, as written by clients. */
export const StrategyDocument = defineObject(() => ({
  id: Id.meta({
    description:
      'Id of the strategy. It must differ from all index ids, because runs and views of both have the same paths.',
  }),
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  index_id: Id.meta({ description: 'Index that the strategy follows.' }),
  ...BacktestFields.omit({ as_known: true, store_id: true }).shape,
  constraint_set_id: Id.nullable()
    .default(null)
    .meta({ description: 'Constraint set that is applied to the targets at each rebalance.' }),
  rebalance: RebalanceSpec.nullable().default(null).meta({
    description:
      'Schedule of the strategy on the calendar of the index. Null uses the rebalance dates of the index. Targets are the weights of the index at the close of the date, so effective_lag has no effect.',
  }),
  drift_tolerance: z.number().min(0).max(1).nullable().default(null).meta({
    description:
      'After the first purchase, a security is traded only if its weight differs from its target by more than this fraction. Null: always traded.',
  }),
  exposure: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .meta({ description: 'Fraction that is invested at each rebalance. The rest is cash without interest.' }),
})).meta({ id: 'StrategyDocument' });
export type StrategyDocument = z.infer<typeof StrategyDocument>;

/** Reads a stored body as a document. Returns undefined if it does not match the schema. */
export function readStrategy(body: unknown): StrategyDocument | undefined {
  const result = StrategyDocument.safeParse(body);
  return result.success ? result.data : undefined;
}
