import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, extname, resolve } from 'node:path';
import { UsageError } from '../usage-error.js';
import { convertArrowToParquet } from './arrow-file.js';

/** Data that a command line names: a location that the service reads, or a file that the command uploads. */
export type DataSource =
  | {
      readonly kind: 'folder' | 'database';
      readonly location: string;
      /** Name of the market file in the folder, if one file was named. */
      readonly tables: { readonly market?: string };
      readonly name: string;
    }
  | {
      readonly kind: 'content';
      readonly format: 'csv' | 'xlsx' | 'parquet';
      /** Content of the file in Base64. */
      readonly content: string;
      readonly name: string;
    };

/** Table files that the service reads in place. */
const TABLE_FILES = /\.(parquet|csv|csv\.gz|jsonl|jsonl\.gz|txt|tsv)$/i;

/** Files to upload to the service. */
const UPLOADED_FILES = /\.(xlsx|zip|arrow|feather|ipc)$/i;

/** Files to convert to Parquet before the upload. */
const ARROW_FILES = /\.(arrow|feather|ipc)$/i;

/**
 * Parses the word that names the data. Reads the file if it must be uploaded. @throws UsageError for a file of another
 * kind, or if the file to upload does not exist
 */
export async function readDataSource(word: string): Promise<DataSource> {
  if (word.includes('://')) return { kind: 'database', location: word, tables: {}, name: basename(word) };
  const path = resolve(word);
  const name = basename(path).replace(TABLE_FILES, '');
  const result = await stat(path).catch(() => undefined);
  // A path that does not exist here may be a folder or a table on the machine of the service.
  if (result === undefined && UPLOADED_FILES.test(path)) throw new UsageError(`there is no file ${path}`);
  const isFile = result?.isFile() ?? TABLE_FILES.test(path);
  if (!isFile) return { kind: 'folder', location: path, tables: {}, name: basename(path) };
  if (TABLE_FILES.test(path))
    return { kind: 'folder', location: dirname(path), tables: { market: basename(path) }, name };
  const format = detectFormat(path);
  const bytes = await (format === 'parquet' ? convertArrowToParquet(path) : readFile(path));
  return { kind: 'content', format, content: bytes.toString('base64'), name: basename(path, extname(path)) };
}

function detectFormat(path: string): 'csv' | 'xlsx' | 'parquet' {
  const extension = extname(path).toLowerCase();
  if (extension === '.zip') return 'csv';
  if (extension === '.xlsx') return 'xlsx';
  if (ARROW_FILES.test(path)) return 'parquet';
  throw new UsageError(
    `${path} must be a folder, a table (.parquet, .csv, .jsonl, .txt, .tsv, .arrow, .feather), an .xlsx workbook or a .zip of CSV files`,
  );
}
