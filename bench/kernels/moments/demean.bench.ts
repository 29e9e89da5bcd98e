import { demean } from '#kernels/moments/demean.js';
import { measurePlain, seededPanel, SIZES } from '../measure.js';

for (const [assets, observations] of SIZES) {
  const panel = seededPanel(observations * assets);
  const means = new Float64Array(assets);
  measurePlain('demean', `${observations} x ${assets}`, () => demean(panel, assets, undefined, means), {
    bytes: 24 * panel.length,
  });
}
