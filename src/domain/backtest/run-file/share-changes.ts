import type { Book } from '../../books/book.js';
import { findFirstAtLeast } from '../../numbers/search.js';
import { hasOwnRebalances } from '../strategy-targets.js';
import type { Block } from './block.js';
import { createAppended, compareByElement, toFillingOrNull } from './parts.js';

/** Number of elements in a row: security, date, shares before, shares after. */
export const SHARE_CHANGE_WIDTH = 4;

/** Changes of share counts and free float that the index adopted between reviews. */
export const shareChanges: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: SHARE_CHANGE_WIDTH,
  compare: compareByElement(10),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of security, date, shares represented by the index before and after, on the share basis of the date, by date; absent if there are none, for a strategy with separate rebalances, and up to 0.2.0',
  whole: ({ run: { plan, index, portfolio }, names }) =>
    hasOwnRebalances(plan.strategy)
      ? null
      : toFillingOrNull(createChangeRows(index.book, { names, first: portfolio.from, before: 0 })),
  added({ plan, continuation: { index, portfolio }, names, before }) {
    if (hasOwnRebalances(plan.strategy)) return null;
    const rows = createChangeRows(index.book, { names, first: portfolio.from, before: before - 1 });
    return createAppended(...(rows ? [rows] : []));
  },
};

/** Number of elements in a row: date, fraction. */
export const SHARE_FRACTION_WIDTH = 2;

/** Block with the rows of `Transfers.kept`. */
export const keptShares: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  compare: compareByElement(11),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of date, fraction of its weight that each security of the portfolio kept when share counts changed before the session, by date; absent if there are none, and up to 0.2.0',
  whole: ({ run: { portfolio } }) => toFillingOrNull(findShareFractionRows(portfolio, 0)),
  added({ continuation: { portfolio }, before }) {
    const rows = findShareFractionRows(portfolio, before - 1);
    return createAppended(...(rows ? [rows] : []));
  },
};

/**
 * Returns the rows of the kept fractions. Returns null if there are none.
 * @param before run date index of the book's first session
 */
function findShareFractionRows({ transfers }: Book, before: number): Float64Array | null {
  if (transfers === undefined || transfers.keptAt.length === 0) return null;
  const { keptAt, kept: fractions } = transfers;
  const rows = new Float64Array(SHARE_FRACTION_WIDTH * keptAt.length);
  for (let i = 0; i < keptAt.length; i++) {
    rows[SHARE_FRACTION_WIDTH * i] = before + keptAt[i]!;
    rows[SHARE_FRACTION_WIDTH * i + 1] = fractions[i]!;
  }
  return rows;
}

interface ChangePlacement {
  readonly names: Int32Array;
  /** Session of the market that corresponds to the run date index `before`. */
  readonly first: number;
  readonly before: number;
}

/** Returns the share-count changes of a book as rows. Returns null if there are none. */
function createChangeRows(
  { shareChanges: changes }: Book,
  { names, first, before }: ChangePlacement,
): Float64Array | null {
  if (changes === undefined) return null;
  const { session, column, before: from, after } = changes;
  const begin = findFirstAtLeast(session, first + 1);
  if (begin === session.length) return null;
  const positions = indexPositions(names);
  const rows = new Float64Array(SHARE_CHANGE_WIDTH * (session.length - begin));
  for (let i = begin, position = 0; i < session.length; i++, position += SHARE_CHANGE_WIDTH) {
    rows[position] = positions[column[i]!] ?? -1;
    rows[position + 1] = before + session[i]! - first;
    rows[position + 2] = from[i]!;
    rows[position + 3] = after[i]!;
  }
  return rows;
}

/** Returns the position in the ascending `names` of each market column; -1 if absent. */
function indexPositions(names: Int32Array): Int32Array {
  const positions = new Int32Array((names.at(-1) ?? -1) + 1).fill(-1);
  names.forEach((column, place) => (positions[column] = place));
  return positions;
}
