import type { DenseAlgebra } from '../factors/algebra.js';

/** Maximum number of earlier steps that are combined. */
const REMEMBERED_STEPS = 10;

/** Minimum number of earlier steps for an extrapolation. */
const STEPS_MIN = 3;

/** Regularisation relative to the sum of squared changes. */
const RIDGE = 1e-8;

/** Maximum sum of squared coefficients; larger coefficients are dominated by rounding errors. */
const COEFFICIENTS_MAX = 1e8;

/** Anderson acceleration of a fixed-point iteration, with a memory of earlier points and steps. */
export interface Acceleration {
  /** Adds a point and the result of the iteration at it; both are copied. */
  add(point: Float64Array, next: Float64Array): void;
  /**
   * Replaces the last result by a combination of earlier results if there are enough of them. The combination has the
   * shortest step.
   */
  extrapolate(next: Float64Array): void;
  /** Discards all points, after a change of the iteration. */
  clear(): void;
}

/**
 * Creates an accelerator of a fixed-point iteration over vectors of some length.
 *
 * @cost   Memory of twenty vectors; a dozen vector products per point.
 * @source Walker & Ni (2011), Anderson acceleration for fixed-point iterations, SIAM J. Numerical Analysis 49(4).
 */
export function createAcceleration(algebra: DenseAlgebra, length: number): Acceleration {
  const createVectors = () => Array.from({ length: REMEMBERED_STEPS }, () => new Float64Array(length));
  // Ring buffers with the changes of the step and of the result between consecutive points.
  const stepChanges = createVectors();
  const nextChanges = createVectors();
  const products = new Float64Array(REMEMBERED_STEPS * REMEMBERED_STEPS);
  const step = new Float64Array(length);
  const last = new Float64Array(length);
  let addedSteps = 0;
  return {
    clear: () => (addedSteps = 0),
    add(point, next) {
      if (addedSteps > 0) {
        const position = (addedSteps - 1) % REMEMBERED_STEPS;
        const [ofStep, ofNext] = [stepChanges[position]!, nextChanges[position]!];
        for (let e = 0; e < length; e++) {
          const nextStep = next[e]! - point[e]!;
          ofStep[e] = nextStep - step[e]!;
          ofNext[e] = next[e]! - last[e]!;
          step[e] = nextStep;
          last[e] = next[e]!;
        }
        for (let k = 0; k < Math.min(addedSteps, REMEMBERED_STEPS); k++)
          products[position * REMEMBERED_STEPS + k] = products[k * REMEMBERED_STEPS + position] = computeDotProduct(
            stepChanges[k]!,
            ofStep,
          );
      } else {
        for (let e = 0; e < length; e++) step[e] = next[e]! - point[e]!;
        last.set(next);
      }
      addedSteps++;
    },
    extrapolate(next) {
      const count = Math.min(addedSteps - 1, REMEMBERED_STEPS);
      if (count < STEPS_MIN) return;
      const factor = new Float64Array(count * count);
      let trace = 0;
      for (let k = 0; k < count; k++) {
        trace += products[k * REMEMBERED_STEPS + k]!;
        for (let other = 0; other < count; other++) factor[k * count + other] = products[k * REMEMBERED_STEPS + other]!;
      }
      for (let k = 0; k < count; k++) factor[k * count + k]! += RIDGE * trace;
      if (!(trace > 0) || algebra.cholesky(factor, count) < count) return;
      const shares = Float64Array.from({ length: count }, (_, k) => computeDotProduct(stepChanges[k]!, step));
      algebra.solveLower(factor, count, shares);
      algebra.solveLowerTransposed(factor, count, shares);
      if (!(computeDotProduct(shares, shares) < COEFFICIENTS_MAX)) return;
      shares.forEach((share, k) => {
        const change = nextChanges[k]!;
        for (let e = 0; e < length; e++) next[e]! -= share * change[e]!;
      });
    },
  };
}

function computeDotProduct(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let e = 0; e < a.length; e++) total += a[e]! * b[e]!;
  return total;
}
