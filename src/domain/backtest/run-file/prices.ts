import { createIndexTerms } from '../../books/index-run.js';
import type { Run } from '../run.js';
import type { Block } from './block.js';
import { countSessionsBefore } from './effects.js';
import { toFilledFloats, createPriceRows } from './panels.js';
import { createAppended, compareByDate } from './parts.js';

export const price: Block<'f64'> = {
  type: 'f64',
  axes: ['dates', 'names'],
  meaning: 'CLOSE, NaN without a price bar; a bar between two sessions is adjusted by later events of its session',
  compare: compareByDate(0),
  upgrade: 'same',
  joined: 'joinedPrice',
  whole({ run: { portfolio, index }, names }) {
    const { sm, from, length } = portfolio;
    return createPriceRows(sm, names, { from, to: from + length, growth: createIndexTerms(index.compositions) });
  },
  added({ continuation: { portfolio, index }, names }) {
    const { sm, from, length } = portfolio;
    const range = { from: from + 1, to: from + length, growth: createIndexTerms(index) };
    return createAppended(toFilledFloats(createPriceRows(sm, names, range)));
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
    const { portfolio, index } = source.continuation;
    const { sm } = portfolio;
    const sessions = { ...countSessionsBefore(source), growth: createIndexTerms(index) };
    return createAppended(
      ...Array.from(source.joined, (column) => toFilledFloats(createPriceRows(sm, Int32Array.of(column), sessions))),
    );
  },
};

/** Minimum number of bytes of prices that are produced at once, in whole sessions. The last part may be smaller. */
const PART_BYTES_MIN = 2 ** 20;

/** Yields the prices of a book as bytes, some sessions at a time. Each part reuses the memory of the previous one. */
export function* createPriceParts(
  { portfolio: { sm, from, length }, index }: Pick<Run, 'portfolio' | 'index'>,
  names: Int32Array,
): Generator<Uint8Array<ArrayBuffer>> {
  const count = Math.ceil(PART_BYTES_MIN / Math.max(1, Float64Array.BYTES_PER_ELEMENT * names.length));
  const buffer = new Float64Array(Math.min(count, length) * names.length);
  const growth = createIndexTerms(index.compositions);
  for (let t = 0; t < length; t += count) {
    const rows = createPriceRows(sm, names, { from: from + t, to: from + Math.min(t + count, length), growth });
    rows.writeTo(buffer);
    yield new Uint8Array(buffer.buffer, 0, Float64Array.BYTES_PER_ELEMENT * rows.length);
  }
}
