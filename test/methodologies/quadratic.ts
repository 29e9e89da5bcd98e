import { solve } from './plain-functions.js';

/** Constraint row with an upper bound on its value. It is written as pairs of a variable and its coefficient. */
export interface Row {
  readonly terms: readonly (readonly [number, number])[];
  readonly most: number;
}

/** Problem to minimise x'Px / 2 + q'x. The first variables sum to 1, and all rows are satisfied. */
export interface Programme {
  readonly P: readonly (readonly number[])[];
  readonly q: readonly number[];
  /** Number of leading variables that sum to 1. */
  readonly summed: number;
  readonly rows: readonly Row[];
}

const ROUNDS = 60;
/** Size of residual and complementarity below which it is clear which rows bind. */
const SUFFICIENT_GAP = 1e-7;
const GAP = 1e-11;
/** Largest excess over a row, or negative multiplier, that counts as a rounding error. */
const EXACT_GAP = 1e-10;
/** Maximum number of attempts, each with another set of binding rows. */
const SETS_MAX = 200;
/** Fraction of the distance to a bound that one step may cover. */
const PART = 0.995;

/**
 * Solves a convex quadratic programme by a primal-dual interior point method. Returns undefined if rows contradict each
 * other.
 */
export function solveProgramme({ P, q, summed, rows }: Programme): number[] | undefined {
  const sums = q.map((_, i) => (i < summed ? 1 : 0));
  let x = q.map((_, i) => (i < summed ? 1 / summed : 1));
  let y = 0;
  let slack = rows.map(() => 1);
  let dual = rows.map(() => 1);
  const computeRowValue = ({ terms }: Row, point: readonly number[]) =>
    terms.reduce((sum, [i, a]) => sum + a * point[i]!, 0);
  for (let round = 0; round < ROUNDS; round++) {
    const gradient = P.map((row, i) => row.reduce((sum, p, j) => sum + p * x[j]!, q[i]! + y * sums[i]!));
    rows.forEach(({ terms }, k) => terms.forEach(([i, a]) => (gradient[i]! += a * dual[k]!)));
    const budget = x.reduce((sum, value, i) => sum + sums[i]! * value, -1);
    const violations = rows.map((row, k) => computeRowValue(row, x) + slack[k]! - row.most);
    const gap = slack.reduce((sum, s, k) => sum + s * dual[k]!, 0) / rows.length;
    const worst = Math.max(Math.abs(budget), ...gradient.map(Math.abs), ...violations.map(Math.abs));
    if (worst < SUFFICIENT_GAP && gap < GAP) {
      const binding = rows.filter((_, k) => dual[k]! > slack[k]!);
      return polishOptimum({ P, q, summed, rows }, binding);
    }
    if (gap > 1e3 || dual.some((value) => value > 1e10)) return undefined;
    const factor = factorise(P, rows, { slack, dual });
    const solveStep = (target: readonly number[]) => {
      // The slack and dual variables of each row are eliminated. What remains is its target complementarity.
      const right = gradient.map((g) => -g);
      rows.forEach(({ terms }, k) => {
        const dualTerm = (target[k]! - slack[k]! * dual[k]! + dual[k]! * violations[k]!) / slack[k]!;
        terms.forEach(([i, a]) => (right[i]! -= a * dualTerm));
      });
      const freeStep = solveFactored(factor, right);
      const budgetStep = solveFactored(factor, sums);
      const computeDotProduct = (v: readonly number[]) => v.reduce((sum, value, i) => sum + sums[i]! * value, 0);
      const dy = (computeDotProduct(freeStep) + budget) / computeDotProduct(budgetStep);
      const dx = freeStep.map((value, i) => value - dy * budgetStep[i]!);
      const ds = rows.map((row, k) => -violations[k]! - computeRowValue(row, dx));
      const dz = ds.map((d, k) => (target[k]! - slack[k]! * dual[k]! - dual[k]! * d) / slack[k]!);
      return { dx, dy, ds, dz };
    };
    const affine = solveStep(slack.map(() => 0));
    const reach = Math.min(computeLargestStep(slack, affine.ds), computeLargestStep(dual, affine.dz));
    const after =
      slack.reduce((sum, s, k) => sum + (s + reach * affine.ds[k]!) * (dual[k]! + reach * affine.dz[k]!), 0) /
      rows.length;
    const centre = gap * (after / gap) ** 3;
    const { dx, dy, ds, dz } = solveStep(affine.ds.map((d, k) => centre - d * affine.dz[k]!));
    const length = PART * Math.min(computeLargestStep(slack, ds), computeLargestStep(dual, dz));
    x = x.map((value, i) => value + length * dx[i]!);
    y += length * dy;
    slack = slack.map((value, k) => value + length * ds[k]!);
    dual = dual.map((value, k) => value + length * dz[k]!);
    if (!x.every(Number.isFinite)) return undefined;
  }
  return undefined;
}

