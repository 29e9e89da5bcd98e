import type { Day } from '#domain/time/days.js';
import type { ReferenceTable } from '#domain/market/market-data.js';
import type { Mapping } from '#domain/documents/mapping.js';
import { createMarketRows, type MarketFile, type MarketRows, type MarketRowsOptions } from '../content/market-rows.js';
import type { Problems } from '../tables/problems.js';
import { readText, formatWrittenCell, type Cell, type Heading } from '../formats/cells.js';
import type { Panels } from '../panels/panels.js';
import { describeColumns, createMappedCells, type MappedFile } from './mapped-cells.js';
import { createWideRows, type WideFile } from './wide-rows.js';
import { createTableNames } from './table-names.js';
import { createDividendReader } from './own-dividends.js';
import { createUnreadTerms } from './unread-terms.js';
import { mapColumns } from './mapped-columns.js';
import { createTextColumns } from './text-columns.js';

/** Creates the reader of market rows in a vendor's format. Problems state the column names of the vendor. */
export function createMappedRows(mapping: Mapping, problems: Problems, options: MarketRowsOptions = {}): MarketRows {
  const rows = createMarketRows(problems, {
    ...options,
    onDuplicate: mapping.on_duplicate,
    timeZone: mapping.time_zone,
    isJoined: mapping.layout === 'wide',
  });
  const findName = createTableNames(mapping, problems);
  const reports = [createDividendReader(mapping, problems), createUnreadTerms(mapping, problems)];
  const texts = createTextColumns(problems);
  const cells = createMappedCells(mapping, problems, { rows, texts });
  const wideRows = createWideRows(mapping, problems, { rows, texts, cells });
  let fileRow = 0;

  function beginFile(
    label: string,
    written: readonly string[],
    table?: string,
    heading: Heading = [],
  ): MarketFile | undefined {
    const name = table ?? label.split('/').at(-1)!;
    if (mapping.layout === 'wide') return wideRows.beginFile(label, written, name);
    const names = mapColumns(mapping, label, written, problems);
    if (names === undefined) return undefined;
    for (const report of reports) report(written);
    fileRow = 0;
    const file = rows.openFile({ label, written }, names);
    const code = findFileCode(file, name, heading);
    return mapFile(mapping, code === undefined ? file : { ...file, code }, names);
  }

  function findFileCode(file: MarketFile, name: string, heading: Heading): number | undefined {
    const identifier = findName(file.label, name, heading);
    return identifier === undefined ? undefined : rows.codeOf(file, identifier);
  }

  function beginRow(code: number | undefined, day: Day | undefined): void {
    fileRow += 1;
    rows.beginRow(code, day);
  }

  function setNumber(file: MarketFile, column: number, value: number): void {
    const { names, isPrice } = file as MappedFile; // files are opened as MappedFile
    const number = cells.priceOf(isPrice[column]!, value);
    texts.numbered.add(names[column]!);
    if (number === number) rows.setNumber(file, column, number);
  }

  const refuseNumber = (file: MarketFile, column: number, text: string): void =>
    cells.refuseNumber(file, column, text, fileRow);

  const readDay = (file: MarketFile, cell: Cell | undefined): Day | undefined => cells.dayOf(file, cell, fileRow + 1);

  function addCells(file: MarketFile, row: readonly (Cell | undefined)[] | null): void {
    if (file.isWide === true) {
      wideRows.addCells(file as WideFile, row); // wide files are opened as WideFile
      return;
    }
    if (row === null) {
      beginRow(undefined, undefined);
      return;
    }
    const { identifierColumn, dateColumn } = file;
    beginRow(
      identifierColumn < 0 ? file.code : rows.codeOf(file, readText(row[identifierColumn])),
      dateColumn < 0 ? undefined : readDay(file, row[dateColumn]),
    );
    for (let column = 0; column < file.fieldOf.length; column++) {
      if (file.fieldOf[column]! < 0) continue;
      const value = cells.numberOf(file, column, row[column], fileRow);
      if (value === undefined) refuseNumber(file, column, formatWrittenCell(row[column]));
      else if (value === value) setNumber(file, column, value);
    }
  }

  function toPanels(reference?: ReferenceTable): Panels | undefined {
    texts.report();
    cells.report();
    const panels = rows.toPanels(reference);
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
    dayOf: readDay,
    toPanels,
    get rows() {
      return rows.rows;
    },
  };
}

const mapFile = (mapping: Mapping, file: MarketFile, names: readonly string[]): MappedFile => ({
  ...file,
  hasOwnNumbers: mapping.decimal === ',' || mapping.thousands !== null || mapping.units === 'read',
  ...describeColumns(mapping, names),
});
