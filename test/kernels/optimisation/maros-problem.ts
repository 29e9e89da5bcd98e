import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import { computeSmoothGradient, type Point, type Program } from '#kernels/optimisation/program/program.js';
import { readMatFile } from './mat-file.js';

export const FOLDER = fileURLToPath(new URL('../../../../../shared/data/maros-meszaros/', import.meta.url));
export const isThere = existsSync(FOLDER);

/** Magnitude from which a bound counts as absent. */
const INFINITE = 1e15;

/** Maximum number of variables, and of constraints, in a dense problem. */
const DENSE_MAX = 1000;

export interface MarosProblem {
  readonly program: Program;
  readonly constant: number;
  /**
   * True if a benchmark of dense solvers includes the problem. It has at most 1,000 variables and 1,000 constraints.
   * Each equality, each finite side of an inequality and each bound of a variable counts as one constraint.
   */
  readonly isDense: boolean;
  /**
   * Returns the multipliers in the order of the script that computes residuals: first those of the rows of the file,
   * then those of the bounds.
   */
  toFile(rowMultipliers: Float64Array, boundMultipliers: Float64Array): Float64Array;
}

/** Returns the names of the problems in the folder in ascending order. The list is empty if the folder is absent. */
export function listProblemNames(): string[] {
  if (!isThere) return [];
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.mat'))
    .map((file) => file.slice(0, -'.mat'.length))
    .toSorted();
}

/** Returns the published optima by problem name. It reads them from the list in the folder. */
export function listPublishedOptima(): ReadonlyMap<string, number> {
  if (!isThere) return new Map();
  const lines = readFileSync(`${FOLDER}optima.csv`, 'utf8').trim().split('\n').slice(1);
  return new Map(lines.map((line) => [line.split(',')[0]!, Number(line.split(',')[6])]));
}

/** Reads a problem 1/2 x'Px + q'x + r with l <= Ax <= u. A row with a single entry becomes a bound. */
export function readProblem(name: string, folder = FOLDER): MarosProblem {
  const file = readMatFile(join(folder, `${name}.mat`));
  const { columns: n, entries: quadratic } = file.get('P')!;
  const createVector = (key: string, length: number) => {
    const values = new Float64Array(length);
    for (const [row, column, value] of file.get(key)?.entries ?? []) values[Math.max(row, column)] = value;
    return values;
  };
  const matrix = new Float64Array(n * n);
  for (const [i, j, value] of quadratic) matrix[i * n + j] = value;
  const { rows: m, entries } = file.get('A')!;
  const byRow: [number, number][][] = Array.from({ length: m }, () => []);
  for (const [row, column, value] of entries) byRow[row]!.push([column, value]);
  const readFiniteBound = (value: number) => (Math.abs(value) >= INFINITE ? Math.sign(value) * Infinity : value);
  const lowerBounds = createVector('l', m).map(readFiniteBound);
  const upperBounds = createVector('u', m).map(readFiniteBound);
  const bounds = createBounds(byRow, lowerBounds, upperBounds, n);
  const rows = byRow.flatMap((row, r) => (row.length > 1 ? [r] : []));
  const sides = rows.reduce(
    (sum, r) =>
      sum +
      (lowerBounds[r] === upperBounds[r]
        ? 1
        : Number(lowerBounds[r]! > -Infinity) + Number(upperBounds[r]! < Infinity)),
    0,
  );
  const coefficients = new Float64Array(rows.length * n);
  rows.forEach((r, k) => byRow[r]!.forEach(([column, value]) => (coefficients[k * n + column] = value)));
  return {
    constant: createVector('r', 1)[0]!,
    isDense: n <= DENSE_MAX && n + sides <= DENSE_MAX,
    program: {
      n,
      metric: createDenseMetric(matrix, n),
      curvature: 1,
      ridge: 0,
      centre: new Float64Array(n),
      linear: createVector('q', n),
      lower: bounds.lower,
      upper: bounds.upper,
      rows: {
        count: rows.length,
        coefficients,
        lower: Float64Array.from(rows, (r) => lowerBounds[r]!),
        upper: Float64Array.from(rows, (r) => upperBounds[r]!),
        penalty: new Float64Array(rows.length).fill(Infinity),
      },
      kinks: [],
      norms: [],
    },
    toFile(rowMultipliers, boundMultipliers) {
      const all = new Float64Array(m);
      rows.forEach((r, k) => (all[r] = rowMultipliers[k]!));
      boundMultipliers.forEach((z, i) => {
        const r = (z < 0 ? bounds.lowerRow : bounds.upperRow)[i]!;
        if (r >= 0) all[r] = z / byRow[r]![0]![1];
      });
      return all;
    },
  };
}

/** Returns the bounds that follow from rows with a single entry, and the row of each bound. */
function createBounds(
  byRow: readonly [number, number][][],
  lowerBounds: Float64Array,
  upperBounds: Float64Array,
  n: number,
) {
  const lower = new Float64Array(n).fill(-Infinity);
  const upper = new Float64Array(n).fill(Infinity);
  const lowerRow = new Int32Array(n).fill(-1);
  const upperRow = new Int32Array(n).fill(-1);
  byRow.forEach((row, r) => {
    if (row.length !== 1) return;
    const [column, value] = row[0]!;
    const [low, high] =
      value > 0
        ? [lowerBounds[r]! / value, upperBounds[r]! / value]
        : [upperBounds[r]! / value, lowerBounds[r]! / value];
    if (low > lower[column]!) {
      lower[column] = low;
      lowerRow[column] = r;
    }
    if (high < upper[column]!) {
      upper[column] = high;
      upperRow[column] = r;
    }
  });
  return { lower, upper, lowerRow, upperRow };
}

/** Largest distance from a bound at which a variable is held by it, relative to 1 and the bound. */
const CONTACT = 1e-9;

/** Returns the multipliers of the bounds of a solution, [n]: what the rows leave of the gradient at a held variable. */
export function computeBoundMultipliers(program: Program, { x, rowMultipliers }: Point): Float64Array {
  const { n, rows, lower, upper } = program;
  const gradient = computeSmoothGradient(program, x);
  rowMultipliers.forEach((multiplier, r) => {
    if (multiplier === 0) return;
    for (let i = 0; i < n; i++) gradient[i]! += multiplier * rows.coefficients[r * n + i]!;
  });
  return gradient.map((slope, i) => {
    const bound = (slope < 0 ? upper : lower)[i]!;
    return Math.abs(x[i]! - bound) <= CONTACT * (1 + Math.abs(bound)) ? -slope : 0;
  });
}
