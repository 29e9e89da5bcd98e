import { bytes as bytesText } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { endingOf } from './file-kinds.js';
import { isParquet, type ImportFile } from './import-files.js';
import { archiveOf, pack, type PackedFile } from './zip.js';

export interface ImportContent {
  readonly format: 'xlsx' | 'csv' | 'parquet';
  /** Content in base64. */
  readonly content: string;
}

/** Bytes of an archive that the service inspects: 8 MiB in base64. */
export const INSPECTED_BYTES_MAX = 6 << 20;
/** Maximum number of bytes that the service unpacks per request, and maximum number of files. */
const UNPACKED_BYTES_MAX = 190 << 20;
const FILES_MAX = 4000;
/** Bytes of a request reserved for everything except the content. */
const HEADER_BYTES = 1 << 20;

/** Files that the service can inspect. */
export interface Sample {
  readonly content: ImportContent;
  readonly files: number;
  /** True if it contains only the first rows of a file. */
  readonly isCut: boolean;
}

/**
 * Returns at most the number of files that the service inspects, and for a single CSV file its first rows; null for a
 * larger workbook or Parquet file.
 */
export async function sampleOf(files: readonly ImportFile[]): Promise<Sample | null> {
  const market = files.find((one) => isParquet(one) && one.table === 'market');
  const whole = market ?? files.find(({ table }) => table === null);
  if (whole !== undefined) {
    if (whole.file.size > INSPECTED_BYTES_MAX) return null;
    return { content: await contentOfWhole(whole), files: 1, isCut: false };
  }
  const packed: PackedFile[] = [];
  let left = INSPECTED_BYTES_MAX;
  for (const one of sortBy(files).slice(0, FILES_MAX)) {
    const next = await packedFile(one, true);
    if (roomOf(next) > left) {
      if (packed.length > 0) break;
      const start = endingOf(one.file) === '.xlsx' ? null : await packedStart(one);
      return start && { content: await contentOfArchive([start]), files: 1, isCut: true };
    }
    left -= roomOf(next);
    packed.push(next);
  }
  return { content: await contentOfArchive(packed), files: packed.length, isCut: false };
}

/** A request of an import. */
export interface Part {
  readonly content: ImportContent;
  /** Number of files in this part and in earlier ones. */
  readonly sent: number;
  readonly isLast: boolean;
}

interface PartTerms {
  readonly files: readonly ImportFile[];
  readonly mapping: JsonObject | null;
  /** Largest body of a request. */
  readonly bytesMax: number;
}

/**
 * Returns an import as the fewest requests in order: tables other than prices are in the first. @throws Error if a file
 * is too large, or the files cannot be divided
 */
export async function* partsOf({ files, mapping, bytesMax }: PartTerms): AsyncGenerator<Part> {
  const whole = files.find(({ table }) => table === null);
  // Base64 uses four characters for three bytes.
  const room = ((bytesMax - HEADER_BYTES) / 4) * 3;
  if (whole !== undefined) {
    if (whole.file.size > room) throw tooLarge(whole.file.name, whole.file.size, room);
    yield { content: await contentOfWhole(whole), sent: 1, isLast: true };
    return;
  }
  let packed: PackedFile[] = [];
  let sent = 0;
  let [taken, unpacked] = [0, 0];
  for (const one of sortBy(files)) {
    const next = await packedFile(one, mapping !== null);
    if (roomOf(next) > room) throw tooLarge(next.name, next.packed.length, room);
    if (packed.length === FILES_MAX || taken + roomOf(next) > room || unpacked + next.size > UNPACKED_BYTES_MAX) {
      assertDivisible(mapping, files.length);
      sent += packed.length;
      yield { content: await contentOfArchive(packed), sent, isLast: false };
      packed = [];
      [taken, unpacked] = [0, 0];
    }
    packed.push(next);
    taken += roomOf(next);
    unpacked += next.size;
  }
  yield { content: await contentOfArchive(packed), sent: files.length, isLast: true };
}

/** Tables other than prices first, then prices by their order. */
const sortBy = (files: readonly ImportFile[]): readonly ImportFile[] =>
  files.toSorted((a, b) => Number(a.table === 'market') - Number(b.table === 'market'));

/** Bytes of an entry and its two headers. */
const roomOf = ({ packed, name }: PackedFile): number => packed.length + 2 * (name.length * 3 + 46);

const tooLarge = (name: string, size: number, room: number): Error =>
  new Error(
    `${name} has ${bytesText(size)} after compression; one request takes ${bytesText(room)}. Connect its folder instead.`,
  );

/** Requires the prices of one security to be in one part if its history must be read as a whole. */
function assertDivisible(mapping: JsonObject | null, files: number): void {
  const isOfFiles = typeof mapping?.['identifier_from'] === 'string' && mapping['identifier_from'] !== 'column';
  if (mapping?.['layout'] === 'wide')
    throw new Error(
      `The ${files} files need several requests, and wide tables must be read together. Connect their folder instead.`,
    );
  if (!isOfFiles && (mapping?.['adjusted_close'] ?? null) !== null)
    throw new Error(
      `The ${files} files need several requests, and dividends derived from ${String(mapping!['adjusted_close'])} need all rows of a security in one. Connect their folder instead.`,
    );
}

async function packedFile({ file, table }: ImportFile, isMapped: boolean): Promise<PackedFile> {
  const name = isMapped && table === 'market' ? file.name : `${table}${endingOf(file)}`;
  return pack({ name, bytes: new Uint8Array(await file.arrayBuffer()) });
}

const NEWLINE = 10;

/** Reads the first rows of a text file, compressed. */
async function packedStart({ file }: ImportFile): Promise<PackedFile> {
  const bytes = new Uint8Array(
    await (file instanceof Blob ? file.slice(0, INSPECTED_BYTES_MAX / 2) : file).arrayBuffer(),
  );
  const start = bytes.subarray(0, INSPECTED_BYTES_MAX / 2);
  return pack({ name: file.name, bytes: start.slice(0, start.lastIndexOf(NEWLINE) + 1) });
}

/** Returns a workbook or Parquet file unchanged. */
async function contentOfWhole(one: ImportFile): Promise<ImportContent> {
  return { format: isParquet(one) ? 'parquet' : 'xlsx', content: await base64Of(await blobOf(one)) };
}

const contentOfArchive = async (packed: readonly PackedFile[]): Promise<ImportContent> => ({
  format: 'csv',
  content: await base64Of(archiveOf(packed)),
});

/** Returns the bytes of a file for a request. */
export const blobOf = async ({ file }: ImportFile): Promise<Blob> =>
  file instanceof Blob ? file : new Blob([await file.arrayBuffer()]);

function base64Of(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result).replace(/^[^,]*,/, '')));
    reader.addEventListener('error', () =>
      reject(reader.error ?? new Error('The file cannot be read. Choose it again.')),
    );
    reader.readAsDataURL(blob);
  });
}
