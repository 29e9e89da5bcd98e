import type { Day } from '#domain/base/time.js';
import type { CorporateAction, Membership, ReferenceTable, SeriesTable } from '#domain/market/market-data.js';
import { canPage, findMemoryLimit } from '#kernels/memory/paged-memory.js';
import { computePanelBytes, type Panels } from '../panels/panels.js';
import type { Problems } from '../tables/problems.js';

/** Maximum rounding error of a dividend that is derived from closes. */
export interface DividendError {
  readonly identifier: string;
  readonly exDay: Day;
  readonly error: number;
}

/** Values of a store. They do not depend on the name and source of the store. */
export interface MarketContent extends Panels {
  readonly reference: ReferenceTable;
  readonly actions: readonly CorporateAction[];
  readonly universes: readonly Membership[];
  /** Absent if the store has no series. */
  readonly series?: SeriesTable;
}

export type ContentTables = Omit<MarketContent, keyof Panels>;

export const ROWS_MAX = 200_000_000;

/** Maximum number of identifiers of one store: twice the largest universe that a client may request. */
export const IDENTIFIERS_MAX = 50_000;

/** Maximum number of rows of the series dataset: a thousand daily series over twenty years. */
export const SERIES_ROWS_MAX = 5_000_000;

/** Maximum number of cells of a panel that is kept in files: 4 GiB of float64, 30 years of 50,000 securities. */
const PAGED_CELLS_MAX = 2 ** 29;

/**
 * Returns the maximum size in bytes of the panels of a store with this number of fields. It exceeds the memory if
 * panels can be kept in files.
 */
export function computePanelBytesMax(fields: number): number {
  const { panelBytes: inMemory } = findMemoryLimit();
  return canPage()
    ? Math.max(inMemory, computePanelBytes({ dates: 1, identifiers: PAGED_CELLS_MAX, fields }))
    : inMemory;
}

/** Thrown if a market has more rows than the limit of its reader. */
export class RowsFault extends Error {
  override readonly name = 'RowsFault';
}

/** Returns true and reports a finding if a market of this shape exceeds the limits of a store. */
export function refuseSize(
  shape: { readonly dates: number; readonly identifiers: number; readonly fields: number },
  problems: Problems,
): boolean {
  if (shape.identifiers > IDENTIFIERS_MAX) {
    problems.error({
      code: 'OUT_OF_RANGE',
      path: 'market',
      message: `The market has ${shape.identifiers} identifiers; at most ${IDENTIFIERS_MAX} are accepted.`,
    });
    return true;
  }
  const bytes = computePanelBytes(shape);
  if (bytes <= findMemoryLimit().panelBytes) return false;
  const bytesMax = computePanelBytesMax(shape.fields);
  if (bytes <= bytesMax) return false;
  problems.error({
    code: 'OUT_OF_RANGE',
    path: 'market',
    message: `${shape.dates} dates of ${shape.identifiers} identifiers and ${shape.fields} columns need ${bytes} bytes; at most ${Math.floor(bytesMax)} are accepted.`,
  });
  return true;
}
