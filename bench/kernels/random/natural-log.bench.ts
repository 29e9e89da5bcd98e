import { naturalLog } from '#kernels/random/natural-log.js';
import { measurePlain } from '../measure.js';

const NUMBERS = 100_000;
measurePlain('naturalLog', `${NUMBERS}`, () => {
  let total = 0;
  for (let k = 1; k <= NUMBERS; k++) total += naturalLog(k);
  return total;
});
measurePlain('Math.log', `${NUMBERS}`, () => {
  let total = 0;
  for (let k = 1; k <= NUMBERS; k++) total += Math.log(k);
  return total;
});
