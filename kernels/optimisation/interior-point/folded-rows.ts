import type { Program } from '../program/program.js';

/** One-sided rows that are eliminated before the securities: they add to the curvature and need no columns. */
export interface FoldedRows {
  /** Rows, ascending, [T]. */
  readonly rows: Int32Array;
  /** All other rows, ascending. */
  readonly others: Int32Array;
  /** Scaled coefficients on the free securities, [T x f]. */
  readonly values: Float64Array;
  /** The rows times the root of the weight of each, [T x f]. */
  readonly weighted: Float64Array;
  /** Change of each row's multiplier per unit of its value, [T]. */
  readonly weights: Float64Array;
  /** Memory for one number per row, [T]. */
  readonly pushes: Float64Array;
}

/** Number of soft rows per free security from which eliminating them is cheaper than a Schur complement. */
const ROWS_PER_NAME = 0.5;

/** Fewer rows than this are columns, regardless of the number of securities. */
const ROWS_MIN = 32;

/** Threshold for hard rows, whose weights are unbounded: near the end a Schur complement is more accurate. */
const HARD_PER_NAME = 1;
const HARD_MIN = 128;

/** True if soft rows are numerous enough to eliminate them into the curvature. @cost m */
export function isFolded(program: Program, free: number): boolean {
  return countOf(program, isSoft) >= Math.max(ROWS_MIN, ROWS_PER_NAME * free);
}

function areHardFolded(program: Program, free: number): boolean {
  return countOf(program, isOneSided) >= Math.max(HARD_MIN, HARD_PER_NAME * free);
}

function countOf({ rows }: Program, isCounted: (rows: Program['rows'], r: number) => boolean): number {
  let count = 0;
  for (let r = 0; r < rows.count; r++) if (isCounted(rows, r)) count++;
  return count;
}

/** Returns true if a row has one bound, at a price: only its own slack is between value and multiplier. */
function isSoft(rows: Program['rows'], r: number): boolean {
  return Number.isFinite(rows.penalty[r]!) && isOneSided(rows, r);
}

function isOneSided({ lower, upper }: Program['rows'], r: number): boolean {
  return Number.isFinite(lower[r]!) !== Number.isFinite(upper[r]!);
}

interface Folding {
  readonly rowScale: Float64Array;
  /** True if hard rows are eliminated as well. False if the last digits matter. */
  readonly withHard: boolean;
}

/** Returns the rows to eliminate; null if there are few. @cost a copy of their coefficients, twice */
export function foldRows(program: Program, free: Int32Array, { rowScale, withHard }: Folding): FoldedRows | null {
  const { n, rows } = program;
  const f = free.length;
  const isFoldable = withHard && areHardFolded(program, f) ? isOneSided : isFolded(program, f) ? isSoft : undefined;
  if (isFoldable === undefined) return null;
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
    pushes: new Float64Array(folded.length),
  };
}
