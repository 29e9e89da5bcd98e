/** Settings that apply only to some risk-model estimators, by their API names. */
export const ESTIMATOR_SETTINGS = {
  factors: { readers: ['statistical'], help: 'Number of principal components. Default: 10.' },
  eigenvalue_simulations: {
    readers: ['newey_west', 'industries', 'styles'],
    help: 'Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment.',
  },
  threshold: { readers: ['gerber'], help: 'Size of a joint move in standard deviations. Default: 0.5.' },
  lags: { readers: ['newey_west'], help: 'Number of autocovariances. Default: 5.' },
  target: {
    readers: ['shrinkage'],
    help: 'Target of the shrinkage.',
    choices: ['constant_correlation', 'scaled_identity'],
  },
  intensity: {
    readers: ['shrinkage'],
    help: 'Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method.',
  },
  intensity_method: {
    readers: ['shrinkage'],
    help: 'Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data.',
    choices: ['shape', 'ledoit_wolf'],
  },
  half_life: {
    readers: ['shrinkage', 'newey_west', 'industries', 'styles'],
    help: 'Sessions after which the weight of an observation halves. Default: equal weights.',
  },
} as const satisfies Readonly<Record<string, EstimatorSetting>>;

export interface EstimatorSetting {
  /** API names of the estimators that use the setting. */
  readonly readers: readonly string[];
  readonly help: string;
  /** Accepted values; absent for a numeric setting. */
  readonly choices?: readonly [string, ...string[]];
}

export type EstimatorSettingName = keyof typeof ESTIMATOR_SETTINGS;

/** Describes a setting and the estimators that use it. */
export function describeSetting(name: EstimatorSettingName): string {
  const { help, readers } = ESTIMATOR_SETTINGS[name];
  const last = readers.at(-1)!;
  return `${help} Read by ${readers.length === 1 ? last : `${readers.slice(0, -1).join(', ')} and ${last}`}.`;
}
