import type { LinearProgram } from './segments.js';

/** Optimum of a linear program at a corner. */
export interface Corner {
  /** [n] */
  readonly z: Float64Array;
  /** 1 for variables between their bounds, [n]. */
  readonly isBasic: Uint8Array;
  /** Active bounds of the rows, [m]: 1 upper, -1 lower, 0 none. */
  readonly activeSides: Int8Array;
  /** Multipliers as in `Point`: positive for an active upper bound, [m]. */
  readonly multipliers: Float64Array;
  readonly pivots: number;
}

/** Maximum number of pivots per row; one to three are usual. */
const PIVOTS_PER_ROW = 20;

/** Maximum violation of the bounds of a row or variable, relative to 1 + |bound|. */
const VIOLATION_MAX = 1e-12;

/** Smallest entry of the tableau that is not a rounding error. */
const PIVOT_MIN = 1e-9;

/** Relative difference below which two ratios count as equal. The larger pivot is then used. */
const RATIO_TOLERANCE = 1e-12;

/**
 * Solves a linear program by the dual simplex method on a dense tableau. It begins with every variable at the bound
 * that its cost prefers. It then repeatedly moves the row with the largest violation to its bound. Variables whose
 * reduced cost changes sign during this step move to their opposite bound.
 * @returns  Optimal corner; undefined if the program is infeasible or the pivots do not suffice.
 * @cost     m n per pivot
 * @source   Lemke (1954), Naval Research Logistics Quarterly 1(1), for the method; Maros (2003), Computational
 *           Techniques of the Simplex Method, section 10.2, for the longest step.
 */
export function solveByDualSimplex(program: LinearProgram): Corner | undefined {
  const tableau = createTableau(program);
  const pivotsMax = PIVOTS_PER_ROW * (program.m + 1);
  for (let pivots = 0; pivots < pivotsMax; pivots++) {
    const row = findLargestViolation(tableau);
    if (row < 0) return createCorner(tableau, pivots);
    if (!enterBasis(tableau, row)) return undefined;
  }
  return undefined;
}

/**
 * Simplex tableau, which states basic variables as linear combinations of nonbasic ones. Variables 0 to n - 1 are those
 * of the program; the values of its rows follow.
 */
interface Tableau {
  readonly program: LinearProgram;
  /** [m x n] */
  readonly entries: Float64Array;
  /** Reduced cost of each nonbasic variable, [n]. */
  readonly prices: Float64Array;
  /** Basic variable of each row, [m]. */
  readonly basic: Int32Array;
  /** Nonbasic variable of each column, [n]. */
  readonly other: Int32Array;
  /** Value of each basic variable, [m]. */
  readonly values: Float64Array;
  /** 1 if the nonbasic variable of a column is at its upper bound, [n]. */
  readonly isHigh: Uint8Array;
  /** [n + m] */
  readonly lower: Float64Array;
  /** [n + m] */
  readonly upper: Float64Array;
}

function createTableau(program: LinearProgram): Tableau {
  const { n, m, coefficients, cost } = program;
  const lower = new Float64Array(n + m);
  lower.set(program.lower, n);
  const upper = new Float64Array(n + m);
  upper.set(program.length);
  upper.set(program.upper, n);
  const tableau: Tableau = {
    program,
    entries: coefficients.slice(),
    prices: cost.slice(),
    basic: Int32Array.from({ length: m }, (_, r) => n + r),
    other: Int32Array.from({ length: n }, (_, j) => j),
    values: new Float64Array(m),
    isHigh: Uint8Array.from(cost, (value) => (value < 0 ? 1 : 0)),
    lower,
    upper,
  };
  computeBasicValues(tableau);
  return tableau;
}

/** Computes the values of the basic variables from the nonbasic ones. */
function computeBasicValues({ program: { n, m }, entries, other, values, isHigh, lower, upper }: Tableau): void {
  const boundValues = Float64Array.from(other, (variable, j) =>
    isHigh[j] === 1 ? upper[variable]! : lower[variable]!,
  );
  for (let r = 0; r < m; r++) {
    let value = 0;
    for (let j = 0; j < n; j++) value += entries[r * n + j]! * boundValues[j]!;
    values[r] = value;
  }
}

/** Returns the row of the basic variable with the largest violation; -1 if all are within their bounds. */
function findLargestViolation({ program: { m }, basic, values, lower, upper }: Tableau): number {
  let [worst, found] = [0, -1];
  for (let r = 0; r < m; r++) {
    const [low, high] = [lower[basic[r]!]!, upper[basic[r]!]!];
    const shortfall = low - values[r]!;
    const excess = values[r]! - high;
    const violation =
      shortfall > excess
        ? shortfall - VIOLATION_MAX * (1 + Math.abs(low))
        : excess - VIOLATION_MAX * (1 + Math.abs(high));
    if (violation > worst) [worst, found] = [violation, r];
  }
  return found;
}

/** Column that can move a basic variable towards its bound. */
interface EnteringVariable {
  readonly column: number;
  /** Change of the basic variable per unit of the column's variable, towards the bound. */
  readonly pull: number;
  /** Change of the objective per unit of the basic variable. */
  readonly ratio: number;
}

