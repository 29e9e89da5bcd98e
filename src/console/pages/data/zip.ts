/** File to be packed. */
export interface Member {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Packed file of an archive. */
export interface PackedFile {
  readonly name: string;
  /** Size before compression, in bytes. */
  readonly size: number;
  readonly packed: Uint8Array<ArrayBuffer>;
  readonly method: 0 | 8;
  readonly crc: number;
}

const STORED_METHOD = 0;
const DEFLATE_METHOD = 8;
/** flag of names in UTF-8 */
const UTF8_FLAG = 0x0800;
const ZIP_VERSION = 20;
/** 1 January 1980, because archives of the console contain no time */
const DOS_DATE = 0x21;
/** Maximum compression ratio. The service refuses an archive from a ratio of 100 on. */
const RATIO_MAX = 50;

/** Packs files into one archive. */
export const createZip = async (members: readonly Member[]): Promise<Blob> =>
  createArchive(await Promise.all(members.map(pack)));

/** Combines packed files into one archive. @source PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16 */
export function createArchive(packed: readonly PackedFile[]): Blob {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const member of packed) {
    const nameBytes = new TextEncoder().encode(member.name);
    const localHeader = record([[4, 0x04034b50], [2, ZIP_VERSION], ...describe(member, nameBytes.length), [2, 0]]);
    directory.push(
      record([
        [4, 0x02014b50],
        [2, ZIP_VERSION],
        [2, ZIP_VERSION],
        ...describe(member, nameBytes.length),
        ...[2, 2, 2, 2, 4].map((width): RecordField => [width as 2 | 4, 0]),
        [4, offset],
      ]),
      nameBytes,
    );
    parts.push(localHeader, nameBytes, member.packed);
    offset += localHeader.length + nameBytes.length + member.packed.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const endRecord = record([
    [4, 0x06054b50],
    [4, 0],
    [2, packed.length],
    [2, packed.length],
    [4, size],
    [4, offset],
    [2, 0],
  ]);
  return new Blob([...parts, ...directory, endRecord]);
}

export async function pack({ name, bytes }: Member): Promise<PackedFile> {
  const deflatedBytes = await deflate(bytes);
  const isSmaller = deflatedBytes.length < bytes.length && bytes.length / deflatedBytes.length < RATIO_MAX;
  return {
    name,
    size: bytes.length,
    packed: isSmaller ? deflatedBytes : bytes,
    method: isSmaller ? DEFLATE_METHOD : STORED_METHOD,
    crc: computeCrc32(bytes),
  };
}

async function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

type RecordField = readonly [width: 2 | 4, value: number];

/**
 * Returns the bytes that the header of a file and its directory entry share: from the flags to the length of the name.
 */
function describe({ method, crc, packed, size }: PackedFile, nameLength: number): readonly RecordField[] {
  return [
    [2, UTF8_FLAG],
    [2, method],
    [2, 0],
    [2, DOS_DATE],
    [4, crc],
    [4, packed.length],
    [4, size],
    [2, nameLength],
  ];
}

function record(fields: readonly RecordField[]): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [width]) => sum + width, 0)));
  let offset = 0;
  for (const [width, value] of fields) {
    if (width === 2) view.setUint16(offset, value, true);
    else view.setUint32(offset, value, true);
    offset += width;
  }
  return new Uint8Array(view.buffer);
}

const POLYNOMIAL = 0xedb88320;
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value & 1) === 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value;
});

function computeCrc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 0xff]!; // The table has 256 entries.
  return (crc ^ 0xffffffff) >>> 0;
}
