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
