/** Least variance at an expected return, and its slope with respect to expected return. */
export interface Borne {
  readonly at: number;
  readonly variance: number;
  readonly slope: number;
}

export interface TangentInput {
  readonly low: Borne;
  readonly high: Borne;
  readonly riskFreeRate: number;
  /** Returns undefined if unknown: the search then ends. */
  readonly probe: (at: number) => Borne | undefined;
}

/** Possible relative gain of the Sharpe ratio that counts as none. */
const GAINED = 1e-12;

/** Maximum number of probes; three to eight are usual. */
const PROBES_MAX = 40;

/** Returns a positive value if the Sharpe ratio rises with expected return, a negative one if it falls. */
export function riseOf({ at, variance, slope }: Borne, riskFreeRate: number): number {
  return 2 * variance - (at - riskFreeRate) * slope;
}

/**
 * Finds the largest Sharpe ratio between two expected returns; the ratio rises at the lower and falls at the higher
 * one. Alternates between the zero of its condition on a line through the ends, which is exact while no constraint
 * joins or leaves, and the intersection of the tangents of the variance, which is exact at a kink.
 */
export function tangentBetween({ low, high, riskFreeRate, probe }: TangentInput): void {
  const rise = (place: Borne) => riseOf(place, riskFreeRate);
  const gain = (place: Borne) =>
    ((right.at - left.at) * Math.abs(rise(place))) / (2 * place.variance * (place.at - riskFreeRate));
  let [left, right] = [low, high];
  for (let k = 0; k < PROBES_MAX && Math.min(gain(left), gain(right)) > GAINED; k++) {
    const at = k % 2 === 0 ? zeroOf(left, rise(left), right, rise(right)) : meetingOf(left, right);
    if (!(at > left.at && at < right.at)) return;
    const result = probe(at);
    if (result === undefined) return;
    if (rise(result) > 0) left = result;
    else right = result;
  }
}

function zeroOf(left: Borne, above: number, right: Borne, below: number): number {
  return left.at + ((right.at - left.at) * above) / (above - below);
}

function meetingOf(left: Borne, right: Borne): number {
  const between = right.at - left.at;
  return left.at + (right.slope * between - (right.variance - left.variance)) / (right.slope - left.slope);
}
