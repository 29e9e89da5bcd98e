import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { denseMetric, metricSquare } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { IS_SOAK } from '../../soak.js';
import { readMatFile } from './mat-file.js';

const FOLDER = fileURLToPath(new URL('../../../../../shared/data/maros-meszaros/', import.meta.url));
const isThere = existsSync(FOLDER);
if (!isThere) console.log('the Maros-Meszaros problems are not in ../shared: their test is skipped');

/** Larger magnitudes are no bound. */
const INFINITE = 1e15;

/** Where the answer is within this of the published optimum, relative to it. */
const TOLERANCE = 1e-5;

/** Columns and rows up to which a problem is one of `npm test`; `npm run soak` solves them all. */
const SIZE_MAX = IS_SOAK ? Infinity : 500;

interface Problem {
  readonly name: string;
  readonly size: number;
  readonly optimum: number;
}

const problems: Problem[] = isThere
  ? readFileSync(`${FOLDER}optima.csv`, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => {
        const cells = line.split(',');
        return { name: cells[0]!, size: Number(cells[1]) + Number(cells[2]), optimum: Number(cells[6]) };
      })
      .filter(({ size }) => size <= SIZE_MAX)
  : [];

/** 1/2 x'Px + q'x + r with l <= Ax <= u; rows of a single entry are bounds. */
function read(name: string): { program: Program; constant: number } {
  const file = readMatFile(`${FOLDER}${name}.mat`);
  const { columns: n, entries: quadratic } = file.get('P')!;
  const vector = (key: string, length: number) => {
    const values = new Float64Array(length);
    for (const [row, column, value] of file.get(key)?.entries ?? []) values[Math.max(row, column)] = value;
    return values;
  };
  const matrix = new Float64Array(n * n);
  for (const [i, j, value] of quadratic) matrix[i * n + j] = value;
  const { rows: m, entries } = file.get('A')!;
  const byRow: [number, number][][] = Array.from({ length: m }, () => []);
  for (const [row, column, value] of entries) byRow[row]!.push([column, value]);
  const bound = (value: number) => (Math.abs(value) >= INFINITE ? Math.sign(value) * Infinity : value);
  const least = vector('l', m).map(bound);
  const most = vector('u', m).map(bound);
  const lower = new Float64Array(n).fill(-Infinity);
  const upper = new Float64Array(n).fill(Infinity);
  const rows: { entries: [number, number][]; lower: number; upper: number }[] = [];
  byRow.forEach((row, r) => {
    if (row.length > 1) rows.push({ entries: row, lower: least[r]!, upper: most[r]! });
    if (row.length !== 1) return;
    const [column, value] = row[0]!;
    lower[column] = Math.max(lower[column]!, (value > 0 ? least[r]! : most[r]!) / value);
    upper[column] = Math.min(upper[column]!, (value > 0 ? most[r]! : least[r]!) / value);
  });
  const coefficients = new Float64Array(rows.length * n);
  rows.forEach((row, r) => row.entries.forEach(([column, value]) => (coefficients[r * n + column] = value)));
  return {
    constant: vector('r', 1)[0]!,
    program: {
      n,
      metric: denseMetric(matrix, n),
      curvature: 1,
      ridge: 0,
      centre: new Float64Array(n),
      linear: vector('q', n),
      lower,
      upper,
      rows: {
        count: rows.length,
        coefficients,
        lower: Float64Array.from(rows, (row) => row.lower),
        upper: Float64Array.from(rows, (row) => row.upper),
        penalty: new Float64Array(rows.length).fill(Infinity),
      },
      kinks: [],
      norms: [],
    },
  };
}

describe.skipIf(!isThere)('the Maros-Meszaros problems', () => {
  const solver = createSolver(isThere ? wasmEngine() : (undefined as never)); // The module is there wherever tests run.

  test.each(problems)(
    '$name: $optimum',
    ({ name, optimum }) => {
      const { program, constant } = read(name);
      const {
        status,
        point: { x },
        kkt,
      } = solver.solve(program);
      expect(status, JSON.stringify(kkt)).toBe('solved');
      const objective =
        metricSquare(program.metric!, x) / 2 + program.linear.reduce((sum, value, i) => sum + value * x[i]!, constant);
      expect(Math.abs(objective - optimum) / Math.max(1, Math.abs(optimum))).toBeLessThan(TOLERANCE);
    },
    240_000,
  );
});
