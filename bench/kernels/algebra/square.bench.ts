import { measure, seededPanel, SIZES } from '../measure.js';

await measure(
  'square',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 16 * observations * assets,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const x = engine.allocate(observations * assets);
      x.set(seededPanel(x.length));
      const out = engine.allocate(x.length);
      return () => engine.square(x, out);
    },
  })),
);
