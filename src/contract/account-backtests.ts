import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { AccountBacktestRequest } from '#domain/personal/backtest-request.js';
import { Id } from '#domain/schema/shape.js';
import { createJobStatus } from './jobs.js';
import { defineRoutes } from './route.js';

const defineMoney = (description: string) => z.number().meta({ description });
const date = z.string();

export const AccountBacktestView = defineObject(() => ({
  backtest_id: z.string().meta({ description: 'The backtest.' }),
  index_id: z.string().meta({ description: 'Index that the account follows.' }),
  account_id: z.string().meta({ description: 'The account.' }),
  start: z.string().meta({ description: 'First session.' }),
  end: z.string().meta({ description: 'Last session.' }),
  final_value: defineMoney('Value on the last session.'),
  final_value_after_tax: defineMoney('Value less the unpaid tax of the year.'),
  annual_return_after_tax: z.number().meta({ description: 'Annual return of the value after tax.' }),
  tax_paid: defineMoney('Taxes paid.'),
  costs: defineMoney('Trading costs.'),
  dividends: defineMoney('Dividends received.'),
  largest_gap: z.number().nullable().meta({ description: 'Largest gap of a certificate, as a fraction of the value.' }),
  sessions: z
    .array(
      z.strictObject({
        date,
        value: defineMoney('Cash and holdings at the close.'),
        cash: defineMoney('Cash at the close: cash of the previous session plus the entries of this session.'),
        accrued_tax: defineMoney('Unpaid tax of the year so far.'),
      }),
    )
    .meta({ description: 'Account by session.' }),
  rebalances: z
    .array(
      z.strictObject({
        date,
        status: z.string().meta({ description: 'Status of the solution. An infeasible rebalance trades nothing.' }),
        trades: z.int().meta({ description: 'Number of trades.' }),
        turnover: z.number().meta({ description: 'One-way turnover, as a fraction of the value.' }),
        tracking_error: z.number().meta({ description: 'Annual tracking error after the trades.' }),
        gap: z.number().meta({ description: 'Gap of the certificate.' }),
        avoided_wash_sales: z.int().meta({ description: 'Trades that the wash sale rule prevented.' }),
      }),
    )
    .meta({ description: 'Rebalances of the account.' }),
  entries: z
    .array(
      z.strictObject({
        date,
        kind: z
          .enum(['buy', 'sell', 'cost', 'dividend', 'action', 'tax'])
          .meta({ description: 'Reason of the movement.' }),
        identifier: z.string().nullable().meta({ description: 'Security; null for costs and taxes.' }),
        shares: z.number().meta({ description: 'Shares bought; negative for a sale.' }),
        amount: defineMoney('Cash received; negative if paid.'),
        lot: z
          .strictObject({
            acquired: z.string().meta({ description: 'Start of the holding period.' }),
            cost: z.number().meta({ description: 'Basis per share.' }),
            gain: defineMoney('Realised gain that is taxed; 0 if the loss is disallowed.'),
            disallowed_loss: defineMoney('Loss added to the basis of the replacement.'),
            term: z.enum(['short', 'long']).meta({ description: 'Holding period of the lot.' }),
          })
          .nullable()
          .optional()
          .meta({
            description:
              'Lot of a sale, or of a corporate action with a gain, and the gain realised; otherwise null. Absent in results of earlier versions.',
          }),
      }),
    )
    .meta({ description: 'Every movement of cash.' }),
  years: z
    .array(
      z.strictObject({
        year: z.int().meta({ description: 'Calendar year.' }),
        short_gain: defineMoney('Net short-term gains.'),
        long_gain: defineMoney('Net long-term gains.'),
        dividends: defineMoney('Dividends.'),
        carried: defineMoney('Losses carried forward from the previous year.'),
        tax: defineMoney('Tax, paid on the first session of the next year.'),
        is_paid: z.boolean().optional().meta({
          description:
            'False for the year of the last session, whose figures are those so far. Absent in results of earlier versions.',
        }),
      }),
    )
    .meta({ description: 'Tax years, including that of the last session.' }),
  lots: z
    .array(
      z.strictObject({
        identifier: z.string(),
        shares: z.number().meta({ description: 'Shares of the lot.' }),
        cost: z.number().meta({ description: 'Basis per share.' }),
        acquired: z.string().meta({ description: 'Start of the holding period.' }),
        bought: z.string().optional().meta({
          description: 'Day of the purchase of shares that have replaced shares sold at a loss; absent for other lots.',
        }),
      }),
    )
    .meta({ description: 'Lots on the last session.' }),
  store_content_hash: z.string(),
  engine_version: z.string(),
})).meta({ id: 'AccountBacktestView' });
export type AccountBacktestView = z.infer<typeof AccountBacktestView>;

export const AccountBacktestJobStatus = createJobStatus('AccountBacktestJobStatus', 'account', AccountBacktestView);

export const accountBacktestRoutes = defineRoutes({
  backtestAccount: {
    method: 'POST',
    path: '/analytics/{index_id}/accounts/backtest',
    onStore: 'query',
    scope: 'run',
    tag: 'optimise',
    summary: 'Run one account with tax lots over the history of an index, after tax.',
    description:
      'Lots keep their basis through corporate actions; dividends, gains and losses are taxed at the end of each year. Wash sales, losses carried forward and costs are tracked. The risk model must be estimated on data before `start`, or imported for several dates.',
    params: defineObject(() => ({ index_id: Id })),
    body: {
      schema: AccountBacktestRequest,
      example: {
        backtest_id: 'client-a1',
        risk_model: 'early-factors',
        start: '2024-12-02',
        end: '2024-12-31',
        rebalance: 'quarterly',
        account: { account_id: 'A1', cash: 500_000 },
      },
    },
    success: { status: 202, description: 'The job; see Location.', schema: AccountBacktestJobStatus },
    errors: [
      'INDEX_NOT_FOUND',
      'RISK_MODEL_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NO_DATA_SOURCE',
      'JOB_RUNNING',
      'OVERLOADED',
    ],
  },
});
