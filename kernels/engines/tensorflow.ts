import { createRequire } from 'node:module';
import { assert } from '../assert.js';
import {
  assertPaths,
  createPathDrawer,
  type PathRequest,
  type PathTallies,
  tallyPath,
} from '../simulation/simulate-paths.js';
import type { Engine } from './engine.js';
import { testProduct } from './reference.js';

const require = createRequire(import.meta.url);

/** Function that loads a package by name. Tests pass their own function. */
export type Loader = (name: string) => unknown;

/**
 * Loads an optional package by `require`. The command line is a script with cached compiled code, in which `import()`
 * is unavailable.
 * @throws Error stating that the package is not installed, or why it cannot be loaded
 */
async function loadOptionalPackage(name: string, load: Loader = (wanted) => require(wanted)): Promise<unknown> {
  try {
    return await load(name);
  } catch (cause) {
    throw new Error(
      `the package ${name} ${isMissing(cause) ? 'is not installed' : `cannot be loaded: ${readFirstLine(cause)}`}`,
      {
        cause,
      },
    );
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'MODULE_NOT_FOUND';
}

function readFirstLine(cause: unknown): string {
  return String(cause instanceof Error ? cause.message : cause).split('\n', 1)[0]!;
}

/** Functions of TensorFlow.js used here, common to all its packages. */
interface TensorFlow {
  readonly version_core?: string;
  ready(): Promise<void>;
  getBackend(): string;
  setBackend(name: string): Promise<boolean>;
  tensor2d(values: Float32Array, shape: [number, number]): Tensor;
  transpose(tensor: Tensor): Tensor;
  matMul(a: Tensor, b: Tensor): Tensor;
  cumprod(tensor: Tensor, axis: number): Tensor;
  dispose(tensors: readonly Tensor[]): void;
}
interface Tensor {
  dataSync(): Float32Array;
}

/** Number of paths compounded in one call: a few MB of growth factors. */
const PATHS_PER_CALL = 2_048;

/**
 * Packages that provide TensorFlow, the native one first, and the core package that the WebAssembly backend requires.
 */
const NATIVE_PACKAGE = '@tensorflow/tfjs-node';
const CORE_PACKAGE = '@tensorflow/tfjs-core';
const WASM_PACKAGE = '@tensorflow/tfjs-backend-wasm';

/**
 * Creates the engine of TensorFlow.js: float32 for the covariance product and path simulation; `base` computes
 * everything else. Operators install a package themselves: no release depends on one.
 *
 * @param base  Engine for all operations that require float64.
 * @throws      Error with the reason if it is unavailable: no package, a backend that does not start, or a wrong
 *              product.
 */
export async function openTensorflowEngine(base: Engine, load?: Loader): Promise<Engine> {
  const { tf, from } = await loadTensorFlow(load);
  await tf.ready();
  const engine = createEngine(tf, from, base);
  testProduct(engine);
  return engine;
}

function createEngine(tf: TensorFlow, from: string, base: Engine): Engine {
  return {
    ...base,
    name: 'tensorflow',
    description:
      `${from} ${tf.version_core ?? ''}`.trimEnd() +
      `, backend ${tf.getBackend()}, float32; factorisations by ${base.name}`,
    precision: 'float32',
    symmetricRankK(x, columns, out) {
      const rows = x.length / columns;
      assert(columns >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${columns} columns`);
      assert(out.length === columns * columns, `out: ${out.length} values for ${columns} columns`);
      if (rows === 0) out.fill(0);
      else out.set(computeProduct(tf, Float32Array.from(x), rows, columns));
    },
    simulatePaths(request, tallies) {
      assertPaths(request, tallies);
      const drawPath = createPathDrawer(request);
      for (let from = 0; from < tallies.finals.length; from += PATHS_PER_CALL)
        compoundPaths(tf, drawPath, request, tallies, from);
    },
  };
}

/**
 * Computes X'X by an explicit transpose. The transpose flag of matMul is twelve times slower on the WebAssembly
 * backend.
 */
function computeProduct(tf: TensorFlow, x: Float32Array, rows: number, columns: number): Float32Array {
  const panel = tf.tensor2d(x, [rows, columns]);
  const transposedPanel = tf.transpose(panel);
  const product = tf.matMul(transposedPanel, panel);
  const values = product.dataSync();
  tf.dispose([panel, transposedPanel, product]);
  return values;
}

/** Draws the growth factors of a batch of paths, compounds them in float32 and tallies the levels. */
function compoundPaths(
  tf: TensorFlow,
  draw: ReturnType<typeof createPathDrawer>,
  { horizon, bins }: PathRequest,
  tallies: PathTallies,
  from: number,
): void {
  const pathCount = Math.min(PATHS_PER_CALL, tallies.finals.length - from);
  const factors = new Float32Array(pathCount * horizon);
  const steps = new Float64Array(horizon);
  for (let p = 0; p < pathCount; p++) {
    draw(from + p, steps);
    factors.set(steps, p * horizon);
  }
  const tensor = tf.tensor2d(factors, [pathCount, horizon]);
  const compoundedFactors = tf.cumprod(tensor, 1);
  const levels = compoundedFactors.dataSync();
  tf.dispose([tensor, compoundedFactors]);
  for (let p = 0; p < pathCount; p++)
    tallyPath(levels.subarray(p * horizon, (p + 1) * horizon), bins, tallies, from + p);
}

async function loadTensorFlow(load: Loader | undefined): Promise<{ tf: TensorFlow; from: string }> {
  const failures: string[] = [];
  for (const attempt of [() => loadNative(load), () => loadWasm(load)]) {
    try {
      return await attempt();
    } catch (failure) {
      failures.push(failure instanceof Error ? failure.message.split('\n')[0]! : String(failure));
    }
  }
  throw new Error(failures.join('; '));
}

async function loadNative(load: Loader | undefined): Promise<{ tf: TensorFlow; from: string }> {
  return { tf: unwrapModule(await loadOptionalPackage(NATIVE_PACKAGE, load)), from: NATIVE_PACKAGE };
}

async function loadWasm(load: Loader | undefined): Promise<{ tf: TensorFlow; from: string }> {
  const tf = unwrapModule(await loadOptionalPackage(CORE_PACKAGE, load));
  await loadOptionalPackage(WASM_PACKAGE, load); // Importing the package registers the backend.
  if (!(await tf.setBackend('wasm'))) throw new Error(`${WASM_PACKAGE} does not start`);
  return { tf, from: WASM_PACKAGE };
}

/** Returns the members of a loaded module. A CommonJS package has its members on `default`. */
function unwrapModule(loaded: unknown): TensorFlow {
  const module = loaded as Partial<TensorFlow> & { default?: TensorFlow };
  return typeof module.matMul === 'function' ? (module as TensorFlow) : module.default!;
}
