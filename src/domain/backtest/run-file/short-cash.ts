import { createEffectTable } from '../../index-mathematics/session-effects.js';
import { toShortTerms } from '../../index-mathematics/growth-terms.js';
import type { Book } from '../../books/book.js';
import { createIndexTerms } from '../../books/index-run.js';
import type { Block } from './block.js';
import { findPosition } from './security-slots.js';
import { createAppended, compareByElement, toFillingOrNull } from './parts.js';

/** Number of elements in a row: security, date, cash. */
export const SHORT_CASH_WIDTH = 3;

/**
 * Cash that short positions pay. Present if tax is withheld from long positions: short positions pay dividends in full,
 * so the cash of the two differs.
 */
export const shortCash: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: SHORT_CASH_WIDTH,
  compare: compareByElement(6),
  upgrade: 'absent',
  canBeAddedLater: true,
  meaning:
    'rows of security, date, cash per share that a short position paid, by date then security; absent if no tax is withheld, and up to 0.2.0',
  whole({ run: { portfolio, index }, names }) {
    if (portfolio.overlay !== undefined) return null; // an overlay earns its short positions through the growth of its underlying index
    const books = [portfolio, index.book];
    return toFillingOrNull(findPaidByShorts({ terms: index.compositions, books, names, ...portfolio, before: 0 }));
  },
  added({ continuation: { index, portfolio }, names, before }) {
    const books = [portfolio, index.book];
    const rows = findPaidByShorts({ terms: index, books, names, ...portfolio, before: before - 1 });
    return createAppended(...(rows ? [rows] : []));
  },
};

interface ShortCash extends Pick<Book, 'sm' | 'from' | 'length'> {
  readonly terms: Parameters<typeof createIndexTerms>[0];
  /** Books of the run; a row is written if a position is short in any of them. */
  readonly books: readonly Book[];
  readonly names: Int32Array;
  /** Run date index of the first session. */
  readonly before: number;
}

/** Returns the cash that short positions paid, as rows. Returns null if none paid. */
function findPaidByShorts({ terms, books, names, sm, from, length, before }: ShortCash): Float64Array | null {
  const growthTerms = createIndexTerms(terms);
  const shortTerms = toShortTerms(growthTerms);
  if (shortTerms === growthTerms) return null;
  const { columns, cash: paid, starts } = createEffectTable(sm, shortTerms);
  const rows: number[] = [];
  for (let session = from + 1; session < from + length; session++) {
    for (let e = starts[session]!; e < starts[session + 1]!; e++) {
      const column = columns[e]!;
      const cash = paid[e]!;
      if (cash > 0 && books.some((book) => readWeight(book, session - 1, column) < 0))
        rows.push(findPosition(names, column), before + session - from, cash);
    }
  }
  return rows.length === 0 ? null : Float64Array.from(rows);
}

function readWeight({ from, columns, weights }: Book, session: number, column: number): number {
  const slot = findPosition(columns, column);
  return slot < 0 ? 0 : weights[(session - from) * columns.length + slot]!;
}
