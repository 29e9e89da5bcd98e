import type { EigenvalueRange } from '../algebra/eigenvalue-range.js';
import { computeTridiagonalEigenpairs } from '../algebra/extreme-eigenvalues.js';
import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { createCounterRandom } from '../random/counter-random.js';
import type { PanelCovariance } from './panel-covariance.js';

/** Maximum number of Lanczos steps. */
const STEPS_MAX = 1_000;

/** Number of steps between two convergence tests. */
const STEPS_PER_TEST = 25;

/** Maximum residual of both eigenpairs, relative to the largest eigenvalue, of a converged solution. */
const RESIDUAL_MAX = 1e-12;

/**
 * Length of the next Lanczos vector, relative to the largest entry of the tridiagonal matrix. A smaller length is a
 * rounding error, and no further step is possible.
 */
const EXHAUSTED_RATIO = 1e-13;

/** Seed of the start vector. */
const SEED = 20_040_110;

/**
 * Computes the smallest and the largest eigenvalue of a covariance by Lanczos steps with full reorthogonalisation. The
 * steps need only products with the panel.
 * @param engine      Engine that multiplies.
 * @param covariance  Covariance defined by a panel.
 * @returns           Both eigenvalues, with an error below 1e-12 of the largest one. If 1,000 steps do not separate the
 *                    smallest eigenvalues of the panel, the smallest may be too large.
 * @throws            KernelFault on a shape mismatch; Error if the panel is not finite.
 * @cost              Two passes over the panel per step, with 150 to 750 steps for 2,000 to 6,000 securities; scratch
 *                    for the panel and for one vector of the securities per step.
 * @source            Golub & Van Loan (2013), Matrix Computations, 4th ed., sections 10.1 and 10.3.
 */
export function findPanelEigenvalues(engine: Engine, covariance: PanelCovariance): EigenvalueRange {
  const { panel, assets: n } = covariance;
  assert(panel.length % n === 0, `panel: ${panel.length} values over ${n} assets`);
  const steps = Math.min(n, STEPS_MAX);
  return engine.scope(() => {
    const x = engine.room(panel.length);
    x.set(panel);
    const vectors = engine.room(steps * n);
    const [w, projected] = [engine.room(n), engine.room(panel.length / n)];
    const [along, removed] = [engine.room(steps), engine.room(n)];
    const [diagonal, off] = [new Float64Array(steps), new Float64Array(steps)];
    let size = 0;
    fillStartVector(vectors.subarray(0, n));
    for (let step = 0; ; step++) {
      const v = vectors.subarray(step * n, (step + 1) * n);
      multiply(engine, { ...covariance, panel: x }, v, w, projected);
      diagonal[step] = computeDotProduct(w, v);
      const earlierVectors = vectors.subarray(0, (step + 1) * n);
      for (let pass = 0; pass < 2; pass++) {
        engine.gemv(earlierVectors, w, along.subarray(0, step + 1));
        engine.gemvTransposed(earlierVectors, along.subarray(0, step + 1), removed);
        for (let i = 0; i < n; i++) w[i]! -= removed[i]!;
      }
      const length = Math.sqrt(computeDotProduct(w, w));
      size = Math.max(size, diagonal[step]!);
      const isLast = step === steps - 1 || !(length > EXHAUSTED_RATIO * size);
      if (isLast || (step + 1) % STEPS_PER_TEST === 0) {
        const { smallest, largest, ends } = findTridiagonalRange(engine, diagonal.subarray(0, step + 1), off);
        if (isLast || length * ends < RESIDUAL_MAX * largest) return { smallest, largest };
      }
      off[step] = length;
      size = Math.max(size, length);
      const next = vectors.subarray((step + 1) * n, (step + 2) * n);
      for (let i = 0; i < n; i++) next[i] = w[i]! / length;
    }
  });
}

/** Writes a seeded random unit vector, equal for all covariances. */
function fillStartVector(out: Float64Array): void {
  const random = createCounterRandom({ seed: SEED, stream: 0 });
  for (let i = 0; i < out.length; i++) out[i] = random.normal();
  const length = Math.sqrt(computeDotProduct(out, out));
  for (let i = 0; i < out.length; i++) out[i]! /= length;
}

/** Multiplies a covariance by a vector. @param projected  scratch, [rows] */
function multiply(
  engine: Pick<Engine, 'gemv' | 'gemvTransposed'>,
  { panel, keep, common, scale, addedVariances }: PanelCovariance,
  v: Float64Array,
  out: Float64Array,
  projected: Float64Array,
): void {
  engine.gemv(panel, v, projected);
  engine.gemvTransposed(panel, projected, out);
  const commonPart = common * computeDotProduct(scale, v);
  for (let i = 0; i < v.length; i++) out[i] = keep * out[i]! + commonPart * scale[i]! + addedVariances[i]! * v[i]!;
}

function computeDotProduct(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/**
 * Returns the extreme eigenvalues of a tridiagonal matrix. Also returns the larger magnitude of the last entries of
 * their eigenvectors.
 */
function findTridiagonalRange(
  engine: Engine,
  diagonal: Float64Array,
  off: Float64Array,
): EigenvalueRange & { readonly ends: number } {
  const m = diagonal.length;
  const eigenpairs = computeTridiagonalEigenpairs(engine, diagonal, off);
  if (eigenpairs === undefined) throw new Error('the panel has entries that are not finite');
  const { values, vectors } = eigenpairs;
  const largestEnd = Math.max(Math.abs(vectors[m - 1]!), Math.abs(vectors[m * m - 1]!));
  return { smallest: values[0]!, largest: values[m - 1]!, ends: largestEnd };
}
