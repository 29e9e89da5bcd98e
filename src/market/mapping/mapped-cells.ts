import type { Day } from '#domain/time/days.js';
import type { Mapping } from '#domain/documents/mapping.js';
import { isKnownColumn } from '../tables/table-kinds.js';
import type { MarketFile, NamedMarketRows } from '../content/market-rows.js';
import { describeBadDay } from '../tables/key-problems.js';
import { formatCellPath, type Problems } from '../tables/problems.js';
import { formatWrittenCell, type Cell } from '../formats/cells.js';
import { createDayReader, createInstantReader } from './date-formats.js';
import { ADJUSTED_CLOSE } from './mapped-columns.js';
import type { createTextColumns } from './text-columns.js';
import { createCountMarks } from './count-marks.js';
import { createNumberReader } from './written-numbers.js';

/** Price columns of a mapped market, including the adjusted close. */
export const PRICE_FIELDS: ReadonlySet<string> = new Set(['OPEN', 'HIGH', 'LOW', 'CLOSE', ADJUSTED_CLOSE]);

/** Largest 64-bit integer, with which vendors of fixed-point prices mark a missing one. */
const UNDEFINED_FIXED_POINT = 2 ** 63;

/** Matches texts that vendors write for a missing number. */
const MISSING_TEXT = /^\s*(null|none|n\/?a|#n\/a( n\/a)?|-+|\.)\s*$/i;

/** File of a mapped market. */
export interface MappedFile extends MarketFile {
  /** Target name of each column. */
  readonly names: readonly string[];
  readonly isPrice: readonly boolean[];
  readonly readers: readonly ReturnType<typeof createNumberReader>[];
}

/** Reader of the cells of a mapped market. Rows of a file are counted from 1. */
export interface MappedCells {
  /** Returns the day of a cell. Returns null if the cell is empty, undefined if it is not a valid day. */
  readonly readDay: ReturnType<typeof createDayReader>;
  /** Returns the day of a row. If the cell is not a day, returns undefined and adds a finding. */
  dayOf(file: MarketFile, cell: Cell | undefined, row: number): Day | undefined;
  /** Returns the number of a cell. Returns NaN if it is empty, undefined if it is not a number. */
  numberOf(file: MarketFile, column: number, cell: Cell | undefined, row: number): number | undefined;
  refuseNumber(file: MarketFile, column: number, text: string, row: number): void;
  /**
   * Returns a price under the rules of the mapping for zero and negative prices. Returns NaN if the price is missing.
   */
  priceOf(isPrice: boolean, value: number): number;
  /** Reports warnings that require all rows. */
  report(): void;
}

interface MappedCellsDependencies {
  readonly rows: Pick<NamedMarketRows, 'refuseNumber' | 'dayOfInstant'>;
  readonly texts: ReturnType<typeof createTextColumns>;
}

export function createMappedCells(
  mapping: Mapping,
  problems: Problems,
  { rows, texts }: MappedCellsDependencies,
): MappedCells {
  const readDay = createDayReader(mapping.date_format);
  const findInstant = createInstantReader(mapping.date_format);
  const countMarks = createCountMarks(mapping, problems);

  function readPrice(isPrice: boolean, value: number): number {
    if (!isPrice) return value;
    if (value > 0)
      return value >= UNDEFINED_FIXED_POINT && mapping.price_divisor > 1 ? Number.NaN : value / mapping.price_divisor;
    if (value === 0) return mapping.zero_prices === 'missing' ? Number.NaN : value;
    return (mapping.negative_prices === 'absolute' ? -value : value) / mapping.price_divisor;
  }

  function readNumber(file: MarketFile, column: number, cell: Cell | undefined, row: number): number | undefined {
    const { names, readers } = file as MappedFile; // files are opened as MappedFile
    countMarks?.see(names[column]!, cell, { file, row });
    return readers[column]!(cell);
  }

  /**
   * Reports a text in place of a number. In a column that the mapping does not name, it is reported only at the end,
   * because the column may contain no numbers at all.
   */
  function refuseNumber(file: MarketFile, column: number, text: string, row: number): void {
    const name = (file as MappedFile).names[column]!; // files are opened as MappedFile
    if (MISSING_TEXT.test(text)) return;
    if (isKnownColumn('market', name) || name === ADJUSTED_CLOSE || Object.hasOwn(mapping.columns, name)) {
      rows.refuseNumber(file, column, text);
      return;
    }
    texts.add(name, text, { file, row, column });
  }

  function readMappedDay(file: MarketFile, cell: Cell | undefined, row: number): Day | undefined {
    const instant = findInstant(cell);
    const day = instant === undefined ? readDay(cell) : rows.dayOfInstant(instant);
    if (typeof day === 'number') return day;
    const name = file.written[file.dateColumn]!;
    const path = formatCellPath(file.label, row, name);
    problems.error(
      describeBadDay(path, name, day === null ? null : formatWrittenCell(cell), mapping.date_format ?? undefined),
    );
    return undefined;
  }

  return {
    readDay,
    dayOf: readMappedDay,
    numberOf: readNumber,
    refuseNumber,
    priceOf: readPrice,
    report: () => countMarks?.report(),
  };
}

/** Returns the properties of the columns of a file that follow from their target names. */
export const describeColumns = (mapping: Mapping, names: readonly string[]) => ({
  names,
  isPrice: names.map((name) => PRICE_FIELDS.has(name)),
  readers: names.map((name) => createNumberReader(mapping, name)),
});
