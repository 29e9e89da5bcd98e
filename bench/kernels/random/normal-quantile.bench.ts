import { normalQuantile } from '#kernels/random/normal-quantile.js';
import { measurePlain } from '../measure.js';

/** Rates are those of the numbers made. */
const NUMBERS = 100_000;
measurePlain(
  'normalQuantile',
  `${NUMBERS}`,
  () => {
    let total = 0;
    for (let k = 1; k <= NUMBERS; k++) total += normalQuantile(k / (NUMBERS + 1));
    return total;
  },
  { bytes: 8 * NUMBERS },
);
