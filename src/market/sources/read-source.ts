import type { DuckDBConnection } from '@duckdb/node-api';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { CorporateAction, Membership, ReferenceTable } from '#domain/market/market-data.js';
import type { SeriesTable } from '#domain/market/series.js';
import { createActionRows } from '../content/action-rows.js';
import type { Cell } from '../formats/cells.js';
import type { MarketContent } from '../content/market-content.js';
import { seriesIn, tableRecords, withTables } from '../content/content-rows.js';
import { CsvFault, marketRecords, readCsv } from '../formats/csv.js';
import { DATASETS, datasetRows, type Dataset, type DatasetRows } from '../content/datasets.js';
import { digestFile, digestMemory, type FileDigest } from './digest-file.js';
import { cellOf, chunksOf, openDuckDb, reasonOf, sqlName, type DuckDb } from './duckdb.js';
import { identityOfFile, type DatasetFiles, type SourceFile } from './folder.js';
import { JsonLinesFault, readJsonLines, type JsonLinesReader } from '../formats/json-lines.js';
import type { KnownTables } from './known-files.js';
import { RowsFault } from '../content/market-limits.js';
import { createMarketRows } from '../content/market-rows.js';
import { noPanels } from '../serving/panels.js';
import { columnsOf, marketColumns, scanOf } from '../formats/parquet.js';
import { tellMarketProblems } from '../formats/parquet-problems.js';
import { readTypedMarket, type MarketRead } from './read-typed-market.js';
import { cellPath, type Problems } from '../content/problems.js';
import { createReferenceRows } from '../content/reference-rows.js';
import type { DayFollower } from '../content/scatter-rows.js';
import { createSeriesRows } from '../content/series-rows.js';
import type { TableRows } from '../content/table-rows.js';
import { createUniverseRows } from '../content/universe-rows.js';

/** What a source holds, before anything is made of it. */
export interface SourceRead {
  readonly content: MarketContent;
  readonly rows: DatasetRows;
  readonly files: readonly FileDigest[];
  /** Tables that were not read, for their files are those that were known. */
  readonly kept?: readonly Dataset[];
}

/** Bytes of a gzipped file after decompression, per byte before: text does not compress further. */
const GZIP_RATIO_MAX = 200;

/** Bytes read at a time. */
const CHUNK_BYTES = 1 << 20;

type Progress = (fraction: number, message: string) => void;

export interface ReadOptions {
  /** The files are some of a source's: they may hold no bar. */
  readonly isPart?: boolean;
  /** Tables that need not be read when their files have these digests. */
  readonly known?: KnownTables;
  /** Is told of days of the market that are complete before all of it is, where rows are read in a way that knows. */
  readonly follower?: DayFollower;
}

/**
 * Reads the files of a store into one content, telling everything that is wrong with them.
 * @returns undefined, and told, when anything is wrong.
 */
export async function readSource(
  files: DatasetFiles,
  problems: Problems,
  onProgress: Progress,
  { isPart = false, known = {}, follower }: ReadOptions = {},
): Promise<SourceRead | undefined> {
  const paths = DATASETS.flatMap((dataset) =>
    files[dataset].flatMap(({ format, path }) => (format === 'parquet' ? [path] : [])),
  );
  let duck: Promise<DuckDb> | undefined;
  const reading: Reading = {
    digests: [],
    kept: [],
    problems,
    known,
    follower,
    duck: () => (duck ??= openDuckDb({ files: paths })),
  };
  try {
    onProgress(0, 'reading market');
    const market = await readMarket(files.market, reading, isPart, (fraction) =>
      onProgress(0.8 * fraction, 'reading market'),
    );
    onProgress(0.8, 'reading tables');
    const reference = await readTable('reference', files.reference, createReferenceRows(problems), reading);
    const actions = await readTable('corporate_actions', files.corporate_actions, createActionRows(problems), reading);
    const universes = await readTable('universes', files.universes, createUniverseRows(problems), reading);
    const series = await readTable('series', files.series, createSeriesRows(problems), reading);
    for (const { label } of await changedFiles(files))
      problems.error({ code: 'UNREADABLE_FILE', path: label, message: 'The file changed while it was read.' });
    if (problems.errors > 0 || market === undefined) return undefined;
    const content = withTables(
      market.panels,
      { reference: reference.table, actions: actions.table, universes: universes.table, ...seriesIn(series.table) },
      problems,
    );
    if (content === undefined) return undefined;
    const rows: Record<Dataset, number> = {
      market: market.rows,
      reference: reference.rows,
      corporate_actions: actions.rows,
      universes: universes.rows,
      series: series.rows,
    };
    return {
      content,
      rows: datasetRows((dataset) => rows[dataset]),
      files: reading.digests,
      kept: reading.kept,
    };
  } finally {
    await duck?.then(
      (open) => open.close(),
      () => {},
    ); // one that did not open is told of where it was wanted
  }
}

