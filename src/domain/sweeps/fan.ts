import { computeQuantile } from '../numbers/order-statistics.js';

/** Quantiles of the levels of variants that a fan shows at each date. */
export const FAN_SHARES = [0, 0.25, 0.5, 0.75, 1] as const;

/** Maximum number of dates of a fan: about one per eight pixels of a chart. */
export const FAN_DATES_MAX = 120;
/** Maximum number of variants in a fan. The levels of a thousand variants need 1 MB. */
export const FAN_VARIANTS_MAX = 1000;

/** Levels of one variant on the days of the fan. */
export interface VariantLevels {
  readonly variant: number;
  readonly curve: Float64Array;
}

/** Levels of the variants of a sweep over time, 100 on the first common date. */
export interface Fan {
  /** Days of the fan, [D], evenly spread, including the first and the last common day. */
  readonly days: Int32Array;
  /** Number of variants from which the quantiles are computed. */
  readonly variants: number;
  /** Quantiles, [D] each, in the order of `FAN_SHARES`. */
  readonly quantiles: readonly Float64Array[];
  /** Levels of the variant ranked first, [D]; null if it was not added. */
  readonly first: Float64Array | null;
  /** Levels of each variant, [D]; empty with more than `FAN_LINES_MAX` variants. */
  readonly levels: readonly VariantLevels[];
}

/** Maximum number of variants with their own levels. Each is one line of a chart. */
export const FAN_LINES_MAX = 8;

export interface FanCollector {
  /** Variants to add, evenly spread over all variants, including the one ranked first. */
  readonly wanted: ReadonlySet<number>;
  /** Adds the returns of a variant. @param returns returns between the common days */
  add(variant: number, returns: Float64Array): void;
  end(): Fan;
}

/** Creates an empty fan. @param days common days of all variants, ascending @param first variant ranked first */
export function createFan(variants: readonly number[], days: Int32Array, first: number): FanCollector {
  const positions = spreadEvenly(days.length, FAN_DATES_MAX);
  const wantedVariants = new Set([
    ...spreadEvenly(variants.length, FAN_VARIANTS_MAX).map((position) => variants[position]!),
    first,
  ]);
  const added: VariantLevels[] = [];
  return {
    wanted: wantedVariants,
    add(variant, returns) {
      added.push({ variant, curve: computeCurve(returns, positions) });
    },
    end: () => ({
      days: Int32Array.from(positions, (position) => days[position]!),
      variants: added.length,
      quantiles: computeQuantiles(
        added.map(({ curve }) => curve),
        positions.length,
      ),
      first: added.find(({ variant }) => variant === first)?.curve ?? null,
      levels: added.length > FAN_LINES_MAX ? [] : added,
    }),
  };
}

function computeQuantiles(curves: readonly Float64Array[], dateCount: number): Float64Array[] {
  const quantiles = FAN_SHARES.map(() => new Float64Array(dateCount));
  for (let d = 0; d < dateCount; d++) {
    const sortedValues = Float64Array.from(curves, (curve) => curve[d]!).sort();
    FAN_SHARES.forEach((share, k) => (quantiles[k]![d] = computeQuantile(sortedValues, share)));
  }
  return quantiles;
}

/** Returns the levels at some indices of the days, 100 at the first of these. */
function computeCurve(returns: Float64Array, places: readonly number[]): Float64Array {
  const curve = new Float64Array(places.length);
  let level = 100;
  let position = 0;
  places.forEach((place, d) => {
    for (; position < place; position++) level *= 1 + returns[position]!;
    curve[d] = level;
  });
  return curve;
}

/** Returns up to `most` indices below `length`, evenly spread, including the first and the last index. */
function spreadEvenly(length: number, most: number): number[] {
  if (length <= most) return Array.from({ length }, (_, k) => k);
  return Array.from({ length: most }, (_, k) => Math.round((k * (length - 1)) / (most - 1)));
}
