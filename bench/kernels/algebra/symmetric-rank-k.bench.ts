import { measure, seededPanel, SIZES } from '../measure.js';

/** X'X: half the operations of the whole product are counted. */
await measure(
  'symmetricRankK',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    flops: observations * assets * assets,
    without: assets > 500 ? (['reference'] as const) : [],
    prepare(engine) {
      const x = engine.allocate(observations * assets);
      x.set(seededPanel(x.length));
      const out = engine.allocate(assets * assets);
      return () => engine.symmetricRankK(x, assets, out);
    },
  })),
);
