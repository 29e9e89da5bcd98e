import { LIMITS } from '../../refusals/limits.js';
import { CannotResumeError } from '../../documents/full-run-reasons.js';
import { isEqual } from '../../numbers/number-types.js';
import type { Book } from '../../books/book.js';
import {
  createFields,
  createFieldGroup,
  readMember,
  type RecordExtension,
  type Field,
  type WeightsFrame,
} from './field.js';
import { isArrayLocation, type ArrayLocation } from './number-places.js';

/**
 * Packed weights of the portfolio: only the number of rows, counted from the end. The weights themselves are a block of
 * the run file.
 */
interface PortfolioRows {
  readonly portfolioRows: number;
}

function isPortfolioRows(packed: unknown): packed is PortfolioRows {
  return typeof packed === 'object' && packed !== null && 'portfolioRows' in packed;
}

/** Returns the weights of a book on the most recent dates, with one column per security of the book. */
export function createFrame({ sm, columns, weights, from, length }: Book): WeightsFrame {
  const first = Math.max(0, length - LIMITS.MAX_WEIGHT_DATES);
  return {
    columns,
    days: sm.sessions.slice(from + first, from + length),
    weights: weights.subarray(first * columns.length, length * columns.length),
  };
}

/**
 * Returns true if the most recent dates, the securities and the weights on those dates are equal in two books, bit for
 * bit.
 */
export function haveSameFrame(a: Book, b: Book): boolean {
  const rowCount = Math.min(a.length, LIMITS.MAX_WEIGHT_DATES);
  const areDates = rowCount === Math.min(b.length, LIMITS.MAX_WEIGHT_DATES) && a.from + a.length === b.from + b.length;
  if (a.sm !== b.sm || !areDates || !isEqual(a.columns, b.columns)) return false;
  if (a.weights.buffer === b.weights.buffer) return true;
  const cells = rowCount * a.columns.length;
  return isEqual(a.weights.subarray(a.weights.length - cells), b.weights.subarray(b.weights.length - cells));
}

/** Books of an extension, which begin with the last stored session. */
export interface AppendedFrame {
  readonly book: Book;
  readonly portfolio: Book;
  /** Number of stored dates of the book. */
  readonly before: number;
}

const { f64, i32, positions } = createFields<WeightsFrame, never>();
const arrays = createFieldGroup<WeightsFrame, WeightsFrame, never>({
  days: i32({ whole: ({ days }) => days }),
  columns: positions({ whole: ({ columns }) => columns }),
  weights: f64({ whole: ({ weights }) => weights }),
});

/**
 * Recent weights of a book. The field stores separate arrays, or refers to the portfolio's rows if both books held
 * equal weights.
 */
export const FRAME: Field<WeightsFrame, WeightsFrame, AppendedFrame> = {
  ...arrays,
  whole: (frame) => frame,
  pack: (frame, into) =>
    into.isOfPortfolio(frame)
      ? ({ portfolioRows: frame.days.length } satisfies PortfolioRows)
      : arrays.pack(frame, into),
  read: (packed, from) =>
    isPortfolioRows(packed) ? from.portfolioFrame(packed.portfolioRows) : arrays.read(packed, from),
  extend(packed, added, into) {
    const isSame = haveSameWeights(added, into);
    if (!isPortfolioRows(packed)) return extendArrays(readFrameLocations(packed), { added, isSame }, into);
    if (!isSame) throw new CannotResumeError('holdings_diverged');
    const { stored } = into;
    return {
      portfolioRows: Math.min(LIMITS.MAX_WEIGHT_DATES, stored.dates + added.portfolio.length - 1),
    } satisfies PortfolioRows;
  },
};

/** Returns true if book and portfolio have equal rows on the new sessions. */
function haveSameWeights({ book, portfolio, before }: AppendedFrame, { stored }: RecordExtension): boolean {
  if (book === portfolio) return true;
  const max = LIMITS.MAX_WEIGHT_DATES;
  const rowCount = Math.min(before + book.length - 1, max);
  const areDates =
    rowCount === Math.min(stored.dates + portfolio.length - 1, max) &&
    book.from + book.length === portfolio.from + portfolio.length;
  if (book.sm !== portfolio.sm || !areDates || !isEqual(book.columns, portfolio.columns)) return false;
  const width = book.columns.length;
  return (
    book.weights.buffer === portfolio.weights.buffer ||
    isEqual(book.weights.subarray(width), portfolio.weights.subarray(width))
  );
}

