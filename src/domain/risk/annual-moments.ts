import type { Engine } from '#kernels/engines/engine.js';
import { sampleCovariance } from '#kernels/moments/sample-covariance.js';
import { LIMITS } from '../refusals/limits.js';

/** Annualised sample covariance of a panel, which is spent. */
export function annualCovariance(panel: Float64Array, columns: number): Float64Array {
  const out = new Float64Array(columns * columns);
  sampleCovariance(panel, columns, out);
  return out.map((value) => value * LIMITS.PERIODS_PER_YEAR);
}

/** Annualised sample variances of the columns of a panel of two rows at least. */
export function annualVariances(
  engine: Pick<Engine, 'columnDeviations'>,
  panel: Float64Array,
  columns: number,
): Float64Array {
  const dispersion = 1 / (panel.length / columns - 1);
  const squares = new Float64Array(columns);
  engine.columnDeviations(panel, squares);
  return squares.map((sum) => dispersion * sum * LIMITS.PERIODS_PER_YEAR);
}
