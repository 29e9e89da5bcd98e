import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { toLowerBounds, readQuadratic, RIDGE, measureTime, type Quadratic } from './quadratic.js';
import { readFolder } from '../../variables.js';

/**
 * Solves a quadratic programme with an npm package: `npm-peer.js FILE ANSWER NAME`, or `npm-peer.js probe NAME`. Prints
 * the processor time in ms. BENCH_PEERS is the folder that contains `node_modules`.
 */
type Solve = (quadratic: Quadratic) => Promise<() => Float64Array>;

const PEERS: Readonly<Record<string, Solve>> = {
  quadprog: createQuadprogSolver,
  highs: createHighsSolver,
  clarabel: createClarabelSolver,
};

const [first, ...files] = process.argv.slice(2);
const solve = PEERS[files.at(-1)!]!; // the bench passes the name of a peer
if (first === 'probe') await solve(loadSmallest());
else {
  const { ms, x } = measureTime(await solve(readQuadratic(readFileSync(first!))));
  writeFileSync(files[0]!, x);
  console.log(ms);
}

/** Returns the smallest programme, which only tests that the package can be loaded. */
function loadSmallest(): Quadratic {
  const unit = Float64Array.of(1);
  return { n: 1, hessian: unit, linear: unit, lower: unit, upper: unit, rows: [] };
}

function loadNpmModule(name: string): unknown {
  return createRequire(join(readFolder('BENCH_PEERS') ?? process.cwd(), 'package.json'))(name);
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

async function createQuadprogSolver(quadratic: Quadratic): Promise<() => Float64Array> {
  const quadprog = loadNpmModule('quadprog') as Quadprog; // its documented shape
  const { n, hessian, linear } = quadratic;
  const { equalities, matrix, least } = toLowerBounds(quadratic);
  return () => {
    const readHessian = (i: number, j: number) =>
      hessian[i * n + j]! + (i === j && hessian[i * n + i] === 0 ? RIDGE : 0);
    const square = [
      [],
      ...Array.from({ length: n }, (_, i) => [0, ...Array.from({ length: n }, (__, j) => readHessian(i, j))]),
    ];
    const columns = [[], ...Array.from({ length: n }, (_, i) => [0, ...matrix.map((row) => row[i]!)])];
    const force = [0, ...Array.from(linear, (value) => -value)];
    const { solution, message } = quadprog.solveQP(square, force, columns, [0, ...least], equalities);
    if (message !== '') throw new Error(message);
    return Float64Array.from(solution.slice(1));
  };
}

interface HighsModel {
  readonly options: { set(options: Record<string, unknown>): void };
  run(): void;
  getSolution(): { colValue: Float64Array };
  dispose(): void;
}

interface Highs {
  createModel(model: object): HighsModel;
}

/** Creates a solver with HiGHS, which reads matrices compressed by columns. */
async function createHighsSolver({ n, hessian, linear, lower, upper, rows }: Quadratic): Promise<() => Float64Array> {
  const highs = await (loadNpmModule('highs') as () => Promise<Highs>)(); // its documented shape
  const lowerTriangle = compressColumns(n, (j) =>
    Array.from({ length: n - j }, (_, k) => [j + k, hessian[(j + k) * n + j]!]),
  );
  const matrix = compressColumns(n, (j) => rows.map(({ coefficients }, r) => [r, coefficients[j]!]));
  return () => {
    const model = highs.createModel({
      numCols: n,
      numRows: rows.length,
      colCost: linear,
      colLower: lower,
      colUpper: upper,
      rowLower: rows.map((row) => row.lower),
      rowUpper: rows.map((row) => row.upper),
      matrix: { format: 'csc', numRows: rows.length, numCols: n, ...toSigned(matrix) },
      hessian: { format: 'triangular', dimension: n, ...toSigned(lowerTriangle) },
    });
    try {
      model.options.set({ output_flag: false });
      model.run();
      return Float64Array.from(model.getSolution().colValue);
    } finally {
      model.dispose();
    }
  };
}

interface Clarabel {
  solve(
    quadraticColumns: Uint32Array,
    quadraticRows: Uint32Array,
    quadraticValues: Float64Array,
    linear: Float64Array,
    constraintColumns: Uint32Array,
    constraintRows: Uint32Array,
    constraintValues: Float64Array,
    right: Float64Array,
    variables: number,
    rows: number,
    cones: string,
    settings: string,
  ): { readonly status: string; readonly x: number[] };
}

/** Creates a solver with Clarabel in WebAssembly, as packaged by cvxjs. */
async function createClarabelSolver(quadratic: Quadratic): Promise<() => Float64Array> {
  const clarabel = loadNpmModule('clarabel-wasm-nodejs') as Clarabel; // its documented shape
  const { n, hessian, linear } = quadratic;
  const { equalities, matrix, least } = toLowerBounds(quadratic);
  const upper = compressColumns(n, (j) => Array.from({ length: j + 1 }, (_, i) => [i, hessian[i * n + j]!]));
  const rows = compressColumns(n, (j) => matrix.map((row, r) => [r, -row[j]!]));
  const right = Float64Array.from(least, (value) => -value);
  const conesJson = JSON.stringify({
    zero: equalities,
    nonneg: matrix.length - equalities,
    soc: [],
    exp: 0,
    power: [],
  });
  const settingsJson = JSON.stringify({
    verbose: false,
    max_iter: 200,
    time_limit: 600,
    tol_gap_abs: 1e-10,
    tol_gap_rel: 1e-9,
  });
  return () => {
    const { status, x } = clarabel.solve(
      ...([upper.starts, upper.indices, upper.values, linear] as const),
      ...([rows.starts, rows.indices, rows.values, right] as const),
      n,
      matrix.length,
      conesJson,
      settingsJson,
    );
    if (status !== 'optimal') throw new Error(status);
    return Float64Array.from(x);
  };
}

interface CompressedMatrix {
  readonly starts: Uint32Array;
  readonly indices: Uint32Array;
  readonly values: Float64Array;
}

function compressColumns(
  columns: number,
  listEntries: (column: number) => readonly (readonly [row: number, value: number])[],
): CompressedMatrix {
  const starts = new Uint32Array(columns + 1);
  const indices: number[] = [];
  const values: number[] = [];
  for (let j = 0; j < columns; j++) {
    for (const [i, value] of listEntries(j)) {
      if (value === 0) continue;
      indices.push(i);
      values.push(value);
    }
    starts[j + 1] = indices.length;
  }
  return { starts, indices: Uint32Array.from(indices), values: Float64Array.from(values) };
}

function toSigned({ starts, indices, values }: CompressedMatrix) {
  return { starts: Int32Array.from(starts), indices: Int32Array.from(indices), values };
}
