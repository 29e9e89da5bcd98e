import { sumKinks, type Program } from '../program/program.js';

/**
 * Linear program over z, [n], each between 0 and its length:
 *
 *   minimise    cost'z
 *   subject to  rows.lower <= coefficients z <= rows.upper
 */
export interface LinearProgram {
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
export interface Segments extends LinearProgram {
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
export function createSegments(program: Program): Segments | undefined {
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