/** Moves a violated basic variable to its bound. @returns false if no column can move it there */
function enterBasis(tableau: Tableau, row: number): boolean {
  const { program, entries, basic, other, values, isHigh, lower, upper } = tableau;
  const { n, m } = program;
  const isUnder = values[row]! < lower[basic[row]!]!;
  const target = isUnder ? lower[basic[row]!]! : upper[basic[row]!]!;
  const movers = listMovers(tableau, row, isUnder ? 1 : -1);
  const enteringColumn = countPassed(tableau, movers, Math.abs(target - values[row]!));
  if (enteringColumn < 0) return false;
  for (let k = 0; k < enteringColumn; k++) {
    const { column } = movers[k]!;
    const range = upper[other[column]!]! - lower[other[column]!]!;
    const step = isHigh[column] === 1 ? -range : range;
    isHigh[column]! ^= 1;
    for (let r = 0; r < m; r++) values[r]! += entries[r * n + column]! * step;
  }
  const { column } = movers[enteringColumn]!;
  const enteringVariable = other[column]!;
  const leavingValue = isHigh[column] === 1 ? upper[enteringVariable]! : lower[enteringVariable]!;
  const step = (target - values[row]!) / entries[row * n + column]!;
  for (let r = 0; r < m; r++) values[r]! += entries[r * n + column]! * step;
  values[row] = leavingValue + step;
  isHigh[column] = isUnder ? 0 : 1;
  other[column] = basic[row]!;
  basic[row] = enteringVariable;
  substituteColumn(tableau, row, column);
  return true;
}

/**
 * Returns the columns that can move a basic variable up (1) or down (-1). They are in the order in which their reduced
 * costs change sign.
 */
function listMovers(
  { program: { n }, entries, prices, other, isHigh, lower, upper }: Tableau,
  row: number,
  way: number,
) {
  const movers: EnteringVariable[] = [];
  for (let column = 0; column < n; column++) {
    const pull = way * entries[row * n + column]! * (isHigh[column] === 1 ? -1 : 1);
    if (pull < PIVOT_MIN || upper[other[column]!] === lower[other[column]!]) continue;
    movers.push({ column, pull, ratio: Math.abs(prices[column]!) / pull });
  }
  return movers.toSorted((a, b) => a.ratio - b.ratio || b.pull - a.pull || a.column - b.column);
}

/**
 * Returns the number of columns whose variables move to their opposite bound before the basic variable reaches its
 * bound. The next column enters the basis. If reduced costs of several columns change sign at the same point, the
 * column with the largest effect enters. Returns -1 if all columns together are not sufficient.
 */
function countPassed({ other, lower, upper }: Tableau, movers: EnteringVariable[], way: number): number {
  let remainingDistance = way;
  for (let k = 0; k < movers.length; k++) {
    const { column, pull, ratio } = movers[k]!;
    remainingDistance -= pull * (upper[other[column]!]! - lower[other[column]!]!);
    if (remainingDistance >= 0) continue;
    let bestMover = k;
    for (let e = k + 1; e < movers.length && movers[e]!.ratio <= ratio + RATIO_TOLERANCE * (1 + ratio); e++)
      if (movers[e]!.pull > movers[bestMover]!.pull) bestMover = e;
    [movers[k], movers[bestMover]] = [movers[bestMover]!, movers[k]!];
    return k;
  }
  return -1;
}

/** Solves a row for the variable of a column. Substitutes the result in the other rows. */
function substituteColumn({ program: { n, m }, entries, prices }: Tableau, row: number, column: number): void {
  const pivot = entries[row * n + column]!;
  const pivotRow = entries.subarray(row * n, row * n + n);
  for (let j = 0; j < n; j++) pivotRow[j] = -pivotRow[j]! / pivot;
  pivotRow[column] = 1 / pivot;
  const substituteRow = (line: Float64Array): void => {
    const multiple = line[column]!;
    if (multiple === 0) return;
    line[column] = 0;
    for (let j = 0; j < n; j++) line[j]! += multiple * pivotRow[j]!;
  };
  for (let r = 0; r < m; r++) if (r !== row) substituteRow(entries.subarray(r * n, r * n + n));
  substituteRow(prices);
}

function createCorner(tableau: Tableau, pivots: number): Corner {
  computeBasicValues(tableau);
  const { program, prices, basic, other, values, isHigh, lower, upper } = tableau;
  const { n, m } = program;
  const z = new Float64Array(n);
  const isBasic = new Uint8Array(n);
  const activeSides = new Int8Array(m);
  const multipliers = new Float64Array(m);
  for (let r = 0; r < m; r++) {
    if (basic[r]! >= n) continue;
    z[basic[r]!] = values[r]!;
    isBasic[basic[r]!] = 1;
  }
  for (let j = 0; j < n; j++) {
    const variable = other[j]!;
    if (variable < n) z[variable] = isHigh[j] === 1 ? upper[variable]! : lower[variable]!;
    else {
      activeSides[variable - n] = isHigh[j] === 1 ? 1 : -1;
      multipliers[variable - n] = -prices[j]!;
    }
  }
  return { z, isBasic, activeSides, multipliers, pivots };
}
