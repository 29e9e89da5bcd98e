import { describe, expect, test } from 'vitest';
import { referenceEngine } from '#kernels/engines/reference.js';
import { type Loader, openTensorflowEngine } from '#kernels/engines/tensorflow.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import type { Engine } from '#kernels/engines/engine.js';
import { createLevelBins, type PathModel } from '#kernels/simulation/simulate-paths.js';
import { expectClose, expectCovariance } from '../closeness.js';
import { createRandomPanel } from './random-matrices.js';

/**
 * Replaces the TensorFlow library with the calls that the engine makes. It computes in float32, as the library does.
 */
interface Stub {
  values: Float32Array;
  shape: [number, number];
}
const arithmetic = {
  ready: async () => {},
  setBackend: async () => true,
  getBackend: () => 'stub',
  tensor2d: (values: Float32Array, shape: [number, number]): Stub => ({ values, shape }),
  transpose: ({ values, shape: [rows, columns] }: Stub): Stub => ({
    values: Float32Array.from(
      { length: values.length },
      (_, i) => values[(i % rows) * columns + Math.floor(i / rows)]!,
    ),
    shape: [columns, rows],
  }),
  matMul: (a: Stub, b: Stub) => {
    const [rows, inner] = a.shape;
    const columns = b.shape[1];
    const out = new Float32Array(rows * columns);
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++)
        for (let k = 0; k < inner; k++)
          out[i * columns + j] = Math.fround(
            out[i * columns + j]! + Math.fround(a.values[i * inner + k]! * b.values[k * columns + j]!),
          );
    return { dataSync: () => out };
  },
  cumprod: ({ values, shape: [rows, columns] }: Stub) => {
    const out = values.slice();
    for (let i = 0; i < rows; i++)
      for (let j = 1; j < columns; j++)
        out[i * columns + j] = Math.fround(out[i * columns + j]! * out[i * columns + j - 1]!);
    return { dataSync: () => out };
  },
  dispose: () => {},
};

const failToFind = async (name: string): Promise<never> => {
  throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
};

describe('the TensorFlow engine', () => {
  test('serves the covariance product in float32 and reports it', async () => {
    const load: Loader = async (name) =>
      name === '@tensorflow/tfjs-node' ? { default: arithmetic } : failToFind(name);
    const engine = await openTensorflowEngine(referenceEngine, load);
    expect(engine.precision).toBe('float32');
    expect(engine.description).toContain('@tensorflow/tfjs-node');
    const x = createRandomPanel(40, 6);
    const expected = new Float64Array(36);
    referenceEngine.symmetricRankK(x, 6, expected);
    const actual = new Float64Array(36);
    engine.symmetricRankK(x, 6, actual);
    expectCovariance(actual, expected, 6, 1e-5);
    expect([...actual]).not.toEqual([...expected]);
  });

  test('compounds the same paths as the definition, to float32', async () => {
    const engine = await openTensorflowEngine(referenceEngine, async () => arithmetic);
    const horizon = 30;
    const request = {
      model: { kind: 'gaussian', mean: 0.0003, deviation: 0.01 },
      horizon,
      seed: 4,
      first: 7,
      bins: createLevelBins({ mean: 0.0003, deviation: 0.01, horizon, count: 64 }),
    } as const;
    const run = (each: Engine) => {
      const tallies = {
        counts: new Uint32Array(horizon * 64),
        finals: new Float64Array(40),
        lows: new Float64Array(40),
        drawdowns: new Float64Array(40),
        underwater: new Int32Array(40),
      };
      each.simulatePaths(request, tallies);
      return tallies;
    };
    const actual = run(engine);
    expectClose(actual.finals, run(referenceEngine).finals, 1e-5);
    expect(actual.counts.reduce((a, b) => a + b, 0)).toBe(40 * horizon);
  });

  test('delegates factorisations to its float64 engine', async () => {
    const engine = await openTensorflowEngine(referenceEngine, async () => arithmetic);
    expect(engine.cholesky).toBe(referenceEngine.cholesky);
  });

  test('takes the WebAssembly backend when the native package is absent', async () => {
    const load: Loader = async (name) => (name === '@tensorflow/tfjs-node' ? failToFind(name) : arithmetic);
    const engine = await openTensorflowEngine(referenceEngine, load);
    expect(engine.description).toContain('@tensorflow/tfjs-backend-wasm');
  });

  test('refuses a backend whose product is wrong', async () => {
    const brokenModule = {
      ...arithmetic,
      matMul: (a: Stub, b: Stub) => ({
        dataSync: () =>
          arithmetic
            .matMul(a, b)
            .dataSync()
            .map((value) => value * 1.001),
      }),
    };
    await expect(openTensorflowEngine(referenceEngine, async () => brokenModule)).rejects.toThrow(
      /self-test of X'X is off by .*, 0.00001 allowed/,
    );
  });

  test('states which packages are missing', async () => {
    await expect(openTensorflowEngine(referenceEngine, failToFind)).rejects.toThrow(
      /tfjs-node is not installed; .*tfjs-core is not installed/,
    );
  });
});

