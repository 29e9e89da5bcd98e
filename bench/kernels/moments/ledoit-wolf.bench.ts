import { lowRankCovariance } from '#kernels/moments/low-rank-covariance.js';
import { measure, seededPanel, SIZES } from '../measure.js';

/** The analytic intensity with the product it needs, the shorter of two; the panel is restored inside the timing. */
await measure(
  'ledoitWolfIntensity',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    flops: observations * assets * Math.min(observations, assets),
    without: assets > 500 ? (['reference', 'tensorflow'] as const) : (['tensorflow'] as const),
    prepare(engine) {
      const returns = seededPanel(observations * assets);
      const panel = engine.allocate(returns.length);
      return () => {
        panel.set(returns);
        return lowRankCovariance(engine, panel, assets, {
          target: 'constant_correlation',
          intensity: null,
          method: 'ledoit_wolf',
          scale: 252,
        }).intensity;
      };
    },
  })),
);
