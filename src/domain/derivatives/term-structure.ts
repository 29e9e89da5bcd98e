import { annualisedRoll, dividendsUntil, priceForward, type Forward, type PointDividend } from './forward.js';
import type { Rates } from './terms.js';

export interface TermPoint {
  readonly forward: Forward;
  /** Annualised roll from the point before; null for the first. */
  readonly rollFromPrevious: number | null;
}

export type TermShape = 'contango' | 'backwardation' | 'flat' | 'mixed';

export interface TermStructure {
  readonly points: readonly TermPoint[];
  readonly shape: TermShape;
}

/** Prices closer than this, relative to the spot, count as equal. */
const FLAT = 1e-12;

/** Fair values of one index over several expiries. @param days ascending and distinct, all positive. */
export function termStructure({
  spot,
  days,
  rates,
  dividends = [],
}: {
  readonly spot: number;
  readonly days: readonly number[];
  readonly rates: Rates;
  /** Discrete dividends up to the last expiry; each forward has those up to its own. */
  readonly dividends?: readonly PointDividend[];
}): TermStructure {
  const forwards = days.map((day) =>
    priceForward({ spot, days: day, rates, dividends: dividendsUntil(dividends, day) }),
  );
  const points = forwards.map((forward, i) => ({
    forward,
    rollFromPrevious: i === 0 ? null : annualisedRoll(forwards[i - 1]!, forward),
  }));
  return { points, shape: shapeOf([spot, ...forwards.map((forward) => forward.fairValue)]) };
}

function shapeOf(prices: readonly number[]): TermShape {
  const spot = prices[0]!;
  const steps = prices.slice(1).map((price, i) => price - prices[i]!);
  if (steps.every((step) => Math.abs(step) <= FLAT * spot)) return 'flat';
  if (steps.every((step) => step > 0)) return 'contango';
  return steps.every((step) => step < 0) ? 'backwardation' : 'mixed';
}
