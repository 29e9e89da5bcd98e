import type { Engine } from '#kernels/engines/engine.js';
import { computeSampleCovariance } from '#kernels/moments/sample-covariance.js';

/**
 * Computes the annualised sample covariance of a panel; overwrites the panel.
 * @param periods sessions of a year
 */
export function computeAnnualCovariance(panel: Float64Array, columns: number, periods: number): Float64Array {
  const out = new Float64Array(columns * columns);
  computeSampleCovariance(panel, columns, out);
  return out.map((value) => value * periods);
}

/** Computes the annualised sample variances of the columns of a panel with at least two rows. */
export function computeAnnualVariances(
  engine: Pick<Engine, 'columnDeviations'>,
  panel: Float64Array,
  columns: number,
  periods: number,
): Float64Array {
  const dispersion = 1 / (panel.length / columns - 1);
  const squares = new Float64Array(columns);
  engine.columnDeviations(panel, squares);
  return squares.map((sum) => dispersion * sum * periods);
}
