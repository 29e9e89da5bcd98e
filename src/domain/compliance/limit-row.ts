import type { Bound, Measure } from './measure.js';

/** One limit as it is watched: a number of the holdings, and the bound it has to keep. */
export interface LimitRow extends Bound {
  /** Name under which breaches are reported. */
  readonly row: string;
  /** Unit of value and limit. */
  readonly unit: 'fraction' | 'count' | 'value';
  readonly measure: Measure;
}

/** Distance to the bound, negative beyond it. */
export function headroomAt({ side, limit }: Bound, value: number): number {
  return side === 'upper' ? limit - value : value - limit;
}
