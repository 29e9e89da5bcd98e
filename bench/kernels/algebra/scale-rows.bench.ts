import { measure, seededPanel, SIZES } from '../measure.js';

await measure(
  'scaleRows',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 16 * observations * assets,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const x = engine.allocate(observations * assets);
      x.set(seededPanel(x.length));
      const factors = engine.allocate(observations).fill(1);
      return () => engine.scaleRows(x, assets, factors);
    },
  })),
);
