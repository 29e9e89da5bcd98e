import type { Block } from './block.js';
import { driftOf, type Book } from '../../books/book.js';
import { append, byDate, byElement, ready } from './parts.js';

/** Growth by prices alone, or of an overlay: see `driftOf`. */
export const drift: Block<'f64'> = {
  type: 'f64',
  axes: ['dates'],
  meaning:
    'growth by prices, which turns weights into what those of the close before grew to; absent where that is `gross`',
  compare: byDate(21),
  upgrade: 'absent',
  whole: ({ run: { portfolio } }) => (hasDrift(portfolio) ? ready(driftOf(portfolio)) : null),
  added: ({ continuation: { portfolio } }) => (hasDrift(portfolio) ? append(driftOf(portfolio).subarray(1)) : null),
};

function hasDrift({ overlay, drift }: Book): boolean {
  return overlay !== undefined || drift !== undefined;
}

/** Of an overlay: a value of each of the header's parts, date by date. */
export const ownParts: Block<'f64'> = {
  type: 'f64',
  axes: ['dates', 'numbers'],
  meaning:
    'contributions of what is no name to the return of each session, in the order of the header; absent without any',
  compare: byElement(7),
  upgrade: 'absent',
  whole({ run: { portfolio } }) {
    const values = partRows(portfolio);
    return values && ready(values);
  },
  added({ continuation: { portfolio } }) {
    const values = partRows(portfolio);
    return values && append(values.subarray(portfolio.overlay!.parts.length)); // It has parts.
  },
};

/** Contributions of the parts, [T x parts]. */
function partRows({ overlay, length }: Book): Float64Array | null {
  const parts = overlay?.parts ?? [];
  if (parts.length === 0) return null;
  const values = new Float64Array(length * parts.length);
  parts.forEach(({ contributions }, p) => {
    for (let t = 0; t < length; t++) values[t * parts.length + p] = contributions[t]!;
  });
  return values;
}
