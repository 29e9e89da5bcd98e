import { createActionRows } from './action-rows.js';
import type { Cell } from '../formats/cells.js';
import type { SeriesTable } from '#domain/market/series.js';
import type { ContentTables, MarketContent } from './market-content.js';
import type { CsvRecord } from '../formats/csv.js';
import { marketRecords, raggedRow, textCells } from '../formats/csv.js';
import type { Dataset } from './datasets.js';
import { createMarketRows, type MarketFile, type MarketRows } from './market-rows.js';
import type { Panels } from '../serving/panels.js';
import { cellPath, type Problems } from './problems.js';
import { createReferenceRows } from './reference-rows.js';
import { createSeriesRows, tellSharedNames } from './series-rows.js';
import type { TableRows } from './table-rows.js';
import { createUniverseRows } from './universe-rows.js';

/** What to do with the rows of one table, null being one that cannot be read; undefined when its columns are not those of the dataset. */
export type RowSink = ((cells: readonly (Cell | undefined)[] | null) => void) | undefined;

/** The rows of all datasets on their way to one content. */
export interface ContentRows {
  /** Begins a table of cells. */
  beginCells(dataset: Dataset, label: string, columns: readonly string[]): RowSink;
  /** Begins a CSV file; numbers of the market are read from its bytes. */
  beginCsv(dataset: Dataset, label: string, columns: readonly string[]): ((record: CsvRecord) => void) | undefined;
  /** Begins a table of the market whose numbers are set one by one. */
  beginMarket(
    label: string,
    columns: readonly string[],
  ): { readonly file: MarketFile; readonly market: MarketRows } | undefined;
  rowsOf(dataset: Dataset): number;
  /** The tables beside the market. */
  toTables(): ContentTables;
  /** The content; undefined when anything was wrong. */
  toContent(): MarketContent | undefined;
}

export function createContentRows(problems: Problems): ContentRows {
  const market = createMarketRows(problems);
  const tables = {
    reference: createReferenceRows(problems),
    corporate_actions: createActionRows(problems),
    universes: createUniverseRows(problems),
    series: createSeriesRows(problems),
  };

  function beginCells(dataset: Dataset, label: string, columns: readonly string[]): RowSink {
    if (dataset !== 'market') return tables[dataset].beginFile(label, columns);
    const file = market.beginFile(label, columns);
    return file && ((cells) => market.addCells(file, cells));
  }

  const toTables = (): ContentTables => ({
    reference: tables.reference.toTable(),
    actions: tables.corporate_actions.toTable(),
    universes: tables.universes.toTable(),
    ...seriesIn(tables.series.toTable()),
  });

  return {
    beginCells,
    beginCsv(dataset, label, columns) {
      return dataset === 'market'
        ? marketRecords(market, label, columns)
        : tableRecords(tables[dataset], label, columns, problems);
    },
    rowsOf: (dataset) => (dataset === 'market' ? market.rows : tables[dataset].rows),
    beginMarket(label, columns) {
      const file = market.beginFile(label, columns);
      return file && { file, market };
    },
    toTables,
    toContent() {
      const held = toTables();
      const panels = market.toPanels();
      const content = panels && withTables(panels, held, problems);
      return problems.errors === 0 ? content : undefined;
    },
  };
}

/** The series of a content, if there are any. */
export function seriesIn(series: SeriesTable): Pick<MarketContent, 'series'> {
  return series.size === 0 ? {} : { series };
}

/** Panels and tables as one content; undefined, with a finding, when a name is in both market and series. */
export function withTables(panels: Panels, tables: ContentTables, problems: Problems): MarketContent | undefined {
  tellSharedNames(panels.identifiers, tables.series, problems);
  return problems.errors > 0 ? undefined : { ...panels, ...tables };
}

/** What to do with the records of a CSV file of a table. */
export function tableRecords(
  rows: TableRows<unknown>,
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
        addRow(textCells(record));
        return;
      }
      addRow(null);
      problems.error({
        code: 'UNREADABLE_FILE',
        path: cellPath(label, row, ''),
        message: raggedRow(record.cells, columns.length),
      });
    })
  );
}