/**
 * Improves the optimum up to rounding accuracy. It solves the binding rows as equations. If a row has a negative
 * multiplier, it binds only by degeneracy and is removed. If a row is violated, it is added. This ends when the
 * optimality conditions hold.
 */
function polishOptimum({ P, q, summed, rows }: Programme, binding: readonly Row[]): number[] {
  let bindingRows = binding.slice();
  for (let round = 0; round < SETS_MAX; round++) {
    const { x, multipliers } = addEquations({ P, q, summed, rows: bindingRows });
    const lowest = Math.min(...multipliers);
    if (lowest < -EXACT_GAP) {
      bindingRows = bindingRows.filter((_, k) => multipliers[k] !== lowest);
      continue;
    }
    const violations = rows.map(({ terms, most }) => terms.reduce((sum, [i, a]) => sum + a * x[i]!, -most));
    const highest = Math.max(...violations);
    if (highest <= EXACT_GAP) return x;
    bindingRows = [...bindingRows, rows[violations.indexOf(highest)]!];
  }
  throw new Error('no set of rows satisfies the conditions of optimality');
}

/** Solves the problem with all rows as equations. @returns the optimum and the multipliers */
function addEquations({ P, q, summed, rows }: Programme): { readonly x: number[]; readonly multipliers: number[] } {
  const n = q.length;
  const budget: Row = { terms: Array.from({ length: summed }, (_, i) => [i, 1] as const), most: 1 };
  const equalRows = [budget, ...rows];
  const size = n + equalRows.length;
  const matrix = Array.from({ length: size }, (_, i) =>
    Array.from({ length: size }, (__, j) => (i < n && j < n ? P[i]![j]! : 0)),
  );
  equalRows.forEach(({ terms }, k) =>
    terms.forEach(([i, a]) => {
      matrix[n + k]![i]! += a;
      matrix[i]![n + k]! += a;
    }),
  );
  const solution = solve(matrix, [...q.map((value) => -value), ...equalRows.map(({ most }) => most)]);
  return { x: solution.slice(0, n), multipliers: solution.slice(n + 1) };
}

/**
 * Returns the largest step that keeps the values positive. The limit is slightly more than 1, so that a full step is
 * not shortened.
 */
function computeLargestStep(values: readonly number[], change: readonly number[]): number {
  return values.reduce((step, value, k) => (change[k]! < 0 ? Math.min(step, -value / change[k]!) : step), 1 / PART);
}

/** Returns the lower factor of P plus the outer products of the rows. Each product has the weight dual / slack. */
function factorise(
  P: readonly (readonly number[])[],
  rows: readonly Row[],
  { slack, dual }: { readonly slack: readonly number[]; readonly dual: readonly number[] },
): Float64Array[] {
  const M = P.map((row) => Float64Array.from(row));
  rows.forEach(({ terms }, k) => {
    const scale = dual[k]! / slack[k]!;
    for (const [i, a] of terms) for (const [j, b] of terms) M[i]![j]! += scale * a * b;
  });
  for (let i = 0; i < M.length; i++)
    for (let j = 0; j <= i; j++) {
      const [a, b] = [M[i]!, M[j]!];
      let sum = a[j]!;
      for (let k = 0; k < j; k++) sum -= a[k]! * b[k]!;
      a[j] = i === j ? Math.sqrt(Math.max(sum, 1e-30)) : sum / b[j]!;
    }
  return M;
}

function solveFactored(L: readonly Float64Array[], right: readonly number[]): number[] {
  const x = right.slice();
  for (let i = 0; i < x.length; i++) {
    const row = L[i]!;
    let sum = x[i]!;
    for (let k = 0; k < i; k++) sum -= row[k]! * x[k]!;
    x[i] = sum / row[i]!;
  }
  for (let i = x.length - 1; i >= 0; i--) {
    const value = x[i]! / L[i]![i]!;
    x[i] = value;
    for (let k = 0; k < i; k++) x[k]! -= L[i]![k]! * value;
  }
  return x;
}
