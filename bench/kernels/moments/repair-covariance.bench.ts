import { repairCovariance } from '#kernels/moments/repair-covariance.js';
import { covarianceOn, eigenpairFlops, ORDERS, slowPast } from '../orders.js';
import { measure } from '../measure.js';

await measure(
  'repairCovariance',
  ORDERS.map((n) => ({
    size: `${n}`,
    flops: eigenpairFlops(n) + n ** 3,
    without: slowPast(n, 50),
    prepare(engine) {
      const a = covarianceOn(engine, n);
      for (let i = 0; i < n; i++) a[i * (n + 1)]! *= 0.9;
      const work = engine.allocate(n * n);
      return () => {
        work.set(a);
        repairCovariance(engine, work, n);
      };
    },
  })),
);
