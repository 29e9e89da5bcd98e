import { suggestName } from '#base/nearest-name.js';
import type { Finding } from '#domain/base/findings.js';
import { parseJson } from '#domain/base/json.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';
import type { UsedCalendars } from '#domain/calendars/calendar.js';
import {
  ImportBody,
  type ImportFormat,
  type ImportHeader,
  TABLE_KINDS,
  type TableFormat,
} from '#domain/definition/datasets.js';
import type { DerivedActions, Mapping } from '#domain/definition/mapping.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { countTableRows, recountMarketRows } from '../content/content-hash.js';
import type { MarketContent } from '../content/market-content.js';
import { mergeContents } from '../content/merge.js';
import { namePositions } from '../formats/cells.js';
import { CsvFault, readCsv } from '../formats/csv.js';
import { readWorkbook, type SheetSink, WorkbookFault } from '../formats/workbook.js';
import { isHeaderless } from '../mapping/columns.js';
import { DEFAULT_TERMS, type MarketInterpretation } from '../mapping/mapped-content.js';
import { type DataProblem, formatCellPath, type Problems } from '../tables/problems.js';
import { countRowsByTable, findTable, type TableKind } from '../tables/table-kinds.js';
import { type ContentRows, createContentRows, readFrames, type SplitFrame } from './content-rows.js';
import {
  addKeyColumns,
  createKeyTest,
  createSheetReader,
  createWorkbookReader,
  findFileTableKind,
  findPartitionedFile,
  findTableKind,
  findWorkbookTableKind,
  getBaseName,
  hasTwoHeaders,
  isWorkbook,
  isWorkbookFault,
  readArchivedFiles,
} from './file-rows.js';
import { createSingleTable, type TableFiles } from './folder.js';
import { readSource } from './read-source.js';
import type { SourceResult } from './source-read.js';

const BASE64_TEXT = /^[A-Za-z0-9+/\s]*={0,2}$/;

/** Decodes the base64 content of a file. CSV may also be sent as plain text. @throws Refusal VALIDATION_FAILED */
export function decodeUpload(content: string, format: string): Uint8Array {
  if (BASE64_TEXT.test(content.trimEnd())) return Buffer.from(content, 'base64');
  if (format === 'csv') return Buffer.from(content, 'utf8');
  throw refuseWithFindings('request', [
    { severity: 'error', code: 'WRONG_TYPE', message: 'content is not base64.', path: 'content' },
  ]);
}

/** Table sent as a file. */
interface UploadedTable {
  readonly path: string;
  readonly dataset: TableKind;
  readonly format: TableFormat;
}

/** Answer to a process that has sent the header of an import. It contains instructions for the remaining data. */
export interface ImportResponse {
  readonly folder: string;
  readonly storedFiles: TableFiles | null;
  /** True if the store will be served after the import. */
  readonly load: boolean;
  readonly calendars: UsedCalendars;
}

/** Function that decides how to handle an import, given its header. */
export type OnImport = (header: ImportHeader) => Promise<ImportResponse>;

export interface TableImport {
  readonly table: UploadedTable;
  readonly answer: ImportResponse;
  readonly terms: MarketInterpretation;
}

/** Source of an import: inline tables, or the bytes of a file. */
export type ImportSource =
  | { readonly kind: 'tables'; readonly tables: Readonly<Record<string, SplitFrame>> }
  | { readonly kind: ImportFormat; readonly bytes: Uint8Array };

interface ImportedContent {
  readonly content: MarketContent;
  readonly rows: SourceResult['rows'];
  readonly derived: DerivedActions | null;
}

/** Reads an import and reports every problem by sheet, row and column. Returns undefined if there is any error. */
export async function readImport(
  source: ImportSource,
  problems: Problems,
  terms: MarketInterpretation = DEFAULT_TERMS,
): Promise<ImportedContent | undefined> {
  const rows = createContentRows(problems, terms);
  const { mapping } = terms;
  try {
    if (source.kind === 'tables')
      readFrames(source.tables, mapping, problems, (table, name, columns) =>
        rows.beginCells(table, formatLabel(table, name), columns, { name }),
      );
    else if (source.kind === 'xlsx') await readSheets(source.bytes, { rows, mapping, problems });
    else await readArchive({ kind: source.kind, bytes: source.bytes }, { rows, mapping, problems });
  } catch (error) {
    if (!isWorkbookFault(error)) throw error;
    problems.error({
      code: 'UNREADABLE_FILE',
      path: error instanceof WorkbookFault ? error.sheet : '',
      message: error.message,
    });
  }
  const completeContent = rows.toContent();
  if (mapping === null && problems.findings().some(concernsEveryRow))
    problems.error({ code: 'REQUIRED', path: 'mapping', message: MAPPING_HINT });
  if (completeContent === undefined || problems.errors > 0) return undefined;
  const { dividends, splits } = completeContent.derived ?? { dividends: 0, splits: 0 };
  const countRows = (table: TableKind) => rows.rowsOf(table) + (table === 'corporate_actions' ? dividends + splits : 0);
  return { ...completeContent, rows: countRowsByTable(countRows) };
}

