import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import type {
  DivisorClient,
  RiskEstimator,
  RiskModelImportInput,
  RiskModelImportResult,
} from '#clients/typescript/divisor.js';
import {
  describeSetting,
  ESTIMATOR_SETTINGS,
  type EstimatorSetting,
  type EstimatorSettingName,
  MODEL_FILES,
} from '#domain/risk/model-terms.js';
import { alignRight, formatTwoDecimals, formatPercentCell, formatTable, formatWhole } from '../terminal.js';
import { UsageError } from '../usage.js';
import { type Flag, type FlagValues, readJsonFile } from './command-line.js';
import { createOperationCommand, JOB_FLAGS, type JobCommand } from './job-command.js';

const UNITS = ['annual', 'daily'] as const;
type Units = (typeof UNITS)[number];

const MEDIA: Readonly<Record<string, keyof typeof MODEL_FILES>> = {
  '.csv': 'text/csv',
  '.arrow': 'application/vnd.apache.arrow.stream',
};

const importRisk: JobCommand<RiskModelImportResult> = {
  summary: 'Store an imported risk model.',
  words: [
    { name: 'MODEL', help: 'Id under which the model is stored.' },
    { name: 'FILE', help: 'A .json, .csv or .arrow file, for example an exported model.' },
  ],
  notes:
    'A .csv or .arrow file has the columns date, table, row, column and value, or date, identifier and one column for each security.',
  flags: {
    units: { value: UNITS.join('|'), help: 'Period of the variances of a .csv or .arrow file.', choices: UNITS },
    annualisation: { type: 'number', value: 'N', help: 'Sessions per year, for daily units. Default: 252.' },
    date: { value: 'DATE', help: 'Date of a file without a column date.' },
    repair: { type: 'boolean', help: 'Repair matrices that are not symmetric or not positive semi-definite.' },
  },
  examples: [
    'divisor import-risk vendor model.json',
    'divisor import-risk vendor covariances.csv --units daily --date 2024-01-31',
  ],
  submit: async (client, [model_id = '', word = ''], flags) => ({
    result: await sendModel(client, { model_id, word }, flags),
  }),
  notices: ({ findings }) => findings.map(({ message }) => message),
  show: ({ model_id, assets, factors, imported: { dates }, findings }) =>
    [
      `${model_id} over ${assets} securities${factors.length === 0 ? '' : ` and ${factors.length} factors`}`,
      formatTable(
        dates.map(({ date, assets: securities, repaired }) => [
          date,
          `${securities} securities`,
          repaired ? 'repaired' : '',
        ]),
      ),
      ...findings.map(({ message }) => message),
    ].join('\n'),
};

interface CommandWords {
  readonly model_id: string;
  readonly word: string;
}

async function sendModel(
  client: DivisorClient,
  { model_id, word }: CommandWords,
  flags: FlagValues,
): Promise<RiskModelImportResult> {
  const path = resolve(word);
  const extension = extname(path).toLowerCase();
  const params = { model_id };
  const terms = {
    units: flags.text<Units>('units'),
    annualisation: flags.number('annualisation'),
    repair: flags.isSet('repair'),
  };
  const date = flags.text('date');
  if (extension === '.json') {
    if (date !== undefined)
      throw new UsageError('--date applies to a .csv or .arrow file; JSON contains the date of each model');
    const body = {
      ...(await readJsonFile<RiskModelImportInput>(path)),
      ...removeUndefined(terms),
    } as RiskModelImportInput; // The service validates it.
    return client.call('importRiskModel', { params, body });
  }
  const media = MEDIA[extension];
  if (media === undefined) throw new UsageError(`${path} must be a .json, .csv or .arrow file`);
  if (terms.units === undefined) throw new UsageError('a .csv or .arrow file needs --units annual or daily');
  const bytes = new Uint8Array(
    await readFile(path).catch(() => Promise.reject(new UsageError(`there is no file ${path}`))),
  );
  return client.upload('importRiskModel', media, bytes, { params, query: { ...removeUndefined(terms), date } });
}

function removeUndefined<T extends object>(terms: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(terms).filter(([, value]) => value !== undefined && value !== false),
  ) as Partial<T>;
}

type Estimator = RiskEstimator['estimator'];

/**
 * Names of the estimators. They are listed here because the module that declares them loads the kernels. If an
 * estimator of the contract is missing, the code does not compile.
 */
const ESTIMATORS = Object.keys({
  shrinkage: true,
  nonlinear: true,
  gerber: true,
  denoised: true,
  newey_west: true,
  statistical: true,
  industries: true,
  styles: true,
} satisfies Readonly<Record<Estimator, true>>);

const RETURN_VARIANTS = ['total', 'price'] as const;

/** All settings of estimators, as the service declares them. */
const SETTINGS = Object.entries(ESTIMATOR_SETTINGS) as [EstimatorSettingName, EstimatorSetting][]; // the entries have the keys of ESTIMATOR_SETTINGS

const formatFlag = (name: EstimatorSettingName): string => name.replaceAll('_', '-');

