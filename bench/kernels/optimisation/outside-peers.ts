import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The same tracking programmes solved here and by others, cold: milliseconds of processor time, how much above our objective the answer
 * is, and by how much it breaks a bound, row or limit. Turnover limits reach the others as two rows a name. The folder that BENCH_PEERS
 * names may hold `node_modules` with quadprog, highs and cvxjs, and `bin` with the `python3` and `Rscript` to call; else those of the path are.
 * A peer that is not there says so.
 */
const FOLDER = process.env['BENCH_PEERS'] ?? '';
const SCRIPTS = fileURLToPath(new URL('../../../../bench/kernels/optimisation/', import.meta.url));

/** minimise x'H x / 2 + linear'x within bounds and rows, dense and row-major. */
export interface Quadratic {
  readonly n: number;
  readonly hessian: Float64Array;
  readonly linear: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly rows: readonly { readonly coefficients: Float64Array; readonly lower: number; readonly upper: number }[];
}

export interface Answer {
  readonly ms: number;
  /** [n] and what was added to it. */
  readonly x: Float64Array;
}

export type Peer = (quadratic: Quadratic) => Answer | Promise<Answer>;

export const scratch = mkdtempSync(join(tmpdir(), 'peers-'));

/** Least processor time of a few runs. */
export function timed(work: () => Float64Array): Answer {
  let least = Infinity;
  let x: Float64Array = new Float64Array(0);
  for (let run = 0; run < 5; run++) {
    const begin = process.cpuUsage();
    x = work();
    const { user, system } = process.cpuUsage(begin);
    least = Math.min(least, (user + system) / 1000);
    if (least > REPEAT_BELOW_MS) break;
  }
  return { ms: least, x };
}

/** Rows of one sign: equalities first, then least values. */
function atLeast({ n, rows, lower, upper }: Quadratic): {
  equalities: number;
  matrix: Float64Array[];
  least: number[];
} {
  const equal = rows.filter((row) => row.lower === row.upper);
  const matrix = equal.map(({ coefficients }) => coefficients);
  const least = equal.map((row) => row.lower);
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
  return { equalities: equal.length, matrix, least };
}

export function python(solver: 'cvxopt' | 'slsqp'): Peer | string {
  return external('python3', 'peers.py', [solver]);
}

/** A peer in another language: the programme in one file, its answer in another, its own processor time on standard output. */
export function external(command: string, script: string, options: readonly string[]): Peer | string {
  const own = join(FOLDER, 'bin', command);
  const executable = FOLDER !== '' && existsSync(own) ? own : command;
  const call = (...words: string[]) =>
    execFileSync(executable, [join(SCRIPTS, script), ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1' },
    });
  try {
    call('probe', ...options);
  } catch {
    return `${executable} does not run ${script} ${options.join(' ')}`;
  }
  return (quadratic) => {
    const { equalities, matrix, least } = atLeast(quadratic);
    const input = join(scratch, 'programme');
    const output = join(scratch, 'answer');
    const head = Float64Array.of(quadratic.n, matrix.length, equalities, RIDGE);
    const bytes = (values: Float64Array) => Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    writeFileSync(
      input,
      Buffer.concat(
        [head, quadratic.hessian, quadratic.linear]
          .map(bytes)
          .concat(matrix.map(bytes), bytes(Float64Array.from(least))),
      ),
    );
    const ms = Number(call(input, output, ...options));
    const answer = readFileSync(output);
    return { ms, x: new Float64Array(answer.buffer.slice(answer.byteOffset, answer.byteOffset + answer.byteLength)) };
  };
}

function npmModule(name: string): unknown {
  try {
    return createRequire(join(FOLDER === '' ? SCRIPTS : FOLDER, 'package.json'))(name);
  } catch {
    return undefined;
  }
}

interface Quadprog {
  solveQP(
    hessian: number[][],
    linear: number[],
    columns: number[][],
    least: number[],
    equalities: number,
  ): { solution: number[]; message: string };
}

/** Arrays of that package count from one. */
export function npmQuadprog(): Peer | string {
  const quadprog = npmModule('quadprog') as Quadprog | undefined; // its documented shape
  if (quadprog === undefined) return 'no package quadprog in BENCH_PEERS/node_modules';
  return (quadratic) => {
    const { n, hessian, linear } = quadratic;
    const { equalities, matrix, least } = atLeast(quadratic);
    return timed(() => {
      const square = [
        [],
        ...Array.from({ length: n }, (_, i) => [
          0,
          ...Array.from(
            { length: n },
            (__, j) => hessian[i * n + j]! + (i === j && hessian[i * n + i] === 0 ? RIDGE : 0),
          ),
        ]),
      ];
      const columns = [[], ...Array.from({ length: n }, (_, i) => [0, ...matrix.map((row) => row[i]!)])];
      const { solution, message } = quadprog.solveQP(
        square,
        [0, ...Array.from(linear, (value) => -value)],
        columns,
        [0, ...least],
        equalities,
      );
      if (message !== '') throw new Error(message);
      return Float64Array.from(solution.slice(1));
    });
  };
}

