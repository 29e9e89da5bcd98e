import { counterRandom } from '#kernels/random/counter-random.js';
import { measurePlain } from '../measure.js';

/** Rates are those of the numbers made. */
const NUMBERS = 100_000;
const random = counterRandom({ seed: 1, stream: 0 });

measurePlain(
  'uniform',
  `${NUMBERS}`,
  () => {
    let total = 0;
    for (let k = 0; k < NUMBERS; k++) total += random.uniform();
    return total;
  },
  { bytes: 8 * NUMBERS },
);
measurePlain(
  'normal',
  `${NUMBERS}`,
  () => {
    let total = 0;
    for (let k = 0; k < NUMBERS; k++) total += random.normal();
    return total;
  },
  { bytes: 8 * NUMBERS },
);