const getValues = ({ choices }: EstimatorSetting): Pick<Flag, 'type' | 'value' | 'choices'> =>
  choices === undefined ? { type: 'number', value: 'N' } : { value: choices.join('|'), choices };

const risk = createOperationCommand({
  operation: 'estimateRiskModel',
  summary: 'Estimate a covariance risk model.',
  words: [{ name: 'MODEL', help: 'Id under which the model is stored.' }],
  flags: {
    ...JOB_FLAGS,
    index: {
      value: 'ID',
      member: 'index_id',
      help: 'Index whose latest run provides the securities. Default: the securities of the stored model.',
    },
    identifiers: { value: 'A,B,C', isList: true, help: 'Securities of the model, instead of --index.' },
    start: { value: 'DATE', help: 'Start of the window.' },
    end: { value: 'DATE', help: 'End of the window.' },
    estimator: {
      value: ESTIMATORS.join('|'),
      help: 'Estimator of the covariance. Default: shrinkage.',
      choices: ESTIMATORS,
    },
    ...Object.fromEntries(
      SETTINGS.map(([name, setting]): [string, Flag] => [
        formatFlag(name),
        { ...getValues(setting), help: describeSetting(name) },
      ]),
    ),
    returns: {
      value: RETURN_VARIANTS.join('|'),
      help: 'Total returns include dividends; price returns do not.',
      choices: RETURN_VARIANTS,
    },
    repair: { type: 'boolean', help: 'Clip negative eigenvalues.' },
  },
  examples: [
    'divisor risk core --index CORE-100',
    'divisor risk pair --identifiers AAPL,MSFT --intensity 0',
    'divisor risk styles --index CORE-100 --estimator styles --half-life 126',
  ],
  show: ({ model_id, asset_ids, observed_start, observed_end, diagnostics }) =>
    `${model_id} over ${asset_ids.length} securities (${formatNames(asset_ids)}), returns of ${observed_start} to ${observed_end}\n${formatTable(Object.entries(diagnostics).map(([name, value]) => [name, String(value)]))}`,
});

/** Maximum number of securities to list. */
const LISTED_NAMES_MAX = 5;

const formatNames = (names: readonly string[]) =>
  `${names.slice(0, LISTED_NAMES_MAX).join(', ')}${names.length > LISTED_NAMES_MAX ? ', ...' : ''}`;

const validateRisk = createOperationCommand({
  operation: 'validateRiskModel',
  summary: 'Validate the forecasts of a risk model over history.',
  words: [{ name: 'MODEL', help: 'Id of a stored risk model.' }],
  notes: `Each day the model is estimated on the preceding returns, and its forecasts are compared with the outcomes.
  bias      standard deviation of outcomes divided by forecasts: above 1, risk was underestimated
  in band   share of the portfolios whose bias is consistent with a correct forecast; 95% if all are correct
  qlike     loss of the forecasts; lower is better`,
  flags: {
    ...JOB_FLAGS,
    start: { value: 'DATE', help: 'First forecast date.' },
    end: { value: 'DATE', help: 'Last outcome date.' },
    sessions: { type: 'number', value: 'N', help: 'Returns in the window of each forecast. Default: 252.' },
    horizon: { type: 'number', value: 'N', help: 'Sessions of each outcome. Default: 21.' },
    index: { value: 'ID', member: 'index_id', help: 'Index whose weights are tested as a portfolio.' },
    random: { type: 'number', value: 'N', help: 'Random portfolios. Default: 50.' },
    eigenportfolios: { type: 'number', value: 'N', help: 'Eigenvectors as portfolios. Default: 10.' },
    seed: { type: 'number', value: 'N', help: 'Seed of the random portfolios. Default: 1.' },
  },
  examples: ['divisor validate-risk core', 'divisor validate-risk core --sessions 126 --horizon 5 --csv'],
  show: ({ model_id, settings, sessions, horizon, start, end, forecasts, skipped, families }) =>
    `${model_id} (${settings.estimator}), ${formatWhole(forecasts)} forecasts of ${formatWhole(horizon)} sessions on ${formatWhole(sessions)} returns, ${start} to ${end}${skipped > 0 ? `, ${formatWhole(skipped)} days skipped` : ''}\n${formatTable(
      [
        ['family', alignRight('portfolios'), alignRight('bias'), alignRight('in band'), alignRight('qlike')],
        ...families.map(({ family, portfolios, bias, share_in_band, qlike }) => [
          family,
          alignRight(formatWhole(portfolios)),
          alignRight(formatTwoDecimals(bias)),
          alignRight(formatPercentCell(share_in_band)),
          alignRight(formatTwoDecimals(qlike)),
        ]),
      ],
    )}`,
  lines: ({ portfolios, ...rest }) => ({ event: 'portfolio', records: portfolios, rest }),
  csv: ({ portfolios }) => ({
    header: COLUMNS,
    rows: portfolios.map((portfolio) => COLUMNS.map((column) => portfolio[column])),
  }),
});

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

export const RISK_COMMANDS = {
  risk,
  'import-risk': importRisk,
  'validate-risk': validateRisk,
};
