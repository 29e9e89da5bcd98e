import type { Engine } from '#kernels/engines/engine.js';
import { demean } from '#kernels/moments/demean.js';
import { sampleCovariance } from '#kernels/moments/sample-covariance.js';
import { LIMITS } from '../limits.js';

/** Annualised sample covariance of a panel, which is spent. */
export function annualCovariance(panel: Float64Array, columns: number): Float64Array {
  const out = new Float64Array(columns * columns);
  sampleCovariance(panel, columns, out);
  return out.map((value) => value * LIMITS.PERIODS_PER_YEAR);
}

/** What an engine must offer to measure the columns of a panel. */
export type MomentEngine = Pick<Engine, 'centreColumns' | 'columnSquares'>;

/** Annualised sample variances of the columns of a panel, which is spent. */
export function annualVariances(engine: MomentEngine, panel: Float64Array, columns: number): Float64Array {
  const { dispersion } = demean(panel, columns, undefined, new Float64Array(columns), engine);
  const squares = new Float64Array(columns);
  engine.columnSquares(panel, squares);
  return squares.map((sum) => dispersion * sum * LIMITS.PERIODS_PER_YEAR);
}
