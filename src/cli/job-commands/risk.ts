import type { RiskEstimator, RiskModelJobStatus } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { table } from '../terminal.js';

type RiskModel = NonNullable<RiskModelJobStatus['result']>;
type Estimator = RiskEstimator['estimator'];

/** Each of the contract, or it does not compile: the module that declares them loads the kernels. */
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

export const risk: JobCommand<RiskModel> = {
  summary: 'Estimate a covariance risk model.',
  words: [{ name: 'MODEL', help: 'Id to store the model under.' }],
  flags: {
    index: {
      type: 'string',
      value: 'ID',
      help: "Take the names from this index's latest run. A stored model is estimated again over its own unless given.",
    },
    identifiers: { type: 'string', value: 'A,B,C', help: 'Or name them.' },
    start: { type: 'string', value: 'DATE', help: 'Start of the window.' },
    end: { type: 'string', value: 'DATE', help: 'End of the window.' },
    estimator: {
      type: 'string',
      value: ESTIMATORS.join('|'),
      help: 'How the covariance is estimated; shrinkage unless given.',
      choices: ESTIMATORS,
    },
    factors: { type: 'number', value: 'N', help: 'Principal components, read by statistical.' },
    'half-life': { type: 'number', value: 'SESSIONS', help: 'After which the weight of an observation halves.' },
    'eigenvalue-simulations': {
      type: 'number',
      value: 'N',
      help: 'Samples that eigenvalues are adjusted by, read by newey_west, industries and styles.',
    },
    'intensity-method': {
      type: 'string',
      value: 'shape|ledoit_wolf',
      help: 'How the weight on the target is found.',
      choices: ['shape', 'ledoit_wolf'],
    },
    intensity: {
      type: 'number',
      value: '0..1',
      help: 'Weight on the shrinkage target; from the shape of the panel otherwise.',
    },
    target: {
      type: 'string',
      value: 'constant_correlation|scaled_identity',
      help: 'What is shrunk to.',
      choices: ['constant_correlation', 'scaled_identity'],
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
      factors: flags.number('factors'),
      half_life: flags.number('half-life'),
      eigenvalue_simulations: flags.number('eigenvalue-simulations'),
      intensity_method: flags.text<'shape' | 'ledoit_wolf'>('intensity-method'),
      intensity: flags.number('intensity'),
      target: flags.text<'constant_correlation' | 'scaled_identity'>('target'),
      repair: flags.isSet('repair'),
    };
    return { job: await client.call('estimateRiskModel', { params: { model_id }, body }) };
  },
  show: ({ model_id, asset_ids, observed_start, observed_end, diagnostics }) =>
    `${model_id} over ${asset_ids.length} names (${namesText(asset_ids)}), returns of ${observed_start} to ${observed_end}\n${table(Object.entries(diagnostics).map(([name, value]) => [name, String(value)]))}`,
};

/** Names that are listed. */
const LISTED_MAX = 5;

const namesText = (names: readonly string[]) =>
  `${names.slice(0, LISTED_MAX).join(', ')}${names.length > LISTED_MAX ? ', ...' : ''}`;