/** What the datasets of one source have in common while they are read. */
interface Reading {
  readonly digests: FileDigest[];
  readonly kept: Dataset[];
  readonly problems: Problems;
  readonly known: KnownTables;
  readonly follower: DayFollower | undefined;
  /** The reader of all its Parquet files. */
  duck(): Promise<DuckDb>;
}

/** Files that are no longer what they were when they were listed. */
async function changedFiles(files: DatasetFiles): Promise<SourceFile[]> {
  const all = DATASETS.flatMap((dataset) => files[dataset]);
  const identities = await Promise.all(all.map(({ path }) => identityOfFile(path)));
  return all.filter(({ identity }, i) => identity !== identities[i]);
}

async function readMarket(
  files: readonly SourceFile[],
  reading: Reading,
  isPart: boolean,
  onProgress: (fraction: number) => void,
): Promise<MarketRead | undefined> {
  if (files.length === 0) return isPart ? { panels: noPanels([]), rows: 0 } : undefined;
  if (files[0]!.format === 'parquet') return readParquetMarket(files, reading, isPart, onProgress);
  const { digests, problems } = reading;
  const rows = createMarketRows(problems, { isPart });
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const file of files) {
    await readRows(file, digests, problems, {
      csv: (columns) => marketRecords(rows, file.label, columns),
      cells: (columns) => {
        const opened = rows.beginFile(file.label, columns);
        return opened && ((cells) => rows.addCells(opened, cells));
      },
      onBytes: (bytes) => onProgress((done + bytes) / total),
    });
    done += file.bytes;
  }
  const panels = rows.toPanels();
  return panels && { panels, rows: rows.rows };
}

async function readTable<T extends ReferenceTable | readonly CorporateAction[] | readonly Membership[] | SeriesTable>(
  dataset: Dataset,
  files: readonly SourceFile[],
  rows: TableRows<T>,
  reading: Reading,
): Promise<{ readonly table: T; readonly rows: number }> {
  if (await isAsKnown(dataset, files, reading)) reading.kept.push(dataset);
  else if (files[0]?.format === 'parquet') await readParquetTable(files, rows, reading);
  else {
    const { digests, problems } = reading;
    for (const file of files) {
      await readRows(file, digests, problems, {
        csv: (columns) => tableRecords(rows, file.label, columns, problems),
        cells: (columns) => rows.beginFile(file.label, columns),
        onBytes: () => {},
      });
    }
  }
  return { table: rows.toTable(), rows: rows.rows };
}

/** Whether the files of a table are, byte for byte, those that were known; their digests are added then. */
async function isAsKnown(
  dataset: Dataset,
  files: readonly SourceFile[],
  { known, digests }: Reading,
): Promise<boolean> {
  const expected = known[dataset];
  if (expected === undefined) return false;
  const found: FileDigest[] = [];
  try {
    await digestFiles(files, found);
  } catch {
    return false; // what is wrong with a file is told by who reads it
  }
  if (found.some(({ label, sha256 }) => expected[label] !== sha256)) return false;
  digests.push(...found);
  return true;
}

interface RowReaders {
  readonly csv: Parameters<typeof readCsv>[1];
  readonly cells: JsonLinesReader['onHeader'];
  readonly onBytes: (bytes: number) => void;
}

/** Reads one text file row by row; a fault of the format becomes one finding. */
async function readRows(
  file: SourceFile,
  digests: FileDigest[],
  problems: Problems,
  { csv, cells, onBytes }: RowReaders,
): Promise<void> {
  const onFault = ({ line, message }: JsonLinesFault) =>
    problems.error({ code: 'UNREADABLE_FILE', path: cellPath(file.label, line, ''), message });
  try {
    const bytes = bytesOf(file, digests, onBytes);
    if (file.format === 'csv') await readCsv(bytes, csv);
    else await readJsonLines(bytes, { onHeader: cells, onFault });
  } catch (error) {
    const path =
      error instanceof CsvFault && error.record > 0
        ? cellPath(file.label, error.record, '')
        : error instanceof JsonLinesFault
          ? cellPath(file.label, error.line, '')
          : file.label;
    const isFault =
      error instanceof CsvFault || error instanceof JsonLinesFault || error instanceof RowsFault || isCode(error);
    if (!isFault) throw error;
    problems.error({
      code: 'UNREADABLE_FILE',
      path,
      message: isCode(error) ? (GZIP_FAULTS[error.code] ?? `The file cannot be read: ${error.code}.`) : error.message,
    });
  }
}

/** What is wrong with a gzipped file, by the code of who inflates it. */
const GZIP_FAULTS: Readonly<Record<string, string>> = {
  Z_BUF_ERROR: 'The gzipped file is truncated.',
  Z_DATA_ERROR: 'The file is called gzipped and is not, or its data is damaged.',
};

const isCode = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'string';

