import { DATASETS, datasetRows } from '../../content/datasets.js';
import { digestFile } from '../digest-file.js';
import { cellOf, chunksOf, openDuckDb, reasonOf, sqlName } from '../duckdb.js';
import { createContentRows, withTables } from '../../content/content-rows.js';
import { columnsOf, marketColumns } from '../../formats/parquet.js';
import { tellMarketProblems } from '../../formats/parquet-problems.js';
import type { Problems } from '../../content/problems.js';
import type { ReadOptions, SourceRead } from '../read-source.js';
import { readTypedMarket } from '../read-typed-market.js';
import { tablesToRead, type DatabaseProgress, type TableNames } from './tables-to-read.js';

/** Name under which the file is attached. */
const CATALOGUE = 'source';

/** Reads a DuckDB file, attached read-only, which nobody can write meanwhile: a market of numbers column by column, anything else row by row. */
export async function readDuckDbFile(
  path: string,
  named: TableNames,
  problems: Problems,
  onProgress: DatabaseProgress,
  { follower }: ReadOptions,
): Promise<SourceRead | undefined> {
  const duck = await openDuckDb({ attach: { path, name: CATALOGUE } }).catch((error: unknown) => {
    problems.error({ code: 'UNREADABLE_FILE', path: '', message: `The database cannot be read: ${reasonOf(error)}` });
  });
  if (duck === undefined) return undefined;
  const { connection } = duck;
  const digesting = digestFile(path, 'database');
  digesting.catch(() => {}); // thrown where it is awaited
  try {
    const held = await connection.runAndReadAll(
      `SELECT table_name FROM information_schema.tables WHERE table_catalog = '${CATALOGUE}' AND table_schema = 'main'`,
    );
    const tables = tablesToRead(new Set(held.getRows().map(([name]) => String(name))), named, problems);
    const rows = createContentRows(problems);
    const cells = async (dataset: (typeof DATASETS)[number]) => {
      const scan = `${CATALOGUE}.main.${sqlName(tables[dataset]!)}`;
      const columns = (await columnsOf(connection, scan)).map(({ name }) => name);
      const addRow = rows.beginCells(dataset, dataset, columns);
      if (addRow === undefined) return;
      for await (const chunk of chunksOf(connection, `SELECT * FROM ${scan}`))
        for (const row of chunk.getRows()) addRow(row.map(cellOf));
    };
    for (const dataset of DATASETS) if (dataset !== 'market' && tables[dataset] !== undefined) await cells(dataset);
    if (tables.market === undefined) {
      rows.toTables(); // memberships that overlap are told, too
      return undefined;
    }
    onProgress(0.2, 'reading market');
    const scan = `${CATALOGUE}.main.${sqlName(tables.market)}`;
    const columns = marketColumns([], await columnsOf(connection, scan), problems);
    const numberedScan = `(SELECT 'market' AS filename, row_number() OVER () - 1 AS file_row_number, * FROM ${scan})`;
    if (columns.kind === 'refused') {
      await tellMarketProblems(duck, { files: [], numberedScan, columns: columns.rest }, problems);
      rows.toTables();
      return undefined;
    }
    if (columns.kind === 'cells') {
      await cells('market');
      const content = rows.toContent();
      return content && { content, rows: datasetRows(rows.rowsOf), files: [await digesting] };
    }
    const market = await readTypedMarket(
      duck,
      { files: [], scan, numberedScan, columns },
      problems,
      (fraction) => onProgress(0.2 + 0.7 * fraction, 'reading market'),
      follower,
    );
    const beside = rows.toTables();
    const content = market && withTables(market.panels, beside, problems);
    if (market === undefined || content === undefined || problems.errors > 0) return undefined;
    return {
      content,
      rows: datasetRows((dataset) => (dataset === 'market' ? market.rows : rows.rowsOf(dataset))),
      files: [await digesting],
    };
  } catch (error) {
    problems.error({ code: 'UNREADABLE_FILE', path: '', message: `The database cannot be read: ${reasonOf(error)}` });
    return undefined;
  } finally {
    await digesting.catch(() => {});
    duck.close();
  }
}
