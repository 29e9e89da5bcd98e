import { createHash } from 'node:crypto';
import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { estimateCovariance } from '#kernels/moments/estimate-covariance.js';
import { fillHalfLifeWeights } from '#kernels/moments/sample-covariance.js';
import { createCounterRandom, type CounterRandom } from '#kernels/random/counter-random.js';
import { createLevelBins } from '#kernels/simulation/simulate-paths.js';

const ASSETS = 130;
const OBSERVATIONS = 400;

/** Order of a matrix that is so large that its products with vectors are summed in parts. */
const WIDE_ORDER = 530;

/**
 * Returns the SHA-256 of kernel results for a seeded panel. It must be equal on every supported machine and Node
 * version.
 */
export function hashKernels(): Record<string, string> {
  const random = createCounterRandom({ seed: 3, stream: 1 });
  const panel = Float64Array.from({ length: ASSETS * OBSERVATIONS }, () => 0.01 * random.normal());
  const engine = openWasmEngine();

  const weights = new Float64Array(OBSERVATIONS);
  fillHalfLifeWeights(100, weights);
  const model = new Float64Array(ASSETS * ASSETS);
  const diagnostics = estimateCovariance(
    engine,
    panel.slice(),
    ASSETS,
    { target: 'constant_correlation', intensity: null, method: 'ledoit_wolf', weights, scale: 252, repair: false },
    model,
  );

  const values = new Float64Array(ASSETS);
  const vectors = new Float64Array(ASSETS * ASSETS);
  engine.symmetricEigen(model, ASSETS, values, vectors);
  const factor = model.slice();
  engine.cholesky(factor, ASSETS);
  const solvedVectors = vectors.slice();
  engine.solveLower(factor, ASSETS, solvedVectors);

  const wideValues = computeWideEigenvalues(engine, random);

  const plainValues = new Float64Array(ASSETS);
  const plainVectors = new Float64Array(ASSETS * ASSETS);
  referenceEngine.symmetricEigen(model, ASSETS, plainValues, plainVectors);

  const { counts, finals, lows, drawdowns, underwater } = simulateOnEngine(engine);

  return {
    random: formatSha(panel),
    model: formatSha(
      model,
      Float64Array.of(
        diagnostics.intensity,
        diagnostics.averageCorrelation,
        diagnostics.smallestEigenvalue,
        diagnostics.conditionNumber,
      ),
    ),
    eigenpairs: formatSha(values, vectors),
    'eigenvalues of order 530': formatSha(wideValues),
    'factor and solution': formatSha(factor, solvedVectors),
    'eigenpairs by definition': formatSha(plainValues, plainVectors),
    paths: formatSha(counts, finals, lows, drawdowns, underwater),
  };
}

function computeWideEigenvalues(engine: Engine, random: CounterRandom): Float64Array {
  const wideMatrix = new Float64Array(WIDE_ORDER * WIDE_ORDER);
  engine.symmetricRankK(
    Float64Array.from({ length: 40 * WIDE_ORDER }, () => random.normal()),
    WIDE_ORDER,
    wideMatrix,
  );
  const wideValues = new Float64Array(WIDE_ORDER);
  engine.symmetricEigenvalues(wideMatrix, WIDE_ORDER, wideValues);
  return wideValues;
}

function simulateOnEngine(engine: Engine) {
  const horizon = 60;
  const bins = createLevelBins({ mean: 0.0003, deviation: 0.01, horizon, count: 256 });
  const tallies = {
    counts: new Uint32Array(horizon * 256),
    finals: new Float64Array(500),
    lows: new Float64Array(500),
    drawdowns: new Float64Array(500),
    underwater: new Int32Array(500),
  };
  engine.simulatePaths(
    { model: { kind: 'gaussian', mean: 0.0003, deviation: 0.01 }, horizon, seed: 5, first: 0, bins },
    tallies,
  );
  return tallies;
}

function formatSha(...arrays: readonly (Float64Array | Uint32Array | Int32Array)[]): string {
  const hash = createHash('sha256');
  for (const array of arrays) hash.update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  return hash.digest('hex');
}
