import { closeSync, openSync, readSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Cell } from '../formats/cells.js';
import { digestFiles } from '../formats/digest-file.js';
import { describeForeignText, HEAD_BYTES } from '../formats/foreign-text.js';
import { digestFilesApart } from '../threads/hashing.js';
import { SCATTERED_BYTES_MIN, startScattering, type Scattering } from '../threads/scattering.js';
import { toCell, streamChunks, formatSettings, quoteName, formatBoundColumn } from '../formats/duckdb.js';
import { formatReason } from '../tables/fault-reason.js';
import { findChangedFiles, formatTableName } from './folder.js';
import type { SourceFile } from '../formats/source-file.js';
import { createMarketRowsOn } from '../mapping/mapped-content.js';
import { readColumns, planInstants, planMarketColumns, formatScan } from './parquet/parquet.js';
import { reportColumns } from './parquet/parquet-checks.js';
import { isBarKey } from './folder-keys.js';
import { reportKeys } from './parquet/parquet-keys.js';
import { addZones, type ZonedFiles } from './parquet/parquet-zones.js';
import { reportMarketProblems } from './parquet/parquet-problems.js';
import { readTypedMarket, type TypedMarketResult, type OnSecurities } from './read-typed-market.js';
import type { CheckedRows } from '../content/table-rows.js';
import type { Problem, Problems } from '../tables/problems.js';
import type { MarketReadState, SourceReadState } from './source-read.js';

export async function readParquetMarket(
  listed: readonly SourceFile[],
  {
    digests,
    problems,
    follower,
    terms,
    duck: open,
    onNames,
    reference,
  }: MarketReadState & { readonly onNames: OnSecurities },
  isPart: boolean,
  onProgress: (fraction: number) => void,
): Promise<TypedMarketResult | undefined> {
  const refuse = (error: unknown) =>
    problems.error({
      code: 'UNREADABLE_FILE',
      path: 'market',
      message: `The files cannot be read: ${formatReason(error)}`,
    });
  // Computes the digests while the scan of all columns runs and its first rows have not arrived.
  let pendingDigests: Promise<void> | undefined;
  const digest = () => (pendingDigests ??= digestFilesApart(listed, digests).catch(refuse));
  try {
    const duckDb = await open();
    const { connection } = duckDb;
    const checkedFiles = await checkFiles(connection, listed, terms, problems);
    if (checkedFiles === undefined) return undefined;
    const { files, columns: typed } = checkedFiles;
    const scan = formatScan(files, { withRows: false });
    const columns = await planInstants(
      connection,
      scan,
      planMarketColumns(typed, problems, terms.mapping),
      typed.map(({ name }) => name),
    );
    if (columns.kind === 'refused') {
      await reportMarketProblems(
        duckDb,
        { files, numberedScan: formatScan(files, { withRows: true }), columns: columns.rest },
        problems,
      );
      return undefined;
    }
    if (columns.kind === 'typed') {
      const scattering = startThreads(listed);
      return await readTypedMarket(
        duckDb,
        { files, scan, numberedScan: formatScan(files, { withRows: true }), columns, isPart, onNames, scattering },
        problems,
        (fraction) => {
          void digest();
          onProgress(fraction);
        },
        follower,
      ).finally(() => scattering?.end());
    }
    const rows = createMarketRowsOn(terms, problems, { isPart });
    for (const file of files) {
      const names =
        terms.mapping === null
          ? columns.columns
          : (await readColumns(connection, formatScan([file], { withRows: false }))).map(({ name }) => name);
      const marketFile = rows.beginFile(file.label, names, formatTableName(file));
      if (marketFile === undefined) continue;
      await readCells(connection, file, names, (cells) => rows.addCells(marketFile, cells));
    }
    const panels = rows.toPanels(reference);
    onNames(rows.names());
    return panels && { panels, rows: rows.rows };
  } catch (error) {
    if ((await findChangedFiles(listed)).length > 0) return undefined; // changed files are reported after all tables have been read
    if (!(await reportUnreadable(listed, open, problems))) refuse(error);
    return undefined;
  } finally {
    await digest();
  }
}

/** Starts threads that read a market. Returns undefined if the market is too small to benefit. */
function startThreads(files: readonly SourceFile[]): Scattering | undefined {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return bytes < SCATTERED_BYTES_MIN
    ? undefined
    : startScattering(formatSettings({ files: files.map(({ path }) => path) }));
}

