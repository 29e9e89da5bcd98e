import type { ExportTableName } from '#domain/exports/catalogue.js';
import { createUncached, type DatedFigures } from '../exposures/dated-figures.js';
import type { ExportSource } from './batch.js';

/**
 * Returns the numeric columns of a table from a cache. An export of the same window in another format may have filled
 * it.
 * @param width number of columns
 */
export function findCachedColumns(
  { window, keep }: Pick<ExportSource, 'window' | 'keep'>,
  { table, width }: { readonly table: ExportTableName; readonly width: number },
  computeColumns: () => readonly Float64Array[],
): readonly Float64Array[] {
  const cacheFigures = keep?.(null) ?? createUncached;
  const cacheKey = ['export', table, window.start, window.end];
  const rows = cacheFigures([...cacheKey, 'rows'], { width: 1, dates: 1 });
  if (rows.known[0] === 1) {
    const count = rows.values[0]!;
    const result = cacheFigures(cacheKey, computeSize(count, width));
    if (result.known[0] === 1) return listColumns(result, count, width);
  }
  const outcome = computeColumns();
  const count = outcome[0]!.length;
  const { values, known } = cacheFigures(cacheKey, computeSize(count, width));
  outcome.forEach((column, c) => values.set(column, c * count));
  known[0] = 1;
  rows.values[0] = count;
  rows.known[0] = 1;
  return outcome;
}

/**
 * Returns the size of a cache entry. Each row of the table uses one date of the entry. An empty table uses one date as
 * well, so that it counts as cached.
 */
const computeSize = (count: number, width: number) => ({ width, dates: Math.max(1, count) });

const listColumns = ({ values }: DatedFigures, count: number, width: number) =>
  Array.from({ length: width }, (_, c) => values.subarray(c * count, (c + 1) * count));
