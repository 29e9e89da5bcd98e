import { z } from 'zod';
import { Id } from '../schema/shape.js';
import { BacktestFields } from './backtest-fields.js';
import { RebalanceSpec } from '../schedule/rebalance-spec.js';

/** A portfolio that follows an index under execution terms of its own, as clients write it. */
export const StrategyDocument = z
  .strictObject({
    id: Id.meta({ description: 'Not the id of an index: runs and views of both share their paths.' }),
    name: z.string().min(1).max(200),
    description: z.string().max(10_000).nullable().default(null),
    index_id: Id.meta({ description: 'Index it follows.' }),
    ...BacktestFields.omit({ as_known: true }).shape,
    constraint_set_id: Id.nullable()
      .default(null)
      .meta({ description: 'Constraint set applied to the targets at each rebalance.' }),
    rebalance: RebalanceSpec.nullable().default(null).meta({
      description:
        'Own cadence on the calendar of the index; null follows the rebalances of the index. Targets are the weights the index holds at the close of the date itself, so effective_lag moves nothing.',
    }),
    drift_tolerance: z.number().min(0).max(1).nullable().default(null).meta({
      description:
        'A fraction: after the first purchase a name is traded only when its weight is further than this from its target; null always trades.',
    }),
    exposure: z
      .number()
      .min(0)
      .max(1)
      .default(1)
      .meta({ description: 'Fraction invested at each rebalance; the rest is cash at zero interest.' }),
  })
  .meta({ id: 'StrategyDocument' });
export type StrategyDocument = z.infer<typeof StrategyDocument>;

/** A stored body as a document, undefined when it does not satisfy the schema. */
export function readStrategy(body: unknown): StrategyDocument | undefined {
  const parsed = StrategyDocument.safeParse(body);
  return parsed.success ? parsed.data : undefined;
}
