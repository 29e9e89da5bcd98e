import { IDLE, LOWER, OVER, UNDER, UPPER } from '../active-set/active-state.js';
import { computeSlope } from '../active-set/equality-gradient.js';
import { multiplyCurvature } from '../program/smooth-gradient.js';
import type { Path } from './state.js';
import { factorSemidefinite, solveFactored } from '../factors/schur.js';

/**
 * Minimum ratio of a pivot. If it is smaller, the active row is linearly dependent on other rows on the free variables.
 */
const PIVOT_MIN = 1e-11;

/** Relative difference of the right-hand sides of dependent rows that counts as zero. */
const AGREEMENT_MAX = 1e-9;

/** Linear equations of the rates of change in the current state. */
export interface PathSystem {
  /**
   * Computes the rates of change in the current state. If the active rows determine all free variables, only
   * multipliers have rates.
   * @returns  true if only multipliers have rates
   */
  solve(): boolean;
}

export function createPathSystem(path: Path): PathSystem {
  const { program, factor, dx, dy, dz, gradientRate } = path;
  const { n, rows, kinks } = program;
  const rowsMax = rows.count + kinks.length;
  const activeRows = new Int32Array(rowsMax);
  const isRepeated = new Uint8Array(rowsMax);
  const change = new Float64Array(rowsMax);
  const rightSide = new Float64Array(rowsMax);
  const schur = new Float64Array(rowsMax * rowsMax);
  const matrix = new Float64Array(rowsMax * rowsMax);
  const step = new Float64Array(n);
  const pulledGradient = new Float64Array(n);
  const isPulled = path.pull.some((value) => value !== 0);
  const columns: Float64Array[] = [];
  let m = 0;

  /** Computes the columns L^-1 A' of the active rows on the free securities, and their products. */
  function factorActive(): void {
    const f = factor.count();
    while (columns.length < m) columns.push(new Float64Array(n));
    for (let a = 0; a < m; a++) {
      const row = activeRows[a]!;
      const column = columns[a]!;
      for (let p = 0; p < f; p++) column[p] = readRowCoefficient(path, row, factor.order[p]!);
      factor.forward(column);
      for (let b = 0; b <= a; b++) {
        let total = 0;
        const otherColumn = columns[b]!;
        for (let p = 0; p < f; p++) total += column[p]! * otherColumn[p]!;
        matrix[a * m + b] = matrix[b * m + a] = schur[a * m + b] = total;
      }
    }
    factorSemidefinite(schur, m, isRepeated, { repeated: PIVOT_MIN });
  }

  /**
   * Computes a linear combination of active rows that is zero on the free securities. The combination includes the
   * given dependent row.
   */
  function findDependency(row: number): void {
    for (let a = 0; a < m; a++) change[a] = isRepeated[a] === 1 ? 0 : -matrix[a * m + row]!;
    solveFactored(schur, m, change, isRepeated);
    change[row] = 1;
  }

  function distributeMultipliers(): void {
    dy.fill(0);
    dz.fill(0);
    gradientRate.fill(0);
    for (let a = 0; a < m; a++) {
      const row = activeRows[a]!;
      if (row < rows.count) dy[row] = change[a]!;
      else dz[row - rows.count] = change[a]!;
      if (change[a] === 0) continue;
      for (let i = 0; i < n; i++) gradientRate[i]! += change[a]! * readRowCoefficient(path, row, i);
    }
  }

  /**
   * Computes rates of change for multipliers only. It applies if a row depends on others but requires a different
   * bound.
   * @returns false if there is no such row
   */
  function solveTurn(): boolean {
    const size = rightSide.subarray(0, m).reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
    for (let row = 0; row < m; row++) {
      if (isRepeated[row] === 0) continue;
      findDependency(row);
      let pull = 0;
      let strength = 0;
      for (let a = 0; a < m; a++) {
        pull += change[a]! * rightSide[a]!;
        strength = Math.max(strength, Math.abs(change[a]!));
      }
      if (Math.abs(pull) <= AGREEMENT_MAX * strength * size) continue;
      for (let a = 0; a < m; a++) change[a] = -Math.sign(pull) * change[a]!;
      dx.fill(0);
      distributeMultipliers();
      return true;
    }
    return false;
  }

  /**
   * Computes rates of change along the path: H dx + A' dy = -pull on the free securities, A dx = change of the bounds.
   */
  function solveAlongPath(): void {
    const f = factor.count();
    for (let p = 0; p < f; p++) pulledGradient[p] = isPulled ? path.pull[factor.order[p]!]! : 0;
    if (isPulled) factor.forward(pulledGradient);
    for (let a = 0; a < m; a++) {
      let total = -rightSide[a]!;
      const column = columns[a]!;
      for (let p = 0; p < f; p++) total -= column[p]! * pulledGradient[p]!;
      change[a] = total;
    }
    solveFactored(schur, m, change, isRepeated);
    for (let p = 0; p < f; p++) {
      let total = -pulledGradient[p]!;
      for (let a = 0; a < m; a++) total -= columns[a]![p]! * change[a]!;
      step[p] = total;
    }
    factor.backward(step);
    dx.fill(0);
    for (let p = 0; p < f; p++) dx[factor.order[p]!] = step[p]!;
    distributeMultipliers();
    multiplyCurvature(program, dx, path.curved);
    for (let i = 0; i < n; i++) gradientRate[i]! += path.curved[i]! + path.pull[i]!;
  }

  return {
    solve() {
      m = gatherActive(path, activeRows, rightSide);
      factorActive();
      if (solveTurn()) return true;
      solveAlongPath();
      return false;
    },
  };
}

/** Returns the coefficient of a security in a row or a kink. */
const readRowCoefficient = ({ program, state }: Path, row: number, i: number): number =>
  row < program.rows.count
    ? program.rows.coefficients[row * program.n + i]!
    : computeSlope(program, state, row - program.rows.count, i);

/** Lists the active rows and kinks with their required rates of change. @returns the number of active rows and kinks */
function gatherActive(path: Path, active: Int32Array, wanted: Float64Array): number {
  const { program, state } = path;
  const { rows, kinks } = program;
  let m = 0;
  for (let r = 0; r < rows.count; r++) {
    const side = state.rows[r]!;
    if (side === IDLE || side === OVER || side === UNDER) continue;
    wanted[m] = side === LOWER ? path.lowerRate[r]! : path.upperRate[r]!;
    active[m++] = r;
  }
  for (let k = 0; k < kinks.length; k++) {
    if (state.kinks[k] !== UPPER) continue;
    wanted[m] = 0;
    active[m++] = rows.count + k;
  }
  return m;
}
