import type { ActiveState, Iterate } from './active-state.js';
import { computeSlope } from './equality-gradient.js';
import type { Work } from './equality-work.js';
import { createFactoredVariables, type FactoredVariables } from './factored-variables.js';
import type { Curvature } from '../factors/curvature.js';
import { createSparseRows } from '../program/sparse-rows.js';
import { factorSemidefinite, solveFactored } from '../factors/schur.js';
import { createLagrangianCurvature, computeNormForce } from '../program/norms.js';
import type { Program } from '../program/program.js';

/**
 * Curvatures of two sets of securities: the set that was factored first, and the last set. Later states may return to
 * the first set.
 */
export type Curvatures = readonly [Curvature, Curvature];

/**
 * Linear equations of an equality problem: free variables with their curvature, and active rows with their gradients.
 */
export interface EqualitySystem {
  /**
   * Factors the equations of the free variables and active rows in the workspace.
   * @param proximal  Fraction of the mean curvature that is added to the curvature of each variable.
   * @returns         True if the curvature is positive definite on the free variables.
   * @cost            |F|^3 / 6 for |F| free variables; |F|^2 / 6 per variable that is no longer free if most of the
   *                  previously factored variables are still free.
   */
  factor(state: ActiveState, iterate: Iterate, proximal: number): boolean;
  /**
   * Computes the steps of variables and multipliers in place, from the gradient of the free variables (`step`, [F]) and
   * the distance of active rows from their bounds (`change`, [m]).
   * @cost |F|^2 + m |F|
   */
  solve(step: Float64Array, change: Float64Array): void;
}

/** Minimum number of active rows for which kernels compute their columns, with a separate factor for each state. */
const MANY_ROWS = 240;

/**
 * Creates the equations of a program.
 * @source  Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 16.2: the range-space method. A variable
 *          that is no longer free is an additional row of the existing factor.
 */
export function createEqualitySystem(program: Program, curvatures: Curvatures, work: Work): EqualitySystem {
  const { rows, kinks, norms } = program;
  const firstName = rows.count + kinks.length + norms.length;
  const first = createFactoredVariables(curvatures[0], work);
  const last = createFactoredVariables(curvatures[1], work);
  let currentFactor: FactoredVariables = first;
  let columns = new Float64Array(0);
  let solvedColumns = new Float64Array(0);
  let schur = new Float64Array(0);
  let isSkipped = new Uint8Array(0);
  let change = new Float64Array(0);
  let isMany = false;
  const columnRows = createSparseRows();
  const solvedRows = createSparseRows();

  function factorVariables(iterate: Iterate, proximal: number): boolean {
    isMany = work.activeCount >= MANY_ROWS;
    const isPlain = !isMany && proximal === 0 && norms.every((_, q) => iterate.normMultipliers[q] === 0);
    if (isPlain) {
      const servingFactor = [first, last].find((factored) => factored.serves());
      if (servingFactor !== undefined) {
        currentFactor = servingFactor;
        return true;
      }
    } else {
      first.forget();
      last.forget();
    }
    const regularisedCurvature = { scale: program.curvature, ridge: program.ridge + proximal * work.meanCurvature };
    currentFactor = isPlain && first.count() > 0 ? last : first;
    const isDefinite = currentFactor.begin(
      createLagrangianCurvature(program, regularisedCurvature, iterate.normMultipliers),
    );
    if (!isPlain) currentFactor.forget();
    return isDefinite;
  }

  /** Computes the products of the columns L^-1 c of fixed securities and active rows. */
  function factorHalves(state: ActiveState, iterate: Iterate): void {
    const { names } = currentFactor;
    const keys = currentFactor.heldPlaces.map((position) => firstName + position);
    for (let a = 0; a < work.activeCount; a++) keys.push(work.active[a]!);
    const count = currentFactor.count();
    const source = {
      // Gradients of kinks and norms change with the state and the point.
      isNew: (key: number) => key >= rows.count && key < firstName,
      write(key: number, out: Float64Array) {
        if (key >= firstName) {
          out.fill(0, 0, count);
          out[key - firstName] = 1;
          return key - firstName;
        }
        const computeGradient = findRowGradient(program, state, iterate, key);
        for (let p = 0; p < count; p++) out[p] = computeGradient(names[p]!);
        return 0;
      },
    };
    currentFactor.products(keys, source, schur);
  }

  /** Computes the columns H^-1 c of the active rows, [free x active], and their products with c. */
  function factorWhole(state: ActiveState, iterate: Iterate): void {
    const { free, freeCount: f, active, activeCount: m } = work;
    if (m === 0) return;
    if (columns.length < f * m) {
      columns = new Float64Array(f * m);
      solvedColumns = new Float64Array(f * m);
    }
    for (let a = 0; a < m; a++) {
      const computeGradient = findRowGradient(program, state, iterate, active[a]!);
      for (let p = 0; p < f; p++) columns[p * m + a] = computeGradient(free[p]!);
    }
    currentFactor.curvature.solveWithProducts(columns, m, solvedColumns, schur);
    columnRows.read(columns, f, m);
    solvedRows.read(solvedColumns, f, m);
  }

  function solveWhole(step: Float64Array, wanted: Float64Array): void {
    const { freeCount: f, activeCount: m } = work;
    currentFactor.curvature.solve(step, 1);
    if (m === 0) return;
    for (let a = 0; a < m; a++) wanted[a] = -wanted[a]!;
    columnRows.addColumns(step, wanted);
    solveFactored(schur, m, wanted, isSkipped);
    for (let p = 0; p < f; p++) step[p] = solvedRows.less(p, step[p]!, wanted);
  }

  return {
    factor(state, iterate, proximal) {
      if (!factorVariables(iterate, proximal)) return false;
      const total = currentFactor.heldPlaces.length + work.activeCount;
      if (schur.length < total * total) schur = new Float64Array(total * total);
      if (isSkipped.length < total) isSkipped = new Uint8Array(total);
      if (change.length !== total) change = new Float64Array(total);
      if (currentFactor.isWhole() && !isMany) factorHalves(state, iterate);
      else factorWhole(state, iterate);
      factorSemidefinite(schur, total, isSkipped, { algebra: currentFactor.curvature.algebra });
      return true;
    },
    solve(step, wanted) {
      if (!currentFactor.isWhole() || isMany) {
        solveWhole(step, wanted);
        return;
      }
      const heldCount = currentFactor.heldPlaces.length;
      change.fill(0, 0, heldCount);
      for (let a = 0; a < work.activeCount; a++) change[heldCount + a] = wanted[a]!;
      currentFactor.solve(step, change, schur, isSkipped);
      for (let a = 0; a < work.activeCount; a++) wanted[a] = change[heldCount + a]!;
    },
  };
}

/** Returns the gradient of an active row, kink or norm as a function of the security. */
function findRowGradient(program: Program, state: ActiveState, { x }: Iterate, row: number): (name: number) => number {
  const { n, rows, kinks, norms } = program;
  if (row < rows.count) {
    const from = row * n;
    return (name) => rows.coefficients[from + name]!;
  }
  if (row < rows.count + kinks.length) return (name) => computeSlope(program, state, row - rows.count, name);
  const norm = norms[row - rows.count - kinks.length]!;
  const offset = x.map((value, i) => value - norm.centre[i]!);
  const force = computeNormForce(program, norm, offset, new Float64Array(n));
  return (name) => force[name]!;
}
