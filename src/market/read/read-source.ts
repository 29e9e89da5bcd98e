import { TABLE_KINDS } from '#domain/definition/datasets.js';
import type { CorporateAction, Membership, ReferenceTable, SeriesTable } from '#domain/market/market-data.js';
import { createActionRows } from '../content/action-rows.js';
import { getSeries, reportSeries } from '../content/market-content.js';
import { type CheckedRows, createReferenceRows, createSeriesRows, createUniverseRows } from '../content/table-rows.js';
import { type DuckDb, openDuckDb } from '../formats/duckdb.js';
import { digestFiles, type SourceDigest, type SourceFile } from '../formats/source-file.js';
import { isHeaderless } from '../mapping/columns.js';
import { completeMappedContent, createMarketRowsOn, DEFAULT_TERMS } from '../mapping/mapped-content.js';
import { createNoPanels } from '../panels/panels.js';
import type { Problems } from '../tables/problems.js';
import { countRowsByTable, type TableKind } from '../tables/table-kinds.js';
import { createRecordReader } from './content-rows.js';
import { createMarketRecords } from '../content/market-rows.js';
import { createKeyTest, createSheetReader, hasTwoHeaders, readRows } from './file-rows.js';
import { findChangedFiles, formatSourceName, formatTableName, type TableFiles } from './folder.js';
import { readParquetMarket, readParquetTable, type TypedMarketResult } from './parquet-market.js';
import type { MarketReadState, ReadOptions, SourceReadState, SourceResult } from './source-read.js';

type Progress = (fraction: number, message: string) => void;

/**
 * Reads the files of a store into one content and reports every problem.
 * @returns undefined, with a finding, after any error.
 */
export async function readSource(
  files: TableFiles,
  problems: Problems,
  onProgress: Progress,
  { isPart = false, isOwn = false, knownDigests = {}, follower, terms = DEFAULT_TERMS }: ReadOptions = {},
): Promise<SourceResult | undefined> {
  const sourceFiles = TABLE_KINDS.flatMap((tableKind) => files[tableKind]);
  for (const { label, path } of sourceFiles) problems.nameFile(label, formatSourceName(label, path));
  let duckDb: Promise<DuckDb> | undefined;
  const readState: SourceReadState = {
    digests: [],
    unchangedTables: [],
    problems,
    knownDigests,
    follower,
    terms,
    duck: () => (duckDb ??= openDuckDb({ files: listParquetPaths(sourceFiles) })),
  };
  try {
    onProgress(0, 'reading market');
    // The exchanges of the reference table determine the days of instants.
    const reference = await readTable('reference', files.reference, createReferenceRows(problems), readState);
    const marketState = { ...readState, reference: reference.table };
    const { market, identifiers } = await readMarket(files.market, marketState, isPart, (fraction) =>
      onProgress(0.8 * fraction, 'reading market'),
    );
    onProgress(0.8, 'reading tables');
    const actions = await readActions(files, readState, isOwn);
    const universes = await readTable('universes', files.universes, createUniverseRows(problems), readState);
    const series = await readTable(
      'series',
      files.series,
      createSeriesRows(problems, terms.mapping?.series),
      readState,
    );
    for (const { label } of await findChangedFiles(TABLE_KINDS.flatMap((tableKind) => files[tableKind])))
      problems.error({ code: 'UNREADABLE_FILE', path: label, message: 'The file changed while it was read.' });
    if (problems.errors > 0 || market === undefined) {
      reportSeries(identifiers, series.table, problems);
      return undefined;
    }
    const content = completeMappedContent(
      market.panels,
      { reference: reference.table, actions: actions.table, universes: universes.table, ...getSeries(series.table) },
      terms,
      problems,
    );
    if (content === undefined) return undefined;
    const rows: Record<TableKind, number> = {
      market: market.rows,
      reference: reference.rows,
      corporate_actions: actions.rows + (content.derived?.dividends ?? 0) + (content.derived?.splits ?? 0),
      universes: universes.rows,
      series: series.rows,
    };
    return {
      ...content,
      rows: countRowsByTable((tableKind) => rows[tableKind]),
      files: listInOrder(sourceFiles, readState.digests),
      unchangedTables: readState.unchangedTables,
    };
  } finally {
    await duckDb?.then(
      (open) => open.close(),
      () => {},
    ); // an error of opening is reported where the database is used
  }
}

const listInOrder = (files: readonly SourceFile[], digests: readonly SourceDigest[]): readonly SourceDigest[] => {
  const positions = new Map(files.map(({ label }, i) => [label, i]));
  return digests.toSorted((a, b) => positions.get(a.label)! - positions.get(b.label)!);
};

