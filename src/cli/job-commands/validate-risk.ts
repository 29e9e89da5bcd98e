import type { RiskValidationJobStatus } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { formatDecimal, formatPercent, alignRight, formatTable, formatWhole } from '../terminal.js';
import { JOB_FLAGS, readJobQuery } from './fields.js';

type Validation = NonNullable<RiskValidationJobStatus['result']>;

export const validateRisk: JobCommand<Validation> = {
  summary: 'Validate the forecasts of a risk model over history.',
  words: [{ name: 'MODEL', help: 'Id of a stored risk model.' }],
  notes: `Each day the model is estimated on the preceding returns, and its forecasts are compared with the outcomes.
  bias      standard deviation of outcomes divided by forecasts: above 1, risk was underestimated
  in band   share of the portfolios whose bias is consistent with a correct forecast; 95% if all are correct
  qlike     loss of the forecasts; lower is better`,
  flags: {
    ...JOB_FLAGS,
    start: { type: 'string', value: 'DATE', help: 'First forecast date.' },
    end: { type: 'string', value: 'DATE', help: 'Last outcome date.' },
    sessions: { type: 'number', value: 'N', help: 'Returns in the window of each forecast. Default: 252.' },
    horizon: { type: 'number', value: 'N', help: 'Sessions of each outcome. Default: 21.' },
    index: { type: 'string', value: 'ID', help: 'Index whose weights are tested as a portfolio.' },
    random: { type: 'number', value: 'N', help: 'Random portfolios. Default: 50.' },
    eigenportfolios: { type: 'number', value: 'N', help: 'Eigenvectors as portfolios. Default: 10.' },
    seed: { type: 'number', value: 'N', help: 'Seed of the random portfolios. Default: 1.' },
  },
  examples: ['divisor validate-risk core', 'divisor validate-risk core --sessions 126 --horizon 5 --csv'],
  submit: async (client, [model_id = ''], flags) => ({
    job: await client.call('validateRiskModel', {
      params: { model_id },
      query: readJobQuery(flags),
      body: {
        start: flags.text('start'),
        end: flags.text('end'),
        sessions: flags.number('sessions'),
        horizon: flags.number('horizon'),
        index_id: flags.text('index'),
        random: flags.number('random'),
        eigenportfolios: flags.number('eigenportfolios'),
        seed: flags.number('seed'),
      },
    }),
  }),
  show: ({ model_id, settings, sessions, horizon, start, end, forecasts, skipped, families }) =>
    `${model_id} (${settings.estimator}), ${formatWhole(forecasts)} forecasts of ${formatWhole(horizon)} sessions on ${formatWhole(sessions)} returns, ${start} to ${end}${skipped > 0 ? `, ${formatWhole(skipped)} days skipped` : ''}\n${formatTable(
      [
        ['family', alignRight('portfolios'), alignRight('bias'), alignRight('in band'), alignRight('qlike')],
        ...families.map(({ family, portfolios, bias, share_in_band, qlike }) => [
          family,
          alignRight(formatWhole(portfolios)),
          alignRight(formatDecimal(bias)),
          alignRight(formatPercent(share_in_band)),
          alignRight(formatDecimal(qlike)),
        ]),
      ],
    )}`,
  lines: ({ portfolios, ...rest }) => ({ event: 'portfolio', records: portfolios, rest }),
  csv: ({ portfolios }) => ({
    header: COLUMNS,
    rows: portfolios.map((portfolio) => COLUMNS.map((column) => portfolio[column])),
  }),
};

const COLUMNS = [
  'family',
  'number',
  'observations',
  'bias',
  'bias_low',
  'bias_high',
  'in_band',
  'q_statistic',
  'qlike',
  'forecast_volatility',
  'realised_volatility',
] as const;
