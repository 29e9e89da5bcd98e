import { computeMetricDiagonal, createSparseRows, type Metric, type SparseRows } from '../program/metric.js';
import type { Program } from '../program/program.js';

/**
 * Rows with one bound that are eliminated before the securities ("folded"). They add to the curvature and need no
 * columns in the Schur complement.
 */
export interface FoldedRows {
  /** Indices of the folded rows, ascending, [T]. */
  readonly rows: Int32Array;
  /** Indices of all other rows, ascending. */
  readonly others: Int32Array;
  /** Scaled coefficients on the free securities, [T x f]. */
  readonly values: Float64Array;
  /** Coefficients of each row times the square root of its weight, [T x f]. */
  readonly weighted: Float64Array;
  /** Change of each row's multiplier per unit of its value, [T]. */
  readonly weights: Float64Array;
  /** Scratch with one number per row, [T]. */
  readonly pushes: Float64Array;
}

/**
 * Minimum number of rows with a penalty, per free security, for folding. With fewer rows, a Schur complement is
 * cheaper.
 */
const ROWS_PER_VARIABLE = 0.5;

/** Minimum number of rows with a penalty for folding, regardless of the number of securities. */
const ROWS_MIN = 32;

/**
 * Minimum numbers of rows with one bound for folding those without a penalty as well, per free security and in total.
 * They are higher, because the weights of rows without a penalty are unbounded. Near the end, a Schur complement is
 * then more accurate.
 */
const HARD_PER_VARIABLE = 1;
const HARD_MIN = 128;

/** Returns true if the rows with a penalty are numerous enough to fold. @cost m */
export function isFolded(program: Program, free: number): boolean {
  return countRows(program, isSoft) >= Math.max(ROWS_MIN, ROWS_PER_VARIABLE * free);
}

function areHardFolded(program: Program, free: number): boolean {
  return countRows(program, isOneSided) >= Math.max(HARD_MIN, HARD_PER_VARIABLE * free);
}

function countRows({ rows }: Program, isCounted: (rows: Program['rows'], r: number) => boolean): number {
  let count = 0;
  for (let r = 0; r < rows.count; r++) if (isCounted(rows, r)) count++;
  return count;
}

/**
 * Returns true if a row has one bound and a penalty. Only its slack and its excess then connect its value with its
 * multiplier.
 */
function isSoft(rows: Program['rows'], r: number): boolean {
  return Number.isFinite(rows.penalty[r]!) && isOneSided(rows, r);
}

function isOneSided({ lower, upper }: Program['rows'], r: number): boolean {
  return Number.isFinite(lower[r]!) !== Number.isFinite(upper[r]!);
}

interface Folding {
  readonly rowScale: Float64Array;
  /** True if rows without a penalty are folded as well; false if the last digits matter. */
  readonly withHard: boolean;
}

/** Returns the rows to fold; null if there are too few. @cost two copies of their coefficients */
export function foldRows(program: Program, free: Int32Array, { rowScale, withHard }: Folding): FoldedRows | null {
  const { n, rows } = program;
  const f = free.length;
  const isFoldable = withHard && areHardFolded(program, f) ? isOneSided : isFolded(program, f) ? isSoft : undefined;
  if (isFoldable === undefined) return null;
  const rowIndices = Array.from({ length: rows.count }, (_, r) => r);
  const foldedRows = Int32Array.from(rowIndices.filter((r) => isFoldable(rows, r)));
  const values = new Float64Array(foldedRows.length * f);
  foldedRows.forEach((r, k) => {
    const scale = rowScale[r]!;
    for (let p = 0; p < f; p++) values[k * f + p] = scale * rows.coefficients[r * n + free[p]!]!;
  });
  return {
    rows: foldedRows,
    others: Int32Array.from(rowIndices.filter((r) => !isFoldable(rows, r))),
    values,
    weighted: new Float64Array(values.length),
    weights: new Float64Array(foldedRows.length),
    pushes: new Float64Array(foldedRows.length),
  };
}

/**
 * Complementary pairs of an interior-point method in flat arrays. Slacks `s` and duals `z` are positive and have steps.
 * A pair that does not exist has a zero in `on` and is skipped.
 */
