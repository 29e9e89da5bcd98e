import { z } from 'zod';
import { LARGEST_CHANGES_MAX } from '#domain/backtest/largest-changes.js';
import { defineObject } from '#domain/schema/define-object.js';
import { REBALANCE_CAUSES } from '#domain/schedule/rebalance-causes.js';
import { Finding } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';
import { StaleFillPayload } from './prices.js';
import { UnfilledOrderPayload } from './record.js';

const figures = {
  date: z.string().meta({ description: 'Date on which the weights took effect.' }),
  cause: z.enum(REBALANCE_CAUSES).meta({
    description:
      'Trigger of the rebalance: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`.',
  }),
  review: z.string().nullable().meta({
    description:
      'Review that decided the rebalance, or the first of several reviews on the date. Null for a change between reviews, and if the run does not store the reviews.',
  }),
  reviews: z.array(z.string()).nullable().meta({
    description: 'Reviews that decided the rebalance, in order. Null where `review` is null.',
  }),
  phase: z.number().nullable().meta({
    description: 'Completed fraction of the rebalance after this close; null if the run does not store the fraction.',
  }),
  schedule_dates: z.array(z.string()).meta({
    description:
      'Dates of the schedule that this rebalance executes: its own date, and dates of closed days that moved to its session.',
  }),
  stale_fills: z.array(StaleFillPayload).meta({ description: 'Securities traded at the price of an earlier session.' }),
  decision_date: z.string().nullable().meta({
    description: 'Session whose data decided the weights; null if the run does not store the session.',
  }),
  traded_on: z.string().nullable().meta({
    description: 'Session of the trades; null for a composition that was in force before the run.',
  }),
  constituents: z.int().meta({ description: 'Securities with a weight above 0.' }),
  gross_constituents: z.int().meta({ description: 'Securities with a position, long or short.' }),
  added: z.int().meta({
    description: 'Number of constituents that were not held before; at the first rebalance, all constituents.',
  }),
  largest_added: z
    .array(z.string())
    .max(LARGEST_CHANGES_MAX)
    .meta({
      description: `The added securities with the largest weights, at most ${LARGEST_CHANGES_MAX}.`,
    }),
  removed: z.int().meta({ description: 'Number of securities that were held before and not afterwards.' }),
  largest_removed: z
    .array(z.string())
    .max(LARGEST_CHANGES_MAX)
    .meta({
      description: `The removed securities with the largest weights before, at most ${LARGEST_CHANGES_MAX}.`,
    }),
  cap: z.number().nullable(),
  capped: z.int().meta({ description: 'Number of securities held at the cap.' }),
  redistributed: z
    .number()
    .meta({ description: 'Weight that was redistributed from capped securities when the weights were decided.' }),
  turnover: z.number().nullable().meta({
    description:
      'One-way turnover: half the sum of the absolute weight changes on that session. Null for the first purchase and before the run.',
  }),
  cost_fraction: z.number().nullable().meta({
    description:
      'Costs of that session as a fraction of the value at the previous close. The export `rebalances` contains them as an amount of money. Null before the second date.',
  }),
};

export const RebalanceRow = z.strictObject(figures).meta({ id: 'RebalanceRow' });
export const RebalanceList = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  rebalances: z
    .array(RebalanceRow)
    .meta({ description: 'Rebalances by date, beginning with the composition in force at the start.' }),
  findings: z.array(Finding).meta({
    description:
      'Warnings of the run about rebalances that were not executed (`REBALANCE_HELD`), and about securities that left without a corporate action (`SILENT_DELISTING`). Empty if the run does not store its warnings.',
  }),
})).meta({ id: 'RebalanceList' });
export type RebalanceList = WithoutRunState<z.infer<typeof RebalanceList>>;

export const RebalancedName = defineObject(() => ({
  identifier: z.string(),
  before: z.number().nullable().meta({ description: 'Weight just before the trades; null before the run.' }),
  after: z.number().meta({ description: 'Weight after the close.' }),
  change: z.number().nullable().meta({ description: 'Weight after the close minus weight before the trades.' }),
  target: z.number().meta({ description: 'Decided weight.' }),
  uncapped: z.number().meta({ description: 'Weight before capping.' }),
  capped: z.boolean(),
  trade: z.number().nullable().meta({
    description: 'Traded value, negative for a sale. 0 without a trade; null if the run does not store it.',
  }),
  price: z.number().nullable().meta({ description: 'Price of the trade; null if there was no trade.' }),
})).meta({ id: 'RebalancedName' });
export const RebalanceView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  requested_date: z.string().meta({ description: 'The requested date.' }),
  ...figures,
  previous: z.string().nullable().meta({ description: 'Date of the previous rebalance; null for the first.' }),
  next: z.string().nullable().meta({ description: 'Date of the next rebalance; null for the last.' }),
  names: z
    .array(RebalancedName)
    .meta({ description: 'Securities held before or after, sorted by weight and identifier.' }),
  unfilled: z.array(UnfilledOrderPayload).meta({ description: 'Orders of the session that could not be filled.' }),
})).meta({ id: 'RebalanceView' });
export type RebalanceView = WithoutRunState<z.infer<typeof RebalanceView>>;
