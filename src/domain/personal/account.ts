import { z } from 'zod';
import { LIMITS } from '../base/limits.js';
import { AssetIdentifier, defineObject, Id, IsoDate } from '../base/schema.js';

const defineAmount = (description: string) => z.number().min(0).meta({ description });

export const AccountLot = defineObject(() => ({
  identifier: AssetIdentifier,
  shares: z.number().positive().meta({ description: 'Shares of the lot.' }),
  cost: defineAmount('Cost basis per share, in the currency of the index.'),
  acquired: IsoDate.meta({
    description: 'Day of the purchase. With `bought`, the day before the holding period begins.',
  }),
  bought: IsoDate.optional().meta({
    description:
      'Day of the purchase of shares that have replaced shares sold at a loss: their holding period began earlier, and they replace no other shares.',
  }),
})).meta({ id: 'AccountLot' });
export type AccountLot = z.infer<typeof AccountLot>;

export const RecentTrade = defineObject(() => ({
  identifier: AssetIdentifier,
  date: IsoDate,
  shares: z.number().meta({ description: 'Shares bought; negative for a sale.' }),
  price: defineAmount('Price per share.'),
  cost: defineAmount('Cost basis per share of a sale. A sale without it is treated as a sale at a loss.').optional(),
})).meta({ id: 'RecentTrade' });
export type RecentTrade = z.infer<typeof RecentTrade>;

export const LOT_METHODS = ['specific', 'hifo', 'fifo'] as const;

const PotName = z.string().min(1).max(40);

export const TaxPot = defineObject(() => ({
  pot: PotName.meta({ description: 'Name of the pot in results.' }),
  rate: z.number().min(0).max(1).meta({ description: 'Tax rate of the net gains.' }),
  held_years: z
    .int()
    .min(1)
    .max(50)
    .optional()
    .meta({ description: 'The pot contains gains of lots held for more than this number of years.' }),
  securities: z
    .array(AssetIdentifier)
    .min(1)
    .max(5000)
    .optional()
    .meta({ description: 'The pot contains gains of these securities.' }),
  offsets: z
    .array(PotName)
    .max(1)
    .default([])
    .meta({ description: 'Other pots whose gains the losses of the pot reduce.' }),
})).meta({ id: 'TaxPot' });
export type TaxPot = z.infer<typeof TaxPot>;

