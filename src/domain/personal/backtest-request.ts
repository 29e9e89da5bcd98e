import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { IsoDate, Id } from '../schema/shape.js';
import { Account, batchTerms } from './account-request.js';

export const ACCOUNT_SCHEDULES = ['monthly', 'quarterly', 'yearly'] as const;

const { risk_model, objective, constraints, whole_shares, search_nodes } = batchTerms;

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
  dividend_rate: z.number().min(0).max(1).default(0.2).meta({ description: 'Tax rate of dividends.' }),
})).meta({ id: 'AccountBacktestRequest' });
export type AccountBacktestRequest = z.infer<typeof AccountBacktestRequest>;
