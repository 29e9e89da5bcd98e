import { sampleCovariance } from '#kernels/moments/sample-covariance.js';
import { measure, seededPanel, SIZES } from '../measure.js';

/** Demeaning, scaling and the product; the panel is restored inside the timing. */
await measure(
  'sampleCovariance',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    flops: observations * assets * assets,
    without: assets > 500 ? (['reference'] as const) : [],
    prepare(engine) {
      const returns = seededPanel(observations * assets);
      const panel = engine.allocate(returns.length);
      const out = engine.allocate(assets * assets);
      return () => {
        panel.set(returns);
        return sampleCovariance(panel, assets, out, { engine });
      };
    },
  })),
);
