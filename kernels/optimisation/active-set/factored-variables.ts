import type { Work } from './equality-work.js';
import { createHalfColumns, type ColumnSource } from './half-columns.js';
import type { Curvature } from '../factors/curvature.js';
import { solveFactored } from '../factors/schur.js';
import { solveBackward, solveForward } from '../factors/triangular-passes.js';
import type { LagrangianCurvature } from '../program/norms.js';

/** Factor of the curvature on a set of variables. It can be used as long as few of these variables have been fixed. */
export interface FactoredVariables {
  readonly curvature: Curvature;
  /** Variables fixed since the factorisation, by position in the factor. */
  readonly heldPlaces: readonly number[];
  /** Variables of the factor; only the first `count()` entries are valid. */
  readonly names: Int32Array;
  count(): number;
  /** Returns true if the free variables of the workspace are almost all of the factored variables. */
  serves(): boolean;
  /**
   * Factors the curvature on the free variables of the workspace.
   * @returns  true if it is positive definite on them
   */
  begin(curvature: LagrangianCurvature): boolean;
  /** Returns true if the factor is a complete triangle, as the columns require. */
  isWhole(): boolean;
  /** Discards the factor, so that it is not used for later states. */
  forget(): void;
  /** Computes the products of the columns L^-1 c of some keys, lower triangle of [count x count]. */
  products(keys: readonly number[], source: ColumnSource, out: Float64Array): void;
  /**
   * Solves with the factor and the columns of the last products.
   * @param step     Right-hand sides of the free variables, [F]; overwritten with their steps.
   * @param change   Distances of the fixed variables and active constraints from their bounds, [held + m]; overwritten
   *                 with the steps of their multipliers.
   * @param schur    Factor of the matrix of products.
   * @param skipped  1 for linearly dependent columns, [held + m].
   */
  solve(step: Float64Array, change: Float64Array, schur: Float64Array, skipped: Uint8Array): void;
}

/**
 * Maximum fraction of the factored variables that may be fixed. Above it, a new factorisation of the free variables is
 * cheaper.
 */
const FIXED_FRACTION_MAX = 0.1;

/**
 * Minimum ratio of the smallest to the largest squared pivot. Below it, fixing a variable subtracts large numbers with
 * a small difference.
 */
const PIVOT_MIN = 1e-5;

/** Returns true if a factor is accurate enough to solve for other sets of variables. @param l  [n x n] */
function isWellConditioned(l: Float64Array, n: number): boolean {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (let i = 0; i < n; i++) {
    const pivot = l[i * n + i]! ** 2;
    least = Math.min(least, pivot);
    most = Math.max(most, pivot);
  }
  return least > PIVOT_MIN * most;
}

export function createFactoredVariables(curvature: Curvature, work: Work): FactoredVariables {
  const n = work.free.length;
  const names = new Int32Array(n);
  const places = new Int32Array(n);
  const right = new Float64Array(n);
  const heldPlaces: number[] = [];
  const halves = createHalfColumns(n);
  let projection = new Float64Array(0);
  let triangle: Float64Array | undefined;
  let order = 0;
  let isKept = false;

  return {
    curvature,
    heldPlaces,
    names,
    count: () => order,
    serves() {
      const { free, freeCount } = work;
      if (!isKept || triangle === undefined || freeCount > order || freeCount < (1 - FIXED_FRACTION_MAX) * order)
        return false;
      heldPlaces.length = 0;
      let p = 0;
      for (let place = 0; place < order; place++) {
        if (p < freeCount && free[p] === names[place]) p++;
        else heldPlaces.push(place);
      }
      return p === freeCount;
    },
    begin({ metric, scale, ridge }) {
      const { diagonal, free, freeCount } = work;
      heldPlaces.length = 0;
      diagonal.fill(ridge);
      order = freeCount;
      const isDefinite = curvature.factor(metric, scale, diagonal, free, freeCount);
      triangle = isDefinite ? curvature.triangle() : undefined;
      isKept = triangle !== undefined && isWellConditioned(triangle, order);
      if (triangle === undefined) return isDefinite;
      for (let p = 0; p < order; p++) {
        names[p] = free[p]!;
        places[names[p]!] = p;
      }
      halves.begin(triangle, order);
      return true;
    },
    isWhole: () => triangle !== undefined,
    forget() {
      isKept = false;
    },
    products(keys, source, out) {
      halves.want(keys, source);
      halves.products(out);
    },
    solve(step, change, schur, skipped) {
      const { free, freeCount } = work;
      const count = change.length;
      if (projection.length < count) projection = new Float64Array(count);
      const shape = { n: order, stride: order };
      // The right-hand side of a fixed variable belongs to its multiplier.
      right.fill(0, 0, order);
      for (let p = 0; p < freeCount; p++) right[places[free[p]!]!] = step[p]!;
      solveForward(triangle!, right, shape); // A usable factor is a complete triangle.
      halves.times(right, projection);
      for (let a = 0; a < count; a++) change[a] = projection[a]! - change[a]!;
      solveFactored(schur, count, change, skipped);
      halves.subtract(change, right);
      solveBackward(triangle!, right, shape);
      for (let p = 0; p < freeCount; p++) step[p] = right[places[free[p]!]!]!;
    },
  };
}
