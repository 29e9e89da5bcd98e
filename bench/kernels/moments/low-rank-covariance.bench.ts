import { lowRankCovariance, multiplyLowRank } from '#kernels/moments/low-rank-covariance.js';
import { measure, seededPanel, SIZES } from '../measure.js';

/** A product with a covariance that is never formed. */
await measure(
  'multiplyLowRank',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 16 * observations * assets,
    without: ['tensorflow'] as const,
    prepare(engine) {
      const panel = engine.allocate(observations * assets);
      panel.set(seededPanel(panel.length));
      const covariance = lowRankCovariance(engine, panel, assets, {
        target: 'constant_correlation',
        intensity: null,
        method: 'shape',
        scale: 252,
      });
      const v = engine.allocate(assets).fill(1 / assets);
      const out = engine.allocate(assets);
      return () => multiplyLowRank(engine, covariance, v, out);
    },
  })),
);

/** Moments and target without any product; the panel is restored inside the timing, and its passes are counted. */
await measure(
  'lowRankCovariance',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    bytes: 80 * observations * assets,
    without: ['tensorflow', 'openblas'] as const,
    prepare(engine) {
      const returns = seededPanel(observations * assets);
      const panel = engine.allocate(returns.length);
      return () => {
        panel.set(returns);
        return lowRankCovariance(engine, panel, assets, {
          target: 'constant_correlation',
          intensity: null,
          method: 'shape',
          scale: 252,
        });
      };
    },
  })),
);
