import type { RiskEstimator, RiskModelJobStatus } from '#clients/typescript/divisor.js';
import {
  ESTIMATOR_SETTINGS,
  describeSetting,
  type EstimatorSetting,
  type EstimatorSettingName,
} from '#domain/risk/estimator-settings.js';
import type { Flag, FlagValues } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { formatTable } from '../terminal.js';
import { JOB_FLAGS, readJobQuery } from './fields.js';

type RiskModel = NonNullable<RiskModelJobStatus['result']>;
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
  choices === undefined ? { type: 'number', value: 'N' } : { type: 'string', value: choices.join('|'), choices };

const parseSettings = (flags: FlagValues): Partial<RiskEstimator> =>
  Object.fromEntries(
    SETTINGS.map(([name, { choices }]) => [
      name,
      choices === undefined ? flags.number(formatFlag(name)) : flags.text(formatFlag(name)),
    ]),
  );

export const risk: JobCommand<RiskModel> = {
  summary: 'Estimate a covariance risk model.',
  words: [{ name: 'MODEL', help: 'Id under which the model is stored.' }],
  flags: {
    ...JOB_FLAGS,
    index: {
      type: 'string',
      value: 'ID',
      help: 'Index whose latest run provides the securities. Default: the securities of the stored model.',
    },
    identifiers: { type: 'string', value: 'A,B,C', help: 'Securities of the model, instead of --index.' },
    start: { type: 'string', value: 'DATE', help: 'Start of the window.' },
    end: { type: 'string', value: 'DATE', help: 'End of the window.' },
    estimator: {
      type: 'string',
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
      type: 'string',
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
  async submit(client, [model_id = ''], flags) {
    const body = {
      index_id: flags.text('index'),
      identifiers: flags.text('identifiers')?.split(','),
      start: flags.text('start'),
      end: flags.text('end'),
      estimator: flags.text<Estimator>('estimator'),
      ...parseSettings(flags),
      returns: flags.text<(typeof RETURN_VARIANTS)[number]>('returns'),
      repair: flags.isSet('repair'),
    };
    return { job: await client.call('estimateRiskModel', { params: { model_id }, query: readJobQuery(flags), body }) };
  },
  show: ({ model_id, asset_ids, observed_start, observed_end, diagnostics }) =>
    `${model_id} over ${asset_ids.length} securities (${formatNames(asset_ids)}), returns of ${observed_start} to ${observed_end}\n${formatTable(Object.entries(diagnostics).map(([name, value]) => [name, String(value)]))}`,
};

/** Maximum number of securities to list. */
const LISTED_NAMES_MAX = 5;

const formatNames = (names: readonly string[]) =>
  `${names.slice(0, LISTED_NAMES_MAX).join(', ')}${names.length > LISTED_NAMES_MAX ? ', ...' : ''}`;
