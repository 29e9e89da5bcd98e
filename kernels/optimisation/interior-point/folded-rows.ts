import type { Program } from '../program/program.js';

/** Soft rows of one side that are eliminated before the names: they add to the curvature and are no columns. */
export interface FoldedRows {
  /** Rows, ascending, [T]. */
  readonly rows: Int32Array;
  /** All other rows, ascending. */
  readonly others: Int32Array;
  /** Scaled coefficients on the free names, [T x f]. */
  readonly values: Float64Array;
  /** The same times the root of the weight of each row, [T x f]. */
  readonly weighted: Float64Array;
  /** What a unit of its value moves the multiplier of a row by, [T]. */
  readonly weights: Float64Array;
}

/** Soft rows from which on eliminating them is cheaper than a Schur complement of them, per free name. */
const ROWS_PER_NAME = 0.5;

/** Fewer rows than this are columns, whatever the number of names. */
const ROWS_MIN = 32;

/** Whether soft rows are so many that they are eliminated into the curvature. @cost m */
export function isFolded({ rows }: Program, free: number): boolean {
  let count = 0;
  for (let r = 0; r < rows.count; r++) if (isFoldable(rows, r)) count++;
  return count >= Math.max(ROWS_MIN, ROWS_PER_NAME * free);
}

/** Soft rows with one bound: at a price, nothing but their own slack stands between value and multiplier. */
function isFoldable({ lower, upper, penalty }: Program['rows'], r: number): boolean {
  return Number.isFinite(penalty[r]!) && Number.isFinite(lower[r]!) !== Number.isFinite(upper[r]!);
}

/** The rows to eliminate, null where there are few. @cost a copy of their coefficients, twice */
export function foldedRows(program: Program, free: Int32Array, rowScale: Float64Array): FoldedRows | null {
  const { n, rows } = program;
  const f = free.length;
  if (!isFolded(program, f)) return null;
  const all = Array.from({ length: rows.count }, (_, r) => r);
  const folded = Int32Array.from(all.filter((r) => isFoldable(rows, r)));
  const values = new Float64Array(folded.length * f);
  folded.forEach((r, k) => {
    const scale = rowScale[r]!;
    for (let p = 0; p < f; p++) values[k * f + p] = scale * rows.coefficients[r * n + free[p]!]!;
  });
  return {
    rows: folded,
    others: Int32Array.from(all.filter((r) => !isFoldable(rows, r))),
    values,
    weighted: new Float64Array(values.length),
    weights: new Float64Array(folded.length),
  };
}
