import type { ReferenceTable } from '#domain/market/market-data.js';
import type { Day } from '#domain/time/days.js';
import {
  findInstant,
  readDay,
  explainNotANumber,
  readNumber,
  readText,
  formatWrittenCell,
  type Cell,
  type Heading,
} from '../formats/cells.js';
import { COUNT_COLUMNS, PRICE_COLUMNS } from '../tables/table-kinds.js';
import type { DuplicatePolicy } from './repeated-rows.js';
import { describeBadDay, formatNonPositivePrice, quoteText } from '../tables/key-problems.js';
import { ROWS_MAX, RowsFault } from './market-limits.js';
import { createIdentifierCodes } from './identifier-codes.js';
import { createInstantDays, type ZoneTerms } from './instant-days.js';
import { toPanels } from './row-panels.js';
import { nameFileColumns } from '../tables/named-columns.js';
import type { Panels } from '../panels/panels.js';
import { formatCellPath, type Problem, type Problems } from '../tables/problems.js';
import { BLOCK_BITS, BLOCK_ROWS, createRowBlocks } from './row-blocks.js';

/** A file, sheet or table of the market dataset, with the meanings of its columns. */
export interface MarketFile {
  readonly label: string;
  /** Column names as the file writes them. */
  readonly written: readonly string[];
  /** Columns of the keys. The number is -1, with a finding, if the file lacks the column. */
  readonly identifierColumn: number;
  readonly dateColumn: number;
  /** Position of the field of each column. It is -1 for key columns and ignored columns. */
  readonly fieldOf: Int32Array;
  /** Identifier code of all rows, if the file has no identifier column. */
  readonly code?: number | undefined;
  /** True if numbers have unusual formats and are read as text. */
  readonly hasOwnNumbers?: boolean;
  /** True if a row contains several securities, which `addCells` splits. */
  readonly isWide?: boolean;
}

/**
 * Collects rows of the market dataset from formats that are read row by row. The rows are in the order of the files,
 * and the axes are not known yet. Every problem of a row is reported when the row is added.
 */
export interface MarketRows {
  /**
   * Begins a file. If its columns are not those of a market dataset, returns undefined and adds a finding.
   * @param table name of the file, sheet or table in its source. Default: the last part of the label.
   * @param heading rows above its header
   */
  beginFile(label: string, written: readonly string[], table?: string, heading?: Heading): MarketFile | undefined;
  /** Begins a row with its keys. If a key is undefined, because it was rejected before, the row is only counted. */
  beginRow(code: number | undefined, day: Day | undefined): void;
  /** Sets a number of the current row. */
  setNumber(file: MarketFile, column: number, value: number): void;
  /** Reports a cell of the current row that is not a number. */
  refuseNumber(file: MarketFile, column: number, text: string): void;
  /** Reports the current row as unreadable. @param first text of its first cell */
  refuseRow(file: MarketFile, message: string, first?: string): void;
  /** Adds a row of cells. Null is an unreadable row, which is only counted. */
  addCells(file: MarketFile, cells: readonly (Cell | undefined)[] | null): void;
  /**
   * Returns the code of the identifier of the next row. If the text is not a valid identifier, returns undefined and
   * adds a finding.
   */
  codeOf(file: MarketFile, text: string | null): number | undefined;
  /** Returns the day of the next row. If the cell is not a day, returns undefined and adds a finding. */
  dayOf(file: MarketFile, cell: Cell | undefined): Day | undefined;
  readonly rows: number;
  /** Returns the identifiers of the rows so far. */
  names(): readonly string[];
  /**
   * Returns the panels of all rows; undefined after an error.
   * @param reference table with the exchanges of the securities, from which days of instants follow
   */
  toPanels(reference?: ReferenceTable): Panels | undefined;
}

