import { didYouMean } from '#domain/nearest-name.js';
import type { MarketContent } from '../content/market-content.js';
import { createContentRows, type ContentRows } from '../content/content-rows.js';
import { CsvFault, readCsv } from '../formats/csv.js';
import { DATASETS, datasetRows, type Dataset } from '../content/datasets.js';
import { readFrames, type Frame } from './frames.js';
import { cellPath, type Problem, type Problems } from '../content/problems.js';
import type { SourceRead } from '../sources/source-read.js';
import { FORMULA, readWorkbook, WorkbookFault } from '../formats/workbook-reader.js';
import { XmlFault } from '../formats/xml-tokens.js';
import { openZip, ZipFault } from '../formats/zip-reader.js';

/** What an import brings: inline tables, or the bytes of a file. */
export type ImportSource =
  | { readonly kind: 'tables'; readonly tables: Readonly<Record<string, Frame>> }
  | { readonly kind: 'xlsx' | 'csv'; readonly bytes: Uint8Array };

/** A content with the rows it came from. */
export interface ImportRead {
  readonly content: MarketContent;
  readonly rows: SourceRead['rows'];
}

/** Reads an import, reporting every problem of it at its sheet, row and column; undefined when anything is. */
export async function readImport(source: ImportSource, problems: Problems): Promise<ImportRead | undefined> {
  const rows = createContentRows(problems);
  try {
    if (source.kind === 'tables')
      readFrames(source.tables, problems, (dataset, columns) => rows.beginCells(dataset, dataset, columns));
    else if (source.kind === 'xlsx') await readSheets(source.bytes, rows, problems);
    else await readArchive(source.bytes, rows, problems);
  } catch (error) {
    if (!(error instanceof ZipFault || error instanceof XmlFault || error instanceof WorkbookFault)) throw error;
    problems.error({
      code: 'UNREADABLE_FILE',
      path: error instanceof WorkbookFault ? error.sheet : '',
      message: error.message,
    });
  }
  const content = rows.toContent();
  if (content === undefined || problems.errors > 0) return undefined;
  return { content, rows: datasetRows(rows.rowsOf) };
}

async function readSheets(bytes: Uint8Array, rows: ContentRows, problems: Problems): Promise<void> {
  const read = new Set<Dataset>();
  const names = await readWorkbook(bytes, (name, columns) => {
    const dataset = datasetOf(name);
    if (dataset === undefined || read.has(dataset)) {
      problems.error(unknownTable(name, 'sheet'));
      return undefined;
    }
    read.add(dataset);
    const addRow = rows.beginCells(dataset, dataset, columns);
    return (
      addRow &&
      ((cells, row) => {
        if (
          cells.length > columns.length &&
          cells.slice(columns.length).some((cell) => cell !== undefined && cell !== null)
        ) {
          problems.error({
            code: 'UNREADABLE_FILE',
            path: cellPath(dataset, row, ''),
            message: `The row has a value beyond the ${columns.length} columns of the header.`,
          });
        }
        const formula = cells.indexOf(FORMULA);
        if (formula < 0) addRow(cells.filter((cell) => cell !== FORMULA));
        else
          problems.error({
            code: 'WRONG_TYPE',
            path: cellPath(dataset, row, columns[formula] ?? ''),
            message: 'The cell is a formula; a value is needed.',
          });
      })
    );
  });
  tellMissingMarket(names, problems, 'sheet');
}

async function readArchive(bytes: Uint8Array, rows: ContentRows, problems: Problems): Promise<void> {
  const members = (await openZip(bytes)).filter(({ name }) => !isOfTheSystem(name));
  if (members.some(({ name }) => name === WORKBOOK_MARK))
    throw new ZipFault('The file is an Office document; a workbook is read with the format xlsx.');
  const names: string[] = [];
  for (const member of members) {
    const base = member.name.split('/').at(-1)!;
    const dataset = /\.csv$/i.test(base) ? datasetOf(base.slice(0, -4)) : undefined;
    if (dataset === undefined || names.includes(dataset)) {
      problems.error(unknownTable(member.name, 'file'));
      continue;
    }
    names.push(dataset);
    try {
      await readCsv(member.open(), (columns) => rows.beginCsv(dataset, dataset, columns));
    } catch (error) {
      if (!(error instanceof CsvFault)) throw error;
      problems.error({
        code: 'UNREADABLE_FILE',
        path: error.record > 0 ? cellPath(dataset, error.record, '') : dataset,
        message: error.message,
      });
    }
  }
  tellMissingMarket(names, problems, 'file');
}

/** A member that every Office document has and no other archive. */
const WORKBOOK_MARK = '[Content_Types].xml';

/** Whether a member is one that a system adds to archives by itself: as in folders, names that begin with a dot, or two underscores. */
const isOfTheSystem = (name: string) => name.split('/').some((part) => /^(\.(?!\.)|__)/.test(part));

function datasetOf(name: string): Dataset | undefined {
  return DATASETS.find((dataset) => dataset === name.trim().toLowerCase());
}

function unknownTable(name: string, kind: string): Problem {
  const table = name
    .split('/')
    .at(-1)!
    .replace(/\.csv$/i, '');
  const question = datasetOf(table) === undefined ? didYouMean(table, DATASETS) : '';
  return {
    code: 'UNKNOWN_FIELD',
    path: name.slice(0, 80),
    message: `The ${kind} ${name.slice(0, 80)} is no dataset, or stands twice; the accepted set is ${DATASETS.join(', ')}.${question}`,
    accepted: DATASETS,
  };
}

function tellMissingMarket(names: readonly string[], problems: Problems, kind: string): void {
  if (names.some((name) => datasetOf(name) === 'market')) return;
  problems.error({
    code: 'EMPTY_DATASET',
    path: 'market',
    message: `There is no ${kind} called market; it is the one that is needed.`,
  });
}
