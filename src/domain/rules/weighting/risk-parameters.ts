import { z } from 'zod';
import { SHRINKAGE_TARGETS, type ShrinkageTarget } from '#kernels/moments/shrinkage-target.js';
import * as parameters from '../parameters.js';

/** Parameters of weightings that estimate a covariance. */
export const riskParameters = {
  window: parameters
    .defineWindow(252)
    .meta({ label: 'Window', help: 'Number of trailing returns of the covariance.', unit: 'sessions' }),
  target: z
    .enum(SHRINKAGE_TARGETS)
    .default('constant_correlation')
    .meta({ label: 'Target', help: 'Target towards which the sample covariance is shrunk.' }),
  intensity: z.number().min(0).max(1).nullable().default(null).meta({
    label: 'Intensity',
    help: 'Weight of the target. Default: securities / (securities + observations).',
    unit: 'fraction',
  }),
};

export interface RiskParameters {
  readonly window: number;
  readonly target: ShrinkageTarget;
  readonly intensity: number | null;
}

export function describeRiskEstimate({ window, target, intensity }: RiskParameters): string {
  const weightText = intensity === null ? 'securities / (securities + observations)' : String(intensity);
  return `a covariance of ${window} returns shrunk towards ${target === 'scaled_identity' ? 'a scaled identity' : 'constant correlation'} (${target}) with intensity ${weightText}`;
}
