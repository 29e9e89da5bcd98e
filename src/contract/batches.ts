import { z } from 'zod';
import { LIMITS } from '#domain/base/limits.js';
import { defineObject, Id } from '#domain/base/schema.js';
import { BATCH_TABLE_NAMES, EXPORT_FORMATS, FORMAT_NAMES } from '#domain/outputs/exports.js';
import { AccountBacktestRequest, BatchRequest } from '#domain/personal/account.js';
import { createJobStatus } from './jobs.js';
import { FindingPayload } from './payloads.js';
import { defineRoutes } from './route.js';

const defineMoney = (description: string) => z.number().meta({ description });
const date = z.string();
const TERM_HELP = 'Holding period of the lot, `short` or `long`; with a tax regime, the pot of the gain.';

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
            term: z.string().meta({ description: TERM_HELP }),
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
        year: z.int().meta({ description: 'Tax year, named by the calendar year in which it begins.' }),
        short_gain: defineMoney('Net short-term gains, or those of the first pot of the regime.'),
        long_gain: defineMoney('Net long-term gains, or those of the second pot.'),
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

const AccountBacktestJobStatus = createJobStatus('AccountBacktestJobStatus', 'account', AccountBacktestView);

export const accountBacktestRoutes = defineRoutes('optimise', {
  backtestAccount: {
    method: 'POST',
    path: '/analytics/{index_id}/accounts/backtest',
    call: 'accountBacktests.start',
    onStore: 'query',
    scope: 'run',
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

const count = (description: string) => z.int().min(0).meta({ description });

export const BatchTrade = defineObject(() => ({
  identifier: z.string(),
  side: z.enum(['buy', 'sell']).meta({ description: 'Direction of the trade.' }),
  shares: z.number().meta({ description: 'Number of shares.' }),
  price: z.number().meta({ description: 'Price per share in the currency of the index.' }),
  value: z.number().meta({ description: 'Shares times price.' }),
  lot: z.int().optional().meta({ description: 'Position of the sold lot in the account.' }),
  acquired: z.string().optional().meta({ description: '`acquired` of the lot.' }),
  cost: z.number().optional().meta({ description: 'Cost basis per share.' }),
  gain: z.number().optional().meta({ description: 'Realised gain that is taxed; 0 if the loss is disallowed.' }),
  disallowed_loss: z.number().optional().meta({
    description: 'Loss added to the basis of the replacement. A lot of which only a part is disallowed has two sales.',
  }),
  term: z.string().optional().meta({ description: TERM_HELP }),
})).meta({ id: 'BatchTrade' });

const AccountDisposal = defineObject(() => ({
  identifier: z.string(),
  date,
  shares: z.number().meta({ description: 'Number of shares sold.' }),
  price: z.number().meta({ description: 'Price per share.' }),
  cost: z.number().meta({ description: 'Cost basis per share.' }),
  gain: defineMoney('Gain, or loss if negative.'),
  pot: z.string().meta({ description: 'Pot of the gain.' }),
  acquired: z.string().nullable().meta({ description: 'Day on which the shares were bought; null for a pool.' }),
})).meta({ id: 'AccountDisposal' });

export const BatchLot = defineObject(() => ({
  lot: z.int().nullable().meta({ description: 'Position of the lot in the account; null for a purchase.' }),
  identifier: z.string(),
  shares: z.number().meta({ description: 'Number of shares.' }),
  cost: z.number().meta({ description: 'Cost basis per share, including disallowed losses.' }),
  acquired: z
    .string()
    .meta({ description: 'Day of the purchase. With `bought`, the day before the holding period begins.' }),
  bought: z.string().optional().meta({
    description: 'Day of the purchase of shares that have replaced shares sold at a loss; absent for other lots.',
  }),
  unrealised_gain: z.number().meta({ description: 'Value less cost.' }),
})).meta({ id: 'BatchLot' });

const multipliers = () => ({
  exposures: z.array(z.number()).meta({ description: 'Factor exposures of the tangent.' }),
  variance: z.number().meta({ description: 'Multiplier of the tracking error limit.' }),
  rows: z.array(z.number()).meta({ description: 'Multipliers of the rows and of the pieces of the tax.' }),
});

const BatchBranches = defineObject(() => ({
  steps: z
    .array(
      z.union([
        z.strictObject({
          security: z.int().meta({ description: 'Position of the security in the account.' }),
          below: z.number().meta({ description: 'Largest net trade of the first part, as a weight.' }),
          above: z.number().meta({ description: 'Smallest net trade of the second part.' }),
        }),
        z.strictObject({ multipliers: z.int().meta({ description: 'Position of the multipliers of the region.' }) }),
        z.strictObject({
          evaluated: z.boolean().meta({ description: 'All lots for the only net trades of the region were tried.' }),
        }),
      ]),
    )
    .meta({
      description: 'Divisions of the permitted trades, and how the bound of each region is proved, first parts first.',
    }),
  multipliers: z.array(z.strictObject(multipliers())).meta({ description: 'Multipliers of regions.' }),
})).meta({ id: 'BatchBranches' });

const BatchCertificate = defineObject(() => ({
  objective: z.number().meta({ description: 'Objective of the trades, as a fraction of the value.' }),
  bound: z.number().meta({ description: 'Lower bound of the objective over all permitted trades.' }),
  gap: z.number().meta({ description: 'Objective less bound; 0 for an infeasible account.' }),
  primal_residual: z.number().meta({ description: 'Largest violation of a hard constraint.' }),
  regions: z
    .array(
      z.union([
        z.strictObject({
          identifier: z.string().meta({ description: 'Security whose number of shares sold is divided.' }),
          below: z.number().meta({ description: 'Most shares sold in the first part.' }),
          above: z.number().meta({ description: 'Least shares sold in the second part.' }),
        }),
        z.strictObject({
          lot: z.int().meta({ description: 'Position of a lot that is not sold whole in the first part.' }),
        }),
        z.strictObject({
          substitutes: z.int().meta({
            description:
              'Position of a group of substitutes that is not bought in the first part, and not sold at a loss in the second.',
          }),
        }),
        z.strictObject({ undivided: z.boolean().meta({ description: 'Region with certificates in `sides`.' }) }),
      ]),
    )
    .nullable()
    .optional()
    .meta({
      description:
        'Divisions of the permitted trades where the sale of a lot changes the disallowed losses of others, first parts first; null without a division. Absent in results of earlier versions.',
    }),
  sides: z
    .array(
      z.strictObject({
        region: z.int().optional().meta({ description: 'Position among the undivided regions.' }),
        side: z
          .int()
          .meta({ description: '0 for the side of net long-term gains, 1 for the side of net long-term losses.' }),
        bound: z.number().meta({ description: 'Bound of this side.' }),
        exposures: z.array(z.number()).meta({ description: 'Factor exposures of the tangent.' }),
        variance: z.number().meta({ description: 'Multiplier of the tracking error limit.' }),
        rows: z.array(z.number()).meta({ description: 'Multipliers of the rows and of the pieces of the tax.' }),
        branches: BatchBranches.nullable().optional().meta({
          description:
            'Proof of the bound by branch and bound; null without a search. Absent in results of earlier versions.',
        }),
      }),
    )
    .meta({ description: 'Proofs for net long-term gains and for net long-term losses.' }),
})).meta({ id: 'BatchCertificate' });

export const BatchAccount = z
  .looseObject({
    account_id: z.string().nullable().meta({ description: 'Id of the account; null if it has none.' }),
    status: z.enum(['optimal', 'feasible', 'infeasible', 'refused']).meta({
      description:
        '`optimal`: the gap is at most 1e-8 of the value. `feasible`: the gap is larger. `infeasible`: see `conflicts`. `refused`: see `findings`.',
    }),
    findings: z.array(FindingPayload).meta({ description: 'Reasons why the account was refused.' }),
    trades: z
      .array(BatchTrade)
      .optional()
      .meta({ description: 'Sales by lot, and purchases. Empty for an infeasible account.' }),
    lots_after: z.array(BatchLot).nullable().optional().meta({
      description: 'Lots after the trades; null for an account of more than 500 lots.',
    }),
    disposals: z.array(AccountDisposal).optional().meta({
      description: 'Sales of an account that states its transactions, as its tax regime matches them.',
    }),
    value: z.number().optional().meta({ description: 'Cash and lots at the prices of the day.' }),
    cash: z.number().optional().meta({ description: 'Cash after trades and costs.' }),
    costs: z.number().optional().meta({ description: 'Trading costs.' }),
    tracking_error: z.number().optional().meta({ description: 'Annual tracking error after the trades.' }),
    tracking_error_before: z.number().optional().meta({ description: 'Annual tracking error before the trades.' }),
    short_gain: z
      .number()
      .optional()
      .meta({ description: 'Taxed short-term gains of the trades, or those of the first pot of the regime.' }),
    long_gain: z
      .number()
      .optional()
      .meta({ description: 'Taxed long-term gains of the trades, or those of the second pot.' }),
    disallowed_loss: z.number().optional().meta({
      description:
        'Losses that the wash sale rule adds to the basis of other shares; absent in results of earlier versions.',
    }),
    disallowed_elsewhere: z.number().optional().meta({
      description:
        'Part of the disallowed losses that is added to shares of `recent` purchases that are not lots of the account.',
    }),
    tax: z.number().optional().meta({ description: 'Tax of the year after the trades, in money.' }),
    tax_saved: z.number().optional().meta({ description: 'Tax saved compared with selling the oldest lots first.' }),
    conflicts: z.array(z.string()).optional().meta({
      description:
        'Conflicting rules of an infeasible account. If any one of them is removed, the others can be satisfied.',
    }),
    conflict_amounts: z.record(z.string(), z.number().nullable()).optional().meta({
      description:
        'Amount by which each of these rules must be relaxed if all other rules of the account are satisfied: tracking error, weight (for exclusions, the weight that remains), or money for `tax.budget` and `tax.limit`. Null for rules without an amount, and if no amount is sufficient.',
    }),
    conflict_exclusions: z.record(z.string(), z.number()).optional().meta({
      description: 'Weight of each excluded security that must remain if all other rules are satisfied.',
    }),
    certificate: BatchCertificate.optional().meta({
      description: 'Proof of the gap, which can be verified without a solver.',
    }),
  })
  .meta({ id: 'BatchAccount', description: 'Result of one account.' });

export const BatchView = defineObject(() => ({
  batch_id: z.string().meta({ description: 'The batch.' }),
  parent: z.string().meta({ description: 'Index that the accounts follow.' }),
  risk_model: z.string().meta({ description: 'Stored factor model.' }),
  as_of: z.string(),
  accounts: count('Accounts of the batch.'),
  by_status: z.record(z.string(), z.int()).meta({ description: 'Accounts by status.' }),
  tracking_error: z.record(z.string(), z.number()).nullable().meta({
    description: 'Percentiles of the annual tracking error after the trades: p0, p5, p25, p50, p75, p95, p100.',
  }),
  tracking_error_before: z.record(z.string(), z.number()).nullable().optional().meta({
    description:
      'Percentiles of the annual tracking error of the same accounts before the trades; absent in results of earlier versions.',
  }),
  largest_gap: z.number().nullable().meta({ description: 'Largest gap of a certificate, as a fraction of the value.' }),
  value: defineMoney('Value of the solved accounts.'),
  tax: defineMoney('Tax of the trades.'),
  tax_saved: defineMoney('Tax saved compared with selling the oldest lots first.'),
  costs: defineMoney('Trading costs.'),
  avoided_wash_sales: count('Trades that the wash sale rule prevented.'),
  conflicts: z.record(z.string(), z.int()).meta({ description: 'Number of infeasible accounts by conflicting rule.' }),
  refused: z
    .array(
      z.strictObject({
        account_id: z.string().nullable().meta({ description: 'Id of the account; null if it has none.' }),
        position: z.int().meta({ description: 'Position in the request, from 0.' }),
        findings: z.array(FindingPayload).meta({ description: 'Reasons.' }),
      }),
    )
    .meta({ description: 'The first 100 accounts that are invalid.' }),
  blocks: count(`Blocks of 100 accounts, see GET /optimise/batches/{batch_id}/accounts.`),
  store_content_hash: z.string(),
  engine_version: z.string(),
})).meta({ id: 'BatchView' });
export type BatchView = z.infer<typeof BatchView>;

export const BatchCollection = defineObject(() => ({
  batches: z
    .array(BatchView)
    .meta({ description: 'Batches, newest first. The job of a batch contains the refused accounts.' }),
})).meta({ id: 'BatchCollection' });
export type BatchCollection = z.infer<typeof BatchCollection>;

const BatchAccountsPayload = defineObject(() => ({
  batch_id: z.string().meta({ description: 'The batch.' }),
  count: count('Accounts of all blocks.'),
  block: count('Number of the block, from 0.'),
  blocks: count('Number of blocks.'),
  accounts: z.array(BatchAccount).meta({ description: 'Entries, in the order of the request.' }),
})).meta({ id: 'BatchAccounts' });

const BatchCommonData = z
  .looseObject({
    as_of: z.string(),
    identifiers: z.array(z.string()).meta({ description: 'Securities that an account can hold, [N].' }),
    prices: z.array(z.number()).meta({ description: 'Prices per share, [N].' }),
    weights: z.array(z.number()).meta({ description: 'Weights in the parent, [N].' }),
    factors: z.int().meta({ description: 'Number of factors, K.' }),
    loadings: z.array(z.number()).meta({ description: 'Annualised factor exposures, [N x K].' }),
    specific: z.array(z.number()).meta({ description: 'Specific variances, annualised, [N].' }),
  })
  .meta({ id: 'BatchCommonData', description: 'Data that all accounts of a batch use, including its terms.' });

const BatchJobStatus = createJobStatus('BatchJobStatus', 'batch', BatchView);

const params = defineObject(() => ({ batch_id: Id.meta({ description: 'Id of the batch.' }) }));
/** Maximum number of listed batches. Each batch is read from its file. */
const BATCHES_LISTED_MAX = 100;

const COLUMNS =
  'A row describes a lot. A row with a value in `traded` describes a recent trade. A row with the identifier CASH has the cash of the account in `shares`. The first five columns are required. The columns from `cash` on are fields of the account: write each of them on one of its rows. Entries of a list are separated by `/`, and groups of substitutes by `//`. A tilt is `identifier=weight`.';

export const batchRoutes = defineRoutes('optimise', {
  listBatches: {
    method: 'GET',
    path: '/optimise/batches',
    scope: 'read',
    withoutMarket: true,
    summary: 'Lists the results of finished batches, newest first.',
    query: defineObject(() => ({
      limit: z.int().min(1).max(BATCHES_LISTED_MAX).default(20).meta({ description: 'Maximum number of batches.' }),
    })),
    success: { status: 200, description: 'The batches.', schema: BatchCollection },
    errors: ['DOCUMENT_UNREADABLE'],
  },
  startBatch: {
    method: 'POST',
    path: '/optimise/batches',
    onStore: 'query',
    scope: 'run',
    summary: 'Computes the trades of many accounts with tax lots that follow an index, as one job on all nodes.',
    description:
      'The body has one of these forms. JSON with `accounts`. JSON lines (`application/x-ndjson`): the terms, followed by one account per line. A table (`text/csv`): a row per lot, with the fields of the account in further columns, sorted by account, and with `terms` in the query (see GET /optimise/batches/template). An Arrow stream (`application/vnd.apache.arrow.stream`): the same table, or a row per account with its `lots` as a list, with `terms` in the query or in the metadata of the schema. A Parquet file (`application/vnd.apache.parquet`): the same tables, with `terms` in the query. JSON lines and tables are read as a stream. The `message` of the job states the expected processor time. Every result has a certificate, which `divisor verify-batch` verifies. An invalid account is refused with findings, and all other accounts run.',
    query: defineObject(() => ({
      terms: z.string().max(100_000).optional().meta({
        description: 'Terms as JSON, for a table. With JSON lines, every line is then an account.',
      }),
      batch_id: Id.optional().meta({ description: 'Id of the batch for a stream. It replaces the id in the terms.' }),
    })),
    body: {
      schema: BatchRequest,
      bytesMax: LIMITS.MAX_BATCH_BYTES,
      valuesMax: LIMITS.MAX_BATCH_VALUES,
      lines: 'accounts',
      upload: {
        media: [
          'application/x-ndjson',
          'text/csv',
          'application/vnd.apache.arrow.stream',
          'application/vnd.apache.parquet',
        ],
        bytesMax: LIMITS.MAX_BATCH_UPLOAD_BYTES,
      },
      example: {
        batch_id: 'clients',
        parent: 'LARGE-100',
        risk_model: 'factors',
        objective: { risk_aversion: 10, cost_bps: 5 },
        accounts: [
          {
            account_id: 'A1',
            cash: 5000,
            lots: [
              { identifier: 'BECQ', shares: 120, cost: 80.5, acquired: '2022-03-01' },
              { identifier: 'BECQ', shares: 40, cost: 131.2, acquired: '2024-11-04' },
            ],
            exclusions: ['BEDV'],
            tax: { short_rate: 0.37, long_rate: 0.2 },
          },
        ],
      },
    },
    success: { status: 202, description: 'The job; see Location.', schema: BatchJobStatus },
    errors: [
      'INDEX_NOT_FOUND',
      'RISK_MODEL_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NO_DATA_SOURCE',
      'JOB_RUNNING',
      'OVERLOADED',
      'STORAGE_FULL',
    ],
  },
  getBatchTemplate: {
    method: 'GET',
    path: '/optimise/batches/template',
    scope: 'read',
    withoutMarket: true,
    summary: 'Returns a table of accounts as CSV, with every column and two example accounts.',
    description: COLUMNS,
    success: { status: 200, description: 'The template.', media: ['text/csv'] },
  },
  getBatchAccounts: {
    method: 'GET',
    path: '/optimise/batches/{batch_id}/accounts',
    scope: 'read',
    withoutMarket: true,
    summary: 'Returns the results of a batch in blocks of 100 accounts.',
    description:
      'A block is available as soon as its accounts are solved and stored, even while the batch runs. Before that, the response is JOB_RUNNING. In formats other than JSON, a block is a table of accounts or of trades.',
    params,
    query: defineObject(() => ({
      block: z.int().min(0).default(0).meta({ description: 'Number of the block, from 0.' }),
      table: z
        .enum(BATCH_TABLE_NAMES)
        .default('accounts')
        .meta({ description: 'Table of a response in a format other than JSON.' }),
    })),
    success: {
      status: 200,
      description: 'The block.',
      schema: BatchAccountsPayload,
      media: FORMAT_NAMES.slice(1).map((format) => EXPORT_FORMATS[format].media),
    },
    errors: ['JOB_NOT_FOUND', 'JOB_RUNNING', 'DOCUMENT_UNREADABLE'],
  },
  getBatchCommon: {
    method: 'GET',
    path: '/optimise/batches/{batch_id}/common',
    call: 'batchResults.common',
    scope: 'read',
    withoutMarket: true,
    summary: 'Returns the data that all accounts of a batch use: prices, weights of the parent, and risk model.',
    params,
    success: { status: 200, description: 'The data.', schema: BatchCommonData },
    errors: ['JOB_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});
