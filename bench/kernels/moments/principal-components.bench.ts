import { principalComponents } from '#kernels/moments/principal-components.js';
import { measure, seededPanel, SIZES } from '../measure.js';
import { eigenpairFlops } from '../orders.js';

await measure(
  'principalComponents',
  SIZES.map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    flops: observations * assets * Math.min(observations, assets) + eigenpairFlops(Math.min(observations, assets)),
    without: assets > 500 ? (['reference', 'tensorflow'] as const) : (['tensorflow'] as const),
    prepare(engine) {
      const panel = engine.allocate(observations * assets);
      panel.set(seededPanel(panel.length));
      return () => principalComponents(engine, panel, assets, 5);
    },
  })),
);
