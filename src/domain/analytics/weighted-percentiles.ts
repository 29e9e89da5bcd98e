/** Percentiles of values by the weights that lie on them, for dates in a row. */
export interface WeightedPercentiles {
  /**
   * The least value at or below which a share of the weights lies, for each share; NaN where no weight has a value.
   * @param values  [n], NaN where missing
   * @param weights [n], by their magnitude
   * @param out     [shares]
   * @cost O(n) where the order of the values is that of the call before, O(n^2) where it is the reverse
   */
  into(out: Float64Array, values: Float64Array, weights: Float64Array): void;
}

/** What rounding may leave of a share: sums of equal weights reach it. */
const SLACK = 1e-12;

/**
 * Percentiles of one set of names. The order of a date is where the next one begins to sort: values move little from
 * one to the next. Equal values are ordered by their place, so that the order does not depend on the dates before.
 * @param size   n
 * @param shares ascending, from 0 to 1
 */
export function weightedPercentiles(size: number, shares: readonly number[]): WeightedPercentiles {
  const order = Int32Array.from({ length: size }, (_, place) => place);
  const keys = new Float64Array(size);
  const sorted = new Float64Array(size);
  return {
    into(out, values, weights) {
      let total = 0;
      for (let i = 0; i < size; i++) {
        const has = weights[i] !== 0 && values[i] === values[i];
        keys[i] = has ? values[i]! : Infinity;
        if (has) total += Math.abs(weights[i]!);
      }
      sortByKey(order, keys, sorted);
      out.fill(NaN);
      let share = 0;
      let below = 0;
      for (let k = 0; share < shares.length && sorted[k]! < Infinity; k++) {
        below += Math.abs(weights[order[k]!]!);
        while (share < shares.length && below >= shares[share]! * total * (1 - SLACK)) out[share++] = sorted[k]!;
      }
    },
  };
}

/** Insertion into an order that is nearly sorted; equal keys by their place. @param sorted the keys, in that order */
function sortByKey(order: Int32Array, keys: Float64Array, sorted: Float64Array): void {
  for (let k = 0; k < order.length; k++) {
    const place = order[k]!;
    const key = keys[place]!;
    let to = k;
    while (to > 0) {
      const before = sorted[to - 1]!;
      if (before < key || (before === key && order[to - 1]! < place)) break;
      sorted[to] = before;
      order[to] = order[to - 1]!;
      to--;
    }
    sorted[to] = key;
    order[to] = place;
  }
}
