import type { PhaseSpec } from './date-rule-spec.js';

/** Tolerance of the sum of fractions. */
export const FRACTIONS_TOLERANCE = 1e-9;

/** Returns the completed fraction of a rebalance after each of its closes. The fractions ascend, and the last is 1. */
export function computePhaseFractions({ sessions, fractions }: PhaseSpec): readonly number[] {
  if (fractions === undefined) {
    const closes = sessions ?? 1;
    return Array.from({ length: closes }, (_, k) => (k + 1) / closes);
  }
  let completedFraction = 0;
  return fractions.map((fraction, k) => (k === fractions.length - 1 ? 1 : (completedFraction += fraction)));
}

/** Returns the number of closes over which a rebalance is spread. Returns 1 if it takes effect at one close. */
export function countPhaseCloses(phase: PhaseSpec | undefined): number {
  return phase === undefined ? 1 : (phase.fractions?.length ?? phase.sessions ?? 1);
}
