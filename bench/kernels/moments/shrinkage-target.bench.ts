import { averageCorrelation, shrink, shrinkageTarget } from '#kernels/moments/shrinkage-target.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { covarianceOn, ORDERS } from '../orders.js';
import { measurePlain } from '../measure.js';

const engine = wasmEngine();
for (const n of ORDERS) {
  const covariance = covarianceOn(engine, n);
  measurePlain('averageCorrelation', `${n}`, () => averageCorrelation(covariance, n), { bytes: 4 * n * n });
  const target = shrinkageTarget('constant_correlation', covariance, n, 0.3);
  measurePlain('shrink', `${n}`, () => shrink(covariance, target, 0, 1), { bytes: 12 * n * n });
}
