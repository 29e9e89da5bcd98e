import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Heading } from '../formats/cells.js';
import { readCsv } from './csv.js';
import { CsvFault } from './csv-records.js';
import type { FileDigest } from '../formats/digest-file.js';
import type { SourceFile } from '../formats/source-file.js';
import { JsonLinesFault, readJsonLines } from '../formats/json-lines.js';
import { RowsFault } from '../content/market-limits.js';
import { formatCellPath, type Problems } from '../tables/problems.js';
import { WorkbookFault, type SheetSink } from '../formats/workbook-reader.js';
import { XmlFault } from '../formats/xml-tokens.js';
import { ZipFault } from '../formats/zip-reader.js';
import { addKeyColumns, type KeyTerms, type TextReaders } from './folder-keys.js';
import { readWorkbookFile, type WorkbookTerms } from './read-workbook-file.js';

/** Maximum ratio of decompressed to compressed bytes. Ordinary text has a lower ratio. */
const GZIP_RATIO_MAX = 200;

/** Number of bytes per read. */
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
  /** Settings for reading a CSV file or a workbook. */
  readonly terms?: Parameters<typeof readCsv>[2] & WorkbookTerms;
  readonly onBytes: (bytes: number) => void;
  /** Returns true if a key of a folder becomes a column that the file lacks. Default: none does. */
  readonly isWanted?: KeyTerms['isWanted'];
}

/** Reads a text file or a workbook row by row. A format error becomes one finding. */
export async function readRows(
  file: SourceFile,
  digests: FileDigest[],
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
  digests: FileDigest[],
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