export interface Pairs {
  readonly count: number;
  readonly on: Uint8Array;
  readonly s: Float64Array;
  readonly z: Float64Array;
  readonly ds: Float64Array;
  readonly dz: Float64Array;
  /** Right-hand side of the linearised complementarity: s dz + z ds = target. */
  readonly target: Float64Array;
}

function createPairs(count: number): Pairs {
  const allocateArray = () => new Float64Array(count);
  return {
    count,
    on: new Uint8Array(count),
    s: allocateArray(),
    z: allocateArray(),
    ds: allocateArray(),
    dz: allocateArray(),
    target: allocateArray(),
  };
}

/** Returns the mean of s z over the existing pairs, zero if there are none. */
export function computeMeanComplementarity({ count, on, s, z }: Pairs): number {
  let total = 0;
  let number = 0;
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    total += s[k]! * z[k]!;
    number++;
  }
  return number === 0 ? 0 : total / number;
}

/** Returns the mean of s z after a step of length `length`. */
export function predictComplementarity({ count, on, s, z, ds, dz }: Pairs, length: number): number {
  let total = 0;
  let number = 0;
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    total += (s[k]! + length * ds[k]!) * (z[k]! + length * dz[k]!);
    number++;
  }
  return number === 0 ? 0 : total / number;
}

/** Returns the longest step, at most 1, that keeps every pair positive. */
export function findLongestStep({ count, on, s, z, ds, dz }: Pairs): number {
  let length = 1;
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    if (ds[k]! < 0 && -s[k]! / ds[k]! < length) length = -s[k]! / ds[k]!;
    if (dz[k]! < 0 && -z[k]! / dz[k]! < length) length = -z[k]! / dz[k]!;
  }
  return length;
}

export function setAffineTarget({ count, s, z, target }: Pairs): void {
  for (let k = 0; k < count; k++) target[k] = -s[k]! * z[k]!;
}

/** Sets the target of the corrector: complementarity `mu`, less the product of the affine steps. */
export function setCentredTarget({ count, s, z, ds, dz, target }: Pairs, mu: number): void {
  for (let k = 0; k < count; k++) target[k] = mu - s[k]! * z[k]! - ds[k]! * dz[k]!;
}

/**
 * Ratio of a product to the target, or of the target to a product. From this ratio on, a product counts as off centre.
 */
const SPREAD_RATIO = 10;

/**
 * Corrects the target for products that are off centre after a step of up to `length`. Adds the distance of each such
 * product from the permitted range. This is Gondzio's correction, which gives another direction with the current
 * factors.
 * @source  Gondzio (1996), Multiple centrality corrections in a primal-dual method for linear programming,
 *          Computational Optimization and Applications 6.
 */
export function setNarrowerTarget({ count, on, s, z, ds, dz, target }: Pairs, length: number, mu: number): void {
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    const product = (s[k]! + length * ds[k]!) * (z[k]! + length * dz[k]!);
    if (product < mu / SPREAD_RATIO) target[k]! += mu / SPREAD_RATIO - product;
    else if (product > mu * SPREAD_RATIO) target[k]! += Math.max(mu * SPREAD_RATIO - product, -mu * SPREAD_RATIO);
  }
}

/** Initial proximal term of the securities in the scaled program. It vanishes at the solution. */
const PROXIMAL_VARIABLE = 1e-9;

/** Proximal term for a far start, with securities in different units. */
const PROXIMAL_FAR = 1e-8;

/** Minimum distance of the bounds of a security that is not fixed, relative to 1 + |bound|. */
const FIXED_WIDTH = 1e-13;

/** Minimum number by which the objective is divided, as a fraction of its steepest slope. */
const SLOPE_SHARE = 1e-3;

/** Smallest number by which the constraint on the square of a norm is divided; larger radii divide it themselves. */
const RADIUS_MIN = 1e-6;

