import type { Day } from '#domain/time/days.js';
import type { Mapping } from '#domain/documents/mapping.js';
import type { MarketFile, NamedMarketRows } from '../content/market-rows.js';
import type { Problem, Problems } from '../tables/problems.js';
import { restoreName } from '../tables/slashless-names.js';
import { readText, formatWrittenCell, type Cell } from '../formats/cells.js';
import { describeColumns, PRICE_FIELDS, type MappedCells, type MappedFile } from './mapped-cells.js';
import { isMarketTable } from './market-tables.js';
import type { createTextColumns } from './text-columns.js';
import {
  createFieldColumns,
  findTupleColumns,
  createTwoRowColumns,
  LABEL_WITHOUT_DIGITS,
  type WideColumns,
} from './wide-columns.js';

/** Wide table with one column per security. Its columns are known once its header is complete. */
export interface WideFile extends MarketFile {
  /** Null until the second header row is read. Undefined if the table is unreadable. */
  columns: OpenedColumns | null | undefined;
  rowsMet: number;
}

interface OpenedColumns extends WideColumns {
  readonly file: MarketFile;
  readonly codes: readonly (number | undefined)[];
}

/** Reader of tables with one column per security. */
export interface WideRows {
  /** Begins a table. If the field of its numbers is unknown, returns undefined and adds a finding. */
  beginFile(label: string, written: readonly string[], table: string): WideFile | undefined;
  /** Adds the bars of a row. Null is an unreadable row, which is only counted. */
  addCells(file: WideFile, values: readonly (Cell | undefined)[] | null): void;
}

interface WideRowsDependencies {
  readonly rows: NamedMarketRows;
  readonly texts: ReturnType<typeof createTextColumns>;
  readonly cells: MappedCells;
}

export function createWideRows(
  mapping: Mapping,
  problems: Problems,
  { rows, texts, cells }: WideRowsDependencies,
): WideRows {
  function beginFile(label: string, written: readonly string[], table: string): WideFile | undefined {
    const field = findTableField(mapping, table);
    if (field === undefined) {
      problems.error({
        code: 'MISSING_COLUMN',
        path: label,
        message: `The mapping does not state the field of the numbers of ${JSON.stringify(table.slice(0, 80))}: fields does not name the table.`,
      });
      return undefined;
    }
    const columns = field === null ? findTupleColumns(mapping, written) : createFieldColumns(mapping, field, written);
    const file = { label, written, identifierColumn: -1, dateColumn: 0, fieldOf: new Int32Array(0), isWide: true };
    return { ...file, columns: columns === undefined ? null : openColumns({ label, written }, columns), rowsMet: 0 };
  }

  function openColumns(source: Pick<MarketFile, 'label' | 'written'>, columns: WideColumns): OpenedColumns {
    const names = columns.columns.map((column) => column?.field ?? '');
    const file = rows.openFile(source, names);
    const codes = columns.columns.map(
      (column) => column && rows.codeOf({ ...file, identifierColumn: 0 }, restoreName(column.identifier, problems)),
    );
    for (const name of names) texts.numbered.add(name);
    const mappedFile: MappedFile = {
      ...file,
      dateColumn: columns.date,
      ...describeColumns(mapping, names),
    };
    return { ...columns, file: mappedFile, codes };
  }

  function addCells(file: WideFile, values: readonly (Cell | undefined)[] | null): void {
    if (values === null) {
      file.rowsMet += 1;
      return;
    }
    if (file.columns === null) {
      const columnNames = [...file.written, ...values.slice(file.written.length).map(() => '')]; // rows of a sheet end at their last cell
      const columns = createTwoRowColumns(mapping, columnNames, values);
      const isHeader = typeof cells.readDay(values[columns.date]) !== 'number';
      if (!isHeader) problems.error(createMissingFieldProblem(file.label));
      file.columns = isHeader ? openColumns({ label: file.label, written: columnNames }, columns) : undefined;
      return;
    }
    const { columns } = file;
    if (columns === undefined) return; // the table is unreadable
    if (file.rowsMet === 0 && isAboveDays(columns, values) && typeof cells.readDay(values[columns.date]) !== 'number')
      return;
    const row = (file.rowsMet += 1);
    const rowDay = columns.days === undefined ? cells.dayOf(columns.file, values[columns.date], row) : undefined;
    if (rowDay === undefined && columns.days === undefined) return;
    for (let i = 0; i < columns.codes.length; i++) {
      const code = columns.codes[i];
      if (code === undefined) continue;
      const day = rowDay ?? readAdjacentDay(columns, i, values, row);
      if (day === undefined) continue;
      const value = cells.numberOf(columns.file, i, values[i], row);
      if (value === undefined) cells.refuseNumber(columns.file, i, formatWrittenCell(values[i]), row);
      else if (value === value) setBar(columns, i, { row, code, day }, value);
    }
  }

  /**
   * Returns the day next to a number. Returns undefined if both are empty. If there is no valid day, returns undefined
   * and adds a finding.
   */
  function readAdjacentDay(
    { days, file }: OpenedColumns,
    i: number,
    values: readonly (Cell | undefined)[],
    row: number,
  ): Day | undefined {
    const position = days![i]!; // called only for tables with several date columns
    if (readText(values[i]) === null && typeof cells.readDay(values[position]) !== 'number') return undefined;
    return cells.dayOf({ ...file, dateColumn: position }, values[position], row);
  }

  function setBar(
    columns: OpenedColumns,
    i: number,
    bar: { row: number; code: number; day: Day },
    value: number,
  ): void {
    const number = cells.priceOf(PRICE_FIELDS.has(columns.columns[i]!.field), value);
    if (number !== number) return;
    rows.beginBar(bar.row, bar.code, bar.day);
    rows.setNumber(columns.file, i, number);
  }

  return { beginFile, addCells };
}

/**
 * Returns true if a row below the header has no numbers. Such a row is the name of an index, or contains attributes
 * such as CURRENCY.
 */
function isAboveDays({ date, file, columns }: OpenedColumns, cells: readonly (Cell | undefined)[]): boolean {
  const { readers } = file as MappedFile; // files are opened as MappedFile
  const isTerms = LABEL_WITHOUT_DIGITS.test(readText(cells[date]) ?? '');
  return cells.every(
    (cell, i) => columns[i] === undefined || readText(cell) === null || (isTerms && readers[i]!(cell) === undefined),
  );
}

/**
 * Returns the field of a wide table. Returns null if its columns state the fields, undefined if the field is unknown.
 */
function findTableField(mapping: Mapping, table: string): string | null | undefined {
  if (Object.keys(mapping.fields).length > 0) return isMarketTable(mapping, table) ? mapping.fields[table]! : undefined;
  return mapping.field;
}

/** Describes a wide table in which a second header row was expected, but whose second row already contains numbers. */
const createMissingFieldProblem = (label: string): Problem => ({
  code: 'MISSING_COLUMN',
  path: label,
  message:
    'The field of the numbers of the table is not stated: the mapping has no field (CLOSE, for example), and the first row below the header contains a day instead of a second header row with field names.',
});
