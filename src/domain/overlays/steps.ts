import { Refusal } from '../refusal.js';
import type { OverlayContext, OverlayPath, PartName } from './overlay-type.js';

export const BASIS_POINT = 1e-4;

/** Days from the session before to each session over the days of a year, 0 on the first, [T]. */
export function yearFractions(days: Int32Array, basis: number): Float64Array {
  return Float64Array.from(days, (day, t) => (t === 0 ? 0 : (day - days[t - 1]!) / basis));
}

/**
 * Interest of each session at the rate known at the close before, 0 on the first, [T].
 * @param series null is a rate of 0
 */
export function accruals(context: OverlayContext, series: string | null, basis: number): Float64Array {
  const fractions = yearFractions(context.days, basis);
  if (series === null) return fractions.fill(0);
  const rate = context.rate(series);
  return fractions.map((fraction, t) => (t === 0 ? 0 : rate[t - 1]! * fraction));
}

/** An overlay on one index that holds all of it, whatever it grows by itself. */
export function heldWhole(
  { sources, dateOf }: OverlayContext,
  part: PartName,
  growthOf: (growth: number, t: number) => number,
): OverlayPath {
  const { growth: beneath } = sources[0]!;
  const growth = beneath.map((own, t) => (t === 0 ? 1 : positive(growthOf(own, t), dateOf, t)));
  return {
    growth,
    exposures: [new Float64Array(growth.length).fill(1)],
    exchange: null,
    parts: [{ part, contributions: growth.map((own, t) => own - beneath[t]!) }],
    resets: null,
  };
}

/** @throws Refusal NUMERIC_FAILURE where nothing is left */
export function positive(growth: number, dateOf: OverlayContext['dateOf'], t: number): number {
  if (growth > 0) return growth;
  throw new Refusal('NUMERIC_FAILURE', `The overlay is worth nothing on ${dateOf(t)}; it has no level from then on.`, {
    date: dateOf(t),
  });
}
