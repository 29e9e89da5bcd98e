import type { Engine } from '#kernels/engines/engine.js';
import { computeSampleCovariance } from '#kernels/moments/sample-covariance.js';

/**
 * Computes the annualised sample covariance of a panel; overwrites the panel.
 * @param periodsPerYear sessions of a year
 */
export function computeAnnualCovariance(
  panel: Float64Array,
  columnCount: number,
  periodsPerYear: number,
): Float64Array {
  const out = new Float64Array(columnCount * columnCount);
  computeSampleCovariance(panel, columnCount, out);
  return out.map((value) => value * periodsPerYear);
}

/** Computes the annualised sample variances of the columns of a panel with at least two rows. */
export function computeAnnualVariances(
  engine: Pick<Engine, 'columnDeviations'>,
  panel: Float64Array,
  columnCount: number,
  periodsPerYear: number,
): Float64Array {
  const dispersion = 1 / (panel.length / columnCount - 1);
  const squares = new Float64Array(columnCount);
  engine.columnDeviations(panel, squares);
  return squares.map((sum) => dispersion * sum * periodsPerYear);
}
