import { computeQuantile } from '../numbers/order-statistics.js';

/** Quantiles of the levels of variants at each date of a fan. */
export const FAN_SHARES = [0, 0.25, 0.5, 0.75, 1] as const;

/** Dates of a fan: about one for each eight pixels of a chart. */
export const FAN_DATES_MAX = 120;
/** Maximum number of variants behind a fan. The levels of a thousand take 1 MB. */
export const FAN_VARIANTS_MAX = 1000;

/** Levels of the variants of a sweep through time, 100 at the first common date. */
export interface Fan {
  /** Days of the fan, [D], evenly spread, the first and the last common day among them. */
  readonly days: Int32Array;
  /** Number of variants behind the quantiles. */
  readonly variants: number;
  /** Quantiles in the order of `FAN_SHARES`, [D] each. */
  readonly quantiles: readonly Float64Array[];
  /** The variant ranked first, [D]; null if it was not added. */
  readonly first: Float64Array | null;
}

export interface FanCollector {
  /** Variants in the fan, evenly spread over all, including the one ranked first. */
  readonly wanted: ReadonlySet<number>;
  /** @param returns returns between the common days */
  add(variant: number, returns: Float64Array): void;
  end(): Fan;
}

/** @param days common days of all variants, ascending @param first variant ranked first */
export function createFan(variants: readonly number[], days: Int32Array, first: number): FanCollector {
  const places = spread(days.length, FAN_DATES_MAX);
  const wanted = new Set([...spread(variants.length, FAN_VARIANTS_MAX).map((at) => variants[at]!), first]);
  const curves: Float64Array[] = [];
  let best: Float64Array | null = null;
  return {
    wanted,
    add(variant, returns) {
      const curve = curveAt(returns, places);
      curves.push(curve);
      if (variant === first) best = curve;
    },
    end: () => ({
      days: Int32Array.from(places, (at) => days[at]!),
      variants: curves.length,
      quantiles: quantilesOf(curves, places.length),
      first: best,
    }),
  };
}

function quantilesOf(curves: readonly Float64Array[], dates: number): Float64Array[] {
  const quantiles = FAN_SHARES.map(() => new Float64Array(dates));
  for (let d = 0; d < dates; d++) {
    const sorted = Float64Array.from(curves, (curve) => curve[d]!).sort();
    FAN_SHARES.forEach((share, k) => (quantiles[k]![d] = computeQuantile(sorted, share)));
  }
  return quantiles;
}

/** Levels at some places of the days, 100 at the first of them. */
function curveAt(returns: Float64Array, places: readonly number[]): Float64Array {
  const curve = new Float64Array(places.length);
  let level = 100;
  let at = 0;
  places.forEach((place, d) => {
    for (; at < place; at++) level *= 1 + returns[at]!;
    curve[d] = level;
  });
  return curve;
}

/** Places of up to a number of things, evenly spread, the first and the last among them. */
function spread(length: number, most: number): number[] {
  if (length <= most) return Array.from({ length }, (_, k) => k);
  return Array.from({ length: most }, (_, k) => Math.round((k * (length - 1)) / (most - 1)));
}
