import type { PhaseSpec } from './date-rule-spec.js';

/** Largest difference of a sum of increments from 1. */
export const FRACTIONS_TOLERANCE = 1e-9;

/** Fraction of a rebalance that is done after each close of its phase: ascending, the last is 1. */
export function phaseFractions({ sessions, fractions }: PhaseSpec): readonly number[] {
  if (fractions === undefined) {
    const closes = sessions ?? 1;
    return Array.from({ length: closes }, (_, k) => (k + 1) / closes);
  }
  let done = 0;
  return fractions.map((fraction, k) => (k === fractions.length - 1 ? 1 : (done += fraction)));
}

/** Closes of a rebalance: 1 where it takes effect at once. */
export function closesOf(phase: PhaseSpec | undefined): number {
  return phase === undefined ? 1 : (phase.fractions?.length ?? phase.sessions ?? 1);
}
