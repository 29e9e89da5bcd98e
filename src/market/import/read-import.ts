import type { ImportFormat } from '#domain/documents/import-request.js';
import type { DerivedActions, Mapping } from '#domain/documents/mapping.js';
import type { Finding } from '#domain/refusals/findings.js';
import { suggestName } from '#base/text/nearest-name.js';
import type { MarketContent } from '../content/market-content.js';
import { createContentRows, type ContentRows } from '../sources/content-rows.js';
import { hasTwoHeaders, createSheetReader } from '../content/sheet-rows.js';
import { readCsv } from '../sources/csv.js';
import { CsvFault } from '../sources/csv-records.js';
import { countRowsByTable, findTable, type TableKind } from '../tables/table-kinds.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import { readFrames, type Frame } from './frames.js';
import { isHeaderless, namePositions } from '../mapping/market-tables.js';
import { formatCellPath, type Problem, type Problems } from '../tables/problems.js';
import { DEFAULT_TERMS, type MarketInterpretation } from '../mapping/mapped-content.js';
import type { SourceResult } from '../sources/source-read.js';
import { readWorkbook, WorkbookFault, type SheetSink } from '../formats/workbook-reader.js';
import {
  readArchivedFiles,
  getBaseName,
  createWorkbookReader,
  isWorkbook,
  isWorkbookFault,
  findTableKind,
  findFileTableKind,
  findWorkbookTableKind,
} from './archived-files.js';

/** Source of an import: inline tables, or the bytes of a file. */
export type ImportSource =
  | { readonly kind: 'tables'; readonly tables: Readonly<Record<string, Frame>> }
  | { readonly kind: ImportFormat; readonly bytes: Uint8Array };

/** Imported content, with the numbers of rows read. */
export interface ImportedContent {
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

/** Inputs for the readers of the tables of one import. */
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
  for (const member of members) {
    const base = getBaseName(member.name);
    const isImportedWorkbook = areWorkbooks && isWorkbook(base);
    const table = isImportedWorkbook ? findWorkbookTableKind(base, mapping) : findFileTableKind(base, mapping);
    const name = (table !== undefined && findTableKind(base.replace(/\.(csv|xlsx)$/i, ''))) || base;
    if (table === undefined || names.has(name)) {
      if (mapping === null || table !== undefined) problems.error(createUnknownTableProblem(member.name, 'file'));
      continue;
    }
    names.add(name);
    const label = formatLabel(table, name);
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
          (columns, heading) => rows.beginCsv(table, label, columns, { name: base, heading }),
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

/** Reports an error in a file of an archive. */
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

function createUnknownTableProblem(name: string, kind: string): Problem {
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
