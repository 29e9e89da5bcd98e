import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import { countRowsByTable, type TableKind } from '../../tables/table-kinds.js';
import { digestFile } from '../../formats/digest-file.js';
import { toCell, streamChunks, openDuckDb, quoteName, type DuckDb, formatBoundColumn } from '../../formats/duckdb.js';
import { formatReason } from '../../tables/fault-reason.js';
import { createContentRows } from '../content-rows.js';
import { reportSeries } from '../../content/series-rows.js';
import { completeMappedContent, DEFAULT_TERMS, type MarketInterpretation } from '../../mapping/mapped-content.js';
import { readColumns, planInstants, planMarketColumns } from '../parquet/parquet.js';
import { reportMarketProblems } from '../parquet/parquet-problems.js';
import type { Problems } from '../../tables/problems.js';
import type { ReadOptions, SourceResult } from '../source-read.js';
import { readTypedMarket } from '../read-typed-market.js';
import { chooseTables, type DatabaseProgress, type TableNames } from './tables-to-read.js';

/** Name under which the file is attached. */
const CATALOGUE = 'source';

/**
 * Reads a DuckDB file. The file is attached read-only, so that no process can write it meanwhile. A market with numeric
 * columns is read column by column, all other tables row by row.
 */
export async function readDuckDbFile(
  path: string,
  named: TableNames,
  problems: Problems,
  onProgress: DatabaseProgress,
  { follower, terms = DEFAULT_TERMS }: ReadOptions,
): Promise<SourceResult | undefined> {
  const duckDb = await openDuckDb({ attach: { path, name: CATALOGUE } }).catch((error: unknown) => {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: '',
      message: `The database cannot be read: ${formatReason(error)}`,
    });
  });
  if (duckDb === undefined) return undefined;
  const pendingDigest = digestFile(path, 'database');
  pendingDigest.catch(() => {}); // thrown when it is awaited
  try {
    const tableRows = await duckDb.connection.runAndReadAll(
      `SELECT table_name FROM information_schema.tables WHERE table_catalog = '${CATALOGUE}' AND table_schema = 'main'`,
    );
    const tables = chooseTables(
      new Set(tableRows.getRows().map(([name]) => String(name))),
      named,
      problems,
      terms.mapping,
    );
    const fileReading = { duck: duckDb, tables, problems, rows: createContentRows(problems, terms), terms, follower };
    const tablesResult = await readTables(fileReading, onProgress);
    return tablesResult && { ...tablesResult, files: [await pendingDigest] };
  } catch (error) {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: '',
      message: `The database cannot be read: ${formatReason(error)}`,
    });
    return undefined;
  } finally {
    await pendingDigest.catch(() => {});
    duckDb.close();
  }
}

interface FileReading {
  readonly duck: DuckDb;
  readonly tables: ReturnType<typeof chooseTables>;
  readonly problems: Problems;
  readonly rows: ReturnType<typeof createContentRows>;
  readonly terms: MarketInterpretation;
  readonly follower: ReadOptions['follower'];
}

async function readTables(
  reading: FileReading,
  onProgress: DatabaseProgress,
): Promise<Omit<SourceResult, 'files'> | undefined> {
  const { duck, tables, problems, rows } = reading;
  for (const tableKind of TABLE_KINDS)
    if (tableKind !== 'market') for (const table of tables[tableKind] ?? []) await readCells(reading, tableKind, table);
  if (tables.market === undefined) {
    rows.toTables(); // overlapping memberships are reported too
    return undefined;
  }
  onProgress(0.2, 'reading market');
  const [first = 'market', ...others] = tables.market;
  const scan = formatScan(first);
  const typed = await readColumns(duck.connection, scan);
  const columns = await planInstants(
    duck.connection,
    scan,
    planMarketColumns(typed, problems, reading.terms.mapping),
    typed.map(({ name }) => name),
  );
  const numberedScan = `(SELECT 'market' AS filename, row_number() OVER () - 1 AS file_row_number, * FROM ${scan})`;
  if (columns.kind === 'refused') {
    await reportMarketProblems(duck, { files: [], numberedScan, columns: columns.rest }, problems);
    rows.toTables();
    return undefined;
  }
  if (columns.kind === 'cells') {
    for (const table of [first, ...others]) await readCells(reading, 'market', table);
    const completeContent = rows.toContent();
    return completeContent && { ...completeContent, rows: countRowsByTable(rows.rowsOf) };
  }
  let names: readonly string[] = [];
  const market = await readTypedMarket(
    duck,
    { files: [], scan, numberedScan, columns, onNames: (found) => (names = found) },
    problems,
    (fraction) => onProgress(0.2 + 0.7 * fraction, 'reading market'),
    reading.follower,
  );
  const otherTables = rows.toTables();
  if (market === undefined) reportSeries(names, otherTables.series, problems);
  const complete = market && completeMappedContent(market.panels, otherTables, reading.terms, problems);
  if (market === undefined || complete === undefined || problems.errors > 0) return undefined;
  return {
    ...complete,
    rows: countRowsByTable((tableKind) => (tableKind === 'market' ? market.rows : rows.rowsOf(tableKind))),
  };
}

const formatScan = (table: string) => `${CATALOGUE}.main.${quoteName(table)}`;

/** Reads a table row by row. */
async function readCells(
  { duck: { connection }, rows }: FileReading,
  tableKind: TableKind,
  table: string,
): Promise<void> {
  const scan = formatScan(table);
  const typedColumns = await readColumns(connection, scan);
  const columns = typedColumns.map(({ name }) => name);
  const addRow = rows.beginCells(tableKind, tableKind, columns, { name: table });
  if (addRow === undefined) return;
  for await (const chunk of streamChunks(
    connection,
    `SELECT ${typedColumns.map(formatBoundColumn).join(', ')} FROM ${scan}`,
  ))
    for (const row of chunk.getRows()) addRow(row.map(toCell));
}
