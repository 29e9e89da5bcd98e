import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Finding } from '../common.js';
import { Replacement } from './replacement.js';

const defineNumber = (description: string) => z.number().meta({ description });

const PackReconciliation = defineObject(() => ({
  announced: z
    .string()
    .meta({ description: 'Session of the announcement, with the closes at which its orders are valued.' }),
  accounts: z
    .array(
      z
        .strictObject({
          name: z.string(),
          value_announced: defineNumber('Value of cash and holdings at the closes of the announcement.'),
          orders: z
            .array(
              z
                .strictObject({
                  identifier: z.string(),
                  shares_announced: defineNumber('Shares of the orders of the announcement; negative for a sale.'),
                  shares: defineNumber('Shares of the orders of as_of.'),
                  change: defineNumber('Shares of the orders of as_of less shares of the orders of the announcement.'),
                  price_announced: defineNumber('Close of the announcement, on the share basis of as_of.'),
                  price: defineNumber('Close of as_of.'),
                })
                .meta({ id: 'ReconciledOrder' }),
            )
            .meta({ description: 'All securities with an order on either date, by identifier.' }),
        })
        .meta({ id: 'ReconciledAccount' }),
    )
    .meta({ description: 'Accounts, in the order of the pack.' }),
})).meta({
  id: 'PackReconciliation',
  description:
    'Orders of the announcement compared with the orders of as_of, for the same holdings. The differences are the effect of prices since the announcement. Null before the announcement.',
});

export const RebalancePack = defineObject(() => ({
  index_id: z.string(),
  index_version: z.int().nullable().meta({ description: 'Version of the definition; null if it has no versions.' }),
  requested_as_of: z.string().nullable().meta({ description: 'Requested date; null if omitted.' }),
  as_of: z.string().meta({
    description:
      'Session with the closes at which orders are valued: the latest session with data on or before the requested date. A finding reports a session that differs from the requested date.',
  }),
  effective: z.string().nullable().meta({
    description: 'Effective date of the next rebalance or change of constituents; null if the calendar contains none.',
  }),
  decision: z.string().meta({ description: 'Session of the decision.' }),
  basis: z.enum(['announced', 'indicative', 'in_force']).meta({
    description:
      'Target weights: the announced weights for `effective`; before the announcement, the result of the rules on as_of, or the latest solution of a derived index.',
  }),
  replacements: z.array(Replacement).meta({
    description:
      'Changes of constituents that the orders execute in addition to the decision of a review: changes between reviews, and replacements of securities that left while the review was pending.',
  }),
  accounts: z.array(
    z
      .strictObject({
        name: z.string(),
        value: defineNumber(
          'Value of cash and holdings before the trades. All amounts are in the currency of the index.',
        ),
        cash_after: defineNumber('Cash after trades and costs.'),
        turnover: defineNumber('Half the traded value divided by the value.'),
        cost: defineNumber('Expected cost of the trades.'),
        drift_after: defineNumber(
          'Half the sum of the absolute differences between achieved and target weights, which result from lots.',
        ),
        trades: z
          .array(
            z
              .strictObject({
                identifier: z.string(),
                side: z.enum(['buy', 'sell']),
                shares: z.number(),
                price: defineNumber('Latest close in the currency of the index.'),
                value: z.number(),
                weight_before: defineNumber('Fraction of the value before the trades.'),
                weight_target: z.number(),
                weight_after: defineNumber('Fraction of the value after trades and costs.'),
                adv_shares: z.number().nullable().meta({ description: 'Mean volume; null if unknown.' }),
                adv_share: z.number().nullable().meta({ description: 'shares / adv_shares: 1 is a whole day.' }),
                days_to_trade: z.number().nullable().meta({ description: 'shares / (participation * adv_shares).' }),
                cost: defineNumber('value * (spread_bps / 2 + impact_bps * sqrt(shares / adv_shares)) / 10,000.'),
                reason: z.enum(['add', 'delete', 'reweight']),
              })
              .meta({ id: 'PackTrade' }),
          )
          .meta({ description: 'By identifier.' }),
      })
      .meta({ id: 'PackedAccount' }),
  ),
  days_to_trade: z
    .strictObject({ p50: z.number().nullable(), p90: z.number().nullable(), max: z.number().nullable() })
    .meta({
      id: 'DaysToTrade',
      description: 'Distribution over the traded securities of all accounts; quantiles of type 7.',
    }),
  liquidation: z
    .array(z.strictObject({ days: z.int().meta({ description: 'Trading days.' }), share: z.number() }))
    .meta({
      description:
        'Fraction of the initial holdings of all accounts that is sold within a number of days; empty if the accounts hold nothing.',
    }),
  capacity: z
    .array(z.strictObject({ days: z.int().meta({ description: 'Trading days.' }), aum: z.number().nullable() }))
    .meta({
      description: 'Largest AUM that can be invested within this number of days; null if a security has no volume.',
    }),
  reconciliation: PackReconciliation.nullable().meta({
    description: 'Changes since the announcement; null on or before its date.',
  }),
  findings: z.array(Finding),
})).meta({ id: 'RebalancePack' });