interface HighsModel {
  readonly options: { set(options: Record<string, unknown>): void };
  run(): void;
  getSolution(): { colValue: Float64Array };
  dispose(): void;
}

/** Compressed by columns, as that package takes it. */
export async function npmHighs(): Promise<Peer | string> {
  const load = npmModule('highs') as (() => Promise<{ createModel(model: object): HighsModel }>) | undefined; // its documented shape
  if (load === undefined) return 'no package highs in BENCH_PEERS/node_modules';
  return async ({ n, hessian, linear, lower, upper, rows }) => {
    const highs = await load();
    const lists = (entries: (column: number) => [number, number][]) => {
      const starts = [0];
      const indices: number[] = [];
      const values: number[] = [];
      for (let j = 0; j < n; j++) {
        for (const [i, value] of entries(j)) {
          indices.push(i);
          values.push(value);
        }
        starts.push(indices.length);
      }
      return { starts: Int32Array.from(starts), indices: Int32Array.from(indices), values: Float64Array.from(values) };
    };
    const below = lists((j) =>
      Array.from({ length: n - j }, (_, k): [number, number] => [j + k, hessian[(j + k) * n + j]!]).filter(
        ([, value]) => value !== 0,
      ),
    );
    const matrix = lists((j) =>
      rows.flatMap(({ coefficients }, r): [number, number][] => (coefficients[j] === 0 ? [] : [[r, coefficients[j]!]])),
    );
    return timed(() => {
      const model = highs.createModel({
        numCols: n,
        numRows: rows.length,
        colCost: linear,
        colLower: lower,
        colUpper: upper,
        rowLower: rows.map((row) => row.lower),
        rowUpper: rows.map((row) => row.upper),
        matrix: { format: 'csc', numRows: rows.length, numCols: n, ...matrix },
        hessian: { format: 'triangular', dimension: n, ...below },
      });
      try {
        model.options.set({ output_flag: false });
        model.run();
        return Float64Array.from(model.getSolution().colValue);
      } finally {
        model.dispose();
      }
    });
  };
}

interface Clarabel {
  solve(
    columnsOfP: Uint32Array,
    rowsOfP: Uint32Array,
    valuesOfP: Float64Array,
    linear: Float64Array,
    columnsOfA: Uint32Array,
    rowsOfA: Uint32Array,
    valuesOfA: Float64Array,
    right: Float64Array,
    variables: number,
    rows: number,
    cones: string,
    settings: string,
  ): { readonly status: string; readonly x: number[] };
}

/** Clarabel in WebAssembly, as the package cvxjs brings it. */
export function npmClarabel(): Peer | string {
  const clarabel = npmModule('clarabel-wasm-nodejs') as Clarabel | undefined; // its documented shape
  if (clarabel === undefined) return 'no package cvxjs in BENCH_PEERS/node_modules';
  return (quadratic) => {
    const { n, hessian, linear } = quadratic;
    const { equalities, matrix, least } = atLeast(quadratic);
    const upper = compressed(n, (j) =>
      Array.from({ length: j + 1 }, (_, i): [number, number] => [i, hessian[i * n + j]!]),
    );
    const rows = compressed(n, (j) => matrix.map((row, r): [number, number] => [r, -row[j]!]));
    const right = Float64Array.from(least, (value) => -value);
    const cones = JSON.stringify({ zero: equalities, nonneg: matrix.length - equalities, soc: [], exp: 0, power: [] });
    const settings = JSON.stringify({
      verbose: false,
      max_iter: 200,
      time_limit: 60,
      tol_gap_abs: 1e-10,
      tol_gap_rel: 1e-9,
    });
    return timed(() => {
      const { status, x } = clarabel.solve(
        ...([upper.starts, upper.indices, upper.values, linear] as const),
        ...([rows.starts, rows.indices, rows.values, right] as const),
        n,
        matrix.length,
        cones,
        settings,
      );
      if (status !== 'optimal') throw new Error(status);
      return Float64Array.from(x);
    });
  };
}

/** A matrix by columns, its zeros left out. */
function compressed(columns: number, entriesOf: (column: number) => readonly (readonly [number, number])[]) {
  const starts = new Uint32Array(columns + 1);
  const indices: number[] = [];
  const values: number[] = [];
  for (let j = 0; j < columns; j++) {
    for (const [i, value] of entriesOf(j)) {
      if (value === 0) continue;
      indices.push(i);
      values.push(value);
    }
    starts[j + 1] = indices.length;
  }
  return { starts, indices: Uint32Array.from(indices), values: Float64Array.from(values) };
}

/** A dual method needs a definite curvature: what trades lack of it. */
export const RIDGE = 1e-7;

/** Solves under this many milliseconds are repeated. */
export const REPEAT_BELOW_MS = 200;
