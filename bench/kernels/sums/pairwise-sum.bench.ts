import { measure, SIZES } from '../measure.js';

await measure(
  'pairwiseSum',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 8 * observations * assets,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const values = engine.allocate(observations * assets).fill(0.1);
      return () => engine.pairwiseSum(values);
    },
  })),
);