/** Returns true if a finding repeats for many rows of the market. */
const concernsEveryRow = ({ code, path, count = 1 }: Finding) =>
  count > 1 && path.startsWith('market') && (code === 'NOT_A_NUMBER' || code === 'BAD_DATE');

const MAPPING_HINT =
  'Without a mapping every column of market holds numbers, except the columns named date and identifier. A mapping ({} is enough) excludes each column of text with one finding; it also states the date format and the names of columns. POST /data/inspect proposes a mapping.';

interface TableReadInput {
  readonly rows: ContentRows;
  readonly mapping: Mapping | null;
  readonly problems: Problems;
}

/** Returns the name of a table in findings. It is the dataset, followed by the name of the table if that differs. */
const formatLabel = (table: TableKind, name: string) => (findTableKind(name) === table ? table : `${table}/${name}`);

/**
 * Returns a receiver of the rows of a sheet. If the columns do not belong to the dataset, returns undefined and adds a
 * finding.
 */
function createSheetSink(
  { table, label, columns }: { readonly table: TableKind; readonly label: string; readonly columns: readonly string[] },
  { rows, mapping, problems }: TableReadInput,
  about: Parameters<ContentRows['beginCells']>[3],
): SheetSink {
  const addRow = rows.beginCells(table, label, columns, about);
  const mayBeLonger = table === 'market' && hasTwoHeaders(mapping);
  return addRow && createSheetReader({ label, columns, mayBeLonger, problems }, addRow);
}

async function readSheets(bytes: Uint8Array, reading: TableReadInput): Promise<void> {
  const { rows, mapping, problems } = reading;
  const importedSheets = new Set<string>();
  await readWorkbook(
    bytes,
    (sheet, columns, heading) => {
      // Excel creates empty sheets by default.
      if (columns.length === 0 && findTable(sheet) === undefined) return undefined;
      const name = findTableKind(sheet) ?? sheet;
      const table = findTableKind(name, mapping);
      if (table === undefined || importedSheets.has(name)) {
        if (mapping === null) problems.error(createUnknownTableProblem(sheet, 'sheet'));
        return undefined;
      }
      importedSheets.add(name);
      const label = formatLabel(table, name);
      problems.nameFile(label, sheet);
      return createSheetSink({ table, label, columns }, reading, { name, heading });
    },
    (sheet) =>
      findTableKind(sheet, mapping) === 'market'
        ? { skip: mapping?.skip_rows, nameColumns: isHeaderless(mapping?.columns) ? namePositions : undefined }
        : {},
  );
  reportMissingMarket(importedSheets, { rows, mapping, problems }, 'sheet');
}

/** Archive of files, or a single CSV file. */
interface ImportArchive {
  readonly kind: 'csv' | 'csv.zip';
  readonly bytes: Uint8Array;
}

