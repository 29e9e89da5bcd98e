import { measureProcessMs, measureTask } from '../../measure.js';

/** Quadratic programme: minimise x'H x / 2 + linear'x within bounds and rows, dense and row-major. */
export interface Quadratic {
  readonly n: number;
  readonly hessian: Float64Array;
  readonly linear: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly rows: readonly QuadraticRow[];
}

interface QuadraticRow {
  readonly coefficients: Float64Array;
  readonly lower: number;
  readonly upper: number;
}

/** Curvature added to trade variables, which have none: a dual method requires a positive definite Hessian. */
export const RIDGE = 1e-7;

/** Encodes a programme as a file: n and m, then all arrays as doubles. */
export function encodeQuadratic({ n, hessian, linear, lower, upper, rows }: Quadratic): Buffer {
  const createBounds = (side: 'lower' | 'upper') => Float64Array.from(rows, (row) => row[side]);
  const parts = [
    Float64Array.of(n, rows.length),
    hessian,
    linear,
    lower,
    upper,
    ...rows.map(({ coefficients }) => coefficients),
    createBounds('lower'),
    createBounds('upper'),
  ];
  return Buffer.concat(parts.map((values) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)));
}

export function readQuadratic(file: Buffer): Quadratic {
  const values = new Float64Array(file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength));
  let offset = 0;
  const takeNext = (length: number) => values.subarray(offset, (offset += length));
  const [n, m] = takeNext(2) as unknown as [number, number];
  const [hessian, linear, lower, upper] = [takeNext(n * n), takeNext(n), takeNext(n), takeNext(n)];
  const coefficients = Array.from({ length: m }, () => takeNext(n));
  const [lowerBounds, upperBounds] = [takeNext(m), takeNext(m)];
  return {
    n,
    hessian,
    linear,
    lower,
    upper,
    rows: coefficients.map((own, r) => ({ coefficients: own, lower: lowerBounds[r]!, upper: upperBounds[r]! })),
  };
}

/** Returns the rows as equalities first and lower bounds after them. An upper bound becomes a negated lower bound. */
export function toLowerBounds({ n, rows, lower, upper }: Quadratic): {
  equalities: number;
  matrix: Float64Array[];
  least: number[];
} {
  const equalRows = rows.filter((row) => row.lower === row.upper);
  const matrix = equalRows.map(({ coefficients }) => coefficients);
  const least = equalRows.map((row) => row.lower);
  const add = (coefficients: Float64Array, bound: number) => {
    if (!Number.isFinite(bound)) return;
    matrix.push(coefficients);
    least.push(bound);
  };
  for (const row of rows) {
    if (row.lower === row.upper) continue;
    add(row.coefficients, row.lower);
    add(
      row.coefficients.map((value) => -value),
      -row.upper,
    );
  }
  for (let i = 0; i < n; i++) {
    add(
      Float64Array.from({ length: n }, (_, j) => (i === j ? 1 : 0)),
      lower[i]!,
    );
    add(
      Float64Array.from({ length: n }, (_, j) => (i === j ? -1 : 0)),
      -upper[i]!,
    );
  }
  return { equalities: equalRows.length, matrix, least };
}

export interface Solution {
  /** Processor time of all threads, ms. */
  readonly ms: number;
  /** Solution, [n], followed by auxiliary variables. */
  readonly x: Float64Array;
}

/** Solves that take less than this time are repeated, in ms. */
const REPEAT_BELOW_MS = 500;

/** Processor time in ms that quick solves take before measurements count. V8 compiles the code during this time. */
const WARM_MS = 400;

const ROUNDS = 15;

/** Returns the weights of a solve and the median processor time of all threads. A slow solve runs once. */
export function measureTime(work: () => Float64Array): Solution {
  const begin = measureProcessMs();
  let x = work();
  const ms = measureProcessMs() - begin;
  if (ms > REPEAT_BELOW_MS) return { ms, x };
  const warmUps = Math.ceil(WARM_MS / Math.max(ms, 1));
  const { median } = measureTask(() => (x = work()), { warmUps, rounds: ROUNDS });
  return { ms: median, x };
}
