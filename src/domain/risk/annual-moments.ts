import { demean } from '#kernels/moments/demean.js';
import { sampleCovariance } from '#kernels/moments/sample-covariance.js';
import { LIMITS } from '../limits.js';

/** Annualised sample covariance of a panel, which is spent. */
export function annualCovariance(panel: Float64Array, columns: number): Float64Array {
  const out = new Float64Array(columns * columns);
  sampleCovariance(panel, columns, out);
  return out.map((value) => value * LIMITS.PERIODS_PER_YEAR);
}

/** Annualised sample variances of the columns of a panel, which is spent. */
export function annualVariances(panel: Float64Array, columns: number): Float64Array {
  const { rowFactors } = demean(panel, columns, undefined, new Float64Array(columns));
  const variances = new Float64Array(columns);
  for (let t = 0; t < rowFactors.length; t++) {
    for (let i = 0; i < columns; i++) variances[i]! += rowFactors[t]! * panel[t * columns + i]! ** 2;
  }
  return variances.map((value) => value * LIMITS.PERIODS_PER_YEAR);
}
