import type { Book } from '../../books/book.js';
import type { Block } from './block.js';
import { findPosition } from './security-slots.js';
import { createAppended, compareByDate, compareByElement, toFillingOrNull, createSeriesBlock } from './parts.js';

/** Number of elements in a row: security, date, dividends, moved weight. */
export const TRANSFER_WIDTH = 4;

/** Block with the rows of `Transfers`. */
export const transfers: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: TRANSFER_WIDTH,
  compare: compareByElement(8),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of security, date, ordinary dividends and weight that an adjusted close took from the security, as fractions of the value at the previous close; by date; absent if there are none, and up to 0.2.0',
  whole: ({ run: { portfolio }, names }) => toFillingOrNull(createTransferRows(portfolio, { names, before: 0 })),
  added({ continuation: { portfolio }, names, before }) {
    const rows = createTransferRows(portfolio, { names, before: before - 1 });
    return createAppended(...(rows ? [rows] : []));
  },
};

interface TransferPlacement {
  readonly names: Int32Array;
  /** Run date index of the book's first session. */
  readonly before: number;
}

/** Returns the transfers of a book as rows. Returns null if there are none. */
function createTransferRows({ transfers, columns }: Book, { names, before }: TransferPlacement): Float64Array | null {
  if (transfers === undefined) return null;
  const { at, slot, dividends, moved } = transfers;
  const positions = columns.map((column) => findPosition(names, column));
  const rows = new Float64Array(TRANSFER_WIDTH * at.length);
  for (let i = 0; i < at.length; i++) {
    rows[TRANSFER_WIDTH * i] = positions[slot[i]!]!;
    rows[TRANSFER_WIDTH * i + 1] = before + at[i]!;
    rows[TRANSFER_WIDTH * i + 2] = dividends[i]!;
    rows[TRANSFER_WIDTH * i + 3] = moved[i]!;
  }
  return rows.length === 0 ? null : rows;
}

/** Ordinary dividends of the index; absent if dividends are reinvested in the paying security. */
export const dividendPoints = createPointsBlock('points', {
  meaning: 'ordinary dividends in points of the price return',
  rank: 22,
});
export const netDividendPoints = createPointsBlock('netPoints', {
  meaning: 'ordinary dividends after withholding tax, in points of the price return',
  rank: 23,
});

function createPointsBlock(
  member: 'points' | 'netPoints',
  { meaning, rank }: { readonly meaning: string; readonly rank: number },
): Block<'f64'> {
  const readPoints = ({ reinvested }: Book): Float64Array | null => reinvested?.[member] ?? null;
  return {
    ...createSeriesBlock({
      axes: ['index dates'],
      meaning: `${meaning}; absent up to 0.2.0`,
      compare: compareByDate(rank),
      whole: ({ run }) => readPoints(run.index.book),
      added: ({ continuation }) => readPoints(continuation.index.book),
    }),
    upgrade: 'absent',
  };
}