/** The text of a file as it comes, decompressed; its digest is added at the end. */
async function* bytesOf(
  file: SourceFile,
  digests: FileDigest[],
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  // The path has no links left; one that has come since is not followed.
  const handle = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW);
  let read = 0;
  async function* raw(): AsyncGenerator<Uint8Array> {
    for await (const chunk of handle.createReadStream({ highWaterMark: CHUNK_BYTES })) {
      const bytes = chunk as Buffer; // no encoding is set
      read += bytes.length;
      hash.update(bytes);
      yield bytes;
      onBytes(read);
    }
  }
  try {
    if (!file.isGzipped) yield* raw();
    else {
      let inflated = 0;
      const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
      pipeline(Readable.from(raw()), gunzip, () => {}); // its failure is thrown by the loop
      for await (const chunk of gunzip) {
        const bytes = chunk as Buffer; // as above
        inflated += bytes.length;
        if (inflated > GZIP_RATIO_MAX * file.bytes + CHUNK_BYTES)
          throw new CsvFault(0, `The file decompresses to more than ${GZIP_RATIO_MAX} times its size.`);
        yield bytes;
      }
    }
    digests.push({ label: file.label, bytes: read, sha256: hash.digest('hex') });
  } finally {
    await handle.close();
  }
}

async function digestFiles(files: readonly SourceFile[], digests: FileDigest[]): Promise<void> {
  const memory = digestMemory();
  for (const { path, label } of files) digests.push(await digestFile(path, label, memory));
}

async function readParquetMarket(
  files: readonly SourceFile[],
  { digests, problems, follower, duck: open }: Reading,
  isPart: boolean,
  onProgress: (fraction: number) => void,
): Promise<MarketRead | undefined> {
  const refuse = (error: unknown) =>
    problems.error({
      code: 'UNREADABLE_FILE',
      path: 'market',
      message: `The files cannot be read: ${reasonOf(error)}`,
    });
  // The digests are made while rows are waited for, which they are only once the wide scan has begun.
  let digesting: Promise<void> | undefined;
  const digest = () => (digesting ??= digestFiles(files, digests).catch(refuse));
  try {
    const duck = await open();
    const { connection } = duck;
    const scan = scanOf(files, { withRows: false });
    const columns = marketColumns(files, await columnsOf(connection, scan), problems);
    if (columns.kind === 'refused') {
      await tellMarketProblems(
        duck,
        { files, numberedScan: scanOf(files, { withRows: true }), columns: columns.rest },
        problems,
      );
      return undefined;
    }
    if (columns.kind === 'typed') {
      return await readTypedMarket(
        duck,
        { files, scan, numberedScan: scanOf(files, { withRows: true }), columns, isPart },
        problems,
        (fraction) => {
          void digest();
          onProgress(fraction);
        },
        follower,
      );
    }
    const rows = createMarketRows(problems, { isPart });
    for (const file of files) {
      const opened = rows.beginFile(file.label, columns.columns);
      if (opened === undefined) continue;
      await cellsFrom(connection, file, files, columns.columns, (cells) => rows.addCells(opened, cells));
    }
    const panels = rows.toPanels();
    return panels && { panels, rows: rows.rows };
  } catch (error) {
    refuse(error);
    return undefined;
  } finally {
    await digest();
  }
}

async function readParquetTable<T>(
  files: readonly SourceFile[],
  rows: TableRows<T>,
  { digests, problems, duck }: Reading,
): Promise<void> {
  const label = files[0]!.label.split('/')[0]!;
  await digestFiles(files, digests);
  try {
    const { connection } = await duck();
    for (const file of files) {
      const columns = (await columnsOf(connection, scanOf([file], { withRows: false }))).map(({ name }) => name);
      const addRow = rows.beginFile(file.label, columns);
      if (addRow !== undefined) await cellsFrom(connection, file, [file], columns, addRow);
    }
  } catch (error) {
    problems.error({ code: 'UNREADABLE_FILE', path: label, message: `The files cannot be read: ${reasonOf(error)}` });
  }
}

/** Hands over the rows of one Parquet file in file order; columns that only its neighbours hold are null. */
async function cellsFrom(
  connection: DuckDBConnection,
  file: SourceFile,
  all: readonly SourceFile[],
  columns: readonly string[],
  addRow: (cells: Cell[]) => void,
): Promise<void> {
  const held =
    all.length === 1
      ? columns
      : (await columnsOf(connection, scanOf([file], { withRows: false }))).map(({ name }) => name);
  const list = columns.map((name) => (held.includes(name) ? sqlName(name) : `NULL AS ${sqlName(name)}`));
  for await (const chunk of chunksOf(
    connection,
    `SELECT ${list.join(', ')} FROM ${scanOf([file], { withRows: false })}`,
  )) {
    for (const row of chunk.getRows()) addRow(row.map(cellOf));
  }
}