export interface InteriorWork {
  readonly program: Program;
  /** Indices of the free variables, [f]. */
  readonly free: Int32Array;
  readonly f: number;
  /** Factor on the objective in the scaled program. */
  readonly scale: number;
  /** Reciprocal of the largest coefficient of each row, [m]. */
  readonly rowScale: Float64Array;
  readonly pairs: Pairs;
  /** Offsets of the segments of the pairs. */
  readonly at: Segments;
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Values of the kinks, [kinks x f]. */
  readonly t: Float64Array;
  readonly gradient: Float64Array;
  readonly offset: Float64Array;
  readonly product: Float64Array;
  readonly diagonal: Float64Array;
  /** Rows folded into the curvature of the securities; null if there are few. */
  readonly fold: FoldedRows | null;
  /**
   * Indices of the rows in the Schur complement, ascending, and the position of each row among them, -1 for a folded
   * row.
   */
  readonly kept: Int32Array;
  readonly columnOf: Int32Array;
  /** Number of columns: kept rows, kinks and norms. */
  readonly columnCount: number;
  readonly columns: Float64Array;
  readonly solved: Float64Array;
  readonly columnRows: SparseRows;
  readonly solvedRows: SparseRows;
  readonly schur: Float64Array;
  readonly skipped: Uint8Array;
  /** Diagonal terms of the Schur complement, [columns]. */
  readonly slack: Float64Array;
  readonly rowResidual: Float64Array;
  /** Multipliers of the rows in the units of the program, [m]. */
  readonly rowMultipliers: Float64Array;
  readonly right: Float64Array;
  readonly change: Float64Array;
  readonly dx: Float64Array;
  /** Right-hand sides of the columns, errors of a solve, and scratch for a correction. */
  readonly columnRight: Float64Array;
  readonly nameError: Float64Array;
  readonly rowError: Float64Array;
  readonly trial: Float64Array;
  readonly trialChange: Float64Array;
  readonly refinements: number;
  /** Value of (|x - c|^2 - r^2) / (2 r) for each norm, [norms]. */
  readonly normExcess: Float64Array;
  /** Gradient of `normExcess`, [norms x f]. */
  readonly normGradient: Float64Array;
  readonly normRadius: Float64Array;
  /** Distance to a bound less its slack, [f]; zero after a near start. */
  readonly lowerResidual: Float64Array;
  readonly upperResidual: Float64Array;
  /** Multiplier of each norm divided by its radius. */
  readonly normWeights: Float64Array;
  /** Metric of the factored curvature, which is multiplied by `metricScale`. */
  metric: Metric | null;
  metricScale: number;
  proximal: number;
  /** True once the columns of the rows have been computed; they never change. */
  hasRowColumns: boolean;
  primalResidual: number;
  dualResidual: number;
  gradientScale: number;
}

interface Segments {
  readonly lower: number;
  readonly upper: number;
  readonly rowUpper: number;
  readonly rowLower: number;
  readonly rowOver: number;
  readonly rowUnder: number;
  readonly left: number;
  readonly right: number;
  readonly limit: number;
  readonly limitOver: number;
  readonly norm: number;
}

/**
 * Accuracy and start of a run: `near` with the usual tolerance, `deep` to the last digits, `far` from a distant start,
 * or `rough` for an approximation.
 */
export type InteriorRun = 'near' | 'deep' | 'far' | 'rough';

