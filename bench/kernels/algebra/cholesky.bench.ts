import { covarianceOn, ORDERS, slowPast } from '../orders.js';
import { measure } from '../measure.js';

/** A copy of the matrix is timed along: about 2 % of the factorisation at order 1000. */
await measure(
  'cholesky',
  ORDERS.map((n) => ({
    size: `${n}`,
    flops: n ** 3 / 3,
    without: slowPast(n, 1000),
    prepare(engine) {
      const a = covarianceOn(engine, n);
      const work = engine.allocate(n * n);
      return () => {
        work.set(a);
        if (engine.cholesky(work, n) !== n) throw new Error('the matrix is not positive definite');
      };
    },
  })),
);
