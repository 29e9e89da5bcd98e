import type { MarketData } from './market-data.js';

/** Columns of securities, and a range of rows with inclusive ends. */
export interface SecuritiesOverRows {
  readonly columns: Int32Array;
  readonly from: number;
  readonly to: number;
}

interface CachedMissing extends SecuritiesOverRows {
  /** Missing rows, by position in `columns`. */
  readonly missing: readonly Int32Array[];
}

/** Maximum number of cached missing bars per market: 4 MB. */
const CACHED_MAX = 2 ** 20;

const latestMissing = new WeakMap<Float64Array, CachedMissing>();

/**
 * Returns the rows without a bar for each column, ascending. The last result is cached. A call for fewer securities or
 * days only searches this result.
 * @cost one pass over the closes, or over the missing rows
 */
export function findMissingBars(
  market: Pick<MarketData, 'identifiers' | 'fields'>,
  names: SecuritiesOverRows,
): Int32Array[] {
  const close = market.fields.get('CLOSE')!;
  const width = market.identifiers.length;
  const cachedMissing = latestMissing.get(close);
  const cachedBars =
    cachedMissing && cachedMissing.from <= names.from && cachedMissing.to >= names.to
      ? selectCached(cachedMissing, names, width)
      : undefined;
  if (cachedBars !== undefined) return cachedBars;
  const missingRows = listMissing(close, width, names);
  const count = missingRows.reduce((sum, { length }) => sum + length, 0);
  if (count <= CACHED_MAX) latestMissing.set(close, { ...names, missing: missingRows });
  return missingRows;
}

/** Returns the missing rows from a cached result. Returns undefined if the result lacks a security. */
function selectCached(
  cachedMissing: CachedMissing,
  { columns, from, to }: SecuritiesOverRows,
  width: number,
): Int32Array[] | undefined {
  const positionByColumn = new Int32Array(width).fill(-1);
  cachedMissing.columns.forEach((column, place) => (positionByColumn[column] = place));
  if (columns.some((column) => positionByColumn[column]! < 0)) return undefined;
  return Array.from(columns, (column) => {
    const rows = cachedMissing.missing[positionByColumn[column]!]!;
    return rows.length === 0 ? rows : rows.filter((row) => row >= from && row <= to);
  });
}

function listMissing(close: Float64Array, width: number, { columns, from, to }: SecuritiesOverRows): Int32Array[] {
  const missingRows: number[][] = Array.from(columns, () => []);
  for (let row = from; row <= to; row++) {
    const first = row * width;
    for (let k = 0; k < columns.length; k++) {
      const price = close[first + columns[k]!]!;
      if (price !== price) missingRows[k]!.push(row);
    }
  }
  return missingRows.map((rows) => Int32Array.from(rows));
}
