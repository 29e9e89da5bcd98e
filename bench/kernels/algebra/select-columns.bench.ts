import { measure, seededPanel, SIZES } from '../measure.js';

await measure(
  'selectColumns',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 16 * observations * assets,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const x = engine.allocate(observations * assets);
      x.set(seededPanel(x.length));
      const columns = Int32Array.from({ length: assets }, (_, k) => k);
      const out = engine.allocate(x.length);
      return () => engine.selectColumns(x, { width: assets, columns, less: 1 }, out);
    },
  })),
);
