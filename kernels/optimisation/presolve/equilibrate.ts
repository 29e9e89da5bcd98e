import { createDenseMetric, createMetricMatrix } from '../program/metric.js';
import type { Point, Program } from '../program/program.js';

/** Program with rescaled variables, and the conversion of its points to the original units. */
export interface Equilibrated {
  readonly program: Program;
  /** Units, [n], powers of two: an original variable is its scaled variable times its unit. */
  readonly units: Float64Array;
  toOriginal(point: Point): Point;
}

const ROUNDS = 12;

/** Maximum scale. A column that would need a larger one is practically empty. */
const SCALE_MAX = 1e6;

/**
 * Chooses a unit for each variable so that the largest entry of each column of curvature and rows is near one. Programs
 * with variables in different units need this; portfolios do not. Units are powers of two, so that conversion is exact.
 * @returns  Null for a program with norms, whose metric must not change.
 * @cost     One pass over the nonzero entries per round (12 rounds), and a copy of the curvature.
 * @source   Ruiz (2001), A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
 */
export function equilibrate(program: Program): Equilibrated | null {
  const { n, rows, norms, metric } = program;
  if (norms.length > 0) return null;
  const curvature = new Float64Array(n * n);
  if (metric !== null) createMetricMatrix(metric).forEach((value, e) => (curvature[e] = program.curvature * value));
  for (let i = 0; i < n; i++) curvature[i * n + i]! += program.ridge;
  const units = new Float64Array(n).fill(1);
  const rowUnits = new Float64Array(rows.count).fill(1);
  const entries = {
    curvature: listEntries(curvature, n),
    rows: listEntries(rows.coefficients, n),
  };
  for (let round = 0; round < ROUNDS; round++) rescale(entries, units, rowUnits);
  for (let i = 0; i < n; i++) units[i] = findNearestPower(units[i]!);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) curvature[i * n + j]! *= units[i]! * units[j]!;
  const divideByUnits = (values: Float64Array) => values.map((value, i) => value / units[i]!);
  const multiplyByUnits = (values: Float64Array) => values.map((value, i) => value * units[i]!);
  return {
    units,
    program: {
      n,
      metric: createDenseMetric(curvature, n),
      curvature: 1,
      ridge: 0,
      centre: divideByUnits(program.centre),
      linear: multiplyByUnits(program.linear),
      lower: divideByUnits(program.lower),
      upper: divideByUnits(program.upper),
      rows: { ...rows, coefficients: rows.coefficients.map((value, e) => value * units[e % n]!) },
      kinks: program.kinks.map((kink) => ({
        ...kink,
        at: divideByUnits(kink.at),
        left: multiplyByUnits(kink.left),
        right: multiplyByUnits(kink.right),
      })),
      norms: [],
    },
    toOriginal: (point) => ({ ...point, x: multiplyByUnits(point.x) }),
  };
}

/** Performs one round of Ruiz scaling: divides every column and row by the square root of its largest entry. */
function rescale(scaledEntries: ScaledEntries, units: Float64Array, rowUnits: Float64Array): void {
  const column = new Float64Array(units.length);
  const row = new Float64Array(rowUnits.length);
  for (let e = 0; e < scaledEntries.curvature.sizes.length; e++) {
    const [i, j] = [scaledEntries.curvature.rows[e]!, scaledEntries.curvature.columns[e]!];
    column[j] = Math.max(column[j]!, scaledEntries.curvature.sizes[e]! * units[i]! * units[j]!);
  }
  for (let e = 0; e < scaledEntries.rows.sizes.length; e++) {
    const [r, j] = [scaledEntries.rows.rows[e]!, scaledEntries.rows.columns[e]!];
    const entry = scaledEntries.rows.sizes[e]! * rowUnits[r]! * units[j]!;
    column[j] = Math.max(column[j]!, entry);
    row[r] = Math.max(row[r]!, entry);
  }
  for (let j = 0; j < column.length; j++) if (column[j]! > 0) units[j] = clamp(units[j]! / Math.sqrt(column[j]!));
  for (let r = 0; r < row.length; r++) if (row[r]! > 0) rowUnits[r] = clamp(rowUnits[r]! / Math.sqrt(row[r]!));
}

/** Nonzero entries, each with its row, column and magnitude. */
interface Entries {
  readonly rows: Int32Array;
  readonly columns: Int32Array;
  readonly sizes: Float64Array;
}

interface ScaledEntries {
  readonly curvature: Entries;
  readonly rows: Entries;
}

function listEntries(matrix: Float64Array, width: number): Entries {
  let count = 0;
  for (let e = 0; e < matrix.length; e++) if (matrix[e] !== 0) count++;
  const [rows, columns, sizes] = [new Int32Array(count), new Int32Array(count), new Float64Array(count)];
  let position = 0;
  for (let e = 0; e < matrix.length; e++) {
    if (matrix[e] === 0) continue;
    rows[position] = Math.floor(e / width);
    columns[position] = e % width;
    sizes[position++] = Math.abs(matrix[e]!);
  }
  return { rows, columns, sizes };
}

function clamp(scale: number): number {
  return Math.min(Math.max(scale, 1 / SCALE_MAX), SCALE_MAX);
}

/** Returns the power of two nearest to a scale on a logarithmic scale. */
function findNearestPower(scale: number): number {
  let power = 1;
  while (power * Math.SQRT2 < scale) power *= 2;
  while (power > scale * Math.SQRT2) power /= 2;
  return power;
}