/** Collector of rows whose columns already have their final names. */
export interface NamedMarketRows extends MarketRows {
  /** Begins a file. @param names of its columns, '' for an ignored column */
  openFile(file: Pick<MarketFile, 'label' | 'written'>, names: readonly string[]): MarketFile;
  /** Begins a bar in a row that contains several bars. @param row of the file, counted from 1 */
  beginBar(row: number, code: number, day: Day): void;
  /** Returns the day of an instant, or a code of it until the time zone is known. @param ms since 1970 */
  dayOfInstant(ms: number): Day;
}

/** Properties of all rows, known before the first row is read. */
export interface MarketRowsOptions extends ZoneTerms {
  /** True if the rows are only a part of a source, which may be empty. */
  readonly isPart?: boolean;
  readonly rowsMax?: number;
  readonly onDuplicate?: DuplicatePolicy;
  /** Merges rows of several files for one security and date into one bar. Each file must supply different fields. */
  readonly isJoined?: boolean;
}

/** Creates a collector of rows. @throws RowsFault at the first block of rows that begins after `rowsMax` */
export function createMarketRows(
  problems: Problems,
  { isPart = false, rowsMax = ROWS_MAX, onDuplicate = 'refuse', isJoined = false, ...zones }: MarketRowsOptions = {},
): NamedMarketRows {
  const fields: string[] = [];
  /** Permitted signs of each field: above zero, at least zero, or any. */
  const signs: ('positive' | 'counted' | 'any')[] = [];
  const codes = createIdentifierCodes(problems);
  const instants = createInstantDays(zones);
  const files: { readonly label: string; readonly firstRow: number }[] = [];
  const blocks = createRowBlocks();
  const codeBlocks: Int32Array[] = [];
  const dayBlocks: Int32Array[] = [];
  /** [field][block] */
  const valueBlocks: Float64Array[][] = [];
  let rows = 0;
  let fileRow = 0;

  function beginFile(label: string, written: readonly string[]): MarketFile | undefined {
    const names = nameFileColumns('market', label, written, problems);
    return names && openFile({ label, written }, names);
  }

  function openFile({ label, written }: Pick<MarketFile, 'label' | 'written'>, names: readonly string[]): MarketFile {
    const fieldOf = Int32Array.from(names, (name) =>
      name === '' || name === 'identifier' || name === 'date' ? -1 : findFieldPosition(name),
    );
    fileRow = 0;
    files.push({ label, firstRow: rows });
    return {
      label,
      written,
      identifierColumn: names.indexOf('identifier'),
      dateColumn: names.indexOf('date'),
      fieldOf,
    };
  }

  function findFieldPosition(name: string): number {
    const existingIndex = fields.indexOf(name);
    if (existingIndex >= 0) return existingIndex;
    valueBlocks.push(codeBlocks.map(() => blocks.floats().fill(Number.NaN)));
    signs.push(PRICE_COLUMNS.has(name) ? 'positive' : COUNT_COLUMNS.has(name) ? 'counted' : 'any');
    return fields.push(name) - 1;
  }

  function beginRow(code: number | undefined, day: Day | undefined, row = fileRow + 1): void {
    fileRow = row;
    const slot = rows & (BLOCK_ROWS - 1);
    if (slot === 0) {
      if (rows >= rowsMax) throw new RowsFault(`The market has more than ${rows} rows; at most ${rowsMax} are read.`);
      codeBlocks.push(blocks.integers().fill(-1));
      dayBlocks.push(blocks.integers());
      for (const ofField of valueBlocks) ofField.push(blocks.floats().fill(Number.NaN));
    }
    if (code !== undefined && day !== undefined) {
      const block = rows >>> BLOCK_BITS;
      codeBlocks[block]![slot] = code;
      dayBlocks[block]![slot] = day;
    }
    rows += 1;
  }

  function setNumber(file: MarketFile, column: number, value: number): void {
    const field = file.fieldOf[column]!;
    if (value <= 0 && (signs[field] === 'positive' || (value < 0 && signs[field] === 'counted')))
      problems.error(
        describeSign(file.written[column]!, value, {
          isPrice: signs[field] === 'positive',
          label: file.label,
          row: fileRow,
        }),
      );
    const row = rows - 1;
    valueBlocks[field]![row >>> BLOCK_BITS]![row & (BLOCK_ROWS - 1)] = value + 0; // + 0 converts a negative zero to 0
  }

  const refuseNumber = (file: MarketFile, column: number, text: string): void =>
    problems.error(describeNotANumber(file.written[column]!, text, { label: file.label, row: fileRow }));

  function refuseRow(file: MarketFile, message: string): void {
    problems.error({ code: 'UNREADABLE_FILE', path: formatCellPath(file.label, fileRow, ''), message });
  }

  const findCode = (file: MarketFile, text: string | null): number | undefined => codes.codeOf(text, file, fileRow + 1);

  function readFileDay(file: MarketFile, cell: Cell | undefined): Day | undefined {
    const instant = findInstant(cell);
    const day = instant === undefined ? readDay(cell) : instants.codeOf(instant);
    if (typeof day === 'number') return day;
    const name = file.written[file.dateColumn]!;
    const path = formatCellPath(file.label, fileRow + 1, name);
    problems.error(describeBadDay(path, name, day === null ? null : formatWrittenCell(cell)));
    return undefined;
  }

  const cellRows: CellRows = {
    beginRow: (code, day) => beginRow(code, day),
    setNumber,
    refuseNumber,
    codeOf: findCode,
    dayOf: readFileDay,
  };
  return {
    ...cellRows,
    beginFile,
    openFile,
    beginBar: (row, code, day) => beginRow(code, day, row),
    dayOfInstant: instants.codeOf,
    refuseRow,
    addCells: (file, cells) => addCells(cellRows, file, cells),
    toPanels(reference) {
      const collected = { identifiers: codes.names(), fields, codeBlocks, dayBlocks, valueBlocks, rows, files };
      if (!instants.resolve(collected, reference, problems)) return undefined;
      return toPanels(collected, problems, { isPart, onDuplicate, isJoined });
    },
    names: codes.names,
    get rows() {
      return rows;
    },
  };
}

