import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { fromBuffer, type Entry, type ZipFile } from 'yauzl';
import { describeForeignText } from './foreign-text.js';

/** Maximum number of members of a workbook: a workbook with four sheets has about twenty. */
const PARTS_MAX = 64;
/**
 * Maximum number of members of an archive. With one file per security, it exceeds the number of securities of the
 * widest index.
 */
export const FILES_MAX = 5000;
/** Maximum decompressed size of all members together: about four times the decoded size of the largest upload. */
export const INFLATED_BYTES_MAX = 200 << 20;
/** Maximum compression ratio of a member that is not tiny. Tables compress by a factor of ten or twenty. */
const RATIO_MAX = 100;
const TINY_BYTES = 1 << 20;

/** Thrown for an archive that is unreadable or unsafe to read. */
export class ZipFault extends Error {
  override readonly name = 'ZipFault';
}

export interface ZipMember {
  readonly name: string;
  /** Decompressed size as stated in the archive. Reading fails if the actual size exceeds it. */
  readonly bytes: number;
  open(): AsyncIterable<Uint8Array>;
}

/**
 * Returns the members of a zip archive in memory, without folders. Sizes, ratios and names are checked before
 * decompression.
 * @throws ZipFault
 */
export async function openZip(archive: Uint8Array, membersMax = PARTS_MAX): Promise<readonly ZipMember[]> {
  const buffer = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const file = await new Promise<ZipFile>((resolve, reject) => {
    fromBuffer(
      buffer,
      { lazyEntries: true, validateEntrySizes: true, strictFileNames: true, autoClose: false },
      (error, zip) => (error ? reject(new ZipFault(describeForeignText(archive) ?? formatError(error))) : resolve(zip)),
    );
  });
  if (file.entryCount > membersMax)
    throw new ZipFault(`The archive has ${file.entryCount} members; at most ${membersMax} are read.`);
  const entries = await listAllEntries(file);
  const inflatedBytes = entries.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0);
  if (inflatedBytes > INFLATED_BYTES_MAX)
    throw new ZipFault(
      `The archive holds ${inflatedBytes} bytes after decompression; at most ${INFLATED_BYTES_MAX} are read.`,
    );
  for (const { uncompressedSize, compressedSize, fileName } of entries) {
    if (uncompressedSize > TINY_BYTES && uncompressedSize > RATIO_MAX * compressedSize) {
      throw new ZipFault(
        `The member ${fileName.slice(0, 80)} decompresses from ${compressedSize} to ${uncompressedSize} bytes; at most ${RATIO_MAX} times its size is read.`,
      );
    }
  }
  return entries
    .filter(({ fileName }) => !fileName.endsWith('/'))
    .map((entry) => ({
      name: entry.fileName,
      bytes: entry.uncompressedSize,
      open: () => readContent(file, entry),
    }));
}

function listAllEntries(file: ZipFile): Promise<Entry[]> {
  return new Promise((resolve, reject) => {
    const entries: Entry[] = [];
    file.on('error', (error: Error) => reject(new ZipFault(formatError(error))));
    file.on('end', () => resolve(entries));
    file.on('entry', (entry: Entry) => {
      entries.push(entry);
      if (entry.isEncrypted()) reject(new ZipFault('The archive is encrypted.'));
      else file.readEntry();
    });
    file.readEntry();
  });
}

async function* readContent(file: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await new Promise<Readable>((resolve, reject) => {
    file.openReadStream(entry, (error, opened) => (error ? reject(new ZipFault(formatError(error))) : resolve(opened)));
  });
  try {
    // The stream fails if it is longer than the archive declares. The checksum is verified only here.
    let checksum = 0;
    for await (const chunk of stream) {
      const bytes = chunk as Buffer; // chunks are buffers because no encoding is set
      checksum = crc32(bytes, checksum);
      yield bytes;
    }
    if (checksum !== entry.crc32) throw new Error('its checksum is another');
  } catch (error) {
    throw new ZipFault(`The member ${entry.fileName.slice(0, 80)} is damaged: ${formatError(error)}`);
  }
}

/** Matches the message of yauzl for bytes that are not an archive, or for a truncated archive. */
const NOT_ARCHIVE_MESSAGE = /^end of central directory record signature not found/i;

/** Matches the message of yauzl for a member name outside the archive. */
const UNSAFE_PATH_MESSAGE = /^(?:invalid relative path|absolute path|invalid characters in fileName)/;

function formatError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (NOT_ARCHIVE_MESSAGE.test(message))
    return 'The file is no zip archive, as a workbook and a zip of CSV files are, or its end is missing; one CSV file has the format csv.';
  if (UNSAFE_PATH_MESSAGE.test(message)) return 'A member of the archive has a name that leads out of it.';
  return message.split('\n')[0]!.slice(0, 160);
}