const listParquetPaths = (files: readonly SourceFile[]) =>
  files.flatMap(({ format, path }) => (format === 'parquet' ? [path] : []));

async function readMarket(
  files: readonly SourceFile[],
  reading: MarketReadState,
  isPart: boolean,
  onProgress: (fraction: number) => void,
): Promise<ReadResult> {
  if (files.length === 0)
    return { market: isPart ? { panels: createNoPanels([]), rows: 0 } : undefined, identifiers: [] };
  if (files[0]!.format === 'parquet') {
    let identifiers: readonly string[] = [];
    const market = await readParquetMarket(
      files,
      { ...reading, onNames: (names) => (identifiers = names) },
      isPart,
      onProgress,
    );
    return { market, identifiers };
  }
  const { digests, problems, terms } = reading;
  const rows = createMarketRowsOn(terms, problems, { isPart });
  const createRecords = createMarketRecords(rows);
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let readBytes = 0;
  for (const file of files) {
    const [before, errors] = [rows.rows, problems.errors];
    await readRows(file, digests, problems, {
      csv: (columns, heading) => createRecords(file.label, columns, formatTableName(file), heading),
      cells: (columns) => {
        const marketFile = rows.beginFile(file.label, columns, formatTableName(file));
        return marketFile && ((cells) => rows.addCells(marketFile, cells));
      },
      sheet: (columns, heading) => {
        const marketFile = rows.beginFile(file.label, columns, formatTableName(file), heading);
        const table = { label: file.label, columns, mayBeLonger: hasTwoHeaders(terms.mapping), problems };
        return marketFile && createSheetReader(table, (cells) => rows.addCells(marketFile, cells));
      },
      onBytes: (bytes) => onProgress((readBytes + bytes) / total),
      isWanted: createKeyTest('market', terms.mapping),
      terms: {
        skip: terms.mapping?.skip_rows,
        encoding: terms.mapping?.encoding,
        ignore: terms.mapping?.ignore,
        isHeaderless: isHeaderless(terms.mapping?.columns),
      },
    });
    readBytes += file.bytes;
    // Reports an empty file only if there are several. For a single file, the empty market is reported. In a part of a
    // source, an empty file is permitted.
    if (files.length > 1 && !isPart && rows.rows === before && problems.errors === errors)
      problems.error({
        code: 'EMPTY_DATASET',
        path: file.label,
        message: 'The file has a header and no row below it.',
      });
  }
  const panels = rows.toPanels(reading.reference);
  return { market: panels && { panels, rows: rows.rows }, identifiers: rows.names() };
}

/** Market and its identifiers. The market is undefined after an error; the identifiers may then still be known. */
interface ReadResult {
  readonly market: TypedMarketResult | undefined;
  readonly identifiers: readonly string[];
}

function readActions(files: TableFiles, reading: SourceReadState, isOwn: boolean) {
  return readTable('corporate_actions', files.corporate_actions, createActionRows(reading.problems, isOwn), reading);
}

async function readTable<T extends ReferenceTable | readonly CorporateAction[] | readonly Membership[] | SeriesTable>(
  tableKind: TableKind,
  files: readonly SourceFile[],
  rows: CheckedRows<T>,
  reading: SourceReadState,
): Promise<{ readonly table: T; readonly rows: number }> {
  if (await isAsKnown(tableKind, files, reading)) reading.unchangedTables.push(tableKind);
  else if (files[0]?.format === 'parquet') await readParquetTable(files, rows, reading);
  else {
    const { digests, problems } = reading;
    for (const file of files) {
      await readRows(file, digests, problems, {
        csv: (columns) => createRecordReader(rows, file.label, columns, problems),
        cells: (columns) => rows.beginFile(file.label, columns),
        sheet: (columns) => {
          const addRow = rows.beginFile(file.label, columns);
          return addRow && createSheetReader({ label: file.label, columns, mayBeLonger: false, problems }, addRow);
        },
        onBytes: () => {},
        isWanted: createKeyTest(tableKind, null),
      });
    }
  }
  return { table: rows.toTable(), rows: rows.rows };
}

/** Records the digests of the files of a table. Returns true if the files are byte-identical to the known files. */
async function isAsKnown(
  tableKind: TableKind,
  files: readonly SourceFile[],
  { knownDigests, digests }: SourceReadState,
): Promise<boolean> {
  const expectedDigests = knownDigests[tableKind];
  if (expectedDigests === undefined) return false;
  const results: SourceDigest[] = [];
  try {
    await digestFiles(files, results);
  } catch {
    return false; // problems of a file are reported by its reader
  }
  if (results.some(({ label, sha256 }) => expectedDigests[label] !== sha256)) return false;
  digests.push(...results);
  return true;
}
