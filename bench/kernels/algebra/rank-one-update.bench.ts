import { measure, seededPanel } from '../measure.js';
import { ORDERS } from '../orders.js';

await measure(
  'rankOneUpdate',
  ORDERS.map((n) => ({
    size: `${n}`,
    bytes: 8 * n * n,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const x = engine.allocate(n);
      x.set(seededPanel(n));
      const out = engine.allocate(n * n);
      return () => engine.rankOneUpdate(out, x, { decay: 0.99, factor: 1 });
    },
  })),
);
