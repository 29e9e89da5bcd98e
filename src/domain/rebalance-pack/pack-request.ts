import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { requireExactlyOne } from '../schema/one-of.js';
import { AssetIdentifier, IsoDate } from '../schema/shape.js';

const NAMES_MAX = 20_000;
const ACCOUNTS_MAX = 100;

/** Name of the account that `aum` creates. */
export const AUM = 'AUM';

const amount = z.number().min(-1e15).max(1e15).nullable().default(null);

const PackHolding = defineObject(() => ({
  identifier: AssetIdentifier,
  shares: amount.meta({ description: 'Number of shares; negative for a short position.' }),
  value: amount.meta({
    description: 'Value instead of shares, at the close of as_of and in the currency of the index.',
  }),
}))
  .superRefine(requireExactlyOne({ by: 'a holding', of: ['shares', 'value'] }))
  .meta({ id: 'PackHolding' });

/** Accounts and terms of a rebalance pack. */
export const RebalancePackRequest = defineObject(() => ({
  as_of: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Session with the closes at which orders are valued. Default: the latest date of the data.' }),
  accounts: z
    .array(
      z
        .strictObject({
          name: z
            .string()
            .min(1)
            .max(100)
            .meta({ description: 'Name of the account, unique among the accounts. AUM is the account of `aum`.' }),
          cash: z.number().min(0).max(1e15).default(0).meta({ description: 'Cash in the currency of the index.' }),
          holdings: z
            .array(PackHolding)
            .max(NAMES_MAX)
            .default([])
            .meta({ description: 'Holdings, by shares or by value.' }),
        })
        .meta({ id: 'PackAccount' }),
    )
    .max(ACCOUNTS_MAX)
    .default([]),
  aum: z
    .number()
    .gt(0)
    .max(1e15)
    .nullable()
    .default(null)
    .meta({ description: 'Adds the account AUM with this amount of cash, which buys the whole index.' }),
  lot_sizes: z.record(AssetIdentifier, z.int().min(1).max(1e9)).default({}).meta({
    description: 'Lot size in shares, by identifier. The resulting holdings are multiples of the lot. Default: 1.',
  }),
  participation: z
    .number()
    .gt(0)
    .max(1)
    .default(0.1)
    .meta({ description: 'Maximum fraction of the daily volume that is traded.' }),
  adv_sessions: z
    .int()
    .min(1)
    .max(2520)
    .default(20)
    .meta({ description: 'Number of sessions with a price bar in the mean volume.' }),
  cost: z
    .strictObject({
      spread_bps: z.number().min(0).max(10_000).default(5).meta({ description: 'Full spread. Half of it is paid.' }),
      impact_bps: z
        .number()
        .min(0)
        .max(10_000)
        .default(10)
        .meta({ description: 'Market impact of trading the volume of a whole day.' }),
    })
    .prefault({})
    .meta({ id: 'PackCost' }),
}))
  .superRefine(({ accounts }, context) =>
    accounts.forEach(({ holdings }, position) => {
      const rows = new Map<string, number>();
      holdings.forEach(({ identifier }, row) => {
        const first = rows.get(identifier);
        if (first === undefined) rows.set(identifier, row);
        else
          context.addIssue({
            code: 'custom',
            path: ['accounts', position, 'holdings', row, 'identifier'],
            input: identifier,
            params: { finding: 'DUPLICATE_ID', isWhole: true },
            message: `is ${identifier}, like holdings[${first}] of the account`,
          });
      });
    }),
  )
  .superRefine(({ accounts, aum }, context) => {
    if (accounts.length === 0 && aum === null)
      context.addIssue({
        code: 'custom',
        path: ['accounts'],
        input: undefined,
        params: { finding: 'REQUIRED' },
        message: 'or aum is required: neither is given',
      });
    const ownerByName = new Map(aum === null ? [] : [[AUM, 'the account that aum adds']]);
    accounts.forEach(({ name }, position) => {
      const owner = ownerByName.get(name);
      if (owner !== undefined)
        context.addIssue({
          code: 'custom',
          path: ['accounts', position, 'name'],
          input: name,
          params: { finding: 'DUPLICATE_ID', isWhole: true },
          message: `is ${name}, which is already the name of ${owner}`,
        });
      else ownerByName.set(name, `accounts[${position}]`);
    });
  })
  .meta({ id: 'RebalancePackRequest' });
export type RebalancePackRequest = z.output<typeof RebalancePackRequest>;
