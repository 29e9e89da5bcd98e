import type { Day } from '#domain/time/days.js';
import type { Mapping } from '#domain/documents/mapping.js';
import { isKnownColumn } from '../tables/table-kinds.js';
import { createMarketRows, type MarketFile, type MarketRows, type MarketRowsOptions } from '../content/market-rows.js';
import { describeBadDay } from '../tables/key-problems.js';
import { cellPath, type Problem, type Problems } from '../tables/problems.js';
import { textIn, formatWrittenCell, type Cell, type Heading } from '../formats/cells.js';
import type { Panels } from '../panels/panels.js';
import { dayReader } from './date-formats.js';
import { createTableNames } from './table-names.js';
import { createSlashlessNames } from './slashless-names.js';
import { createOwnDividends } from './own-dividends.js';
import { createUnreadTerms } from './unread-terms.js';
import { isMarketTable } from './market-tables.js';
import { ADJUSTED_CLOSE, mapColumns } from './mapped-columns.js';
import { createTextColumns } from './text-columns.js';
import { createCountMarks } from './count-marks.js';
import { numberReader } from './written-numbers.js';
import { columnsOfField, columnsOfTuples, columnsOfTwoRows, WORD, type WideColumns } from './wide-columns.js';

/** Price columns of a mapped market, including the adjusted close. */
const PRICES: ReadonlySet<string> = new Set(['OPEN', 'HIGH', 'LOW', 'CLOSE', ADJUSTED_CLOSE]);