async function readArchive({ kind, bytes }: ImportArchive, reading: TableReadInput): Promise<void> {
  const { rows, mapping, problems } = reading;
  const { members, areWorkbooks } = await readArchivedFiles(bytes, kind, mapping);
  const readWorkbookMember = createWorkbookReader();
  const names = new Set<string>();
  /** Datasets that consist of several files. */
  const folders = new Set<TableKind>();
  for (const member of members) {
    const base = getBaseName(member.name);
    const isImportedWorkbook = areWorkbooks && isWorkbook(base);
    const partitioned = findPartitionedFile(member.name, mapping);
    const table =
      partitioned?.table ??
      (isImportedWorkbook ? findWorkbookTableKind(base, mapping) : findFileTableKind(base, mapping));
    const name =
      partitioned?.label ?? ((table !== undefined && findTableKind(base.replace(/\.(csv|xlsx)$/i, ''))) || base);
    // A dataset is one file or one folder.
    const isOfFolder = partitioned !== undefined && folders.has(partitioned.table);
    if (table === undefined || names.has(name) || (partitioned !== undefined && !isOfFolder && names.has(table))) {
      if (mapping === null || table !== undefined) problems.error(createUnknownTableProblem(member.name, 'file'));
      continue;
    }
    names.add(name);
    if (partitioned !== undefined) {
      names.add(table);
      folders.add(table);
    }
    const label = partitioned?.label ?? formatLabel(table, name);
    problems.nameFile(label, member.name);
    const { skip_rows: skip, encoding, columns: named } = mapping ?? {};
    const terms = table === 'market' ? { skip, encoding, isHeaderless: isHeaderless(named) } : {};
    try {
      if (isImportedWorkbook)
        await readWorkbookMember(
          member,
          (columns, heading) => createSheetSink({ table, label, columns }, reading, { name: base, heading }),
          { ...terms, ignore: mapping?.ignore },
        );
      else
        await readCsv(
          member.open(),
          addKeyColumns(
            {
              csv: (columns, heading) => rows.beginCsv(table, label, columns, { name: base, heading }),
              cells: () => undefined,
            },
            { label, isWanted: createKeyTest(table, mapping) },
            problems,
          ).csv,
          terms,
        );
    } catch (error) {
      // For a text file, any error other than CsvFault means that the archive itself is damaged.
      if (!isImportedWorkbook && !(error instanceof CsvFault)) throw error;
      reportFault(error, label, problems);
    }
  }
  reportMissingMarket(names, { rows, mapping, problems }, 'file');
}

function reportFault(error: unknown, label: string, problems: Problems): void {
  const isText = error instanceof CsvFault;
  if (!isText && !isWorkbookFault(error)) throw error;
  problems.error({
    code: 'UNREADABLE_FILE',
    path: isText && error.record > 0 ? formatCellPath(label, error.record, '') : label,
    message: error.message,
    ...(isText && error.accepted !== undefined ? { accepted: error.accepted } : {}),
  });
}

function createUnknownTableProblem(name: string, kind: string): DataProblem {
  const tableName = name
    .split('/')
    .at(-1)!
    .replace(/\.csv$/i, '');
  const suggestion = findTableKind(tableName) === undefined ? suggestName(tableName, TABLE_KINDS) : '';
  return {
    code: 'UNKNOWN_FIELD',
    path: name.slice(0, 80),
    message: `The ${kind} ${name.slice(0, 80)} is not a table of a store, or appears twice; the accepted set is ${TABLE_KINDS.join(', ')}.${suggestion}`,
    accepted: TABLE_KINDS,
  };
}

function reportMissingMarket(names: ReadonlySet<string>, { mapping, problems }: TableReadInput, kind: string): void {
  if ([...names].some((name) => findTableKind(name, mapping) === 'market')) return;
  problems.error({
    code: 'EMPTY_DATASET',
    path: 'market',
    message:
      mapping === null
        ? `The ${kind} market is missing; it is required. Prices in others are read by a mapping: inspect proposes one.`
        : `There is no ${kind} that the mapping takes for one of the market.`,
  });
}

interface ImportOutcome {
  readonly content: MarketContent;
  /** Numbers of rows of the content. */
  readonly rows: SourceResult['rows'];
  /** Numbers of rows of the request, if it was appended. */
  readonly rowsRead?: SourceResult['rows'];
  readonly derived: DerivedActions | null;
  readonly adjustment: Adjustment;
  /** Folder into which the content is written. */
  readonly folder: string;
  readonly isServed: boolean;
  readonly calendars: UsedCalendars;
}

/**
 * Reads the body of an import: first its header, then its data. From the header, the caller decides whether and where
 * to store the data.
 * @returns undefined, with a finding, if the data is invalid or contradicts the stored content.
 * @throws Refusal MALFORMED_REQUEST, VALIDATION_FAILED for a body that is not an import
 */
