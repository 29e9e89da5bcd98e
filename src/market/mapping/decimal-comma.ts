import { numberIn, type Cell } from '../formats/cells.js';

const WITH_COMMA = /^[+-]?(?=[\d,])(?:\d+|\d{1,3}(?:[.\u00a0\u202f ']\d{3})+)?(?:,\d+)?(?:[eE][+-]?\d+)?$/;

/** The number in a cell that is written with a decimal comma: as `numberIn`. */
export function commaNumberIn(cell: Cell | undefined): number | undefined {
  if (typeof cell !== 'string') return numberIn(cell);
  const text = cell.trim();
  if (!WITH_COMMA.test(text)) return text === '' || text.toLowerCase() === 'nan' ? Number.NaN : undefined;
  return numberIn(text.replaceAll(/[.\u00a0\u202f ']/g, '').replace(',', '.'));
}