/**
 * Returns the files of a market with the columns of their scan. If the scan would change columns, returns undefined and
 * adds a finding.
 */
async function checkFiles(
  connection: DuckDBConnection,
  listed: readonly SourceFile[],
  { mapping }: SourceReadState['terms'],
  problems: Problems,
): Promise<ZonedFiles<SourceFile> | undefined> {
  const errorsBefore = problems.errors;
  const result = await addZones(connection, listed, (key) => mapping !== null || isBarKey(key));
  await reportColumns(connection, result.files, { columns: result.columns, table: 'market' }, problems);
  if (mapping === null) await reportKeys(connection, result.files, result.columns, problems);
  return problems.errors > errorsBefore ? undefined : result;
}

/** Returns a message if a file takes the place of a table. Returns undefined for other and for unreadable files. */
function describeForeignFile(path: string): string | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = new Uint8Array(HEAD_BYTES);
      return describeForeignText(bytes.subarray(0, readSync(file, bytes)));
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined; // the reader of the file reports the error
  }
}

/** Describes a file that DuckDB cannot read. */
export const describeUnreadableFile = ({ label, path }: SourceFile, error: unknown): Problem => ({
  code: 'UNREADABLE_FILE',
  path: label,
  message: describeForeignFile(path) ?? describeReaderFault(error) ?? `The file cannot be read: ${formatReason(error)}`,
});

/** Returns a clear message for errors that the reader describes unclearly. Returns undefined for other errors. */
function describeReaderFault(error: unknown): string | undefined {
  const isCut = error instanceof Error && /no magic bytes found at end of file/i.test(error.message);
  return isCut ? 'The file is cut off, or is no Parquet file: there is no Parquet footer at its end.' : undefined;
}

/** Reports each file with unreadable columns. @returns true if there is any */
async function reportUnreadable(
  files: readonly SourceFile[],
  open: SourceReadState['duck'],
  problems: Problems,
): Promise<boolean> {
  const errorsBefore = problems.errors;
  const duckDb = await open().catch(() => undefined); // a database that cannot be opened says nothing about the files
  for (const file of duckDb === undefined ? [] : files)
    await readColumns(duckDb!.connection, formatScan([file], { withRows: false })).catch((error: unknown) =>
      problems.error(describeUnreadableFile(file, error)),
    );
  return problems.errors > errorsBefore;
}

export async function readParquetTable<T>(
  files: readonly SourceFile[],
  rows: CheckedRows<T>,
  { digests, problems, duck }: SourceReadState,
): Promise<void> {
  const label = files[0]!.label.split('/')[0]!;
  await digestFiles(files, digests);
  try {
    const { connection } = await duck();
    for (const file of files) {
      const { files: zoned, columns: typed } = await addZones(connection, [file]);
      const columns = typed.map(({ name }) => name);
      const errorsBefore = problems.errors;
      await reportColumns(connection, zoned, { columns: typed, table: file.label }, problems);
      if (problems.errors > errorsBefore) continue;
      const addRow = rows.beginFile(file.label, columns);
      if (addRow !== undefined) await readCells(connection, zoned[0]!, columns, addRow);
    }
  } catch (error) {
    if ((await findChangedFiles(files)).length > 0) return; // changed files are reported after all tables have been read
    const message =
      files.map(({ path }) => describeForeignFile(path)).find((each) => each !== undefined) ??
      describeReaderFault(error) ??
      `The files cannot be read: ${formatReason(error)}`;
    problems.error({ code: 'UNREADABLE_FILE', path: label, message });
  }
}

/** Passes the rows of one Parquet file to `addRow`, in file order. Columns that only other files have are null. */
async function readCells(
  connection: DuckDBConnection,
  file: SourceFile,
  columns: readonly string[],
  addRow: (cells: Cell[]) => void,
): Promise<void> {
  const typedColumns = await readColumns(connection, formatScan([file], { withRows: false }));
  const columnList = columns.map((name) => {
    const column = typedColumns.find((ownTypedColumn) => ownTypedColumn.name === name);
    return column === undefined ? `NULL AS ${quoteName(name)}` : formatBoundColumn(column);
  });
  for await (const chunk of streamChunks(
    connection,
    `SELECT ${columnList.join(', ')} FROM ${formatScan([file], { withRows: false })}`,
  )) {
    for (const row of chunk.getRows()) addRow(row.map(toCell));
  }
}
