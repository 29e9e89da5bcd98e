import { createRollingGram } from '#kernels/moments/rolling-gram.js';
import { shrunkFromGram } from '#kernels/moments/shrunk-from-gram.js';
import { measure, seededPanel, SIZES } from '../measure.js';

/** A window that moves on by a month: 21 rows come and 21 go. Now and then all is computed anew, which the median leaves out. */
const MONTH = 21;

await measure(
  'rollingGram, a month',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    flops: 2 * MONTH * assets * assets,
    without: assets > 500 ? (['reference', 'tensorflow'] as const) : (['tensorflow'] as const),
    prepare(engine) {
      const values = seededPanel(2 * observations * assets);
      const names = Int32Array.from({ length: assets }, (_, i) => i);
      const read = (rows: Int32Array, out: Float64Array): void =>
        rows.forEach((row, t) =>
          out.set(
            values.subarray((row % (2 * observations)) * assets, ((row % (2 * observations)) + 1) * assets),
            t * assets,
          ),
        );
      const rolling = createRollingGram(engine);
      let from = 0;
      return () => {
        const first = from;
        from += MONTH;
        return rolling.over(
          names,
          Int32Array.from({ length: observations }, (_, t) => first + t),
          read,
        );
      };
    },
  })),
);

await measure(
  'shrunkFromGram',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 36 * assets * assets,
    without: ['tensorflow', 'openblas', 'reference'] as const,
    prepare(engine) {
      const panel = engine.allocate(observations * assets);
      panel.set(seededPanel(panel.length));
      const products = engine.allocate(assets * assets);
      engine.symmetricRankK(panel, assets, products);
      const out = engine.allocate(assets * assets);
      return () => shrunkFromGram({ products, sums: new Float64Array(assets) }, observations, 252, out);
    },
  })),
);
