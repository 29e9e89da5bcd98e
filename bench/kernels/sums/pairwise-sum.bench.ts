import { measure } from '../measure.js';

await measure(
  'pairwiseSum',
  [1_000, 100_000, 16_000_000].map((n) => ({
    size: `${n}`,
    bytes: 8 * n,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const values = engine.allocate(n).fill(0.1);
      return () => engine.pairwiseSum(values);
    },
  })),
);
