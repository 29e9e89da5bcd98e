import { mirrorUpper } from '#kernels/algebra/mirror-upper.js';
import { ORDERS } from '../orders.js';
import { measurePlain, seededPanel } from '../measure.js';

for (const n of ORDERS) {
  const a = seededPanel(n * n);
  measurePlain('mirrorUpper', `${n}`, () => mirrorUpper(a, n), { bytes: 8 * n * n });
}
