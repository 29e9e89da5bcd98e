import { covarianceOn, ORDERS, slowPast } from '../orders.js';
import { measure, seededPanel } from '../measure.js';

for (const columns of [1, 64]) {
  await measure(
    `solveLower, ${columns} right`,
    ORDERS.map((n) => ({
      size: `${n}`,
      flops: n * n * columns,
      without: slowPast(n),
      prepare(engine) {
        const l = covarianceOn(engine, n);
        engine.cholesky(l, n);
        const b = engine.allocate(n * columns);
        b.set(seededPanel(b.length));
        return () => engine.solveLower(l, n, b);
      },
    })),
  );
}
