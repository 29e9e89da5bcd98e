import { measure, seededPanel } from '../measure.js';

await measure(
  'gemm',
  [50, 500, 1000].map((n) => ({
    size: `${n} x ${n} x ${n}`,
    flops: 2 * n ** 3,
    without: n > 500 ? (['reference', 'tensorflow'] as const) : (['tensorflow'] as const),
    prepare(engine) {
      const a = engine.allocate(n * n);
      const b = engine.allocate(n * n);
      a.set(seededPanel(n * n, 1));
      b.set(seededPanel(n * n, 2));
      const out = engine.allocate(n * n);
      return () => engine.gemm({ rows: n, inner: n, columns: n }, a, b, out);
    },
  })),
);
