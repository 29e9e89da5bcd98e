import { naturalLog } from '#kernels/random/natural-log.js';
import { measurePlain } from '../measure.js';

/** Rates are those of the numbers made. */
const NUMBERS = 100_000;
measurePlain(
  'naturalLog',
  `${NUMBERS}`,
  () => {
    let total = 0;
    for (let k = 1; k <= NUMBERS; k++) total += naturalLog(k);
    return total;
  },
  { bytes: 8 * NUMBERS },
);
measurePlain(
  'Math.log',
  `${NUMBERS}`,
  () => {
    let total = 0;
    for (let k = 1; k <= NUMBERS; k++) total += Math.log(k);
    return total;
  },
  { bytes: 8 * NUMBERS },
);
