import { wasmEngine } from '#kernels/engines/wasm.js';
import { minimumVarianceWeights } from '#kernels/weighting/minimum-variance.js';
import { measurePlain } from '../measure.js';
import { covarianceOn } from '../orders.js';

/** Weights of at most 5 % each: a search over pairs and exact solves, whose operations depend on the matrix. */
const engine = wasmEngine();
for (const n of [50, 500, 1000]) {
  const covariance = covarianceOn(engine, n);
  const weights = new Float64Array(n);
  measurePlain(
    'minimumVarianceWeights',
    `${n}`,
    () => {
      const { status } = minimumVarianceWeights(covariance, 0.05, weights);
      if (status !== 'solved') throw new Error(`order ${n}: ${status}`);
    },
    { bytes: 8 * n * n },
  );
}
