import { measure, seededPanel, SIZES } from '../measure.js';

const cases = (name: 'gemv' | 'gemvTransposed') =>
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 8 * observations * assets,
    without: ['tensorflow'] as const,
    prepare(engine: Parameters<Parameters<typeof measure>[1][number]['prepare']>[0]) {
      const a = engine.allocate(observations * assets);
      a.set(seededPanel(a.length));
      const long = engine.allocate(observations).fill(1);
      const wide = engine.allocate(assets).fill(1);
      return name === 'gemv' ? () => engine.gemv(a, wide, long) : () => engine.gemvTransposed(a, long, wide);
    },
  }));

await measure('gemv', cases('gemv'));
await measure('gemvTransposed', cases('gemvTransposed'));