export function createWork(program: Program, run: InteriorRun): InteriorWork {
  const { n, rows, kinks, norms, lower, upper } = program;
  const names: number[] = [];
  for (let i = 0; i < n; i++)
    if (upper[i]! - lower[i]! > FIXED_WIDTH * (1 + Math.min(Math.abs(lower[i]!), Math.abs(upper[i]!), 1e6)))
      names.push(i);
  const free = Int32Array.from(names);
  const f = free.length;
  const m = rows.count;
  const K = kinks.length;
  const Q = norms.length;
  const sizes = [f, f, m, m, m, m, K * f, K * f, K, K, Q];
  const starts = sizes.map((_, k) => sizes.slice(0, k).reduce((sum, size) => sum + size, 0));
  const [lo, up, rowUpper, rowLower, rowOver, rowUnder, left, right, limit, limitOver, norm] = starts as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const pairs = createPairs(sizes.reduce((sum, size) => sum + size, 0));
  const rowScale = new Float64Array(m);
  for (let r = 0; r < m; r++) {
    let largest = 0;
    for (let p = 0; p < f; p++) largest = Math.max(largest, Math.abs(rows.coefficients[r * n + free[p]!]!));
    rowScale[r] = largest > 0 ? 1 / largest : 1;
  }
  const fold = foldRows(program, free, { rowScale, withHard: run === 'near' || run === 'rough' });
  const areSoftFolded = isFolded(program, f);
  const keptRows = fold === null ? Int32Array.from({ length: m }, (_, r) => r) : fold.others;
  const columnOf = new Int32Array(m).fill(-1);
  keptRows.forEach((r, column) => (columnOf[r] = column));
  const columnCount = keptRows.length + K + Q;
  const magnitude = computeMagnitude(program, free, areSoftFolded);
  return {
    program,
    free,
    f,
    scale: magnitude > 0 ? 1 / magnitude : 1,
    rowScale,
    pairs,
    at: { lower: lo, upper: up, rowUpper, rowLower, rowOver, rowUnder, left, right, limit, limitOver, norm },
    x: new Float64Array(n),
    y: new Float64Array(m),
    t: new Float64Array(K * f),
    gradient: new Float64Array(n),
    offset: new Float64Array(n),
    product: new Float64Array(n),
    diagonal: new Float64Array(n),
    fold,
    kept: keptRows,
    columnOf,
    columnCount,
    columns: new Float64Array(f * columnCount),
    solved: new Float64Array(f * columnCount),
    columnRows: createSparseRows(),
    solvedRows: createSparseRows(),
    schur: new Float64Array(columnCount * columnCount),
    skipped: new Uint8Array(columnCount),
    slack: new Float64Array(columnCount),
    rowResidual: new Float64Array(m + K + Q),
    rowMultipliers: new Float64Array(m),
    right: new Float64Array(f),
    change: new Float64Array(columnCount),
    dx: new Float64Array(f),
    columnRight: new Float64Array(columnCount),
    nameError: new Float64Array(f),
    rowError: new Float64Array(columnCount),
    trial: new Float64Array(f),
    trialChange: new Float64Array(columnCount),
    refinements: areSoftFolded ? 1 : 2,
    normExcess: new Float64Array(Q),
    normGradient: new Float64Array(Q * f),
    normRadius: Float64Array.from(norms, ({ radius }) => Math.max(radius, RADIUS_MIN)),
    lowerResidual: new Float64Array(f),
    upperResidual: new Float64Array(f),
    normWeights: new Float64Array(Q),
    metric: null,
    metricScale: 0,
    proximal: run === 'far' ? PROXIMAL_FAR : PROXIMAL_VARIABLE,
    hasRowColumns: false,
    primalResidual: 0,
    dualResidual: 0,
    gradientScale: 1,
  };
}

/** Returns the size of the objective, by which it is divided: its curvature, its steepest slope or its charges. */
function computeMagnitude(program: Program, free: Int32Array, areSoftFolded: boolean): number {
  const { rows, metric } = program;
  const f = free.length;
  let size = program.ridge;
  if (metric !== null && program.curvature > 0) {
    const diagonal = computeMetricDiagonal(metric);
    let total = 0;
    for (let p = 0; p < f; p++) total += diagonal[free[p]!]!;
    size += (program.curvature * total) / Math.max(f, 1);
  }
  let steepest = 0;
  for (let p = 0; p < f; p++) steepest = Math.max(steepest, Math.abs(program.linear[free[p]!]!));
  let highestCharge = 0;
  for (let r = 0; r < rows.count; r++)
    if (Number.isFinite(rows.penalty[r]!)) highestCharge = Math.max(highestCharge, rows.penalty[r]!);
  // The cost of many rows with a penalty does not depend on the curvature of a few variables.
  return areSoftFolded
    ? SLOPE_SHARE * Math.max(steepest, highestCharge)
    : size > 0
      ? Math.max(size, SLOPE_SHARE * steepest)
      : Math.max(steepest, highestCharge);
}
