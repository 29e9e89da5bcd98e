import { measure, seededPanel, SIZES } from '../measure.js';

/** Sectors of an index. */
const GROUPS = 11;

await measure(
  'centreGroups',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 16 * observations * assets,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const x = engine.allocate(observations * assets);
      x.set(seededPanel(x.length));
      const groupAt = Int32Array.from({ length: assets }, (_, k) => k % GROUPS);
      const means = engine.allocate(observations * GROUPS);
      return () => engine.centreGroups(x, { groupAt, count: GROUPS }, means);
    },
  })),
);
