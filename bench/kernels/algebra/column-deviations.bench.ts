import { measure, seededPanel, SIZES } from '../measure.js';

await measure(
  'columnDeviations',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 16 * observations * assets,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const x = engine.allocate(observations * assets);
      x.set(seededPanel(x.length));
      const means = engine.allocate(assets);
      return () => engine.columnDeviations(x, means);
    },
  })),
);
