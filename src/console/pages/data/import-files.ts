import { formatBytes } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject, listDifferences } from '../../words/paths.js';
import { ACCEPTED_EXTENSIONS, getNameInArchive, getExtension, getPath, type Source } from './source-files.js';
import { ArchiveFault, readMembers } from './zip.js';

/** Tables of a store. Each table is a CSV file. */
export const TABLES = ['market', 'reference', 'corporate_actions', 'universes', 'series'] as const;
export type TableName = (typeof TABLES)[number];

export interface ImportFile {
  readonly file: Source;
  /** Table of a CSV or Parquet file. Null for a file that itself determines its tables. */
  readonly table: TableName | null;
}

/** Extensions of files that contain one table each; a workbook may contain several tables. */
const TABLE_FILE_ENDINGS = new Set(['.csv', '.tsv', '.txt', '.parquet']);

/** Maximum size of a file before compression, in bytes. The service allows the same size per request. */
export const FILE_BYTES_MAX = 200_000_000;

export const isParquet = ({ file }: ImportFile): boolean => getExtension(file) === '.parquet';

const isWorkbook = ({ file }: ImportFile): boolean => getExtension(file) === '.xlsx';

/** Returns true if each file is a workbook with one table. A single workbook has one table per sheet. */
const areWorkbooks = (files: readonly ImportFile[]): boolean => files.length > 1 && files.every(isWorkbook);

/**
 * Adds files to an import. A file with one table gets the table that has the same name as the file. If there is none,
 * it gets `market`.
 */
export function addFiles(before: readonly ImportFile[], added: readonly Source[]): readonly ImportFile[] {
  return assignTables([...before, ...added.map((file) => ({ file, table: null }))], before.length);
}

/** Returns the files without the file at a position. */
export const removeFile = (files: readonly ImportFile[], position: number): readonly ImportFile[] =>
  assignTables(
    files.filter((_, i) => i !== position),
    files.length,
  );

/**
 * Assigns tables to files. If there are several files, a workbook is one table. A single workbook has one table per
 * sheet.
 */
function assignTables(files: readonly ImportFile[], from: number): readonly ImportFile[] {
  const ofWorkbooks = areWorkbooks(files);
  return files.map((one, position) => {
    const isOfATable = TABLE_FILE_ENDINGS.has(getExtension(one.file)) || (ofWorkbooks && isWorkbook(one));
    if (!isOfATable) return { ...one, table: null };
    if (position < from && one.table !== null) return one;
    const base = getNameInArchive(one.file)
      .replace(/\.[^.]*$/, '')
      .toLowerCase();
    return { ...one, table: TABLES.find((table) => base === table) ?? 'market' };
  });
}

/**
 * Returns the reason why the files cannot be imported together; null if they can.
 * @param isAppended true for files that are added to a store, which has a market
 */
export function findTrouble(files: readonly ImportFile[], isAppended = false): string | null {
  if (files.some(isParquet) && !files.every(isParquet)) return 'Import Parquet files separately from other files.';
  if (files.filter((one) => isParquet(one) && one.table === 'market').length > 1)
    return 'One Parquet file must contain the whole market. To read a folder of Parquet files, connect the folder.';
  const wholeFile = files.find(({ table }) => table === null);
  if (wholeFile !== undefined && files.length > 1)
    return `${wholeFile.file.name} is a workbook. Import workbooks separately from other files.`;
  const twice = TABLES.find((table) => table !== 'market' && files.filter((one) => one.table === table).length > 1);
  if (twice !== undefined) return `Two files are assigned to the table ${twice}.`;
  if (!isAppended && wholeFile === undefined && files.length > 0 && !files.some(({ table }) => table === 'market'))
    return 'One file must be the market: prices by identifier and date. Only files that are added to a store need none.';
  const large = files.find((one) => !isParquet(one) && one.file.size > FILE_BYTES_MAX);
  return large === undefined
    ? null
    : `${large.file.name} has ${formatBytes(large.file.size)}; a file may have up to ${formatBytes(FILE_BYTES_MAX)}. Connect its folder instead.`;
}

/** Minimum length of the common start of file names that is used as a name. */
const SHARED_MIN = 3;

