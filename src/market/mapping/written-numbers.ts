import type { Mapping } from '#domain/documents/mapping.js';
import { numberIn, type Cell } from '../formats/cells.js';

const WITH_COMMA = /^[+-]?(?=[\d,])(?:\d+|\d{1,3}(?:[.\u00a0\u202f ']\d{3})+)?(?:,\d+)?(?:[eE][+-]?\d+)?$/;
const WITH_THOUSANDS = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$/;

/** The number in a cell that is written with a decimal comma: as `numberIn`. */
export function commaNumberIn(cell: Cell | undefined): number | undefined {
  if (typeof cell !== 'string') return numberIn(cell);
  const text = cell.trim();
  if (!WITH_COMMA.test(text)) return text === '' || text.toLowerCase() === 'nan' ? Number.NaN : undefined;
  return numberIn(text.replaceAll(/[.\u00a0\u202f ']/g, '').replace(',', '.'));
}

/** Whether a cell is a number with commas between its thousands, as 1,234 and 1,234.5. */
export const hasThousands = (cell: unknown): cell is string =>
  typeof cell === 'string' && WITH_THOUSANDS.test(cell.trim());

/** The number in a cell that may be written with commas between its thousands: as `numberIn`. */
export const thousandsNumberIn = (cell: Cell | undefined): number | undefined =>
  numberIn(hasThousands(cell) ? cell.replaceAll(',', '') : cell);

/** How numbers are read by a mapping. */
export function numberReader({ decimal, thousands }: Mapping): (cell: Cell | undefined) => number | undefined {
  if (decimal === ',') return commaNumberIn;
  return thousands === null ? numberIn : thousandsNumberIn;
}
