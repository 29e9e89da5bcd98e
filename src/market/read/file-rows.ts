import { decodeAddressPart } from '#base/addresses.js';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { formatDay } from '#domain/base/time.js';
import type { Mapping } from '#domain/definition/mapping.js';
import { RowsFault } from '../content/market-content.js';
import { type Cell, type Heading, namePositions, readDay, readText } from '../formats/cells.js';
import type { SourceDigest, SourceFile } from '../formats/source-file.js';
import {
  FILES_MAX,
  FORMULA,
  INFLATED_BYTES_MAX,
  openZip,
  readWorkbook,
  type SheetCell,
  type SheetSink,
  WorkbookFault,
  XmlFault,
  ZipFault,
  type ZipMember,
} from '../formats/workbook.js';
import { isMarketTable } from '../mapping/columns.js';
import { type DataProblem, formatCellPath, type Problems, replaceSlashes } from '../tables/problems.js';
import { findTable, getColumnName, isKnownColumn, type TableKind } from '../tables/table-kinds.js';
import { concatenateBytes, CsvFault, type CsvRecord, readCellText, readCsv } from '../formats/csv.js';

interface SheetTable {
  /** Name of the table in findings. */
  readonly label: string;
  readonly columns: readonly string[];
  /** True if rows may have more cells than the header. */
  readonly mayBeLonger: boolean;
  readonly problems: Problems;
}

/** Returns true if a mapped table has two header rows. Its rows may then be longer than the header. */
export const hasTwoHeaders = (mapping: Mapping | null): boolean => mapping?.layout === 'wide' && mapping.field === null;

/** Passes rows of a sheet to the reader of a table. Reports formulas, and values to the right of the header. */
export function createSheetReader(
  { label, columns, mayBeLonger, problems }: SheetTable,
  addRow: (cells: readonly (Cell | undefined)[] | null) => void,
): (cells: readonly SheetCell[], row: number) => void {
  return (cells, row) => {
    if (
      !mayBeLonger &&
      cells.length > columns.length &&
      cells.slice(columns.length).some((cell) => cell !== undefined && cell !== null)
    ) {
      problems.error({
        code: 'UNREADABLE_FILE',
        path: formatCellPath(label, row, ''),
        message: `The row has a value beyond the ${columns.length} columns of the header.`,
      });
    }
    const formula = cells.indexOf(FORMULA);
    addRow(formula < 0 ? cells.filter((cell) => cell !== FORMULA) : null); // Unreadable rows are counted so that later rows keep their numbers.
    if (formula >= 0)
      problems.error({
        code: 'WRONG_TYPE',
        path: formatCellPath(label, row, columns[formula] ?? ''),
        message: 'The cell is a formula; it must be a value.',
      });
  };
}

/** Maximum length of a line in bytes, equal to that of a CSV record. */
const LINE_BYTES_MAX = 1 << 20;

/**
 * Number of lines whose members determine the columns of a file. If a member first appears in a later line, it is
 * reported as unknown.
 */
const HEADER_LINES = 1000;

const LF = 0x0a;

