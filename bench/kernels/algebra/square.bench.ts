import { measure, seededPanel } from '../measure.js';

await measure(
  'square',
  [100_000, 4_000_000].map((n) => ({
    size: `${n}`,
    bytes: 16 * n,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const x = engine.allocate(n);
      x.set(seededPanel(n));
      const out = engine.allocate(n);
      return () => engine.square(x, out);
    },
  })),
);
