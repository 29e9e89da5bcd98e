import { wasmEngine } from '#kernels/engines/wasm.js';
import { equalRiskWeights } from '#kernels/weighting/equal-risk.js';
import { measurePlain } from '../measure.js';
import { covarianceOn, ORDERS } from '../orders.js';

/** The sweeps that the matrix takes are counted. */
const engine = wasmEngine();
for (const n of ORDERS) {
  const covariance = covarianceOn(engine, n);
  const weights = new Float64Array(n);
  const { status, sweeps } = equalRiskWeights(covariance, weights);
  if (status !== 'solved') throw new Error(`order ${n}: ${status}`);
  measurePlain('equalRiskWeights', `${n}`, () => equalRiskWeights(covariance, weights), { flops: 4 * n * n * sweeps });
}