/** Places of a frame's arrays in the file. */
type FrameLocations = { readonly [M in keyof WeightsFrame]: ArrayLocation };

function readFrameLocations(packed: unknown): FrameLocations {
  const readLocation = (member: keyof WeightsFrame): ArrayLocation => {
    const location = readMember(packed, member);
    if (!isArrayLocation(location)) throw new CannotResumeError('no_checkpoint');
    return location;
  };
  return { days: readLocation('days'), columns: readLocation('columns'), weights: readLocation('weights') };
}

interface ExtendArrays {
  readonly added: AppendedFrame;
  readonly isSame: boolean;
}

/**
 * Returns the positions of a book's most recent weights in the file, including the new sessions.
 * @throws CannotResumeError if a full run would refer to the weights of the portfolio instead
 */
function extendArrays(frame: FrameLocations, { added, isSame }: ExtendArrays, into: RecordExtension): FrameLocations {
  const { book, before } = added;
  const { pools, stored, identifiers } = into;
  const max = LIMITS.MAX_WEIGHT_DATES;
  const columns = into.positions(book.columns);
  const frameWeights = alignWeights(frame, columns, into);
  const sessionCount = book.length - 1;
  const retainedCount = Math.max(0, max - sessionCount);
  const last = Math.min(sessionCount, max);
  const end = book.from + book.length;
  const days = pools.slide(frame.days, retainedCount, book.sm.sessions.slice(end - last, end));
  const weights = pools.slide(
    frameWeights.weights,
    retainedCount * columns.length,
    book.weights.slice((book.length - last) * columns.length),
  );
  const rowCount = Math.min(before, retainedCount);
  const names = Array.from(columns, (place) => identifiers[place]!);
  if (isSame && hasPortfolioWeights(stored, { names, rows: rowCount, weights: pools.read(frameWeights.weights) }))
    throw new CannotResumeError('holdings_diverged');
  return { days, columns: frameWeights.columns, weights };
}

/** Reorders the stored weights of a book to its current securities. Securities that joined get weight 0. */
function alignWeights(
  { columns: arrayLocation, weights }: FrameLocations,
  columns: Int32Array,
  { pools }: RecordExtension,
): Pick<FrameLocations, 'columns' | 'weights'> {
  const before = pools.read(arrayLocation);
  if (isEqual(columns, before)) return { columns: arrayLocation, weights };
  const positionByColumn = new Map(Array.from(columns, (column, place) => [column, place]));
  const columnPositions = Int32Array.from(before, (column) => positionByColumn.get(column) ?? -1);
  if (columnPositions.includes(-1)) throw new Error('a book has lost a security that it could hold');
  const rows = pools.read(weights);
  const widenedRows = new Float64Array((rows.length / before.length) * columns.length);
  for (let position = 0, row = 0; position < rows.length; position += before.length, row += columns.length) {
    for (let k = 0; k < before.length; k++) widenedRows[row + columnPositions[k]!] = rows[position + k]!;
  }
  return { columns: pools.add(columns), weights: pools.add(widenedRows) };
}

interface FrameRows {
  readonly names: readonly string[];
  /** Number of most recent rows to keep. */
  readonly rows: number;
  /** Stored weights of the book. */
  readonly weights: ArrayLike<number>;
}

/** Returns true if the last stored rows of a book equal the portfolio's rows. */
function hasPortfolioWeights(stored: RecordExtension['stored'], { names, rows, weights }: FrameRows): boolean {
  const { names: all, dates } = stored;
  if (rows > dates) return false;
  const positionByName = new Map(all.map((name, place) => [name, place]));
  const namePositions = Int32Array.from(names, (name) => positionByName.get(name) ?? -1);
  const storedWeights = stored.f64('weights', (dates - rows) * all.length, dates * all.length);
  const first = weights.length - rows * names.length;
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < names.length; k++) {
      const storedWeight = namePositions[k]! < 0 ? 0 : storedWeights[row * all.length + namePositions[k]!]!;
      if (weights[first + row * names.length + k] !== storedWeight) return false;
    }
  }
  return true;
}
