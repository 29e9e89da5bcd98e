import type { SweepView } from '#clients/typescript/divisor.js';

type RankedSweep = Pick<SweepView, 'overfitting' | 'selection'>;

/**
 * Returns the probability that a random choice among the different variants is at or below the median: one half, and
 * more for an odd number, whose middle variant is the median. For example, it is two thirds of three variants.
 */
export function computeChanceLevel({ selection }: Pick<SweepView, 'selection'>): number {
  const trials = selection?.trials ?? 0;
  return trials > 0 ? Math.ceil(trials / 2) / trials : 0.5;
}

/** Returns true if the selection of the first variant is no better than a random selection. */
export const isOverfit = (view: RankedSweep): boolean =>
  (view.overfitting?.probability ?? 0) > computeChanceLevel(view);

/** Returns true if the selection of the first variant is at most one standard deviation better than a random one. */
export function isNearChance(view: RankedSweep): boolean {
  const { overfitting } = view;
  if (overfitting === null || isOverfit(view)) return false;
  const chanceLevel = computeChanceLevel(view);
  const deviation = Math.sqrt((chanceLevel * (1 - chanceLevel)) / overfitting.combinations);
  return overfitting.probability > chanceLevel - deviation;
}
