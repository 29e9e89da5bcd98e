import { covarianceOn, eigenpairFlops, ORDERS, slowPast } from '../orders.js';
import { measure } from '../measure.js';

await measure(
  'symmetricEigenvalues',
  ORDERS.map((n) => ({
    size: `${n}`,
    flops: (4 / 3) * n ** 3,
    without: slowPast(n),
    prepare(engine) {
      const a = covarianceOn(engine, n);
      const values = engine.allocate(n);
      return () => engine.symmetricEigenvalues(a, n, values);
    },
  })),
);

await measure(
  'symmetricEigen',
  ORDERS.map((n) => ({
    size: `${n}`,
    flops: eigenpairFlops(n),
    without: slowPast(n),
    prepare(engine) {
      const a = covarianceOn(engine, n);
      const values = engine.allocate(n);
      const vectors = engine.allocate(n * n);
      return () => engine.symmetricEigen(a, n, values, vectors);
    },
  })),
);

/** As many as a statistical model keeps. */
const LARGEST = 20;

await measure(
  `largestEigen, ${LARGEST}`,
  ORDERS.map((n) => ({
    size: `${n}`,
    flops: (4 / 3) * n ** 3 + 2 * LARGEST * n ** 2,
    without: slowPast(n),
    prepare(engine) {
      const a = covarianceOn(engine, n);
      const count = Math.min(LARGEST, n);
      const values = engine.allocate(count);
      const vectors = engine.allocate(count * n);
      return () => engine.largestEigen(a, n, values, vectors);
    },
  })),
);
