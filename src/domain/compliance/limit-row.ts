import type { Bound, BoundedMeasure } from './measure.js';

/** Monitored limit: a number computed from the holdings, with its bound. */
export interface LimitRow extends Bound {
  /** Name under which breaches are reported. */
  readonly row: string;
  /** Unit of value and limit. */
  readonly unit: 'fraction' | 'count' | 'value';
  readonly measure: BoundedMeasure;
}

/** Returns the distance to the bound; negative if the bound is exceeded. */
export function computeHeadroom({ side, limit }: Bound, value: number): number {
  return side === 'upper' ? limit - value : value - limit;
}
