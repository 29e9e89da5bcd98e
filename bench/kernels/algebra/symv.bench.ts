import { covarianceOn, ORDERS, slowPast } from '../orders.js';
import { measure } from '../measure.js';

/** Half the matrix is read. */
await measure(
  'symv',
  ORDERS.map((n) => ({
    size: `${n}`,
    bytes: 4 * n * n,
    without: slowPast(n, 2000),
    prepare(engine) {
      const a = covarianceOn(engine, n);
      const x = engine.allocate(n).fill(1);
      const out = engine.allocate(n);
      return () => engine.symv(a, x, out);
    },
  })),
);
