import type { Day } from '#domain/time/days.js';
import type { Mapping } from '#domain/documents/mapping.js';
import { isKnownColumn } from '../tables/table-kinds.js';
import type { MarketFile, MarketRows } from '../content/market-rows.js';
import { describeBadDay } from '../tables/key-problems.js';
import { cellPath, type Problems } from '../tables/problems.js';
import { formatWrittenCell, type Cell } from '../formats/cells.js';
import { dayReader } from './date-formats.js';
import { ADJUSTED_CLOSE } from './mapped-columns.js';
import type { createTextColumns } from './text-columns.js';
import { createCountMarks } from './count-marks.js';
import { numberReader } from './written-numbers.js';

/** Price columns of a mapped market, including the adjusted close. */
export const PRICES: ReadonlySet<string> = new Set(['OPEN', 'HIGH', 'LOW', 'CLOSE', ADJUSTED_CLOSE]);

/** Vendors' marks for a missing number. */
const MISSING = /^\s*(null|none|n\/?a|#n\/a( n\/a)?|-+|\.)\s*$/i;

/** A file of a mapped market. */
export interface MappedFile extends MarketFile {
  /** Name of each column in the result. */
  readonly names: readonly string[];
  readonly isPrice: readonly boolean[];
  readonly readers: readonly ReturnType<typeof numberReader>[];
}

/** Reading of the cells of a mapped market. Rows of a file are counted from 1. */
export interface MappedCells {
  /** Returns the day of a cell; null for one that is none. */
  readonly readDay: ReturnType<typeof dayReader>;
  /** Day of a row; undefined, with a finding, if the cell is not a day. */
  dayOf(file: MarketFile, cell: Cell | undefined, row: number): Day | undefined;
  /** Number of a cell; NaN if it is empty, undefined if it is no number. */
  numberOf(file: MarketFile, column: number, cell: Cell | undefined, row: number): number | undefined;
  refuseNumber(file: MarketFile, column: number, text: string, row: number): void;
  /** Reads the number of a price with the mapping; NaN if it is not a number. */
  priceOf(isPrice: boolean, value: number): number;
  /** Reports what is known only after the last row. */
  report(): void;
}

interface MappedCellsDependencies {
  readonly rows: Pick<MarketRows, 'refuseNumber'>;
  readonly texts: ReturnType<typeof createTextColumns>;
}

export function createMappedCells(
  mapping: Mapping,
  problems: Problems,
  { rows, texts }: MappedCellsDependencies,
): MappedCells {
  const readDay = dayReader(mapping.date_format);
  const countMarks = createCountMarks(mapping, problems);

  function priceOf(isPrice: boolean, value: number): number {
    if (!isPrice || value > 0) return value;
    if (value === 0) return mapping.zero_prices === 'missing' ? Number.NaN : value;
    return mapping.negative_prices === 'absolute' ? -value : value;
  }

  function numberOf(file: MarketFile, column: number, cell: Cell | undefined, row: number): number | undefined {
    const { names, readers } = file as MappedFile; // opened above
    countMarks?.see(names[column]!, cell, { file, row });
    return readers[column]!(cell);
  }

  /** Text in a column that the mapping does not name is reported at the end: the column may hold no number. */
  function refuseNumber(file: MarketFile, column: number, text: string, row: number): void {
    const name = (file as MappedFile).names[column]!; // as above
    if (MISSING.test(text)) return;
    if (isKnownColumn('market', name) || name === ADJUSTED_CLOSE || Object.hasOwn(mapping.columns, name)) {
      rows.refuseNumber(file, column, text);
      return;
    }
    texts.add(name, text, { file, row, column });
  }

  function dayOf(file: MarketFile, cell: Cell | undefined, row: number): Day | undefined {
    const day = readDay(cell);
    if (typeof day === 'number') return day;
    const name = file.written[file.dateColumn]!;
    const path = cellPath(file.label, row, name);
    problems.error(
      describeBadDay(path, name, day === null ? null : formatWrittenCell(cell), mapping.date_format ?? undefined),
    );
    return undefined;
  }

  return { readDay, dayOf, numberOf, refuseNumber, priceOf, report: () => countMarks?.report() };
}

/** Properties of the columns of a file that follow from their mapped names. */
export const columnsCalled = (mapping: Mapping, names: readonly string[]) => ({
  names,
  isPrice: names.map((name) => PRICES.has(name)),
  readers: names.map((name) => numberReader(mapping, name)),
});
