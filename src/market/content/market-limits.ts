import { canPage, findMemoryLimit } from '#kernels/memory/paged-memory.js';
import { panelBytes } from '../panels/panels.js';
import type { Problems } from '../tables/problems.js';

/** Rows of the market dataset: more of them are no market. */
export const ROWS_MAX = 200_000_000;

/** Maximum number of identifiers of one store: twice the largest universe that a client may request. */
export const IDENTIFIERS_MAX = 50_000;

/** Rows of the dataset series: a thousand of them over twenty years of days. */
export const SERIES_ROWS_MAX = 5_000_000;

/** Cells of a panel that is paged: 4 GiB of float64, 30 years of 50,000 names. */
const PAGED_CELLS_MAX = 2 ** 29;

/**
 * Maximum size in bytes of the panels of a store with this number of fields: more than memory where they can be paged.
 */
export function panelBytesMax(fields: number): number {
  const { panelBytes: inMemory } = findMemoryLimit();
  return canPage() ? Math.max(inMemory, panelBytes({ dates: 1, identifiers: PAGED_CELLS_MAX, fields })) : inMemory;
}

/** A market of more rows than are read. */
export class RowsFault extends Error {
  override readonly name = 'RowsFault';
}

/** Reports a finding and returns true if a market of this shape exceeds the limits of a store. */
export function refuseSize(
  shape: { readonly dates: number; readonly identifiers: number; readonly fields: number },
  problems: Problems,
): boolean {
  if (shape.identifiers > IDENTIFIERS_MAX) {
    problems.error({
      code: 'OUT_OF_RANGE',
      path: 'market',
      message: `The market holds ${shape.identifiers} identifiers; at most ${IDENTIFIERS_MAX} are accepted.`,
    });
    return true;
  }
  const bytes = panelBytes(shape);
  if (bytes <= findMemoryLimit().panelBytes) return false;
  const bytesMax = panelBytesMax(shape.fields);
  if (bytes <= bytesMax) return false;
  problems.error({
    code: 'OUT_OF_RANGE',
    path: 'market',
    message: `${shape.dates} dates of ${shape.identifiers} identifiers and ${shape.fields} columns need ${bytes} bytes; at most ${Math.floor(bytesMax)} are held.`,
  });
  return true;
}
