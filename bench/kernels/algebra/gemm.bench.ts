import { measure, seededPanel, SIZES } from '../measure.js';

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

/** The whole of X'X, for what `symmetricRankK` saves. */
await measure(
  "gemm, X'X",
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    flops: 2 * observations * assets * assets,
    without: assets > 50 ? (['reference', 'tensorflow'] as const) : (['tensorflow'] as const),
    prepare(engine) {
      const x = engine.allocate(observations * assets);
      x.set(seededPanel(x.length));
      const out = engine.allocate(assets * assets);
      return () => engine.gemm({ rows: assets, inner: observations, columns: assets, transposeA: true }, x, x, out);
    },
  })),
);
