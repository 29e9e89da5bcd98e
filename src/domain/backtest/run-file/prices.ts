import type { Book } from '../../books/book.js';
import type { Block } from './block.js';
import { countSessionsBefore } from './effects.js';
import { toFilledFloats, createPriceRows } from './panels.js';
import { createAppended, compareByDate } from './parts.js';

export const price: Block<'f64'> = {
  type: 'f64',
  axes: ['dates', 'names'],
  meaning: 'CLOSE, NaN without a price bar',
  compare: compareByDate(0),
  upgrade: 'same',
  joined: 'joinedPrice',
  whole({ run: { portfolio }, names }) {
    const { sm, from, length } = portfolio;
    return createPriceRows(sm, names, { from, to: from + length });
  },
  added({ continuation: { portfolio }, names }) {
    const { sm, from, length } = portfolio;
    return createAppended(toFilledFloats(createPriceRows(sm, names, { from: from + 1, to: from + length })));
  },
};

export const joinedPrice: Block<'f64'> = {
  type: 'f64',
  axes: ['joined dates'],
  meaning: 'CLOSE on the dates before an extension, for each security that joined with it; empty for a whole run',
  compare: { by: 'layout' },
  upgrade: 'same',
  canBeAddedLater: true,
  whole: () => null,
  added(source) {
    const { sm } = source.continuation.portfolio;
    const sessions = countSessionsBefore(source);
    return createAppended(
      ...Array.from(source.joined, (column) => toFilledFloats(createPriceRows(sm, Int32Array.of(column), sessions))),
    );
  },
};

/** Minimum number of bytes of prices that are produced at once, in whole sessions. The last part may be smaller. */
const PART_BYTES_MIN = 2 ** 20;

/** Yields the prices of a book as bytes, some sessions at a time. Each part reuses the memory of the previous one. */
export function* createPriceParts(
  { sm, from, length }: Pick<Book, 'sm' | 'from' | 'length'>,
  names: Int32Array,
): Generator<Uint8Array<ArrayBuffer>> {
  const count = Math.ceil(PART_BYTES_MIN / Math.max(1, Float64Array.BYTES_PER_ELEMENT * names.length));
  const buffer = new Float64Array(Math.min(count, length) * names.length);
  for (let t = 0; t < length; t += count) {
    const rows = createPriceRows(sm, names, { from: from + t, to: from + Math.min(t + count, length) });
    rows.writeTo(buffer);
    yield new Uint8Array(buffer.buffer, 0, Float64Array.BYTES_PER_ELEMENT * rows.length);
  }
}
