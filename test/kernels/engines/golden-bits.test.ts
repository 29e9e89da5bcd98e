import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Engine } from '#kernels/engines/engine.js';
import { findExtremeEigenvalues } from '#kernels/engines/extreme-eigenvalues.js';
import { listNativeSets, openNativeKernels } from '#kernels/engines/native-kernels.js';
import { openNativeEngine } from '#kernels/engines/native.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { estimateCovariance } from '#kernels/moments/estimate-covariance.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { readGolden } from '../golden.js';
import type { CovarianceCase } from '../moments/sample-covariance.test.js';
import { createTrackingProgram, trackingCases } from '../optimisation/tracking-cases.js';
import { createRandomDefinite, createRandomPanel, createRandomSymmetric } from './random-matrices.js';

/**
 * Panels of the golden covariances, and one larger panel. The products of the larger panel are large enough for every
 * native kernel.
 */
const PANELS = [
  ...readGolden<CovarianceCase[]>('covariance').map(({ returns, assets }) => ({ returns, assets })),
  { returns: createRandomPanel(420, 210), assets: 210 },
];

const computeHash = (...values: readonly (ArrayLike<number> | number)[]): string => {
  const hash = createHash('sha256');
  for (const value of values) hash.update(Float64Array.from(typeof value === 'number' ? [value] : value));
  return hash.digest('hex');
};

/** Returns a hash of risk models and a hash of their eigenvalues, by shrinkage. */
function hashModels(engine: Engine): string[] {
  return PANELS.map(({ returns, assets }) => {
    const out = new Float64Array(assets * assets);
    const terms = {
      target: 'constant_correlation',
      intensity: null,
      method: 'shape',
      scale: 252,
      repair: false,
    } as const;
    const { smallestEigenvalue, conditionNumber, averageCorrelation } = estimateCovariance(
      engine,
      Float64Array.from(returns),
      assets,
      terms,
      out,
    );
    const values = new Float64Array(assets);
    engine.symmetricEigenvalues(out.slice(), assets, values);
    return computeHash(out, values, smallestEigenvalue, conditionNumber, averageCorrelation);
  });
}

function hashOptimisations(engine: Engine): string[] {
  return trackingCases.map((problem) => {
    const { point } = createSolver(engine).solve(createTrackingProgram(problem).program);
    return computeHash(point.x, point.rowMultipliers, point.kinkMultipliers, point.normMultipliers);
  });
}

function hashEigenpairs(engine: Engine, n: number): string {
  const [values, vectors] = [new Float64Array(n), new Float64Array(n * n)];
  engine.symmetricEigen(createRandomSymmetric(n), n, values, vectors);
  return computeHash(values, vectors);
}

/** Returns a hash of the smallest and the largest eigenvalue of a definite matrix. */
function hashExtremes(engine: Engine, n: number): string {
  const { smallest, largest } = findExtremeEigenvalues(engine, createRandomDefinite(n), n)!;
  return computeHash(smallest, largest);
}

function listSupportedSets() {
  try {
    return listNativeSets();
  } catch (failure) {
    console.log(`Native kernels are not compared on golden cases: ${(failure as Error).message}`);
    return [];
  }
}

const sets = listSupportedSets();

describe.skipIf(sets.length === 0)('golden results by native kernels', () => {
  const plainEngine = openWasmEngine();
  const expected = {
    models: hashModels(plainEngine),
    optimisations: hashOptimisations(plainEngine),
    pairs: hashEigenpairs(plainEngine, 130),
    ends: hashExtremes(plainEngine, 203),
  };

  test.each(sets)('of %s are bit-identical to WebAssembly', (set) => {
    const engine = openNativeEngine({ native: openNativeKernels(set) });
    expect(hashModels(engine)).toEqual(expected.models);
    expect(hashOptimisations(engine)).toEqual(expected.optimisations);
    expect(hashEigenpairs(engine, 130)).toBe(expected.pairs);
    expect(hashExtremes(engine, 203)).toBe(expected.ends);
  });
});