test('an installed package that cannot be loaded is reported with the reason', async () => {
  const failToLoad = async (): Promise<never> => {
    throw new Error('libc.so: version not found\nRequire stack');
  };
  await expect(openTensorflowEngine(referenceEngine, failToLoad)).rejects.toThrow(
    'the package @tensorflow/tfjs-node cannot be loaded: libc.so: version not found; ',
  );
});

const openedSandbox = await openTensorflowEngine(openWasmEngine()).catch((failure: Error) => failure);

if (openedSandbox instanceof Error) {
  console.log(`TensorFlow itself is not tested here: ${openedSandbox.message}`);
  test.skip('TensorFlow multiplies and compounds to float32', () => {});
} else {
  describe('TensorFlow', () => {
    test('names its package, its version and its backend', () => {
      expect(openedSandbox.description).toMatch(
        /^@tensorflow\/tfjs-(backend-wasm|node) \d+\.\d+\.\d+, backend \w+, float32; factorisations by wasm$/,
      );
    });

    test.each([
      [1, 1],
      [3, 7],
      [504, 50],
      [40, 131],
    ])('multiplies a panel of %i x %i by itself to float32, exactly symmetric', (rows, columns) => {
      const x = createRandomPanel(rows, columns);
      const expected = new Float64Array(columns * columns);
      referenceEngine.symmetricRankK(x, columns, expected);
      const actual = new Float64Array(columns * columns);
      openedSandbox.symmetricRankK(x, columns, actual);
      expectCovariance(actual, expected, columns, 1e-5);
      for (let i = 0; i < columns; i++)
        for (let j = 0; j < i; j++) expect(actual[i * columns + j]).toBe(actual[j * columns + i]);
    });

    const models: readonly PathModel[] = [
      { kind: 'gaussian', mean: 0.0003, deviation: 0.01 },
      {
        kind: 'block_bootstrap',
        growth: Float64Array.from({ length: 90 }, (_, t) => 1 + 0.01 * Math.sin(t * t)),
        block: 7,
      },
    ];
    test.each(models)('compounds more paths than fit into one batch, by $kind', (model) => {
      const [horizon, paths, count] = [25, 2_100, 64];
      const request = {
        model,
        horizon,
        seed: 4,
        first: 7,
        bins: createLevelBins({ mean: 0.0003, deviation: 0.01, horizon, count }),
      };
      const run = (each: Engine) => {
        const tallies = {
          counts: new Uint32Array(horizon * count),
          finals: new Float64Array(paths),
          lows: new Float64Array(paths),
          drawdowns: new Float64Array(paths),
          underwater: new Int32Array(paths),
        };
        each.simulatePaths(request, tallies);
        return tallies;
      };
      const [actual, expected] = [run(openedSandbox), run(referenceEngine)];
      for (const list of ['finals', 'lows', 'drawdowns'] as const) expectClose(actual[list], expected[list], 1e-5);
      expect(actual.counts.reduce((a, b) => a + b, 0)).toBe(paths * horizon);
    });
  });
}
