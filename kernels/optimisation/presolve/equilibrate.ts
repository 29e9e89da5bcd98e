import { denseMetric, metricMatrix } from '../program/metric.js';
import type { Point, Program } from '../program/program.js';

/** A programme in other units of its names, and the way back for its points. */
export interface Equilibrated {
  readonly program: Program;
  /** [n], powers of two: a variable is its scaled one times its unit. */
  readonly units: Float64Array;
  toOriginal(point: Point): Point;
}

const ROUNDS = 12;

/** A scale never leaves this range: beyond it a column is as good as empty. */
const SCALE_MAX = 1e6;

/**
 * Chooses a unit for each name such that the columns of curvature and rows together have a largest entry near one.
 * Portfolios need no such thing; programmes whose names are tonnes and pence do. Units are powers of two: a change of
 * units rounds nothing.
 *
 * @returns  Null for a programme with norms, whose metric has to stay as it is.
 * @cost     n^2 + m n for each of 12 rounds, and a copy of the curvature.
 * @source   Ruiz (2001), A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
 */
export function equilibrate(program: Program): Equilibrated | null {
  const { n, rows, norms, metric } = program;
  if (norms.length > 0) return null;
  const curvature = new Float64Array(n * n);
  if (metric !== null) metricMatrix(metric).forEach((value, e) => (curvature[e] = program.curvature * value));
  for (let i = 0; i < n; i++) curvature[i * n + i]! += program.ridge;
  const units = new Float64Array(n).fill(1);
  const rowUnits = new Float64Array(rows.count).fill(1);
  for (let round = 0; round < ROUNDS; round++) rescale(program, curvature, units, rowUnits);
  for (let i = 0; i < n; i++) units[i] = nearestPower(units[i]!);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) curvature[i * n + j]! *= units[i]! * units[j]!;
  const divided = (values: Float64Array) => values.map((value, i) => value / units[i]!);
  const times = (values: Float64Array) => values.map((value, i) => value * units[i]!);
  return {
    units,
    program: {
      n,
      metric: denseMetric(curvature, n),
      curvature: 1,
      ridge: 0,
      centre: divided(program.centre),
      linear: times(program.linear),
      lower: divided(program.lower),
      upper: divided(program.upper),
      rows: { ...rows, coefficients: rows.coefficients.map((value, e) => value * units[e % n]!) },
      kinks: program.kinks.map((kink) => ({
        ...kink,
        at: divided(kink.at),
        left: times(kink.left),
        right: times(kink.right),
      })),
      norms: [],
    },
    toOriginal: (point) => ({ ...point, x: times(point.x) }),
  };
}

/** One round of Ruiz scaling: every column and row divided by the root of its largest entry. */
function rescale({ n, rows }: Program, curvature: Float64Array, units: Float64Array, rowUnits: Float64Array): void {
  const column = new Float64Array(n);
  const row = new Float64Array(rows.count);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++)
      column[j] = Math.max(column[j]!, Math.abs(curvature[i * n + j]!) * units[i]! * units[j]!);
  }
  for (let r = 0; r < rows.count; r++) {
    for (let j = 0; j < n; j++) {
      const entry = Math.abs(rows.coefficients[r * n + j]!) * rowUnits[r]! * units[j]!;
      column[j] = Math.max(column[j]!, entry);
      row[r] = Math.max(row[r]!, entry);
    }
  }
  for (let j = 0; j < n; j++) if (column[j]! > 0) units[j] = clamp(units[j]! / Math.sqrt(column[j]!));
  for (let r = 0; r < rows.count; r++) if (row[r]! > 0) rowUnits[r] = clamp(rowUnits[r]! / Math.sqrt(row[r]!));
}

function clamp(scale: number): number {
  return Math.min(Math.max(scale, 1 / SCALE_MAX), SCALE_MAX);
}

/** The power of two nearest to a scale, in its logarithm. */
function nearestPower(scale: number): number {
  let power = 1;
  while (power * Math.SQRT2 < scale) power *= 2;
  while (power > scale * Math.SQRT2) power /= 2;
  return power;
}