type CellRows = Pick<MarketRows, 'beginRow' | 'setNumber' | 'refuseNumber' | 'codeOf' | 'dayOf'>;

function addCells(rows: CellRows, file: MarketFile, cells: readonly (Cell | undefined)[] | null): void {
  if (cells === null) {
    rows.beginRow(undefined, undefined);
    return;
  }
  const { identifierColumn, dateColumn } = file;
  rows.beginRow(
    identifierColumn < 0 ? undefined : rows.codeOf(file, readText(cells[identifierColumn])),
    dateColumn < 0 ? undefined : rows.dayOf(file, cells[dateColumn]),
  );
  for (let column = 0; column < file.fieldOf.length; column++) {
    if (file.fieldOf[column]! < 0) continue;
    const value = readNumber(cells[column]);
    if (value === undefined) rows.refuseNumber(file, column, formatWrittenCell(cells[column]));
    else if (value === value) rows.setNumber(file, column, value);
  }
}

/** Position of a row in a file. */
interface CellRow {
  readonly label: string;
  readonly row: number;
}

const describeNotANumber = (name: string, text: string, { label, row }: CellRow): Problem => ({
  code: 'NOT_A_NUMBER',
  path: formatCellPath(label, row, name),
  message: `${name} is ${quoteText(text)}, which ${explainNotANumber(text)}.`,
  value: text,
});

/** Describes a number with a sign that its column does not allow. */
const describeSign = (
  name: string,
  value: number,
  { isPrice, label, row }: CellRow & { readonly isPrice: boolean },
): Problem => ({
  code: isPrice ? 'NON_POSITIVE_PRICE' : 'OUT_OF_RANGE',
  path: formatCellPath(label, row, name),
  message: isPrice ? formatNonPositivePrice(name, value) : `${name} is ${value}; at least 0 is needed.`,
  value,
});