class JsonLinesFault extends Error {
  override readonly name = 'JsonLinesFault';
  /** Number of the line, counted from 1. */
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

interface JsonLinesReader {
  /**
   * Called with the columns of the file. Returns the receiver of its rows, or undefined to stop. An invalid line is
   * passed as null.
   */
  readonly onHeader: (columns: string[]) => ((cells: readonly (Cell | undefined)[] | null) => void) | undefined;
  /** Called for each line that is not a JSON object of scalar values. */
  readonly onFault: (fault: JsonLinesFault) => void;
}

/**
 * Reads lines of JSON objects. The columns are all members of the first lines. Nested values are rejected. Empty lines
 * are skipped and not counted. Reading ends if none of the first lines is an object.
 * @throws JsonLinesFault for a line that is too long.
 * @cost one JSON.parse a line, about 1 µs for ten members.
 */
async function readJsonLines(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { onHeader, onFault }: JsonLinesReader,
): Promise<void> {
  const columns: string[] = [];
  const columnNames = new Set<string>();
  let bufferedRows: (Record<string, unknown> | null)[] | undefined = [];
  let onRow: ((cells: readonly (Cell | undefined)[] | null) => void) | undefined;
  let line = 0;

  function beginRows(): boolean {
    const rows = bufferedRows!;
    bufferedRows = undefined;
    if (rows.length > 0 && rows.every((row) => row === null)) return false;
    for (const name of rows.flatMap((row) => Object.keys(row ?? {}))) columnNames.add(name);
    columns.push(...columnNames);
    onRow = onHeader(columns);
    if (onRow === undefined) return false;
    for (const row of rows) onRow(readCells(row));
    return true;
  }

  const readCells = (row: Record<string, unknown> | null) =>
    row && columns.map((name) => row[name] as Cell | undefined); // checked by `parseObject`

  /** Returns the row of a line. Returns undefined for an empty line, and null, with a finding, for an invalid line. */
  function parseRow(bytes: Uint8Array): Record<string, unknown> | null | undefined {
    try {
      const text = decode(bytes);
      if (text.trim() === '') return undefined;
      line += 1;
      const row = parseObject(text, line);
      if (bufferedRows === undefined)
        for (const name in row)
          if (!columnNames.has(name))
            throw new JsonLinesFault(line, `The member ${name} is not in the first ${HEADER_LINES} lines.`);
      return row;
    } catch (fault) {
      if (!(fault instanceof JsonLinesFault)) throw fault;
      onFault(fault);
      return null;
    }
  }

  function add(bytes: Uint8Array): boolean {
    const row = parseRow(bytes);
    if (row === undefined) return true;
    if (bufferedRows === undefined) {
      onRow!(readCells(row));
      return true;
    }
    bufferedRows.push(row);
    return bufferedRows.length < HEADER_LINES || beginRows();
  }

  const decoder = new TextDecoder('utf-8', { fatal: true });
  let restChunks: Uint8Array[] = [];
  let restBytes = 0;
  const decode = (bytes: Uint8Array) => {
    try {
      return decoder.decode(bytes);
    } catch {
      line += 1;
      throw new JsonLinesFault(line, 'The line is not UTF-8.');
    }
  };
  async function readLines(): Promise<void> {
    for await (const chunk of chunks) {
      let from = 0;
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
        const tail = chunk.subarray(from, end);
        const bytes = restChunks.length === 0 ? tail : Buffer.concat([...restChunks, tail]);
        restChunks = [];
        restBytes = 0;
        if (!add(bytes)) return;
        from = end + 1;
      }
      if (from < chunk.length) {
        restChunks.push(chunk.slice(from));
        restBytes += chunk.length - from;
        if (restBytes > LINE_BYTES_MAX)
          throw new JsonLinesFault(line + 1, `The line is longer than ${LINE_BYTES_MAX} bytes.`);
      }
    }
    if (restBytes > 0 && !add(Buffer.concat(restChunks))) return;
    if (bufferedRows !== undefined) beginRows();
  }

  try {
    await readLines();
  } catch (fault) {
    if (fault instanceof JsonLinesFault && bufferedRows !== undefined && bufferedRows.length > 0) beginRows(); // problems of the lines before an invalid one are reported too
    throw fault;
  }
}

