import type { Finding } from '#clients/typescript/divisor.js';

/** Chosen file, or a file in a chosen archive. */
export interface Source {
  /** Name of the file; in an archive with its folders. */
  readonly name: string;
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

export const ACCEPTED_EXTENSIONS = '.csv,.tsv,.txt,.parquet,.zip,.xlsx';

export const getExtension = ({ name }: { readonly name: string }): string =>
  /\.[a-z0-9]+$/i.exec(name)?.[0].toLowerCase() ?? '';

/** Returns the name of a file without the folders of its archive. */
export const getNameInArchive = ({ name }: { readonly name: string }): string => name.slice(name.lastIndexOf('/') + 1);

/** Paths of the files in dropped folders. For selected folders, the browser itself provides the paths. */
const pathsByFile = new WeakMap<File, string>();

/** Returns the path of a file within its folder. Without a folder, returns its name. */
export const getPath = (file: File & { readonly webkitRelativePath?: string }): string =>
  pathsByFile.get(file) ?? (file.webkitRelativePath || file.name);

export function setPath(file: File, path: string): void {
  pathsByFile.set(file, path);
}

/** Location of a finding about data. It is parsed from the path of the finding. */
export interface FindingLocation {
  readonly table: string;
  /** File or sheet of the table if the table has several; otherwise empty. */
  readonly file: string;
  /** Row of a file, or identifier and date of a price bar. */
  readonly row: string;
  readonly column: string;
}

const ENDINGS: ReadonlySet<string> = new Set(['csv', 'gz', 'parquet', 'txt', 'xlsx']);

/**
 * Parses a location such as `market[row 2].CLOSE`, `market/XYZ.csv[row 2].CLOSE`, `market/XYZ.csv.CLOSE` or `market[XYZ
 * 2024-03-15].CLOSE`. Other text is returned as the table.
 */
export function parseLocation(path: string): FindingLocation {
  const openPosition = path.indexOf('[');
  const close = path.indexOf(']', openPosition);
  if (openPosition < 0 || close < 0) return { ...parseHead(path), row: '' };
  const head = path.slice(0, openPosition);
  const pathAfter = path.slice(close + 1);
  const [table, file] = splitAt(head, head.indexOf('/'));
  const isOther = table.includes('.') || (pathAfter !== '' && !pathAfter.startsWith('.')) || pathAfter.includes('[');
  if (isOther) return { table: path, file: '', row: '', column: '' };
  const row = path.slice(openPosition + 1, close);
  return { table, file, row: row.startsWith('row ') ? row.slice('row '.length) : row, column: pathAfter.slice(1) };
}

/** Parses a location without a row: table, file and column. */
function parseHead(path: string): Omit<FindingLocation, 'row'> {
  const [table, rest] = splitAt(path, path.indexOf('/'));
  if (rest === '') {
    const [own, column] = splitAt(path, path.indexOf('.'));
    return { table: own, file: '', column };
  }
  const [file, last] = splitAt(rest, rest.lastIndexOf('.'));
  return ENDINGS.has(last.toLowerCase()) ? { table, file: rest, column: '' } : { table, file, column: last };
}

/** Splits a text at a position. If the position is negative, the second part is empty. */
const splitAt = (text: string, position: number): readonly [string, string] =>
  position < 0 ? [text, ''] : [text.slice(0, position), text.slice(position + 1)];

/** Selected file and its table. The table is null if the file contains all tables. */
interface ChosenFile {
  readonly name: string;
  readonly table: string | null;
}

/**
 * Returns the file to which a finding belongs, by its name or otherwise by its table. Returns undefined if several
 * files match.
 */
export function findFile<F extends ChosenFile>(
  { path, file }: Pick<Finding, 'path' | 'file'>,
  files: readonly F[],
): F | undefined {
  const location = parseLocation(path);
  const namedFile = files.find(({ name }) => name === file || (location.file !== '' && name === location.file));
  if (namedFile !== undefined) return namedFile;
  const ofTable = files.filter(({ table }) => table === location.table);
  return ofTable.length === 1 ? ofTable[0] : undefined;
}
