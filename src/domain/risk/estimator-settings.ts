/** Settings that only some estimators of a risk model read, by their names on the wire. */
export const ESTIMATOR_SETTINGS = {
  factors: { readers: ['statistical'], help: 'Principal components; 10 unless given.' },
  eigenvalue_simulations: {
    readers: ['newey_west', 'industries', 'styles'],
    help: 'Samples drawn to adjust eigenvalues for their bias, as USE4 does: of the factor covariance by industries and styles, of the covariance by newey_west. Not adjusted unless given; 200 are enough.',
  },
  threshold: { readers: ['gerber'], help: 'Size of a joint move in standard deviations; 0.5 unless given.' },
  lags: { readers: ['newey_west'], help: 'Autocovariances that count; 5 unless given.' },
  target: {
    readers: ['shrinkage'],
    help: 'What the sample covariance is shrunk towards.',
    choices: ['constant_correlation', 'scaled_identity'],
  },
  intensity: {
    readers: ['shrinkage'],
    help: 'Weight on the target; 0 gives the sample covariance, null lets intensity_method decide.',
  },
  intensity_method: {
    readers: ['shrinkage'],
    help: 'shape: names / (names + observations). ledoit_wolf: the analytic intensity of the data. Ignored when intensity is given.',
    choices: ['shape', 'ledoit_wolf'],
  },
  half_life: {
    readers: ['shrinkage', 'newey_west', 'industries', 'styles'],
    help: 'Sessions after which the weight of an observation halves; equal weights by default.',
  },
} as const satisfies Readonly<Record<string, EstimatorSetting>>;

export interface EstimatorSetting {
  /** Estimators, by their names on the wire. */
  readonly readers: readonly string[];
  readonly help: string;
  /** The only values it may have; a number without them. */
  readonly choices?: readonly [string, ...string[]];
}

export type EstimatorSettingName = keyof typeof ESTIMATOR_SETTINGS;

/** What a setting is, and who reads it. */
export function settingHelp(name: EstimatorSettingName): string {
  const { help, readers } = ESTIMATOR_SETTINGS[name];
  const last = readers.at(-1)!;
  return `${help} Read by ${readers.length === 1 ? last : `${readers.slice(0, -1).join(', ')} and ${last}`}.`;
}
