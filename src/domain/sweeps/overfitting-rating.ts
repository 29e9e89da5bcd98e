import type { Overfitting } from './overfitting.js';

/** Comparison of a choice with a random one, from the best to the worst. */
export const OVERFITTING_RATINGS = ['better_than_chance', 'near_chance', 'overfit'] as const;
export type OverfittingRating = (typeof OVERFITTING_RATINGS)[number];

/**
 * Compares a choice with a random one. It is overfit above the chance level, and near chance at most one standard
 * deviation below it.
 */
export function rateOverfitting({
  probability,
  chanceLevel,
  combinations,
}: Pick<Overfitting, 'probability' | 'chanceLevel' | 'combinations'>): OverfittingRating {
  if (probability > chanceLevel) return 'overfit';
  const deviation = Math.sqrt((chanceLevel * (1 - chanceLevel)) / combinations);
  return probability > chanceLevel - deviation ? 'near_chance' : 'better_than_chance';
}
