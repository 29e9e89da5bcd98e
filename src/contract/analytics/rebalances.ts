import { z } from 'zod';
import { REBALANCE_CAUSES } from '#domain/schedule/rebalance-causes.js';
import { runState, type Stateless } from '../run-state.js';
import { StaleFillPayload } from './prices.js';
import { UnfilledOrderPayload } from './record.js';

const figures = {
  date: z.string().meta({ description: 'Date the weights took effect.' }),
  cause: z.enum(REBALANCE_CAUSES).meta({
    description:
      'What called for it: the schedule, a breach that `treatment.on_breach` answers, or a change of constituents by `events`.',
  }),
  review: z.string().nullable().meta({
    description:
      'Reviews that decided it, in their order, separated by commas; null for a change between reviews and where the run does not store it.',
  }),
  phase: z.number().nullable().meta({
    description: 'Fraction of the rebalance that is done after this close; null where the run does not store it.',
  }),
  schedule_dates: z.array(z.string()).meta({
    description:
      'Schedule dates executed by this rebalance: its own date, and those of closed days that fall on the same session.',
  }),
  stale_fills: z.array(StaleFillPayload).meta({ description: 'Names traded at the price of an earlier session.' }),
  decision_date: z.string().nullable().meta({
    description: 'Session whose data decided the weights; null where the run does not store it.',
  }),
  traded_on: z.string().nullable().meta({
    description: 'Session of the trades; null of a composition that was in force before the run.',
  }),
  constituents: z.int().meta({ description: 'Securities with a weight above 0.' }),
  gross_constituents: z.int().meta({ description: 'Securities with a position, long or short.' }),
  added: z.int().meta({ description: 'Of them not held just before; all at the first rebalance.' }),
  removed: z.int().meta({ description: 'Names held just before and no more.' }),
  cap: z.number().nullable(),
  capped: z.int().meta({ description: 'Names held at the cap.' }),
  redistributed: z.number().meta({ description: 'Weight moved off capped names.' }),
  turnover: z.number().nullable().meta({
    description:
      'One-way: half the sum of the absolute changes of weight on that session; null where the portfolio was bought, and before the run.',
  }),
  cost_fraction: z.number().nullable().meta({
    description:
      'Costs of that session as a fraction of the value the close before, where the export `rebalances` has money; null before the second date.',
  }),
};

export const RebalanceRow = z.strictObject(figures).meta({ id: 'RebalanceRow' });
export const RebalanceList = z
  .strictObject({
    ...runState,
    index_id: z.string(),
    rebalances: z.array(RebalanceRow).meta({ description: 'In date order, the one in force at the start first.' }),
  })
  .meta({ id: 'RebalanceList' });
export type RebalanceList = Stateless<z.infer<typeof RebalanceList>>;

export const RebalancedName = z
  .strictObject({
    identifier: z.string(),
    before: z.number().nullable().meta({ description: 'Weight just before the trades; null before the run.' }),
    after: z.number().meta({ description: 'Weight after the close.' }),
    change: z.number().nullable().meta({ description: 'Weight after the close less that before the trades.' }),
    target: z.number().meta({ description: 'Weight that was decided.' }),
    uncapped: z.number().meta({ description: 'Weight before capping.' }),
    capped: z.boolean(),
    trade: z.number().nullable().meta({
      description: 'Money bought, negative for a sale; null where the run does not store it, 0 without a trade.',
    }),
    price: z.number().nullable().meta({ description: 'Price of the trade; null if there is none.' }),
  })
  .meta({ id: 'RebalancedName' });
export const RebalanceView = z
  .strictObject({
    ...runState,
    index_id: z.string(),
    requested_date: z.string().meta({ description: 'The date asked for.' }),
    ...figures,
    previous: z.string().nullable().meta({ description: 'Date of the rebalance before; null at the first.' }),
    next: z.string().nullable().meta({ description: 'Date of the rebalance after; null at the last.' }),
    names: z.array(RebalancedName).meta({ description: 'Names held before or after, by weight, then identifier.' }),
    unfilled: z.array(UnfilledOrderPayload).meta({ description: 'Orders of the session that could not be filled.' }),
  })
  .meta({ id: 'RebalanceView' });
export type RebalanceView = Stateless<z.infer<typeof RebalanceView>>;