export async function performImport(
  bytes: Uint8Array,
  { problems, calendars }: { readonly problems: Problems } & Pick<MarketInterpretation, 'calendars'>,
  ask: (header: ImportHeader) => Promise<ImportResponse>,
): Promise<ImportOutcome | undefined> {
  const { value, overflows } = parseJson(bytes);
  const { value: body, findings } = checkShape(ImportBody, value);
  if (body === undefined) throw refuseWithFindings('request', findings);
  const { content, tables, ...header } = body;
  if ((content === null) === (tables === null)) {
    const message = `Exactly one of content and tables is needed; ${content === null ? 'neither' : 'both'} came.`;
    throw refuseWithFindings('request', [
      { severity: 'error', code: content === null ? 'REQUIRED' : 'UNKNOWN_FIELD', message, path: 'content' },
    ]);
  }
  const source: ImportSource =
    tables === null
      ? { kind: header.format, bytes: decodeUpload(content!, header.format) }
      : { kind: 'tables', tables };
  const { folder, storedFiles, load: isServed, calendars: usedCalendars } = await ask(header);
  const importedContent = await readImport(source, problems, { ...header, calendars });
  if (overflows && problems.errors === 0)
    throw new Refusal('MALFORMED_REQUEST', 'A number of the body is larger than a double can hold.');
  if (storedFiles !== null) refuseAppendedAdjustment(header, problems);
  const terms = { adjustment: header.adjustment, folder, isServed, calendars: usedCalendars };
  if (importedContent === undefined || storedFiles === null)
    return importedContent && { ...recountMarketRows(importedContent, header.mapping), ...terms };
  const storedResult = await readSource(storedFiles, problems, () => {}, { isOwn: true });
  const mergedContent = storedResult && mergeContents(storedResult.content, importedContent.content, problems);
  return (
    mergedContent && {
      ...importedContent,
      ...addRowsRead(mergedContent, importedContent.rows),
      ...terms,
    }
  );
}

/** Returns the content after an append, with its numbers of rows and those of the request. */
const addRowsRead = (content: MarketContent, rowsRead: SourceResult['rows']) => ({
  content,
  rows: countTableRows(content),
  rowsRead,
});

/** Rejects adjusted closes in an append. */
function refuseAppendedAdjustment({ mapping }: MarketInterpretation, problems: Problems): void {
  if (mapping?.adjusted_close != null)
    problems.error({
      code: 'NOT_IN_CHOICES',
      path: 'mapping.adjusted_close',
      message: 'Adjusted closes change backwards with every dividend: they are imported whole, with on_exists replace.',
      accepted: ['replace'],
    });
}

/**
 * Reads one table that was sent as a file. The table is the market of a new store or an addition to a store. An Arrow
 * stream is first converted to Parquet, so that both formats are read, and their problems reported, in the same way.
 * @returns undefined, with a finding, if the table is invalid or contradicts the stored content.
 */
export async function importTable(
  { table: { path, dataset, format }, answer: { folder, storedFiles, load, calendars }, terms }: TableImport,
  problems: Problems,
  onProgress: (fraction: number) => void,
): Promise<ImportOutcome | undefined> {
  if (storedFiles === null && dataset !== 'market') {
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: `There is no market; the table ${dataset} can only be appended to a store that has one.`,
    });
    return undefined;
  }
  const parquetPath = format === 'parquet' ? path : `${path}.parquet`;
  if (format === 'arrow' && !(await convertArrow(path, parquetPath, dataset, problems))) return undefined;
  if (storedFiles !== null) refuseAppendedAdjustment(terms, problems);
  const sourceResult = await readSource(await createSingleTable(dataset, parquetPath), problems, onProgress, {
    isPart: storedFiles !== null,
    terms,
  });
  const { adjustment } = terms;
  const importTerms = { folder, isServed: load, calendars, adjustment, derived: sourceResult?.derived ?? null };
  if (sourceResult === undefined || storedFiles === null)
    return sourceResult && { ...recountMarketRows(sourceResult, terms.mapping), ...importTerms };
  const storedResult = await readSource(storedFiles, problems, () => {}, { isOwn: true });
  const mergedContent = storedResult && mergeContents(storedResult.content, sourceResult.content, problems);
  return mergedContent && { ...addRowsRead(mergedContent, sourceResult.rows), ...importTerms };
}

/** Converts an Arrow stream to a Parquet file. @returns false, with a finding, if the stream is invalid */
async function convertArrow(path: string, parquetPath: string, dataset: TableKind, problems: Problems) {
  const { isUnreadCompression, writeArrowAsParquet } = await import('../formats/arrow.js'); // not needed by other imports
  if (!isUnreadCompression(path)) return writeArrowAsParquet(path, parquetPath, dataset, problems);
  problems.error({
    code: 'UNREADABLE_FILE',
    path: dataset,
    message: 'The Arrow stream is compressed by ZSTD. Uncompressed streams are read, those of LZ4, and Parquet files.',
  });
  return false;
}
