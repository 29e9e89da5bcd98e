/** Size of a record of the format. */
const RECORD = 512;

/** Offsets of the members of a header. @source POSIX.1-1988, ustar */
const FIELDS = { name: 0, mode: 100, size: 124, mtime: 136, checksum: 148, type: 156, magic: 257 } as const;

/** Permissions and time of every member: equal bundles are equal bytes. */
const MODE = '0000644';

export interface TarMember {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Files as the parts of an archive that `tar x` unpacks. @param members with names of at most 100 ASCII characters */
export function* tarParts(members: readonly TarMember[]): Generator<Uint8Array> {
  for (const { name, bytes } of members) {
    yield headerOf(name, bytes.length);
    if (bytes.length > 0) yield bytes;
    const rest = bytes.length % RECORD;
    if (rest > 0) yield new Uint8Array(RECORD - rest);
  }
  yield new Uint8Array(2 * RECORD);
}

/** Bytes of the archive. */
export function tarLength(members: readonly TarMember[]): number {
  return members.reduce((sum, { bytes }) => sum + RECORD + RECORD * Math.ceil(bytes.length / RECORD), 2 * RECORD);
}

function headerOf(name: string, size: number): Uint8Array {
  const header = new Uint8Array(RECORD);
  const put = (at: number, text: string): void => header.set(new TextEncoder().encode(text), at);
  put(FIELDS.name, name);
  put(FIELDS.mode, MODE);
  put(FIELDS.size, octal(size, 11));
  put(FIELDS.mtime, octal(0, 11));
  put(FIELDS.type, '0');
  put(FIELDS.magic, 'ustar\u000000');
  put(FIELDS.checksum, ' '.repeat(8));
  put(FIELDS.checksum, `${octal(sumOf(header), 6)}\0 `);
  return header;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
const sumOf = (header: Uint8Array): number => header.reduce((sum, byte) => sum + byte, 0);

/** Returns the plain files of an archive by name. @throws Error if the bytes are not a complete archive */
export function readTar(archive: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (let at = 0; ;) {
    if (at + RECORD > archive.length) throw new Error('it is no whole tar archive');
    const header = Uint8Array.from(archive.subarray(at, at + RECORD)); // A copy: `slice` of a Buffer is not.
    if (header.every((byte) => byte === 0)) return files;
    const text = (from: number, length: number): string =>
      new TextDecoder().decode(header.subarray(from, from + length)).split('\0')[0]!;
    const checksum = Number.parseInt(text(FIELDS.checksum, 8), 8);
    header.fill(32, FIELDS.checksum, FIELDS.checksum + 8);
    if (sumOf(header) !== checksum) throw new Error(`the header at byte ${at} is damaged`);
    const size = Number.parseInt(text(FIELDS.size, 12), 8);
    const end = at + RECORD + size;
    if (!(size >= 0) || end > archive.length) throw new Error(`the file ${text(FIELDS.name, 100)} is cut off`);
    files.set(text(FIELDS.name, 100), archive.subarray(at + RECORD, end));
    at = RECORD * Math.ceil(end / RECORD);
  }
}
