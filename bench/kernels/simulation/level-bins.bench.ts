import { binQuantile, levelBins } from '#kernels/simulation/level-bins.js';
import { measurePlain } from '../measure.js';

const HORIZON = 252;
const bins = levelBins({ mean: 0.0003, deviation: 0.01, horizon: HORIZON, count: 2048 });
const counts = new Uint32Array(HORIZON * bins.count).fill(3);

measurePlain(
  'binQuantile',
  `${HORIZON} x ${bins.count}`,
  () => {
    let total = 0;
    for (let t = 0; t < HORIZON; t++) total += binQuantile(bins, counts, t, 0.95);
    return total;
  },
  { bytes: 4 * counts.length },
);
