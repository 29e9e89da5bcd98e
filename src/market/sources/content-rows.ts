import { createActionRows } from '../content/action-rows.js';
import type { Cell, Heading } from '../formats/cells.js';
import type { ContentTables } from '../content/market-content.js';
import type { CsvRecord } from './csv-records.js';
import { createMarketRecords, describeRow, readTextCells } from './csv.js';
import {
  completeMappedContent,
  createMarketRowsOn,
  DEFAULT_TERMS,
  type CompleteContent,
} from '../mapping/mapped-content.js';
import type { TableKind } from '../tables/table-kinds.js';
import type { MarketFile, MarketRows } from '../content/market-rows.js';
import { formatCellPath, type Problems } from '../tables/problems.js';
import { createReferenceRows } from '../content/reference-rows.js';
import { createSeriesRows, reportSeries } from '../content/series-rows.js';
import type { CheckedRows } from '../content/table-rows.js';
import { createUniverseRows } from '../content/universe-rows.js';
import { getSeries } from '../content/whole-content.js';

/**
 * Receiver of the rows of one table. It is undefined if the columns do not belong to the dataset. An unreadable row is
 * null.
 */
export type RowSink = ((cells: readonly (Cell | undefined)[] | null) => void) | undefined;

/** Name of a table in its source, and the rows above its header. */
export interface TableLocation {
  readonly name: string;
  readonly heading?: Heading;
}

/** Collects the rows of all datasets into one content. */
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
  /** Begins a market table whose numbers are set individually. */
  beginMarket(
    label: string,
    columns: readonly string[],
    table?: string,
  ): { readonly file: MarketFile; readonly market: MarketRows } | undefined;
  rowsOf(tableKind: TableKind): number;
  /** Returns the tables other than the market. */
  toTables(): ContentTables;
  /** Returns the content; undefined after an error. */
  toContent(): CompleteContent | undefined;
}

export function createContentRows(problems: Problems, terms = DEFAULT_TERMS): ContentRows {
  const market = createMarketRowsOn(terms, problems);
  const createRecords = createMarketRecords(market);
  const tables = {
    reference: createReferenceRows(problems),
    corporate_actions: createActionRows(problems),
    universes: createUniverseRows(problems),
    series: createSeriesRows(problems),
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
        message: describeRow(record.cells, columns.length),
      });
    })
  );
}
