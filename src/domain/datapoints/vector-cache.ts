import { pickValues } from './pick-values.js';
import { listPositions, rankPositions, selectPositionsWithValue } from './ranking.js';

export interface Ordering {
  readonly ascending: boolean;
  /** True to place positions without a value last; false to omit them. */
  readonly withMissing: boolean;
}

/** Cache of the vectors of one cross-section, and of the orders of their values. */
export interface VectorCache {
  /**
   * Returns a vector, computed once. The selection of securities only shrinks, so a vector that was computed for an
   * earlier selection contains all later values.
   */
  value(key: string, columns: Int32Array, compute: () => Float64Array): Float64Array;
  /**
   * Returns the positions of values in the order of `rankPositions`, best first. Results are cached for each array of
   * values.
   */
  ordered(values: Float64Array, order: Ordering): Int32Array;
}

export function createVectorCache(): VectorCache {
  const cache = new Map<string, { readonly columns: Int32Array; readonly values: Float64Array }>();
  const orders = new WeakMap<Float64Array, Map<string, Int32Array>>();
  return {
    value(key, columns, compute) {
      const cachedEntry = cache.get(key);
      const pickedValues =
        cachedEntry === undefined ? undefined : pickValues(cachedEntry.columns, cachedEntry.values, columns);
      if (pickedValues !== undefined) return pickedValues;
      const values = compute();
      cache.set(key, { columns, values });
      orders.set(values, new Map());
      return values;
    },
    ordered(values, { ascending, withMissing }) {
      const valueOrders = orders.get(values);
      const key = `${ascending} ${withMissing}`;
      const positions = listPositions(values);
      const order =
        valueOrders?.get(key) ??
        rankPositions(values, withMissing ? positions : selectPositionsWithValue(values, positions), ascending);
      valueOrders?.set(key, order);
      return order;
    },
  };
}
