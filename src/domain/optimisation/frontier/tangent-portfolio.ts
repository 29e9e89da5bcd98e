/** Least variance at an expected return, with its slope with respect to expected return. */
export interface VariancePoint {
  readonly at: number;
  readonly variance: number;
  readonly slope: number;
}

export interface TangentSearchInput {
  readonly low: VariancePoint;
  readonly high: VariancePoint;
  readonly riskFreeRate: number;
  /**
   * Returns the frontier point at an expected return. Returns undefined if the point is unknown; the search then ends.
   */
  readonly probe: (rate: number) => VariancePoint | undefined;
}

/** Relative gain of the Sharpe ratio below which the search ends. */
const GAIN_MIN = 1e-12;

/** Maximum number of evaluated frontier points; three to eight are usual. */
const PROBES_MAX = 40;

/** Returns a positive value if the Sharpe ratio rises with expected return, a negative value if it falls. */
export function computeSharpeSlope({ at, variance, slope }: VariancePoint, riskFreeRate: number): number {
  return 2 * variance - (at - riskFreeRate) * slope;
}

/**
 * Searches for the largest Sharpe ratio between two expected returns. The caller records the best point in `probe`. The
 * ratio must rise at the lower one and fall at the higher one. Alternates between two estimates. The first is the zero
 * of the slope on a line through the ends; it is exact while the active set is unchanged. The second is the
 * intersection of the tangents of the variance; it is exact at a kink.
 */
export function findTangentPortfolio({ low, high, riskFreeRate, probe }: TangentSearchInput): void {
  const computeRise = (place: VariancePoint) => computeSharpeSlope(place, riskFreeRate);
  const computeGain = (place: VariancePoint) =>
    ((right.at - leftVariancePoint.at) * Math.abs(computeRise(place))) /
    (2 * place.variance * (place.at - riskFreeRate));
  let [leftVariancePoint, right] = [low, high];
  for (let k = 0; k < PROBES_MAX && Math.min(computeGain(leftVariancePoint), computeGain(right)) > GAIN_MIN; k++) {
    const position =
      k % 2 === 0
        ? interpolateZero(leftVariancePoint, computeRise(leftVariancePoint), right, computeRise(right))
        : intersectTangents(leftVariancePoint, right);
    if (!(position > leftVariancePoint.at && position < right.at)) return;
    const result = probe(position);
    if (result === undefined) return;
    if (computeRise(result) > 0) leftVariancePoint = result;
    else right = result;
  }
}

function interpolateZero(leftVariancePoint: VariancePoint, above: number, right: VariancePoint, below: number): number {
  return leftVariancePoint.at + ((right.at - leftVariancePoint.at) * above) / (above - below);
}

function intersectTangents(leftVariancePoint: VariancePoint, right: VariancePoint): number {
  const distance = right.at - leftVariancePoint.at;
  return (
    leftVariancePoint.at +
    (right.slope * distance - (right.variance - leftVariancePoint.variance)) / (right.slope - leftVariancePoint.slope)
  );
}
