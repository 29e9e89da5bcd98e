import { suggestName } from '#base/nearest-name.js';
import { TABLE_KINDS } from '#domain/definition/datasets.js';
import type { Mapping } from '#domain/definition/mapping.js';
import { createActionRows } from '../content/action-rows.js';
import { type ContentTables, getSeries, reportSeries } from '../content/market-content.js';
import { createMarketRecords, type MarketFile, type MarketRows } from '../content/market-rows.js';
import { type CheckedRows, createReferenceRows, createSeriesRows, createUniverseRows } from '../content/table-rows.js';
import type { Cell, Heading } from '../formats/cells.js';
import { isMarketTable } from '../mapping/columns.js';
import {
  type CompleteContent,
  completeMappedContent,
  createMarketRowsOn,
  DEFAULT_TERMS,
} from '../mapping/mapped-content.js';
import { formatCellPath, type Problems } from '../tables/problems.js';
import type { TableKind } from '../tables/table-kinds.js';
import { type CsvRecord, describeRowLength, readTextCells } from '../formats/csv.js';

/**
 * Receiver of the rows of one table. It is undefined if the columns do not belong to the dataset. An unreadable row is
 * null.
 */
type RowSink = ((cells: readonly (Cell | undefined)[] | null) => void) | undefined;

/** Name of a table in its source, and the rows above its header. */
interface TableLocation {
  readonly name: string;
  readonly heading?: Heading;
}

export interface ContentRows {
  /** Begins a table of cells. @param table its name and heading */
  beginCells(tableKind: TableKind, label: string, columns: readonly string[], table?: TableLocation): RowSink;
  /** Begins a CSV file. Numbers of the market are parsed directly from its bytes. */
  beginCsv(
    tableKind: TableKind,
    label: string,
    columns: readonly string[],
    table?: TableLocation,
  ): ((record: CsvRecord) => void) | undefined;
  beginMarket(
    label: string,
    columns: readonly string[],
    table?: string,
  ): { readonly file: MarketFile; readonly market: MarketRows } | undefined;
  rowsOf(tableKind: TableKind): number;
  toTables(): ContentTables;
  /** Returns the content; undefined after an error. */
  toContent(): CompleteContent | undefined;
}

/** @param options `isPart` is true for rows that are added to a store. The market may then be empty */
export function createContentRows(
  problems: Problems,
  terms = DEFAULT_TERMS,
  { isPart = false }: { readonly isPart?: boolean } = {},
): ContentRows {
  const market = createMarketRowsOn(terms, problems, { isPart });
  const createRecords = createMarketRecords(market);
  const tables = {
    reference: createReferenceRows(problems),
    corporate_actions: createActionRows(problems),
    universes: createUniverseRows(problems),
    series: createSeriesRows(problems, terms.mapping?.series),
  };

  function beginCells(tableKind: TableKind, label: string, columns: readonly string[], table?: TableLocation): RowSink {
    if (tableKind !== 'market') return tables[tableKind].beginFile(label, columns);
    const file = market.beginFile(label, columns, table?.name, table?.heading);
    return file && ((cells) => market.addCells(file, cells));
  }

  const toTables = (): ContentTables => ({
    reference: tables.reference.toTable(),
    actions: tables.corporate_actions.toTable(),
    universes: tables.universes.toTable(),
    ...getSeries(tables.series.toTable()),
  });

  return {
    beginCells,
    beginCsv(tableKind, label, columns, table) {
      return tableKind === 'market'
        ? createRecords(label, columns, table?.name, table?.heading)
        : createRecordReader(tables[tableKind], label, columns, problems);
    },
    rowsOf: (tableKind) => (tableKind === 'market' ? market.rows : tables[tableKind].rows),
    beginMarket(label, columns, table) {
      const file = market.beginFile(label, columns, table);
      return file && { file, market };
    },
    toTables,
    toContent() {
      const contentTables = toTables();
      const panels = market.toPanels(contentTables.reference);
      if (panels === undefined) reportSeries(market.names(), contentTables.series, problems);
      const content = panels && completeMappedContent(panels, contentTables, terms, problems);
      return problems.errors === 0 ? content : undefined;
    },
  };
}

