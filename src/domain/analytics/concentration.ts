export interface ConcentrationPayload {
  readonly constituents: number;
  readonly effective_assets: number;
  readonly herfindahl: number;
  readonly largest: number;
  readonly top_weights: Readonly<Record<string, number>>;
  readonly gross_constituents: number;
  readonly gross_effective_assets: number;
  readonly gross_largest: number;
}

const TOP_COUNTS = [1, 5, 10, 20] as const;

/**
 * Computes the concentration of weights. Securities with a weight above 0 count as constituents. Gross figures count
 * every position by its absolute weight. Without positions every figure is 0.
 */
export function measureConcentration(weights: Iterable<number>): ConcentrationPayload {
  const holdings = Array.from(weights).filter((weight) => weight !== 0);
  const longWeights = holdings.filter((weight) => weight > 0).toSorted((a, b) => b - a);
  const bySize = holdings.map(Math.abs).toSorted((a, b) => b - a);
  const herfindahl = bySize.reduce((sum, weight) => sum + weight * weight, 0);
  const gross = bySize.reduce((sum, weight) => sum + weight, 0);
  return {
    constituents: longWeights.length,
    effective_assets: computeEffectiveAssets(herfindahl),
    herfindahl,
    largest: longWeights[0] ?? 0,
    top_weights: Object.fromEntries(
      TOP_COUNTS.map((count) => [String(count), longWeights.slice(0, count).reduce((sum, weight) => sum + weight, 0)]),
    ),
    gross_constituents: holdings.length,
    gross_effective_assets: computeGrossEffectiveAssets(gross, herfindahl),
    gross_largest: bySize[0] ?? 0,
  };
}

/** Returns the effective number of assets: 1 over the sum of squared weights. Returns 0 without a position. */
export function computeEffectiveAssets(squareSum: number): number {
  return squareSum > 0 ? 1 / squareSum : 0;
}

/**
 * Returns the number of equal positions with the same concentration, ignoring cash and borrowing. It is the squared
 * gross weight over the sum of squared weights: n for n equal positions, 0 without a position.
 */
export function computeGrossEffectiveAssets(gross: number, squareSum: number): number {
  return squareSum > 0 ? (gross * gross) / squareSum : 0;
}

/** Maximum rounding error of a sum of weights. */
const WEIGHT_NOISE = 1e-9;

/** Returns the weight of cash: 1 minus the sum of the weights, negative if money is borrowed. A rounding error is 0. */
export function computeCashWeight(weights: Iterable<number>): number {
  let cash = 1;
  for (const weight of weights) cash -= weight;
  return Math.abs(cash) < WEIGHT_NOISE ? 0 : cash;
}

export interface DriftFigures {
  readonly maximum: number;
  readonly total_absolute: number;
  readonly turnover: number;
}

/** Measures how far the held weights have drifted from the target weights, over all securities in either set. */
export function measureDrift(heldWeights: Float64Array, target: Float64Array): DriftFigures {
  let maximum = 0;
  let total = 0;
  for (let i = 0; i < heldWeights.length; i++) {
    const move = Math.abs(heldWeights[i]! - target[i]!);
    if (move > maximum) maximum = move;
    total += move;
  }
  return { maximum, total_absolute: total, turnover: total / 2 };
}

/** Long and short exposure of weights, as fractions of the value. */
export interface ExposurePayload {
  /** Sum of the long weights. */
  readonly long: number;
  /** Sum of the short weights, at most 0. */
  readonly short: number;
  /** Gross exposure: the sum of the weights' magnitudes. */
  readonly gross: number;
  /** Net exposure: the sum of the weights. */
  readonly net: number;
}

/** Returns the exposure of the weights times `scale`. Returns undefined if no position is short. */
export function computeShortExposure(weights: Iterable<number>, scale = 1): ExposurePayload | undefined {
  const exposure = measureExposure(weights, scale);
  return exposure.short < 0 ? exposure : undefined;
}

export function measureExposure(weights: Iterable<number>, scale = 1): ExposurePayload {
  let long = 0;
  let short = 0;
  for (const weight of weights) {
    if (weight > 0) long += scale * weight;
    else short += scale * weight;
  }
  return { long, short, gross: long - short, net: long + short };
}
