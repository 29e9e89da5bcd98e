import { Zip, type ZipInputFile, ZipPassThrough } from 'fflate';
import type { Source } from './source-files.js';

/** Error of an archive that the browser cannot read. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';
}

const END_MARK = 0x06054b50;
const ENTRY_MARK = 0x02014b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;
/** Maximum length of the comment after the end record of an archive. */
const COMMENT_MAX = 65_535;
/**
 * Maximum size of a directory in bytes. It is enough for the maximum number of members of the format, with names of 100
 * characters.
 */
const DIRECTORY_BYTES_MAX = 10 << 20;
/**
 * Value that refers to a second record. It is used in archives with more members or bytes than the first record can
 * contain.
 */
const ZIP64_MARK = 0xffff_ffff;
const ENCRYPTED_FLAG = 1;

/**
 * Returns the files of an archive. Each file is unpacked when it is read.
 * @throws ArchiveFault if the archive is damaged, too large or uses an unsupported feature
 * @source PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16
 */
export async function readMembers(archive: File): Promise<readonly Source[]> {
  const { at, bytes, members } = await readArchiveEnd(archive);
  if (at === ZIP64_MARK || members === 0xffff || bytes > DIRECTORY_BYTES_MAX)
    throw new ArchiveFault(`${archive.name} has 65,535 files or more, or 4 GB. Unpack it and connect its folder.`);
  const view = await readView(archive, at, bytes);
  const sources: Source[] = [];
  for (let n = 0, offset = 0; n < members; n++) {
    if (offset + ENTRY_BYTES > view.byteLength || view.getUint32(offset, true) !== ENTRY_MARK)
      throw new ArchiveFault(`${archive.name} is damaged: its list of files ends early.`);
    const { member, length } = readEntryAt(archive, view, offset);
    if (!member.name.endsWith('/')) sources.push(member);
    offset += length;
  }
  return sources;
}

interface ArchiveEnd {
  readonly at: number;
  readonly bytes: number;
  readonly members: number;
}

async function readArchiveEnd(archive: File): Promise<ArchiveEnd> {
  const start = Math.max(0, archive.size - END_BYTES - COMMENT_MAX);
  const view = await readView(archive, start, archive.size - start);
  for (let offset = view.byteLength - END_BYTES; offset >= 0; offset--)
    if (view.getUint32(offset, true) === END_MARK)
      return {
        at: view.getUint32(offset + 16, true),
        bytes: view.getUint32(offset + 12, true),
        members: view.getUint16(offset + 10, true),
      };
  throw new ArchiveFault(`${archive.name} is not a zip archive, or its end is missing.`);
}

function readEntryAt(
  archive: File,
  view: DataView,
  offset: number,
): { readonly member: Source; readonly length: number } {
  const [nameLength, extraLength, commentLength] = [28, 30, 32].map((recordOffset) =>
    view.getUint16(offset + recordOffset, true),
  );
  const name = new TextDecoder().decode(
    new Uint8Array(view.buffer, view.byteOffset + offset + ENTRY_BYTES, nameLength),
  );
  const method = view.getUint16(offset + 10, true);
  const isEncrypted = (view.getUint16(offset + 8, true) & ENCRYPTED_FLAG) !== 0;
  const packedBytes = view.getUint32(offset + 20, true);
  const size = view.getUint32(offset + 24, true);
  const local = view.getUint32(offset + 42, true);
  if (isEncrypted) throw new ArchiveFault(`${archive.name} is encrypted. Unpack it first.`);
  if ((method !== 0 && method !== 8) || [packedBytes, size, local].includes(ZIP64_MARK))
    throw new ArchiveFault(`${archive.name} packs ${name} in a way that browsers do not unpack. Unpack it first.`);
  return {
    member: { name, size, arrayBuffer: () => unpackEntry({ archive, name, method, packed: packedBytes, size, local }) },
    length: ENTRY_BYTES + nameLength! + extraLength! + commentLength!, // all three lengths were read
  };
}

interface Entry {
  readonly archive: File;
  readonly name: string;
  readonly method: 0 | 8;
  readonly packed: number;
  readonly size: number;
  readonly local: number;
}

async function unpackEntry({ archive, name, method, packed, size, local }: Entry): Promise<ArrayBuffer> {
  const header = await readView(archive, local, LOCAL_BYTES);
  const start = local + LOCAL_BYTES + header.getUint16(26, true) + header.getUint16(28, true);
  const bytes = archive.slice(start, start + packed);
  if (method === 0) return bytes.arrayBuffer();
  const refuseDamaged = () => new ArchiveFault(`${name} in ${archive.name} is damaged.`);
  const stream = bytes.stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const out = new Uint8Array(size);
  let length = 0;
  const reader = stream.getReader();
  // unpacking stops at the size that the archive declares
  for (;;) {
    const { value, done } = await reader.read().catch(() => {
      throw refuseDamaged();
    });
    if (done) break;
    if (length + value.length > size) throw refuseDamaged();
    out.set(value, length);
    length += value.length;
  }
  if (length !== size) throw refuseDamaged();
  return out.buffer;
}

async function readView(file: File, start: number, length: number): Promise<DataView> {
  return new DataView(await file.slice(start, start + length).arrayBuffer());
}

export interface ArchiveMember {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

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
/** Archives of the console contain no time; this is the first one of the format. */
const NO_TIME = new Date(1980, 0, 1);
/** Maximum compression ratio. The service refuses an archive from a ratio of 100 on. */
const RATIO_MAX = 50;

export function createArchive(packedFiles: readonly PackedFile[]): Blob {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const archive = new Zip((failure, part) => {
    if (failure !== null) throw failure;
    parts.push(part);
  });
  for (const { name, size, packed, method, crc } of packedFiles) {
    const member: ZipInputFile = { filename: name, size, crc, compression: method, mtime: NO_TIME };
    archive.add(member);
    member.ondata!(null, packed, true); // `add` sets it
  }
  archive.end();
  return new Blob(parts);
}

/** Compresses a file on another thread. The sizes of packed files show how many fit into a request. */
export async function pack({ name, bytes }: ArchiveMember): Promise<PackedFile> {
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

function computeCrc32(bytes: Uint8Array<ArrayBuffer>): number {
  const member = new ZipPassThrough('');
  member.ondata = () => undefined;
  member.push(bytes, true);
  return member.crc;
}
