import type { SweepView } from '#clients/typescript/divisor.js';

/** Probability of overfitting above which a selection is no better than a random one. */
const CHANCE_LEVEL = 0.5;

type RankedSweep = Pick<SweepView, 'overfitting'>;

/** Returns true if the selection of the first variant is no better than a random selection. */
export const isOverfit = ({ overfitting }: RankedSweep): boolean => (overfitting?.probability ?? 0) > CHANCE_LEVEL;

/**
 * Returns true if the selection of the first variant is at most one standard deviation better than a random one. A
 * random selection is in the lower half in half of the splits.
 */
export function isNearChance(view: RankedSweep): boolean {
  const { overfitting } = view;
  if (overfitting === null || isOverfit(view)) return false;
  const deviation = Math.sqrt((CHANCE_LEVEL * (1 - CHANCE_LEVEL)) / overfitting.combinations);
  return overfitting.probability > CHANCE_LEVEL - deviation;
}