/**
 * Proposes a name for a store: the name of the only file or archive, of the folder of the files, or the common start of
 * their names. If there is none, the date of the import.
 */
export function proposeStoreName(paths: readonly string[], today: string): string {
  const [first = ''] = paths;
  const folder = first.slice(0, Math.max(0, first.indexOf('/')));
  if (folder !== '' && paths.every((path) => path.startsWith(`${folder}/`))) return formatName(folder);
  const names = paths.map((path) => path.replace(/^.*\//, '').replace(/\.[^.]*$/, ''));
  if (names.length === 1) return formatName(names[0]!); // the list has at least one path
  const sharedPrefix = names.reduce((start, name) => {
    let length = 0;
    while (length < start.length && start[length] === name[length]) length++;
    return start.slice(0, length);
  });
  let end = sharedPrefix.length;
  while (end > 0 && /[\d\s_-]/.test(sharedPrefix[end - 1]!)) end--;
  const word = formatName(sharedPrefix.slice(0, end));
  return word.length >= SHARED_MIN ? word : `Import of ${today}`;
}

const formatName = (name: string): string => name.replaceAll(/[_-]+/g, ' ').trim();

/**
 * Returns true if a market needs a mapping, because it differs from the standard tables.
 * @param usual the default of each member
 */
export function needsMapping(mapping: JsonObject, usual: JsonObject): boolean {
  return Object.entries(mapping).some(([name, value]) => {
    const otherwise = usual[name] ?? null;
    // a market needs no mapping if a column has the standard name and if identifiers are in a column
    if (name === 'columns' && isObject(value)) return Object.entries(value).some(([role, column]) => role !== column);
    if (name === 'identifier_from' && value === 'column') return false;
    return listDifferences(value as Json, otherwise).length > 0;
  });
}

/** Chosen files. Archives are replaced by the files that they contain. */
export interface ChosenFiles {
  readonly sources: readonly Source[];
  /** Names of files whose format is not supported. */
  readonly ignored: readonly string[];
  /** Reasons why archives cannot be read. */
  readonly troubles: readonly string[];
}

const TABLE_ENDINGS = ['.csv', '.tsv', '.txt', '.parquet'];

/** Reads the files in archives. Names the files in folders by their paths. */
export async function readChosenFiles(files: readonly File[]): Promise<ChosenFiles> {
  const sources: Source[] = [];
  const ignoredFiles: string[] = [];
  const troubles: string[] = [];
  for (const file of files) {
    const path = getPath(file);
    const isInFolder = path.includes('/');
    if (isInFolder && isOfTheSystem(path)) continue;
    if (!isAcceptedFile(file)) {
      ignoredFiles.push(path);
      continue;
    }
    if (getExtension(file) !== '.zip') {
      sources.push(isInFolder ? createSource(file, path) : file);
      continue;
    }
    try {
      const members = (await readMembers(file)).filter(({ name }) => !isOfTheSystem(name));
      const hasText = members.some((member) => TABLE_ENDINGS.includes(getExtension(member)));
      const isTable = (member: Source) => (hasText ? TABLE_ENDINGS : ['.xlsx']).includes(getExtension(member));
      const tables = members.filter(isTable);
      if (tables.length === 0) throw new ArchiveFault(`${file.name} contains no CSV file, Parquet file or workbook.`);
      sources.push(...tables);
      ignoredFiles.push(...members.filter((member) => !isTable(member)).map(({ name }) => name));
    } catch (failure) {
      if (!(failure instanceof ArchiveFault)) throw failure;
      troubles.push(failure.message);
    }
  }
  return { sources, ignored: ignoredFiles, troubles };
}

export const isAcceptedFile = (file: File): boolean => ACCEPTED_EXTENSIONS.split(',').includes(getExtension(file));

const createSource = (file: File, path: string): Source => ({
  name: path.slice(path.indexOf('/') + 1),
  size: file.size,
  arrayBuffer: () => file.arrayBuffer(),
});

/**
 * Returns true for files that operating systems add to archives. Their names start with a dot or two underscores. The
 * service ignores these files as well.
 */
const isOfTheSystem = (name: string): boolean => name.split('/').some((part) => /^(\.(?!\.)|__)/.test(part));
