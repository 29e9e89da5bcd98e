/** Weights and contributions of K groups of holdings over one period. */
export interface GroupedPeriod {
  /** Weights at the start, [K]; cash is a separate group. Valid until the next call. */
  readonly weights: Float64Array;
  /** Contribution of each group to the return, [K]. */
  readonly contributions: Float64Array;
}

/**
 * Smallest net weight of a group that is not a rounding difference. Below it the group's long and short positions
 * cancel: the group has contributions but no return.
 */
const WEIGHT_MIN = 1e-9;

/** Returns the return of group k over a period, its contribution divided by its weight; null without a weight. */
export function computeGroupReturn({ weights, contributions }: GroupedPeriod, k: number): number | null {
  const weight = weights[k]!;
  return Math.abs(weight) > WEIGHT_MIN ? contributions[k]! / weight : null;
}

/** Accumulator that compounds the returns of K groups over consecutive periods. */
export interface GroupReturns {
  add(period: GroupedPeriod): void;
  /**
   * Returns the return of group k over the periods in which it had a weight; null if there are none, or if the group
   * lost more than its weight in a period, after which nothing can be compounded.
   */
  get(k: number): number | null;
}

/** Creates the accumulator of K groups. */
export function createGroupReturns(groups: number): GroupReturns {
  const growth = new Float64Array(groups).fill(1);
  const hasWeight = new Uint8Array(groups);
  return {
    add(period) {
      for (let k = 0; k < groups; k++) {
        const value = computeGroupReturn(period, k);
        if (value === null) continue;
        hasWeight[k] = 1;
        growth[k]! *= value < -1 ? Number.NaN : 1 + value;
      }
    },
    get: (k) => (hasWeight[k] === 1 && Number.isFinite(growth[k]) ? growth[k]! - 1 : null),
  };
}
