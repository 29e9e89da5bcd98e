import { principalComponents } from '#kernels/moments/principal-components.js';
import { measure, seededPanel, SIZES } from '../measure.js';

await measure(
  'principalComponents',
  SIZES.filter(([assets, observations]) => Math.min(assets, observations) < 1000).map(([assets, observations]) => ({
    size: `${observations} x ${assets}`,
    without: assets > 500 ? (['reference', 'tensorflow'] as const) : (['tensorflow'] as const),
    prepare(engine) {
      const panel = engine.allocate(observations * assets);
      panel.set(seededPanel(panel.length));
      return () => principalComponents(engine, panel, assets, 5);
    },
  })),
);
