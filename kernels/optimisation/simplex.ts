import { solveSquare } from '../algebra/linear-systems.js';
import {
  type ActiveState,
  createColdState,
  createIterate,
  EQUAL,
  findStateValue,
  FREE,
  IDLE,
  type Iterate,
  LOWER,
  OVER,
  PINNED,
  settleSides,
  UPPER,
} from './program/active-state.js';
import type { ProgramResult } from './program/optimality.js';
import { computeSmoothGradient, type Program, sumKinks } from './program/program.js';

/** Minimum rate that is not a rounding error, relative to the largest coefficient of the gain. */
const RATE_MIN = 1e-12;

/**
 * Computes the slope of the optimal value in a linear gain, from below, at the corner with the largest gain. The slope
 * is the smallest multiplier of the gain for which the corner is optimal. Larger multipliers are valid too, because no
 * other point has this gain.
 * @param program  Program without a row for the gain, kinks and norms.
 * @param corner   Point and state of the largest gain.
 * @param gain     Coefficients of the gain, [n].
 * @returns        Slope; undefined if the active rows do not determine the free variables, or the multipliers cannot be
 *                 valid.
 * @cost           f^3 / 3 + m n for f free variables
 * @source         Best (2010), Portfolio Optimization, chapter 5: the parametric solution at a corner.
 */
