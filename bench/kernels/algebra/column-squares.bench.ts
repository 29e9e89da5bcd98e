import { measure, seededPanel, SIZES } from '../measure.js';

await measure(
  'columnSquares',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 8 * observations * assets,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const x = engine.allocate(observations * assets);
      x.set(seededPanel(x.length));
      const means = engine.allocate(assets);
      return () => engine.columnSquares(x, means);
    },
  })),
);
