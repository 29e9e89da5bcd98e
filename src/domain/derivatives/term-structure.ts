import {
  computeAnnualisedRoll,
  selectDividendsUntil,
  priceForward,
  type Forward,
  type PointDividend,
} from './forward.js';
import type { Rates } from './terms.js';

export interface TermPoint {
  readonly forward: Forward;
  /** Annualised roll from the previous point; null for the first point. */
  readonly rollFromPrevious: number | null;
}

export type TermShape = 'contango' | 'backwardation' | 'flat' | 'mixed';

export interface TermStructure {
  readonly points: readonly TermPoint[];
  readonly shape: TermShape;
}

/** Difference relative to the spot price below which prices count as equal. */
const FLAT_TOLERANCE = 1e-12;

/**
 * Computes the fair values of one index for several expiries.
 * @param days ascending and distinct, all positive.
 */
export function computeTermStructure({
  spot,
  days,
  rates,
  dividends = [],
}: {
  readonly spot: number;
  readonly days: readonly number[];
  readonly rates: Rates;
  /** Discrete dividends up to the last expiry. Each forward uses those with an ex-date up to its own expiry. */
  readonly dividends?: readonly PointDividend[];
}): TermStructure {
  const forwards = days.map((day) =>
    priceForward({ spot, days: day, rates, dividends: selectDividendsUntil(dividends, day) }),
  );
  const points = forwards.map((forward, i) => ({
    forward,
    rollFromPrevious: i === 0 ? null : computeAnnualisedRoll(forwards[i - 1]!, forward),
  }));
  return { points, shape: findShape([spot, ...forwards.map((forward) => forward.fairValue)]) };
}

function findShape(prices: readonly number[]): TermShape {
  const spot = prices[0]!;
  const steps = prices.slice(1).map((price, i) => price - prices[i]!);
  if (steps.every((step) => Math.abs(step) <= FLAT_TOLERANCE * spot)) return 'flat';
  if (steps.every((step) => step > 0)) return 'contango';
  return steps.every((step) => step < 0) ? 'backwardation' : 'mixed';
}
