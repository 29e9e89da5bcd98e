import type { Engine } from '#kernels/engines/engine.js';
import { sampleCovariance } from '#kernels/moments/sample-covariance.js';

/** Annualised sample covariance of a panel, which is spent. @param periods sessions of a year */
export function annualCovariance(panel: Float64Array, columns: number, periods: number): Float64Array {
  const out = new Float64Array(columns * columns);
  sampleCovariance(panel, columns, out);
  return out.map((value) => value * periods);
}

/** Annualised sample variances of the columns of a panel of two rows at least. */
export function annualVariances(
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
