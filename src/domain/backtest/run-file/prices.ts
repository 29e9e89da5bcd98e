import type { Block } from './block.js';
import { sessionsBefore } from './effects.js';
import { filled, priceRows } from './panels.js';
import { append, byDate } from './parts.js';

export const price: Block<'f64'> = {
  type: 'f64',
  axes: ['dates', 'names'],
  meaning: 'CLOSE, NaN without a bar',
  compare: byDate(0),
  upgrade: 'same',
  joined: 'joinedPrice',
  whole({ run: { portfolio }, names }) {
    const { sm, from, length } = portfolio;
    return priceRows(sm, names, { from, to: from + length });
  },
  added({ continuation: { portfolio }, names }) {
    const { sm, from, length } = portfolio;
    return append(filled(priceRows(sm, names, { from: from + 1, to: from + length })));
  },
};

export const joinedPrice: Block<'f64'> = {
  type: 'f64',
  axes: ['joined dates'],
  meaning: 'CLOSE on the dates before an extension, of each name that joined with it; empty of a whole run',
  compare: { by: 'layout' },
  upgrade: 'same',
  canBeAddedLater: true,
  whole: () => null,
  added(source) {
    const { sm } = source.continuation.portfolio;
    const sessions = sessionsBefore(source);
    return append(...Array.from(source.joined, (column) => filled(priceRows(sm, Int32Array.of(column), sessions))));
  },
};
