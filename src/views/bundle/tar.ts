import { decodeUtf8 } from '#base/bytes.js';

/** Size of a tar record in bytes. */
const RECORD = 512;

/**
 * Offsets of the header fields in bytes.
 * @source POSIX.1-1988, ustar
 */
const FIELDS = { name: 0, mode: 100, size: 124, mtime: 136, checksum: 148, type: 156, magic: 257 } as const;

/** File mode of every member. It is constant, like the modification time, so that equal bundles have equal bytes. */
const MODE = '0000644';

export interface TarMember {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * Yields the bytes of a tar archive in parts.
 * @param members files, with names of at most 100 ASCII characters
 */
export function* createTarParts(members: readonly TarMember[]): Generator<Uint8Array> {
  for (const { name, bytes } of members) {
    yield createHeader(name, bytes.length);
    if (bytes.length > 0) yield bytes;
    const remainder = bytes.length % RECORD;
    if (remainder > 0) yield new Uint8Array(RECORD - remainder);
  }
  yield new Uint8Array(2 * RECORD);
}

/** Returns the size of the archive in bytes. */
export function computeTarLength(members: readonly TarMember[]): number {
  return members.reduce((sum, { bytes }) => sum + RECORD + RECORD * Math.ceil(bytes.length / RECORD), 2 * RECORD);
}

function createHeader(name: string, size: number): Uint8Array {
  const header = new Uint8Array(RECORD);
  const putText = (offset: number, text: string): void => header.set(new TextEncoder().encode(text), offset);
  putText(FIELDS.name, name);
  putText(FIELDS.mode, MODE);
  putText(FIELDS.size, formatOctal(size, 11));
  putText(FIELDS.mtime, formatOctal(0, 11));
  putText(FIELDS.type, '0');
  putText(FIELDS.magic, 'ustar\u000000');
  putText(FIELDS.checksum, ' '.repeat(8));
  putText(FIELDS.checksum, `${formatOctal(computeChecksum(header), 6)}\0 `);
  return header;
}

const formatOctal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
const computeChecksum = (header: Uint8Array): number => header.reduce((sum, byte) => sum + byte, 0);

/**
 * Reads the regular files of an archive by name.
 * @throws Error if the bytes are not a complete archive
 */
export function readTar(archive: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (let offset = 0; ;) {
    if (offset + RECORD > archive.length) throw new Error('the tar archive is incomplete');
    const header = Uint8Array.from(archive.subarray(offset, offset + RECORD)); // a copy, because `slice` of a Buffer shares its memory
    if (header.every((byte) => byte === 0)) return files;
    const readText = (from: number, length: number): string =>
      decodeUtf8(header.subarray(from, from + length)).split('\0')[0]!;
    const checksum = Number.parseInt(readText(FIELDS.checksum, 8), 8);
    header.fill(32, FIELDS.checksum, FIELDS.checksum + 8);
    if (computeChecksum(header) !== checksum) throw new Error(`the header at byte ${offset} is damaged`);
    const size = Number.parseInt(readText(FIELDS.size, 12), 8);
    const end = offset + RECORD + size;
    if (!(size >= 0) || end > archive.length) throw new Error(`the file ${readText(FIELDS.name, 100)} is cut off`);
    files.set(readText(FIELDS.name, 100), archive.subarray(offset + RECORD, end));
    offset = RECORD * Math.ceil(end / RECORD);
  }
}
