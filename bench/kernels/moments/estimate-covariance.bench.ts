import { estimateCovariance } from '#kernels/moments/estimate-covariance.js';
import { measure, seededPanel, SIZES } from '../measure.js';

/** A whole estimate with its diagnostics, by shape and by Ledoit and Wolf; the panel is restored inside the timing. Product and eigenvalues are counted. */
for (const method of ['shape', 'ledoit_wolf'] as const) {
  await measure(
    `estimate, ${method}`,
    SIZES.map(([assets, observations]) => ({
      size: `${observations} x ${assets}`,
      flops: observations * assets ** 2 + (4 / 3) * assets ** 3,
      without: assets > 500 ? (['reference'] as const) : [],
      prepare(engine) {
        const returns = seededPanel(observations * assets);
        const panel = engine.allocate(returns.length);
        const out = engine.allocate(assets * assets);
        return () => {
          panel.set(returns);
          return estimateCovariance(
            engine,
            panel,
            assets,
            { target: 'constant_correlation', intensity: null, method, scale: 252, repair: false },
            out,
          );
        };
      },
    })),
  );
}
