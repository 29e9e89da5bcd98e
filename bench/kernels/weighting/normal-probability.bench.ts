import { normalProbability } from '#kernels/weighting/normal-probability.js';
import { measurePlain } from '../measure.js';

/** Rates are those of the numbers made. */
const NUMBERS = 100_000;
measurePlain(
  'normalProbability',
  `${NUMBERS}`,
  () => {
    let total = 0;
    for (let k = 0; k < NUMBERS; k++) total += normalProbability(8 * (k / NUMBERS) - 4);
    return total;
  },
  { bytes: 8 * NUMBERS },
);