/** Returns a receiver of the records of a CSV file of a table. */
export function createRecordReader(
  rows: CheckedRows<unknown>,
  label: string,
  columns: readonly string[],
  problems: Problems,
): ((record: CsvRecord) => void) | undefined {
  const addRow = rows.beginFile(label, columns);
  let row = 0;
  return (
    addRow &&
    ((record) => {
      row += 1;
      if (record.cells === columns.length) {
        addRow(readTextCells(record));
        return;
      }
      addRow(null);
      problems.error({
        code: 'UNREADABLE_FILE',
        path: formatCellPath(label, row, ''),
        message: describeRowLength(record.cells, columns.length),
      });
    })
  );
}

/** Table in JSON. If row labels are present in `index`, only their number is read. */
export interface SplitFrame {
  readonly index?: readonly unknown[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

/**
 * Reads inline tables row by row. Reports unknown tables, and rows with a wrong number of cells.
 * @param isPart true for rows that are added to a store, which has a market
 */
export function readFrames(
  tables: Readonly<Record<string, SplitFrame>>,
  mapping: Mapping | null,
  problems: Problems,
  beginFile: (tableKind: TableKind, name: string, columns: readonly string[]) => RowSink,
  isPart = false,
): void {
  const mappedColumns: string[] = [];
  for (const name of Object.keys(tables)) {
    if ((TABLE_KINDS as readonly string[]).includes(name)) continue;
    if (mapping !== null && isMarketTable(mapping, name)) {
      mappedColumns.push(name);
      continue;
    }
    problems.error({
      code: 'UNKNOWN_FIELD',
      path: `tables.${name}`,
      message: `${name.slice(0, 80)} is not a table of a store; the accepted set is ${TABLE_KINDS.join(', ')}.${suggestName(name, TABLE_KINDS)}`,
      accepted: TABLE_KINDS,
    });
  }
  const presentTables = TABLE_KINDS.filter((tableKind) => Object.hasOwn(tables, tableKind));
  if (!isPart && !presentTables.includes('market') && mappedColumns.length === 0)
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: 'The table market is missing; it is required.',
    });
  for (const name of [...mappedColumns, ...presentTables]) {
    const tableKind = presentTables.find((each) => each === name) ?? 'market';
    const frame = tables[name]!;
    const { index = [] } = frame;
    if (index.length > 0 && index.length !== frame.data.length)
      problems.error({
        code: 'UNREADABLE_FILE',
        path: name,
        message: `The index of the table has ${countText(index.length)}, its data ${countText(frame.data.length)}; each row has one label.`,
      });
    const addRow = beginFile(tableKind, name, frame.columns);
    if (addRow !== undefined)
      frame.data.forEach((row, i) =>
        addFrameRow(row, i + 1, { name, columns: frame.columns.length, addRow, problems }),
      );
  }
}

const countText = (rows: number) => `${rows} ${rows === 1 ? 'row' : 'rows'}`;

interface Row {
  readonly name: string;
  readonly columns: number;
  readonly addRow: Exclude<RowSink, undefined>;
  readonly problems: Problems;
}

function addFrameRow(row: readonly unknown[], number: number, { name, columns, addRow, problems }: Row): void {
  if (row.length !== columns) {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: formatCellPath(name, number, ''),
      message: `The row has ${row.length} cells; there are ${columns} columns.`,
    });
  }
  addRow(Array.from({ length: columns }, (_, i) => toCell(row[i])));
}

/**
 * Converts a JSON value to a cell. An array or object becomes its JSON text, which the reader of the column
 * rejects as a value.
 */
function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return JSON.stringify(value);
}
