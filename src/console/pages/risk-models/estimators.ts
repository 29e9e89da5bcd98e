import type { RiskModelSummary } from '#clients/typescript/divisor.js';

type Source = RiskModelSummary['estimator'];

/** Labels of the estimators. */
export const ESTIMATORS: Readonly<Record<Source, string>> = {
  shrinkage: 'Shrinkage towards a target',
  nonlinear: 'Nonlinear shrinkage (Ledoit and Wolf)',
  gerber: 'Gerber statistic',
  denoised: 'Denoised correlations',
  newey_west: 'Newey and West',
  statistical: 'Statistical factors',
  industries: 'Market and industry factors',
  styles: 'Market, industry and style factors',
  imported: 'Imported',
};

/** Description of the method and purpose of each estimator. */
export const ESTIMATOR_HELP: Readonly<Record<Exclude<Source, 'imported'>, string>> = {
  shrinkage: 'A sample covariance moved towards a simple target. A good first choice.',
  nonlinear: 'Shrinks each eigenvalue separately. Suitable for many securities with few observations.',
  gerber: 'Counts joint moves beyond a threshold. Robust against outliers.',
  denoised: 'Replaces the eigenvalues that noise alone would produce by their mean.',
  newey_west: 'Recent observations count more, and returns of neighbouring days may be correlated.',
  statistical: 'Principal components as factors, with specific risk for each security.',
  industries: 'The market and sectors as factors, with specific risk for each security.',
  styles: 'The market, sectors, size, value, momentum, volatility, liquidity, quality and dividend as factors.',
};

/**
 * Settings by name, with the estimators that use them. Settings for securities and dates are left out, because all
 * estimators use them.
 */
const SETTINGS: Readonly<Record<string, readonly Source[]>> = {
  target: ['shrinkage'],
  intensity_method: ['shrinkage'],
  intensity: ['shrinkage'],
  factors: ['statistical'],
  threshold: ['gerber'],
  lags: ['newey_west'],
  half_life: ['shrinkage', 'newey_west', 'industries', 'styles'],
  eigenvalue_simulations: ['newey_west', 'industries', 'styles'],
};

/** Returns the settings that an estimator uses. */
export const listSettings = (estimator: Source): readonly string[] =>
  Object.entries(SETTINGS).flatMap(([name, users]) => (users.includes(estimator) ? name : []));

/**
 * Help texts of the settings. They name no estimators, because the form shows only the settings of the selected one.
 */
export const SETTING_HELP: Readonly<Record<string, string>> = {
  target: 'Simple covariance towards which the sample covariance is moved.',
  intensity_method: 'How far it is moved, if no intensity is given.',
  intensity: 'Weight of the target, from 0 to 1; 0 is the sample covariance. Empty: by the method.',
  factors: 'Number of principal components.',
  threshold: 'Size of a joint move, in standard deviations.',
  lags: 'Number of earlier days whose correlation is considered.',
  half_life: 'Sessions after which an observation counts half. Empty: all count the same.',
  eigenvalue_simulations: 'Samples that correct the bias of small eigenvalues; 200 suffice. Empty: no correction.',
};
