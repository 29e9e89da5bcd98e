import type { RiskDecomposition, TotalRiskDecomposition } from '#clients/typescript/divisor.js';
import { FACTOR_ESTIMATORS } from '#domain/risk/factor-model.js';
import type { FlagValues } from '../command-line.js';
import { BENCHMARK_FLAG } from '../job-commands/fields.js';
import { UsageError } from '../usage-error.js';
import { RUN } from './analytics.js';
import { createViewCommand } from './view-command.js';

const INDEX = { name: 'INDEX', help: 'Id of an index or strategy with a stored run.' };
const RULES = ['UCITS_5_10_40', 'UCITS_20_35', 'RIC_25_5_50', 'SEC_75_5_10'] as const;
const MODELS = ['market_sector', ...FACTOR_ESTIMATORS] as const;

export const limits = createViewCommand({
  summary: 'Check a concentration rule on every session of a stored run, and print breaches and the smallest headroom.',
  words: [INDEX],
  flags: {
    ...RUN,
    rule: {
      type: 'string',
      value: 'RULE',
      choices: RULES,
      help: `${RULES.join(', ')}; default: the rule of the index, or the first of these.`,
    },
    by: { type: 'string', value: 'COLUMN', help: 'Reference column of the issuer. Default: ISSUER.' },
  },
  examples: ['divisor limits CORE-100', 'divisor limits CORE-100 --rule RIC_25_5_50'],
  ask: (client, [index_id = ''], flags) =>
    client.call('getLimits', {
      params: { index_id },
      query: {
        run_id: flags.text('run-id'),
        rule: flags.text<(typeof RULES)[number]>('rule'),
        by: flags.text('by'),
      },
    }),
  records: ({ rule, rows }) => rows.map(({ least, ...row }) => ({ rule, ...row, ...least })),
  notices: ({ findings }) => findings.map(({ code, message }) => `${code}: ${message}`),
});

const FACTOR_FLAGS = {
  model: {
    type: 'string',
    value: MODELS.join('|'),
    choices: MODELS,
    help: 'Model of the factors. Default: market_sector.',
  },
  'risk-model': { type: 'string', value: 'ID', help: 'Stored risk model whose factors replace --model.' },
  factors: {
    type: 'number',
    value: 'N',
    help: 'Number of principal components for the model statistical. Default: 5.',
  },
  'as-of': { type: 'string', value: 'DATE', help: 'Date. Default: the last date of the run.' },
} as const;

const readFactorQuery = (flags: FlagValues) => ({
  run_id: flags.text('run-id'),
  model: flags.text<(typeof MODELS)[number]>('model'),
  risk_model: flags.text('risk-model'),
  factors: flags.number('factors'),
  as_of: flags.text('as-of'),
});

/** Members that both decompositions have. */
type FactorSplit = Omit<TotalRiskDecomposition, 'volatility'>;

/** Rows and notices of a variance that is split by factors. */
const SPLIT_TABLE = {
  records: ({ contributions, factor_share: factorShare, total_variance: total }: FactorSplit) => [
    ...Object.entries(contributions).map(([factor, share]) => createRow(factor, share * factorShare, total)),
    createRow('specific', 1 - factorShare, total),
  ],
  notices: ({ findings }: FactorSplit) => findings.map(({ code, message }) => `${code}: ${message}`),
};

const createRow = (factor: string, share: number, total: number) => ({ factor, share, variance: share * total });

export const factorRisk = createViewCommand({
  summary: 'Split the active variance of a stored run against a benchmark into factors and specific risk.',
  words: [INDEX],
  flags: {
    ...RUN,
    benchmark: { ...BENCHMARK_FLAG.benchmark, help: `Required: ${BENCHMARK_FLAG.benchmark.help}` },
    ...FACTOR_FLAGS,
  },
  examples: ['divisor factor-risk CORE-100 --benchmark EVEN-100 --model styles'],
  async ask(client, [index_id = ''], flags): Promise<RiskDecomposition> {
    const benchmark = flags.text('benchmark');
    if (benchmark === undefined) throw new UsageError('divisor factor-risk requires --benchmark');
    return client.call('getFactorRisk', { params: { index_id }, query: { ...readFactorQuery(flags), benchmark } });
  },
  ...SPLIT_TABLE,
});

export const totalRisk = createViewCommand({
  summary: 'Split the total variance of a stored run into factors and specific risk.',
  words: [INDEX],
  flags: { ...RUN, ...FACTOR_FLAGS },
  examples: ['divisor total-risk CORE-100', 'divisor total-risk CORE-100 --model styles'],
  ask: (client, [index_id = ''], flags): Promise<TotalRiskDecomposition> =>
    client.call('getTotalRisk', { params: { index_id }, query: readFactorQuery(flags) }),
  ...SPLIT_TABLE,
});

export const termStructure = createViewCommand({
  summary: 'Print fair values of futures on an index by expiry.',
  words: [INDEX, { name: 'EXPIRIES', help: 'Dates, separated by commas.', isList: true }],
  flags: {
    'as-of': { type: 'string', value: 'DATE', help: 'Date of the spot level. Default: the last date of the run.' },
    rate: { type: 'number', value: 'R', help: 'Annual risk-free rate, as a fraction. Default: 0.' },
    yield: { type: 'number', value: 'Y', help: 'Annual dividend yield, as a fraction. Default: 0.' },
    borrow: { type: 'number', value: 'B', help: 'Annual borrow rate, as a fraction. Default: 0.' },
    dividends: {
      type: 'string',
      value: 'LIST',
      help: 'Dividends instead of a yield: announced, or EX_DATE:POINTS pairs, separated by commas.',
    },
  },
  examples: ['divisor term-structure CORE-100 2025-03-21,2025-06-20 --rate 0.03'],
  ask: (client, [index_id = '', expiries = ''], flags) =>
    client.call('getTermStructure', {
      params: { index_id },
      query: {
        expiries: expiries.split(','),
        as_of: flags.text('as-of'),
        risk_free_rate: flags.number('rate'),
        dividend_yield: flags.number('yield'),
        borrow_rate: flags.number('borrow'),
        ...parseDividends(flags.text('dividends')),
      },
    }),
  records: ({ points }) => points,
  columns: ['expiry', 'days', 'year_fraction', 'fair_value', 'basis', 'annualised_carry', 'dividend_points'],
});

const parseDividends = (text: string | undefined) =>
  text === undefined || text === 'announced'
    ? { dividend_source: text === undefined ? undefined : ('announced' as const) }
    : { dividends: text.split(',') };
