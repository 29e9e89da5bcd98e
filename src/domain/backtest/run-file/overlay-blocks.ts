import type { Block } from './block.js';
import { readDrift, type Book } from '../../books/book.js';
import { createAppended, compareByDate, compareByElement, toFilling } from './parts.js';

/** Growth from prices only. For an overlay, its own growth; see `readDrift`. */
export const drift: Block<'f64'> = {
  type: 'f64',
  axes: ['dates'],
  meaning:
    'growth by prices: the factor from the weights after a close to those before the next; absent if it equals `gross`',
  compare: compareByDate(21),
  upgrade: 'absent',
  whole: ({ run: { portfolio } }) => (hasDrift(portfolio) ? toFilling(readDrift(portfolio)) : null),
  added: ({ continuation: { portfolio } }) =>
    hasDrift(portfolio) ? createAppended(readDrift(portfolio).subarray(1)) : null,
};

function hasDrift({ overlay, drift }: Book): boolean {
  return overlay !== undefined || drift !== undefined;
}

/** Return components of an overlay: one value per component of the header, by date. */
export const overlayReturnParts: Block<'f64'> = {
  type: 'f64',
  axes: ['dates', 'numbers'],
  meaning:
    'contributions to the return of each session that belong to no security, in the order of the header; absent if there are none',
  compare: compareByElement(7),
  upgrade: 'absent',
  whole({ run: { portfolio } }) {
    const values = computePartRows(portfolio);
    return values && toFilling(values);
  },
  added({ continuation: { portfolio } }) {
    const values = computePartRows(portfolio);
    return values && createAppended(values.subarray(portfolio.overlay!.parts.length)); // only an overlay with components has these rows
  },
};

/** Returns the contributions of the overlay components, [T x components]. */
function computePartRows({ overlay, length }: Book): Float64Array | null {
  const parts = overlay?.parts ?? [];
  if (parts.length === 0) return null;
  const values = new Float64Array(length * parts.length);
  parts.forEach(({ contributions }, p) => {
    for (let t = 0; t < length; t++) values[t * parts.length + p] = contributions[t]!;
  });
  return values;
}