/** Vendors' marks for a missing number. */
const MISSING = /^\s*(null|none|n\/?a|#n\/a( n\/a)?|-+|\.)\s*$/i;

/** A file of a mapped market. */
interface MappedFile extends MarketFile {
  /** Name of each column in the result. */
  readonly names: readonly string[];
  readonly isPrice: readonly boolean[];
  readonly readers: readonly ReturnType<typeof numberReader>[];
}

/** Wide table with one column per security. Its columns are known once its header is complete. */
interface WideFile extends MarketFile {
  /** Null until the second header row is read, undefined if the table is unreadable. */
  columns: OpenedColumns | null | undefined;
  rowsMet: number;
}

interface OpenedColumns extends WideColumns {
  readonly file: MarketFile;
  readonly codes: readonly (number | undefined)[];
}

/** Rows of a market as its vendor writes it; each problem is reported in the vendor's words. */
export function createMappedRows(mapping: Mapping, problems: Problems, options: MarketRowsOptions = {}): MarketRows {
  const rows = createMarketRows(problems, {
    ...options,
    onDuplicate: mapping.on_duplicate,
    isJoined: mapping.layout === 'wide',
  });
  const readDay = dayReader(mapping.date_format);
  const countMarks = createCountMarks(mapping, problems);
  const nameOf = createTableNames(mapping, problems);
  const reports = [createOwnDividends(mapping, problems), createUnreadTerms(mapping, problems)];
  const texts = createTextColumns(problems);
  const slashless = createSlashlessNames(problems);
  let fileRow = 0;

  function beginFile(
    label: string,
    written: readonly string[],
    table?: string,
    heading: Heading = [],
  ): MarketFile | undefined {
    const name = table ?? label.split('/').at(-1)!;
    if (mapping.layout === 'wide') return beginWide(label, written, name);
    const names = mapColumns(mapping, label, written, problems);
    if (names === undefined) return undefined;
    for (const report of reports) report(written);
    fileRow = 0;
    const file = rows.openFile({ label, written }, names);
    const code = codeOfFile(file, name, heading);
    return mapFile(mapping, code === undefined ? file : { ...file, code }, names);
  }

  function codeOfFile(file: MarketFile, name: string, heading: Heading): number | undefined {
    const identifier = nameOf(file.label, name, heading);
    return identifier === undefined ? undefined : rows.codeOf(file, identifier);
  }

  function beginWide(label: string, written: readonly string[], table: string): WideFile | undefined {
    const field = fieldOfTable(mapping, table);
    if (field === undefined) {
      problems.error({
        code: 'MISSING_COLUMN',
        path: label,
        message: `The mapping does not state the field of the numbers of ${JSON.stringify(table.slice(0, 80))}: fields does not name the table.`,
      });
      return undefined;
    }
    const columns = field === null ? columnsOfTuples(mapping, written) : columnsOfField(mapping, field, written);
    const file = { label, written, identifierColumn: -1, dateColumn: 0, fieldOf: new Int32Array(0), isWide: true };
    return { ...file, columns: columns === undefined ? null : openWide({ label, written }, columns), rowsMet: 0 };
  }

  function openWide(source: Pick<MarketFile, 'label' | 'written'>, columns: WideColumns): OpenedColumns {
    const names = columns.columns.map((column) => column?.field ?? '');
    const file = rows.openFile(source, names);
    const codes = columns.columns.map(
      (column) => column && rows.codeOf({ ...file, identifierColumn: 0 }, slashless(column.identifier)),
    );
    for (const name of names) texts.numbered.add(name);
    const opened: MappedFile = {
      ...file,
      dateColumn: columns.date,
      ...columnsCalled(mapping, names),
    };
    return { ...columns, file: opened, codes };
  }

  function addWide(file: WideFile, cells: readonly (Cell | undefined)[] | null): void {
    if (cells === null) {
      file.rowsMet += 1;
      return;
    }
    if (file.columns === null) {
      const written = [...file.written, ...cells.slice(file.written.length).map(() => '')]; // a sheet ends a row at its last cell
      const columns = columnsOfTwoRows(mapping, written, cells);
      const isHeader = typeof readDay(cells[columns.date]) !== 'number';
      if (!isHeader) problems.error(removeField(file.label));
      file.columns = isHeader ? openWide({ label: file.label, written }, columns) : undefined;
      return;
    }
    const { columns } = file;
    if (columns === undefined) return; // what cannot be opened is not read
    if (file.rowsMet === 0 && isAboveDays(columns, cells) && typeof readDay(cells[columns.date]) !== 'number') return;
    fileRow = file.rowsMet;
    const common = columns.days === undefined ? dayOf(columns.file, cells[columns.date]) : undefined;
    file.rowsMet += 1;
    if (common === undefined && columns.days === undefined) return;
    for (let i = 0; i < columns.codes.length; i++) {
      const code = columns.codes[i];
      if (code === undefined) continue;
      fileRow = file.rowsMet - 1;
      const day = common ?? dayBeside(columns, i, cells);
      fileRow = file.rowsMet;
      if (day === undefined) continue;
      const value = numberOf(columns.file, i, cells[i]);
      if (value === undefined) refuseNumber(columns.file, i, formatWrittenCell(cells[i]));
      else if (value === value) setBar(columns, i, { row: fileRow, code, day }, value);
    }
  }

  /** Returns the day next to a number; undefined if both are empty, or with a finding. */
  function dayBeside({ days, file }: OpenedColumns, i: number, cells: readonly (Cell | undefined)[]): Day | undefined {
    const at = days![i]!; // of a table with several
    if (textIn(cells[i]) === null && typeof readDay(cells[at]) !== 'number') return undefined;
    return dayOf({ ...file, dateColumn: at }, cells[at]);
  }

  function setBar(
    columns: OpenedColumns,
    i: number,
    bar: { row: number; code: number; day: Day },
    value: number,
  ): void {
    const number = priceOf(PRICES.has(columns.columns[i]!.field), value);
    if (number !== number) return;
    rows.beginBar(bar.row, bar.code, bar.day);
    rows.setNumber(columns.file, i, number);
  }

  /** Reads the number of a price with the mapping; NaN if it is not a number. */
  function priceOf(isPrice: boolean, value: number): number {
    if (!isPrice || value > 0) return value;
    if (value === 0) return mapping.zero_prices === 'missing' ? Number.NaN : value;
    return mapping.negative_prices === 'absolute' ? -value : value;
  }

  function numberOf(file: MarketFile, column: number, cell: Cell | undefined): number | undefined {
    const { names, readers } = file as MappedFile; // opened above
    countMarks?.see(names[column]!, cell, { file, row: fileRow });
    return readers[column]!(cell);
  }

  function beginRow(code: number | undefined, day: Day | undefined): void {
    fileRow += 1;
    rows.beginRow(code, day);
  }

  function setNumber(file: MarketFile, column: number, value: number): void {
    const { names, isPrice } = file as MappedFile; // opened above
    const number = priceOf(isPrice[column]!, value);
    texts.numbered.add(names[column]!);
    if (number === number) rows.setNumber(file, column, number);
  }

  /** Text in a column that the mapping does not name is reported at the end: the column may hold no number. */
  function refuseNumber(file: MarketFile, column: number, text: string): void {
    const name = (file as MappedFile).names[column]!; // as above
    if (MISSING.test(text)) return;
    if (isKnownColumn('market', name) || name === ADJUSTED_CLOSE || Object.hasOwn(mapping.columns, name)) {
      rows.refuseNumber(file, column, text);
      return;
    }
    texts.add(name, text, { file, row: fileRow, column });
  }

  function addCells(file: MarketFile, cells: readonly (Cell | undefined)[] | null): void {
    if (file.isWide === true) {
      addWide(file as WideFile, cells); // opened above
      return;
    }
    if (cells === null) {
      beginRow(undefined, undefined);
      return;
    }
    const { identifierColumn, dateColumn } = file;
    beginRow(
      identifierColumn < 0 ? file.code : rows.codeOf(file, textIn(cells[identifierColumn])),
      dateColumn < 0 ? undefined : dayOf(file, cells[dateColumn]),
    );
    for (let column = 0; column < file.fieldOf.length; column++) {
      if (file.fieldOf[column]! < 0) continue;
      const value = numberOf(file, column, cells[column]);
      if (value === undefined) refuseNumber(file, column, formatWrittenCell(cells[column]));
      else if (value === value) setNumber(file, column, value);
    }
  }

  function dayOf(file: MarketFile, cell: Cell | undefined): Day | undefined {
    const day = readDay(cell);
    if (typeof day === 'number') return day;
    const name = file.written[file.dateColumn]!;
    const path = cellPath(file.label, fileRow + 1, name);
    problems.error(
      describeBadDay(path, name, day === null ? null : formatWrittenCell(cell), mapping.date_format ?? undefined),
    );
    return undefined;
  }

  function toPanels(): Panels | undefined {
    texts.report();
    countMarks?.report();
    const panels = rows.toPanels();
    if (panels === undefined) return undefined;
    const fields = new Map([...panels.fields].filter(([name]) => !texts.has(name)));
    if (fields.has('CLOSE')) return { ...panels, fields };
    problems.error({
      code: 'MISSING_COLUMN',
      path: 'market.CLOSE',
      column: 'CLOSE',
      message: 'No table of the market holds CLOSE.',
    });
    return undefined;
  }

  return {
    ...rows,
    beginFile,
    beginRow,
    setNumber,
    refuseNumber,
    addCells,
    dayOf,
    toPanels,
    get rows() {
      return rows.rows;
    },
  };
}

const mapFile = (mapping: Mapping, file: MarketFile, names: readonly string[]): MappedFile => ({
  ...file,
  hasOwnNumbers: mapping.decimal === ',' || mapping.thousands !== null || mapping.units === 'read',
  ...columnsCalled(mapping, names),
});

/** Properties of the columns of a file that follow from their mapped names. */
const columnsCalled = (mapping: Mapping, names: readonly string[]) => ({
  names,
  isPrice: names.map((name) => PRICES.has(name)),
  readers: names.map((name) => numberReader(mapping, name)),
});

/** Returns true if a row below the header has no numbers: the name of an index, or attributes such as CURRENCY. */
function isAboveDays({ date, file, columns }: OpenedColumns, cells: readonly (Cell | undefined)[]): boolean {
  const { readers } = file as MappedFile; // opened so
  const isTerms = WORD.test(textIn(cells[date]) ?? '');
  return cells.every(
    (cell, i) => columns[i] === undefined || textIn(cell) === null || (isTerms && readers[i]!(cell) === undefined),
  );
}

/** Returns the field of the numbers of a wide table: null if its columns state it, undefined if nothing does. */
function fieldOfTable(mapping: Mapping, table: string): string | null | undefined {
  if (Object.keys(mapping.fields).length > 0) return isMarketTable(mapping, table) ? mapping.fields[table]! : undefined;
  return mapping.field;
}

/** Describes a wide table whose second row already contains numbers. */
const removeField = (label: string): Problem => ({
  code: 'MISSING_COLUMN',
  path: label,
  message:
    'The field of the numbers of the table is not stated: the mapping has no field (CLOSE, for example), and the first row below the header contains a day instead of a second header row with field names.',
});
