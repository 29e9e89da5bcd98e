import type { Book } from '../../books/book.js';
import { toShareTime } from '../../books/share-record.js';
import { findFirstAtLeast } from '../../numbers/search.js';
import type { Block } from './block.js';
import { createAppended, compareByElement, toFillingOrNull } from './parts.js';
import { findPosition } from './security-slots.js';

/** Number of elements in a row: security, moment, shares. */
export const SHARE_WIDTH = 3;

/**
 * Index shares: each change with the number of shares after it. The file of a strategy has none: it shows the
 * holdings of the strategy, and lacks securities that only the index holds.
 */
export const indexShares: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: SHARE_WIDTH,
  compare: compareByElement(12),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of security, moment (3 x date, plus 0 before the session, 1 at its close, 2 after its trades), index shares after it, by moment; absent for a strategy, if dividends change index shares, and up to 0.7.0',
  whole: ({ run: { plan, index, portfolio }, names }) =>
    plan.strategy !== undefined
      ? null
      : toFillingOrNull(createShareRows(index.book, { names, first: portfolio.from, before: 0, isWhole: true })),
  added({ plan, continuation: { index, portfolio }, names, before }) {
    if (plan.strategy !== undefined) return null;
    const placement = { names, first: portfolio.from, before: before - 1, isWhole: false };
    const rows = createShareRows(index.book, placement);
    return createAppended(...(rows ? [rows] : []));
  },
};

interface SharePlacement {
  readonly names: Int32Array;
  /** Session of the market that corresponds to the run date index `before`. */
  readonly first: number;
  readonly before: number;
  /** True if the rows begin with the holdings after the first close. */
  readonly isWhole: boolean;
}

/** Returns the index shares of a book as rows. Returns null if there are none. */
function createShareRows(
  { shares: record, columns, from }: Book,
  { names, first, before, isWhole }: SharePlacement,
): Float64Array | null {
  if (record === undefined) return null;
  const { time, slot, shares } = record;
  const opened = toShareTime(first - from, 'after');
  const begin = findFirstAtLeast(time, opened + 1);
  const held = new Float64Array(columns.length);
  if (isWhole) for (let i = 0; i < begin; i++) held[slot[i]!] = shares[i]!;
  const positions = columns.map((column) => findPosition(names, column));
  const moved = toShareTime(before, 'after') - opened;
  const heldSlots = [...held.keys()].filter((k) => held[k] !== 0);
  const rows = new Float64Array(SHARE_WIDTH * (heldSlots.length + time.length - begin));
  heldSlots.forEach((k, i) => rows.set([positions[k]!, toShareTime(before, 'after'), held[k]!], SHARE_WIDTH * i));
  for (let i = begin, row = SHARE_WIDTH * heldSlots.length; i < time.length; i++, row += SHARE_WIDTH) {
    rows[row] = positions[slot[i]!]!;
    rows[row + 1] = time[i]! + moved;
    rows[row + 2] = shares[i]!;
  }
  return rows.length === 0 ? null : rows;
}