export const TaxRegime = defineObject(() => ({
  name: z.string().max(200).default('').meta({ description: 'Name of the regime, for readers.' }),
  pots: z.array(TaxPot).min(1).max(2).meta({
    description: 'Pots of gains. Of two pots, one states the lots that it contains; the other one contains the rest.',
  }),
  surcharge: z.number().min(0).max(1).default(0).meta({ description: 'Surcharge on the tax, as a fraction of it.' }),
  lots: z.enum([...LOT_METHODS, 'pool']).meta({
    description: 'Order in which lots of a security are sold, or one pool of each security at its average cost.',
  }),
  matching_days: z.array(z.int().min(0).max(366)).max(5).default([]).meta({
    description:
      'Days after a sale, in rising order: shares bought within them are matched with the sale before lots and pool. 0: on the same day.',
  }),
  wash_sale: z
    .strictObject({ days: z.int().min(0).max(366).meta({ description: 'Days before and after a sale at a loss.' }) })
    .nullable()
    .default(null)
    .meta({ description: 'Window of the wash sale rule; null: no rule.' }),
  allowance: defineAmount('Net gains of a year that are not taxed, in money.').default(0),
  carried_losses: z.enum(['before_allowance', 'after_allowance']).default('before_allowance').meta({
    description: 'Losses of earlier years reduce all gains, or only those above the allowance.',
  }),
  dividends: PotName.nullable().default(null).meta({
    description: 'Pot of dividends in a backtest; null: dividends are taxed with `dividend_rate`.',
  }),
  year_begins: z
    .string()
    .regex(/^(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/u, { error: 'must be a month and a day, such as 04-06' })
    .default('01-01')
    .meta({ description: 'First day of the tax year, as month and day.' }),
})).meta({ id: 'TaxRegime' });
export type TaxRegime = z.infer<typeof TaxRegime>;

const potAmounts = (amount: z.ZodNumber, description: string) =>
  z.record(z.string(), amount).default({}).meta({ description });

export const AccountTax = defineObject(() => ({
  short_rate: z.number().min(0).max(1).default(0.37).meta({ description: 'Tax rate of short-term gains.' }),
  long_rate: z
    .number()
    .min(0)
    .max(1)
    .default(0.2)
    .meta({ description: 'Tax rate of long-term gains (after more than one year).' }),
  carry_forward: defineAmount('Losses carried forward, in money.').default(0),
  realised: z
    .strictObject({
      short: z.number().default(0).meta({ description: 'Short-term.' }),
      long: z.number().default(0).meta({ description: 'Long-term.' }),
    })
    .prefault({})
    .meta({ description: 'Net gains realised this year before these trades, in money.' }),
  wash_sale_days: z
    .int()
    .min(0)
    .max(366)
    .default(30)
    .meta({ description: 'Number of days before and after a sale at a loss.' }),
  wash_sales: z.enum(['disallow', 'forbid']).default('disallow').meta({
    description:
      'Treatment of losses within the window: they are disallowed and added to the basis, or sales with such losses are not made.',
  }),
  lot_method: z
    .enum(LOT_METHODS)
    .default('specific')
    .meta({ description: 'Order in which lots of a security are sold: lowest tax, highest cost, or oldest first.' }),
  netting: z.enum(['us', 'separate']).default('us').meta({
    description: 'Short-term and long-term gains offset each other, or each offsets only losses of the same term.',
  }),
  weight: defineAmount('Weight of taxes in the objective.').default(1),
  loss_value: z.number().min(0).max(1).default(0).meta({
    description: 'Value of one unit of net loss carried forward; at most the long-term rate.',
  }),
  budget: z.number().nullable().default(null).meta({
    description:
      'Budget of net gains: maximum of short-term plus long-term gains of the year, less losses carried forward, in money. The tax itself has `limit`.',
  }),
  limit: z
    .number()
    .min(0)
    .nullable()
    .default(null)
    .meta({ description: 'Maximum tax of the year, in money. It must not exceed this limit after the trades.' }),
  regime: TaxRegime.nullable().default(null).meta({
    description:
      'Tax rules of a jurisdiction, in place of the rates, netting, window and lot method above. Null: the rules of the United States.',
  }),
  realised_by_pot: potAmounts(
    z.number(),
    'Net gains realised this year before these trades, in money, by pot: `short` and `long`, or those of the regime.',
  ),
  carried_by_pot: potAmounts(z.number().min(0), 'Losses carried forward, in money, by pot. Replaces `carry_forward`.'),
})).meta({ id: 'AccountTax' });
export type AccountTax = z.infer<typeof AccountTax>;

export const Account = defineObject(() => ({
  account_id: Id.meta({ description: 'Id of the account, which its result contains.' }),
  cash: defineAmount('Cash, in the currency of the index.').default(0),
  lots: z.array(AccountLot).max(LIMITS.MAX_ACCOUNT_LOTS).default([]).meta({ description: 'Lots held.' }),
  exclusions: z
    .array(AssetIdentifier)
    .max(5000)
    .default([])
    .meta({ description: 'Securities that are sold and not bought.' }),
  tilts: z.record(z.string(), z.number().min(-1).max(1)).default({}).meta({
    description: 'Weights that are added to the weights of the parent, by security.',
  }),
  tracking_error_limit: z.number().positive().max(1).nullable().default(null).meta({
    description: 'Maximum annual tracking error.',
  }),
  minimum_trade: defineAmount('Minimum trade, in money.').default(0),
  recent: z.array(RecentTrade).max(50_000).default([]).meta({
    description: 'Trades before `as_of`. Share counts are adjusted for splits up to `as_of`.',
  }),
  transactions: z.array(RecentTrade).max(50_000).default([]).meta({
    description:
      'With `tax.regime`: all trades up to `as_of`, in place of lots, recent trades and gains of the year. Share counts are adjusted for splits up to `as_of`.',
  }),
  substitutes: z.array(z.array(AssetIdentifier).min(2).max(100)).max(5000).default([]).meta({
    description: 'Groups of securities that are treated as identical for wash sales.',
  }),
  tax: AccountTax.prefault({}).meta({ description: 'Rates and rules of the tax.' }),
})).meta({ id: 'PersonalAccount' });
export type Account = z.infer<typeof Account>;

/** Default account settings of a batch: all fields of an account except its id, lots and trades. */
export type AccountDefaults = Omit<z.input<typeof Account>, 'account_id' | 'lots' | 'recent' | 'transactions'>;

/**
 * Schema of values for fields that an account does not state. Each value is checked like that of an account, but has no
 * default.
 */
export const AccountDefaults = defineObject(() => {
  const { account_id: _id, lots: _lots, recent: _recent, transactions: _all, tax: _tax, ...ownFields } = Account.shape;
  const { realised, ...taxFields } = AccountTax.shape;
  return {
    ...removeDefaults(ownFields),
    tax: z
      .strictObject({
        ...removeDefaults(taxFields),
        realised: z.strictObject(removeDefaults(realised.unwrap().shape)).optional().meta({
          description: 'Net gains realised this year before these trades, in money.',
        }),
      })
      .optional()
      .meta({ description: 'Rates and rules of the tax.' }),
  };
}).meta({ id: 'AccountDefaults' });

/** Returns a shape in which all fields are optional and have no defaults. */
function removeDefaults(shape: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  const memberSchemas = Object.entries(shape).map(([name, schema]) => {
    const innerSchema = schema instanceof z.ZodDefault ? (schema.unwrap() as z.ZodType) : schema;
    const description = schema.description ?? innerSchema.description;
    return [name, innerSchema.optional().meta({ description })] as const;
  });
  return Object.fromEntries(memberSchemas);
}

const bounds = {
  lower: z.number().min(-1).max(1).optional().meta({ description: 'Smallest weight.' }),
  upper: z.number().min(-1).max(1).optional().meta({ description: 'Largest weight.' }),
  penalty: z.number().positive().optional().meta({
    description:
      'Penalty per unit of violation, as a fraction of the value. Without it, the constraint cannot be violated.',
  }),
};
const groupFields = { field: z.string().min(1).max(64).meta({ description: 'Reference field.' }), ...bounds };
const rowId = z
  .string()
  .max(64)
  .default('')
  .meta({ description: 'Name of the constraint in results. Default: its position.' });

export const BatchRow = z
  .discriminatedUnion('type', [
    defineObject(() => ({
      type: z.literal('PositionBounds'),
      id: rowId,
      params: z.strictObject({ lower: bounds.lower, upper: bounds.upper }),
    })),
    defineObject(() => ({ type: z.literal('GroupBounds'), id: rowId, params: z.strictObject(groupFields) })),
    defineObject(() => ({ type: z.literal('ActiveGroupBounds'), id: rowId, params: z.strictObject(groupFields) })),
  ])
  .meta({ id: 'BatchRow' });
export type BatchRow = z.infer<typeof BatchRow>;

export const BatchObjective = defineObject(() => ({
  risk_aversion: z.number().positive().max(10_000).default(10).meta({
    description: 'Penalty of the annual tracking variance, as a fraction of the value.',
  }),
  cost_bps: z.number().min(0).max(1000).default(5).meta({ description: 'Cost of a trade in basis points.' }),
  cash_minimum: z.number().min(0).max(1).default(0).meta({ description: 'Minimum weight of cash after the trades.' }),
  cash_maximum: z
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .meta({ description: 'Maximum weight of cash after the trades.' }),
})).meta({ id: 'BatchObjective' });

/** Common terms of a batch, which are the first line of an NDJSON body. */
const batchTerms = {
  batch_id: Id.nullable().default(null).meta({ description: 'Id of the result. Default: a generated id.' }),
  parent: Id.meta({ description: 'Index that the accounts follow.' }),
  risk_model: Id.meta({ description: 'Stored factor model.' }),
  objective: BatchObjective.prefault({}),
  constraints: z.array(BatchRow).max(50).default([]),
  whole_shares: z.boolean().default(false).meta({ description: 'True limits trades to whole shares.' }),
  as_of: IsoDate.nullable().default(null).meta({ description: 'Default: the last session of the data.' }),
  search_nodes: z.int().min(0).max(100_000).default(0).meta({
    description: 'Maximum number of branches per account if rounding leaves a gap; 0 turns the search off.',
  }),
  defaults: AccountDefaults.prefault({}).meta({
    description: 'Values of the fields that an account omits; `tax` field by field.',
  }),
};

export const BatchTerms = z.strictObject(batchTerms).meta({ id: 'BatchTerms' });
export type BatchTerms = z.infer<typeof BatchTerms>;

export const BatchRequest = defineObject(() => ({
  ...batchTerms,
  accounts: z.array(z.unknown()).min(1).max(LIMITS.MAX_BATCH_ACCOUNTS).meta({
    description: 'Accounts. An invalid account has findings in its result, and all other accounts are solved.',
  }),
})).meta({ id: 'BatchRequest' });
export type BatchRequest = z.infer<typeof BatchRequest>;

export const ACCOUNT_SCHEDULES = ['monthly', 'quarterly', 'yearly'] as const;

const { risk_model, objective, constraints, whole_shares, search_nodes } = batchTerms;

/** Default tax rate of dividends. */
export const DIVIDEND_RATE = 0.2;

/** Request for an after-tax backtest of one account over the history of an index. */
export const AccountBacktestRequest = defineObject(() => ({
  backtest_id: Id.nullable().default(null).meta({ description: 'Id of the result. Default: a generated id.' }),
  account: Account.meta({ description: 'Account before the first session.' }),
  risk_model,
  objective,
  constraints,
  whole_shares,
  search_nodes,
  start: IsoDate.meta({ description: 'First day. The lots are those held on this day.' }),
  end: IsoDate.nullable().default(null).meta({ description: 'Default: the last session of the data.' }),
  rebalance: z.enum(ACCOUNT_SCHEDULES).default('quarterly').meta({
    description:
      'Frequency of the trades. The account trades on its first session, and on the first session of each month, quarter or year.',
  }),
  dividend_rate: z.number().min(0).max(1).default(DIVIDEND_RATE).meta({ description: 'Tax rate of dividends.' }),
})).meta({ id: 'AccountBacktestRequest' });
export type AccountBacktestRequest = z.infer<typeof AccountBacktestRequest>;
