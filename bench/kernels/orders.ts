import type { Engine, EngineName } from '#kernels/engines/engine.js';
import { seededPanel } from './measure.js';

/** Orders of square problems: the names of the sizes, and the 1,000 of which factorisations are reported. */
export const ORDERS = [50, 500, 1000, 2000, 3000] as const;

/** Nominal operations of all eigenpairs: reduction, divide and conquer and back transformation, nothing deflated. */
export const eigenpairFlops = (n: number): number => (14 / 3) * n ** 3;

/** The definitions take seconds past this order. */
export function slowPast(order: number, limit = 500): readonly EngineName[] {
  return order > limit ? ['reference', 'tensorflow'] : ['tensorflow'];
}

/** A covariance with a common factor and half as many observations again as names: as estimates are. */
export function covarianceOn(engine: Engine, n: number): Float64Array {
  const rows = Math.ceil(1.5 * n);
  const x = engine.allocate(rows * n);
  x.set(seededPanel(x.length));
  for (let t = 0; t < rows; t++) for (let i = 0; i < n; i++) x[t * n + i]! += x[t * n]! * (1 + i / n);
  const out = engine.allocate(n * n);
  engine.symmetricRankK(x, n, out);
  return out;
}