function parseObject(text: string, line: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonLinesFault(line, 'The line is not JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new JsonLinesFault(line, 'The line is not a JSON object.');
  const row = value as Record<string, unknown>; // an object that is not an array
  for (const name in row) {
    const member = row[name];
    if (typeof member === 'object' && member !== null)
      throw new JsonLinesFault(line, `The member ${name} is not a single value.`);
  }
  return row;
}

/** Maximum size of a workbook, equal to the largest upload after decoding. */
const WORKBOOK_BYTES_MAX = 48 << 20;

interface WorkbookTerms {
  /** Number of rows before the header, not counting empty ones. */
  readonly skip?: number | undefined;
  /** True if the sheet has no header; its columns are then named by position. Default: false. */
  readonly isHeaderless?: boolean | undefined;
  /** Names of ignored sheets. */
  readonly ignore?: readonly string[] | undefined;
}

/**
 * Function that receives the header of the only sheet that is not empty. It returns a receiver of the rows of the
 * sheet.
 */
type OnHeader = (columns: readonly string[], heading: Heading) => SheetSink;

/**
 * Reads a workbook of a dataset, which must have exactly one non-empty sheet.
 * @param file size of the file
 * @param bytes content of the file
 * @throws WorkbookFault, ZipFault, XmlFault
 */
async function readWorkbookFile(
  file: Pick<SourceFile, 'bytes'>,
  bytes: AsyncIterable<Uint8Array>,
  onHeader: OnHeader,
  terms: WorkbookTerms,
): Promise<void> {
  await readOnlySheet(await readWorkbookBytes(file, bytes), onHeader, terms);
}

/** Returns all bytes of a workbook. @throws WorkbookFault */
async function readWorkbookBytes(
  file: Pick<SourceFile, 'bytes'>,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Uint8Array> {
  if (file.bytes > WORKBOOK_BYTES_MAX)
    throw new WorkbookFault('', `The workbook has ${file.bytes} bytes; at most ${WORKBOOK_BYTES_MAX} are read.`);
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Reads the only non-empty sheet of a workbook. @throws WorkbookFault, ZipFault, XmlFault */
async function readOnlySheet(
  workbook: Uint8Array,
  onHeader: OnHeader,
  { skip, isHeaderless = false, ignore = [] }: WorkbookTerms,
): Promise<void> {
  let first: string | undefined;
  await readWorkbook(
    workbook,
    (sheet, columns, heading) => {
      if (columns.length === 0 || ignore.includes(sheet)) return undefined;
      if (first !== undefined)
        throw new WorkbookFault(
          sheet,
          `The sheets ${JSON.stringify(first.slice(0, 80))} and ${JSON.stringify(sheet.slice(0, 80))} hold values; among workbooks one sheet of each is read. Leave the other out by ignore, or import the workbook by itself.`,
        );
      first = sheet;
      return onHeader(columns, heading);
    },
    () => ({ skip, nameColumns: isHeaderless ? namePositions : undefined }),
  );
}

/** Readable files of an archive. They are treated like files of a folder. */
interface ArchivedFiles {
  /** Members except those added by operating systems. */
  readonly members: readonly ZipMember[];
  /** True if the tables are workbooks. They are used if there is no text file of the market, as in a folder. */
  readonly areWorkbooks: boolean;
}

/** Name of a member that every Office document has and other archives lack. */
const WORKBOOK_MARK = '[Content_Types].xml';

/** First bytes of an archive, including an empty archive. */
const ZIP_MARK = 'PK';

/**
 * Returns the files of an archive. If the bytes are a CSV file and no archive, the market is the only file.
 * @throws ZipFault
 */
export async function readArchivedFiles(
  bytes: Uint8Array,
  format: 'csv' | 'csv.zip',
  mapping: Mapping | null,
): Promise<ArchivedFiles> {
  const signature = Buffer.from(bytes.subarray(0, ZIP_MARK.length)).toString('latin1');
  if (format === 'csv' && signature !== '' && signature !== ZIP_MARK)
    return { members: [createPlainMember(bytes)], areWorkbooks: false };
  const members = (await openZip(bytes, FILES_MAX)).filter(({ name }) => !isSystemFile(name));
  if (members.some(({ name }) => name === WORKBOOK_MARK))
    throw new ZipFault('The file is an Office document; a workbook is read with the format xlsx.');
  const isPrices = ({ name }: ZipMember) =>
    (findPartitionedFile(name, mapping)?.table ?? findFileTableKind(getBaseName(name), mapping)) === 'market';
  return { members, areWorkbooks: !members.some(isPrices) };
}

const createPlainMember = (bytes: Uint8Array): ZipMember => ({
  name: 'market.csv',
  bytes: bytes.length,
  async *open() {
    yield bytes;
  },
});

/** Returns the name of a member without its folders. */
export const getBaseName = (name: string): string => name.split('/').at(-1)!;

/** Returns true if an operating system added a member to the archive: its name begins with a dot or two underscores. */
const isSystemFile = (name: string) => name.split('/').some((part) => /^(\.(?!\.)|__)/.test(part));

/** Returns the dataset that the name of a table states. With a mapping, other mapped names are the market. */
export function findTableKind(name: string, mapping: Mapping | null = null): TableKind | undefined {
  return findTable(name) ?? (mapping !== null && isMarketTable(mapping, name) ? 'market' : undefined);
}

/** Returns the dataset of a text file. */
export function findFileTableKind(base: string, mapping: Mapping | null): TableKind | undefined {
  if (!/\.csv$/i.test(base))
    return mapping !== null && /\.(txt|tsv)$/i.test(base) ? findTableKind(base, mapping) : undefined;
  return findTableKind(base.slice(0, -4)) ?? findTableKind(base, mapping);
}

/**
 * Returns the dataset and the label of a text file in an archive that is in the folder of a dataset or in hive
 * partitions, as in a folder. A file with the name of a dataset belongs to this dataset unless it is in a partition.
 */
export function findPartitionedFile(
  path: string,
  mapping: Mapping | null,
): { readonly table: TableKind; readonly label: string } | undefined {
  const parts = path.split('/');
  const base = parts.pop()!;
  if (!/\.csv$/i.test(base) && !(mapping !== null && /\.(txt|tsv)$/i.test(base))) return undefined;
  const firstKey = parts.findIndex((part) => part.indexOf('=') > 0);
  if (firstKey < 0 && findTable(base.replace(/\.\w+$/, '')) !== undefined) return undefined;
  const position = parts.findLastIndex((part) => findTable(part) !== undefined);
  const table =
    position >= 0 ? findTable(parts[position]!) : firstKey >= 0 ? findFileTableKind(base, mapping) : undefined;
  const isIgnored = table === 'market' && mapping !== null && !isMarketTable(mapping, base);
  if (table === undefined || isIgnored) return undefined;
  return { table, label: [table, ...parts.slice(position >= 0 ? position + 1 : firstKey), base].join('/') };
}

const WORKBOOK_NAME = /\.xlsx$/i;

export const isWorkbook = (name: string): boolean => WORKBOOK_NAME.test(name);

/** Returns the dataset of a workbook by its name. */
export function findWorkbookTableKind(base: string, mapping: Mapping | null): TableKind | undefined {
  return isWorkbook(base)
    ? (findTableKind(base.replace(WORKBOOK_NAME, '')) ?? findTableKind(base, mapping))
    : undefined;
}

/** Returns true for the error classes of workbooks and archives. */
export const isWorkbookFault = (error: unknown): error is Error =>
  error instanceof ZipFault || error instanceof XmlFault || error instanceof WorkbookFault;

/**
 * Creates a reader of the workbooks of one archive, each with a single sheet. The size limit of one workbook applies to
 * all of them together, because a small archive of archives can expand to any size.
 */
export function createWorkbookReader() {
  let inflatedBytes = 0;
  /** @throws WorkbookFault, ZipFault, XmlFault */
  return async (
    member: ZipMember,
    onHeader: Parameters<typeof readOnlySheet>[1],
    terms: Parameters<typeof readOnlySheet>[2],
  ): Promise<void> => {
    const bytes = await readWorkbookBytes(member, member.open());
    for (const part of await openZip(bytes)) inflatedBytes += part.bytes;
    if (inflatedBytes > INFLATED_BYTES_MAX)
      throw new ZipFault(
        `The workbooks of the archive hold ${inflatedBytes} bytes after decompression; at most ${INFLATED_BYTES_MAX} are read.`,
      );
    await readOnlySheet(bytes, onHeader, terms);
  };
}

/** Key of a hive partition in the name of a folder, such as `date=2024-01-02`. */
export interface FolderKey {
  readonly name: string;
  readonly value: string;
  readonly folder: string;
}

/** Name of the folder of rows without a value. */
const NO_VALUE = '__HIVE_DEFAULT_PARTITION__';

export function listKeys(label: string): FolderKey[] {
  const parts = label.split('/');
  return parts.slice(1, -1).flatMap((part, i): FolderKey[] => {
    const offset = part.indexOf('=');
    if (offset < 1) return [];
    const value = part.slice(offset + 1);
    return [
      {
        name: part.slice(0, offset),
        value: decodeAddressPart(value) ?? value,
        folder: parts.slice(0, i + 2).join('/'),
      },
    ];
  });
}

export const isBarKey = (key: string): boolean => ['identifier', 'date'].includes(getColumnName('market', key));

/** Returns a test if a folder key becomes a column of a dataset. */
export const createKeyTest =
  (table: TableKind, mapping: Mapping | null) =>
  ({ name }: FolderKey): boolean => {
    if (table === 'market') return isBarKey(name) || Object.values(mapping?.columns ?? {}).includes(name);
    return table === 'reference' || isKnownColumn(table, name);
  };

export const normaliseName = (identifier = ''): string => replaceSlashes(identifier.trim());

export const describeIgnoredKey = (
  label: string,
  { name, value }: FolderKey,
  { column, shownValue }: { readonly column: string; readonly shownValue: string },
): DataProblem => ({
  code: 'COLUMN_IGNORED',
  path: label,
  column,
  message: `The folder key ${name}=${value.slice(0, 80)} is not read: the file has the column ${column} itself, with ${shownValue}.`,
});

interface TextReaders {
  readonly csv: Parameters<typeof readCsv>[1];
  readonly cells: JsonLinesReader['onHeader'];
}

interface KeyTerms {
  readonly label: string;
  /** Returns true if a folder key becomes a column that the file lacks. */
  isWanted(key: FolderKey): boolean;
}

/**
 * Returns readers that receive the folder keys of a text file as additional columns. Warns of an identifier or a date in
 * the file that contradicts the key of its folder.
 * @cost a copy of each record of a file with such keys
 */
export function addKeyColumns(readers: TextReaders, { label, isWanted }: KeyTerms, problems: Problems): TextReaders {
  const keys = [...new Map(listKeys(label).map((key) => [key.name.trim().toLowerCase(), key])).values()].filter(
    isWanted,
  );
  if (keys.length === 0) return readers;
  const compare = (columns: readonly string[]) => {
    const position = (name: string) =>
      columns.findIndex((column) => column.trim().toLowerCase() === name.trim().toLowerCase());
    const added = keys.filter(({ name }) => position(name) < 0);
    const ignored = keys.flatMap((key) =>
      position(key.name) >= 0 && isBarKey(key.name) ? [{ key, at: position(key.name) }] : [],
    );
    const warn = (read: (at: number) => Cell | undefined): void => {
      for (const { key, at } of ignored) {
        const shownValue = findContradiction(key, read(at));
        if (shownValue !== undefined)
          problems.warnOnce(describeIgnoredKey(label, key, { column: columns[at]!, shownValue }));
      }
    };
    return {
      names: added.map(({ name }) => name),
      texts: added.map(({ value }) => (value === NO_VALUE ? '' : value)),
      warn,
    };
  };
  return {
    csv(columns, heading) {
      const { names, texts, warn } = compare(columns);
      const append = createAppender(texts);
      const accept = readers.csv([...columns, ...names], heading);
      return (
        accept &&
        ((record) => {
          if (record.cells === columns.length) warn((at) => readCellText(record, at));
          accept(append(record));
        })
      );
    },
    cells(columns) {
      const { names, texts, warn } = compare(columns);
      const accept = readers.cells([...columns, ...names]);
      return (
        accept &&
        ((row) => {
          if (row !== null) warn((at) => row[at]);
          accept(row && [...row, ...texts.map((text) => (text === '' ? null : text))]);
        })
      );
    },
  };
}

/** Returns the value of a row that contradicts the key of its folder. The key of a date may be only a year. */
function findContradiction({ name, value }: FolderKey, cell: Cell | undefined): string | undefined {
  if (getColumnName('market', name) !== 'date') {
    const text = normaliseName(readText(cell) ?? '');
    return text === '' || text === normaliseName(value) ? undefined : text.slice(0, 80);
  }
  const [keyDay, day] = [readDay(value), readDay(cell)];
  return typeof keyDay === 'number' && typeof day === 'number' && day !== keyDay ? formatDay(day) : undefined;
}

/** Returns a function that appends cells to a record. The result is valid until the next call. */
function createAppender(texts: readonly string[]): (record: CsvRecord) => CsvRecord {
  const encoded = texts.map((text) => new TextEncoder().encode(text));
  const added = encoded.reduce(concatenateBytes, new Uint8Array(0));
  let [starts, ends, escaped] = [new Int32Array(0), new Int32Array(0), new Uint8Array(0)];
  return (record) => {
    const { cells } = record;
    if (texts.length === 0 || cells === 0) return record;
    if (starts.length < cells + texts.length)
      [starts, ends, escaped] = [
        new Int32Array(cells + texts.length),
        new Int32Array(cells + texts.length),
        new Uint8Array(cells + texts.length),
      ];
    const [from, to] = [record.starts[0]!, record.ends[cells - 1]!];
    for (let cell = 0; cell < cells; cell++) {
      starts[cell] = record.starts[cell]! - from;
      ends[cell] = record.ends[cell]! - from;
      escaped[cell] = record.escaped[cell]!;
    }
    let end = to - from;
    encoded.forEach(({ length }, i) => {
      [starts[cells + i], ends[cells + i], escaped[cells + i]] = [end, end + length, 0];
      end += length;
    });
    return {
      bytes: concatenateBytes(record.bytes.subarray(from, to), added),
      starts,
      ends,
      escaped,
      cells: cells + texts.length,
    };
  };
}

/** Maximum ratio of decompressed to compressed bytes. Ordinary text has a lower ratio. */
const GZIP_RATIO_MAX = 200;

const CHUNK_BYTES = 1 << 20;

/** Number of bytes per read of a gzipped file. It is small, so that excessive decompression is detected early. */
const GZIPPED_CHUNK_BYTES = 1 << 16;

/**
 * Number of decompressed bytes up to which their ratio to the size of the whole file is checked. Beyond it, the ratio
 * to the bytes read so far is checked. A file may begin with highly compressible data.
 */
const RATIO_FROM_BYTES = 1 << 24;

interface RowReaders extends TextReaders {
  readonly sheet: (columns: readonly string[], heading: Heading) => SheetSink;
  readonly terms?: Parameters<typeof readCsv>[2] & WorkbookTerms;
  readonly onBytes: (bytes: number) => void;
  /** Returns true if a key of a folder becomes a column that the file lacks. Default: none does. */
  readonly isWanted?: KeyTerms['isWanted'];
}

/** Reads a text file or a workbook row by row. A format error becomes one finding. */
export async function readRows(
  file: SourceFile,
  digests: SourceDigest[],
  problems: Problems,
  { sheet, onBytes, terms = {}, isWanted = () => false, ...readers }: RowReaders,
): Promise<void> {
  const { csv, cells } = addKeyColumns(readers, { label: file.label, isWanted }, problems);
  const onFault = ({ line, message }: JsonLinesFault) =>
    problems.error({ code: 'UNREADABLE_FILE', path: formatCellPath(file.label, line, ''), message });
  try {
    const bytes = readBytes(file, digests, onBytes);
    if (file.format === 'csv') await readCsv(bytes, csv, terms);
    else if (file.format === 'xlsx') await readWorkbookFile(file, bytes, sheet, terms);
    else await readJsonLines(bytes, { onHeader: cells, onFault });
  } catch (error) {
    const path =
      error instanceof CsvFault && error.record > 0
        ? formatCellPath(file.label, error.record, '')
        : error instanceof JsonLinesFault
          ? formatCellPath(file.label, error.line, '')
          : file.label;
    if (!isFault(error)) throw error;
    problems.error({
      code: 'UNREADABLE_FILE',
      path,
      ...(error instanceof CsvFault && error.accepted !== undefined ? { accepted: error.accepted } : {}),
      message: isCode(error) ? (GZIP_FAULTS[error.code] ?? `The file cannot be read: ${error.code}.`) : error.message,
    });
  }
}

const isFault = (error: unknown): error is Error =>
  FAULT_CLASSES.some((fault) => error instanceof fault) || isCode(error);

const FAULT_CLASSES = [CsvFault, JsonLinesFault, RowsFault, WorkbookFault, ZipFault, XmlFault];

/** Error messages for a gzipped file, by error code of the decompressor. */
const GZIP_FAULTS: Readonly<Record<string, string>> = {
  Z_BUF_ERROR: 'The gzipped file is truncated.',
  Z_DATA_ERROR: 'The file is called gzipped and is not, or its data is damaged.',
};

const isCode = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'string';

/** Yields the decompressed text of a file as it is read, and adds the digest of the file at the end. */
async function* readBytes(
  file: SourceFile,
  digests: SourceDigest[],
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  // Does not follow a symbolic link. The path contains no links, so such a link was created since.
  const handle = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW);
  let read = 0;
  async function* readChunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of handle.createReadStream({
      highWaterMark: file.isGzipped ? GZIPPED_CHUNK_BYTES : CHUNK_BYTES,
    })) {
      const bytes = chunk as Buffer; // chunks are buffers because no encoding is set
      read += bytes.length;
      hash.update(bytes);
      yield bytes;
      onBytes(read);
    }
  }
  try {
    if (!file.isGzipped) yield* readChunks();
    else {
      let inflatedBytes = 0;
      const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
      pipeline(Readable.from(readChunks()), gunzip, () => {}); // the loop throws this error
      for await (const chunk of gunzip) {
        const bytes = chunk as Buffer; // chunks are buffers because no encoding is set
        inflatedBytes += bytes.length;
        if (inflatedBytes > GZIP_RATIO_MAX * (inflatedBytes > RATIO_FROM_BYTES ? read : file.bytes) + CHUNK_BYTES)
          throw new CsvFault(
            0,
            `The file decompresses to more than ${GZIP_RATIO_MAX} times its size: ${inflatedBytes} bytes from the first ${read}.`,
          );
        yield bytes;
      }
    }
    digests.push({ label: file.label, bytes: read, sha256: hash.digest('hex') });
  } finally {
    await handle.close();
  }
}