export function computeCornerSlope(
  program: Program,
  { point, state }: Pick<ProgramResult, 'point' | 'state'>,
  gain: Float64Array,
): number | undefined {
  const { n, rows, kinks, norms } = program;
  const freeVariables = listPositions(state.names, (held) => held === FREE);
  const activeRows = listPositions(state.rows, (side) => side !== IDLE);
  if (kinks.length > 0 || norms.length > 0 || freeVariables.length !== activeRows.length) return undefined;
  const gradient = computeSmoothGradient(program, point.x);
  const k = freeVariables.length;
  const sides = new Float64Array(2 * k);
  for (const [p, i] of freeVariables.entries()) [sides[2 * p], sides[2 * p + 1]] = [-gradient[i]!, gain[i]!];
  const square = Float64Array.from({ length: k * k }, (_, e) =>
    readEntry(rows, n, activeRows[e % k]!, freeVariables[Math.floor(e / k)]!),
  );
  if (!solveSquare(square, k, sides, 2)) return undefined;
  // The multipliers of the rows are those of the objective plus the slope times those of the gain. The same holds for
  // the forces on variables.
  const signs: SignCondition[] = [];
  const force = gradient.slice();
  const growth = gain.map((value) => -value);
  for (const [p, r] of activeRows.entries()) {
    const [base, rate] = [sides[2 * p]!, sides[2 * p + 1]!];
    for (let i = 0; i < n; i++) {
      force[i]! += base * readEntry(rows, n, r, i);
      growth[i]! += rate * readEntry(rows, n, r, i);
    }
    if (rows.lower[r] !== rows.upper[r]) signs.push(createSign(state.rows[r] === UPPER, base, rate));
  }
  for (let i = 0; i < n; i++)
    if (state.names[i] !== FREE && program.lower[i] !== program.upper[i])
      signs.push(createSign(state.names[i] !== UPPER, force[i]!, growth[i]!));
  return findLeastRise(signs, RATE_MIN * gain.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
}

/** Sign condition on a multiplier: base + slope x rate must not be negative. */
interface SignCondition {
  readonly base: number;
  readonly rate: number;
}

function createSign(isPositive: boolean, base: number, rate: number): SignCondition {
  return isPositive ? { base, rate } : { base: -base, rate: -rate };
}

function findLeastRise(signs: readonly SignCondition[], rateMin: number): number | undefined {
  let rise = 0;
  for (const { base, rate } of signs) {
    if (base >= 0 && rate >= -rateMin) continue;
    if (rate <= rateMin) return undefined;
    rise = Math.max(rise, -base / rate);
  }
  return rise;
}

function listPositions(states: Int8Array, isWanted: (state: number) => boolean): readonly number[] {
  return [...states.keys()].filter((position) => isWanted(states[position]!));
}

function readEntry({ coefficients }: Program['rows'], n: number, row: number, name: number): number {
  return coefficients[row * n + name]!;
}

/**
 * Linear program over z, [n], each between 0 and its length:
 *
 *   minimise    cost'z
 *   subject to  rows.lower <= coefficients z <= rows.upper
 */
interface LinearProgram {
  readonly n: number;
  /** Number of rows: those of the program, then the limits on its kinks. */
  readonly m: number;
  /** Coefficients, [m x n] row-major. */
  readonly coefficients: Float64Array;
  /** [n] */
  readonly cost: Float64Array;
  /** Lengths of the variables, [n], finite. */
  readonly length: Float64Array;
  /** [m] */
  readonly lower: Float64Array;
  /** [m] */
  readonly upper: Float64Array;
}

/** Program without curvature whose variables are divided at their kinks. The objective is linear on each segment. */
interface Segments extends LinearProgram {
  /** Variable of each segment, ascending, [n]. */
  readonly nameOf: Int32Array;
  /** Start of each segment, [n]; the segments of a variable are adjacent. */
  readonly from: Float64Array;
  /** Index of the kink of each additional row that represents a limit. */
  readonly limited: readonly number[];
}

/** Maximum number of entries of a tableau, 32 MB. Larger programs use other methods. */
const TABLEAU_MAX = 4_000_000;

/**
 * Divides the variables of a program into segments at their kinks.
 * @returns  Undefined if the program has curvature or penalties, is unbounded, or the tableau would be too large.
 * @cost     m n
 */
function createSegments(program: Program): Segments | undefined {
  const { rows, kinks } = program;
  if (!isLinear(program)) return undefined;
  const upper = findImpliedUpper(program);
  if (upper === undefined) return undefined;
  const pieces = listPieces(program, upper);
  const limitedKinks = [...kinks.keys()].filter((k) => kinks[k]!.limit !== null);
  const [m, n] = [rows.count + limitedKinks.length, pieces.length];
  if (m * n > TABLEAU_MAX) return undefined;
  const segments: Segments = {
    n,
    m,
    coefficients: new Float64Array(m * n),
    cost: new Float64Array(n),
    length: Float64Array.from(pieces, ({ from, to }) => to - from),
    lower: new Float64Array(m).fill(Number.NEGATIVE_INFINITY),
    upper: new Float64Array(m),
    nameOf: Int32Array.from(pieces, ({ name }) => name),
    from: Float64Array.from(pieces, ({ from }) => from),
    limited: limitedKinks,
  };
  fillSegments(segments, program);
  return segments;
}

function isLinear({ curvature, ridge, rows, kinks, norms }: Program): boolean {
  return (
    curvature === 0 &&
    ridge === 0 &&
    norms.length === 0 &&
    rows.penalty.every((penalty) => penalty === Number.POSITIVE_INFINITY) &&
    kinks.every(({ limit, penalty }) => limit === null || penalty === Number.POSITIVE_INFINITY)
  );
}

/**
 * Returns the upper bounds of the variables, including bounds implied by a row with positive coefficients; undefined if
 * a variable is unbounded.
 */
function findImpliedUpper({ n, lower, upper, rows }: Program): Float64Array | undefined {
  if (!lower.every(Number.isFinite)) return undefined;
  const impliedUpper = upper.slice();
  for (let r = 0; r < rows.count && !impliedUpper.every(Number.isFinite); r++) {
    const coefficients = rows.coefficients.subarray(r * n, r * n + n);
    if (!Number.isFinite(rows.upper[r]!) || coefficients.some((value) => value < 0)) continue;
    const rowSlack = rows.upper[r]! - coefficients.reduce((sum, value, i) => sum + value * lower[i]!, 0);
    for (let i = 0; i < n; i++)
      if (coefficients[i]! > 0)
        impliedUpper[i] = Math.min(impliedUpper[i]!, lower[i]! + Math.max(rowSlack, 0) / coefficients[i]!);
  }
  return impliedUpper.every(Number.isFinite) ? impliedUpper : undefined;
}

/** Part of a variable between two of its kinks or bounds. */
interface Piece {
  readonly name: number;
  readonly from: number;
  readonly to: number;
}

function listPieces({ n, lower, kinks }: Program, upper: Float64Array): Piece[] {
  const pieces: Piece[] = [];
  for (let name = 0; name < n; name++) {
    const [low, high] = [lower[name]!, upper[name]!];
    const kinkPoints = kinks.flatMap(({ at, left, right }) => {
      const kinkPosition = at[name]!;
      return left[name] !== right[name] && kinkPosition > low && kinkPosition < high ? [kinkPosition] : [];
    });
    const breakpoints = [...new Set([low, ...kinkPoints, high])].toSorted((a, b) => a - b);
    for (let e = 0; e + 1 < breakpoints.length; e++)
      pieces.push({ name, from: breakpoints[e]!, to: breakpoints[e + 1]! });
  }
  return pieces;
}

function fillSegments(segments: Segments, program: Program): void {
  const { n, coefficients, cost, length, lower, upper, nameOf, from, limited } = segments;
  const { rows, kinks, linear, lower: least } = program;
  for (let j = 0; j < n; j++) cost[j] = linear[nameOf[j]!]!;
  for (let r = 0; r < rows.count; r++) {
    const rowCoefficients = rows.coefficients.subarray(r * program.n, (r + 1) * program.n);
    for (let j = 0; j < n; j++) coefficients[r * n + j] = rowCoefficients[nameOf[j]!]!;
    const leastSum = rowCoefficients.reduce((sum, value, i) => sum + value * least[i]!, 0);
    lower[r] = rows.lower[r]! - leastSum;
    upper[r] = rows.upper[r]! - leastSum;
  }
  const findSlope = (k: number, j: number): number => {
    const { at, left, right } = kinks[k]!;
    const i = nameOf[j]!;
    return from[j]! + length[j]! / 2 > at[i]! ? right[i]! : left[i]!;
  };
  for (const [k, { limit }] of kinks.entries())
    if (limit === null) for (let j = 0; j < n; j++) cost[j]! += findSlope(k, j);
  for (const [position, k] of limited.entries()) {
    const r = rows.count + position;
    for (let j = 0; j < n; j++) coefficients[r * n + j] = findSlope(k, j);
    upper[r] = kinks[k]!.limit! - sumKinks(kinks[k]!, least);
  }
}

interface Corner {
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
function solveByDualSimplex(program: LinearProgram): Corner | undefined {
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

/** Corner of a program with its active set. */
export interface SolvedCorner {
  readonly state: ActiveState;
  readonly iterate: Iterate;
  readonly pivots: number;
}

/**
 * Finds the optimal corner of a program without curvature.
 *
 * @returns  Undefined if the program has curvature or penalties, is unbounded or too large, or if no corner is found.
 * @cost     one to three pivots per active row, of m n each
 */
export function solveCorner(program: Program): SolvedCorner | undefined {
  const segments = createSegments(program);
  if (segments === undefined) return undefined;
  const corner = solveByDualSimplex(segments);
  if (corner === undefined) return undefined;
  const [state, iterate] = [createColdState(program), createIterate(program)];
  iterate.x.set(program.lower);
  const isBetween = new Uint8Array(program.n);
  for (let j = 0; j < segments.n; j++) {
    iterate.x[segments.nameOf[j]!]! += corner.z[j]!;
    if (corner.isBasic[j] === 1) isBetween[segments.nameOf[j]!] = 1;
  }
  for (let i = 0; i < program.n; i++) settleVariable(program, { state, iterate }, i, isBetween[i] === 1);
  settleRows(program, segments, corner, { state, iterate });
  return { state, iterate, pivots: corner.pivots };
}

/**
 * Distance within which a weight counts as at a bound or kink, relative to 1 + |bound|. Rounding errors of sums of
 * segment lengths stay below it.
 */
const CONTACT_TOLERANCE = 1e-14;

function settleVariable(
  program: Program,
  { state, iterate }: Pick<SolvedCorner, 'state' | 'iterate'>,
  i: number,
  isBetween: boolean,
): void {
  const { lower, upper, kinks } = program;
  const isAtBound = (bound: number): boolean =>
    Math.abs(iterate.x[i]! - bound) <= CONTACT_TOLERANCE * (1 + Math.abs(bound));
  const pinnedKink = kinks.findIndex(({ at, left, right }) => left[i] !== right[i] && isAtBound(at[i]!));
  state.names[i] = FREE;
  if (!isBetween) {
    if (isAtBound(lower[i]!)) state.names[i] = LOWER;
    else if (isAtBound(upper[i]!)) state.names[i] = UPPER;
    else if (pinnedKink >= 0) state.names[i] = PINNED + pinnedKink;
  }
  iterate.x[i] = findStateValue(program, state.names[i]!, i, iterate.x[i]!);
  settleSides(program, state, i, iterate.x[i]!);
}

function settleRows(
  { rows, kinks }: Program,
  { limited }: Segments,
  { activeSides, multipliers }: Corner,
  { state, iterate }: Pick<SolvedCorner, 'state' | 'iterate'>,
): void {
  for (let r = 0; r < rows.count; r++) {
    iterate.rowMultipliers[r] = multipliers[r]!;
    if (rows.lower[r] === rows.upper[r]) state.rows[r] = EQUAL;
    else state.rows[r] = activeSides[r] === 0 ? IDLE : activeSides[r] === 1 ? UPPER : LOWER;
  }
  for (const [k, { limit }] of kinks.entries())
    if (limit === null) [state.kinks[k], iterate.kinkMultipliers[k]] = [OVER, 1];
  for (const [position, k] of limited.entries()) {
    state.kinks[k] = activeSides[rows.count + position] === 0 ? IDLE : UPPER;
    iterate.kinkMultipliers[k] = multipliers[rows.count + position]!;
  }
}
