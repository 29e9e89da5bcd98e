import type { ImportRequest, ImportResult, Operations } from '#clients/typescript/divisor.js';
import { health } from '../../state/live.js';
import { createTrouble, service, type Trouble } from '../../state/service.js';
import { countValues, formatBytes as bytesText } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { type ImportFile, isParquet } from './import-files.js';
import { getExtension } from './source-files.js';
import { createArchive, pack, type PackedFile } from './zip.js';

export interface ImportContent {
  readonly format: 'xlsx' | 'csv' | 'parquet';
  /** Content in base64. */
  readonly content: string;
}

/** Maximum size in bytes of an archive that the service inspects. Encoded as base64, it has 8 MiB. */
export const INSPECTED_BYTES_MAX = 6 << 20;
/** Maximum number of bytes that the service unpacks in one request, and maximum number of files in one request. */
const UNPACKED_BYTES_MAX = 190 << 20;
const FILES_MAX = 4000;
/** Number of bytes of a request that are kept free for everything except the content. */
const HEADER_BYTES = 1 << 20;

export interface FileSample {
  readonly content: ImportContent;
  readonly files: number;
  /** True if a file of the sample contains prices. */
  readonly hasPrices: boolean;
  /** True if the sample contains only the first rows of a file. */
  readonly isCut: boolean;
}

/**
 * Returns the files for an inspection, at most as many as the service inspects. A single CSV file is cut after its
 * first rows. Returns null for a workbook or Parquet file that is too large.
 */
export async function readSample(files: readonly ImportFile[]): Promise<FileSample | null> {
  const market = files.find((one) => isParquet(one) && one.table === 'market');
  const wholeFile = market ?? files.find(({ table }) => table === null);
  if (wholeFile !== undefined) {
    if (wholeFile.file.size > INSPECTED_BYTES_MAX) return null;
    return { content: await createWholeContent(wholeFile), files: 1, hasPrices: true, isCut: false };
  }
  const packedFiles: PackedFile[] = [];
  let left = INSPECTED_BYTES_MAX;
  let hasPrices = false;
  for (const file of sortBy(files).slice(0, FILES_MAX)) {
    const next = await packFile(file, true);
    if (computeSpace(next) > left) {
      if (packedFiles.length > 0) break;
      const start = getExtension(file.file) === '.xlsx' ? null : await packStart(file);
      hasPrices = file.table === 'market';
      return start && { content: await createArchiveContent([start]), files: 1, hasPrices, isCut: true };
    }
    hasPrices ||= file.table === 'market';
    left -= computeSpace(next);
    packedFiles.push(next);
  }
  return { content: await createArchiveContent(packedFiles), files: packedFiles.length, hasPrices, isCut: false };
}

export interface ImportPart {
  readonly content: ImportContent;
  /** Number of files in this and all earlier requests. */
  readonly sent: number;
  readonly isLast: boolean;
}

interface PartTerms {
  readonly files: readonly ImportFile[];
  readonly mapping: JsonObject | null;
  /** Maximum size of a request in bytes. */
  readonly bytesMax: number;
}

/**
 * Divides an import into as few requests as possible. Tables other than prices are in the first requests.
 * @throws Error if a file is too large, or if the files cannot be divided
 */
async function* iterateParts({ files, mapping, bytesMax }: PartTerms): AsyncGenerator<ImportPart> {
  const wholeFile = files.find(({ table }) => table === null);
  // base64 encodes three bytes as four characters
  const sizeMax = ((bytesMax - HEADER_BYTES) / 4) * 3;
  if (wholeFile !== undefined) {
    if (wholeFile.file.size > sizeMax) throw createSizeError(wholeFile.file.name, wholeFile.file.size, sizeMax);
    yield { content: await createWholeContent(wholeFile), sent: 1, isLast: true };
    return;
  }
  let packedFiles: PackedFile[] = [];
  let sentCount = 0;
  let [taken, unpacked] = [0, 0];
  for (const file of sortBy(files)) {
    const next = await packFile(file, mapping !== null);
    if (computeSpace(next) > sizeMax) throw createSizeError(next.name, next.packed.length, sizeMax);
    if (
      packedFiles.length === FILES_MAX ||
      taken + computeSpace(next) > sizeMax ||
      unpacked + next.size > UNPACKED_BYTES_MAX
    ) {
      assertDivisible(mapping, files.length);
      sentCount += packedFiles.length;
      yield { content: await createArchiveContent(packedFiles), sent: sentCount, isLast: false };
      packedFiles = [];
      [taken, unpacked] = [0, 0];
    }
    packedFiles.push(next);
    taken += computeSpace(next);
    unpacked += next.size;
  }
  yield { content: await createArchiveContent(packedFiles), sent: files.length, isLast: true };
}

/** Sorts files: tables other than prices come first, then prices in their order. */
const sortBy = (files: readonly ImportFile[]): readonly ImportFile[] =>
  files.toSorted((a, b) => Number(a.table === 'market') - Number(b.table === 'market'));

/** Returns the size of an entry with its two headers in an archive. */
const computeSpace = ({ packed, name }: PackedFile): number => packed.length + 2 * (name.length * 3 + 46);

const createSizeError = (name: string, size: number, sizeMax: number): Error =>
  new Error(
    `${name} has ${bytesText(size)} after compression; one request takes ${bytesText(sizeMax)}. Connect its folder instead.`,
  );

/** Checks that all prices are in one request if the history of each security must be read as a whole. */
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

async function packFile({ file, table }: ImportFile, isMapped: boolean): Promise<PackedFile> {
  const name = isMapped && table === 'market' ? file.name : `${table}${getExtension(file)}`;
  return pack({ name, bytes: new Uint8Array(await file.arrayBuffer()) });
}

const NEWLINE = 10;

/** Reads the first rows of a text file, compressed. */
async function packStart({ file }: ImportFile): Promise<PackedFile> {
  const bytes = new Uint8Array(
    await (file instanceof Blob ? file.slice(0, INSPECTED_BYTES_MAX / 2) : file).arrayBuffer(),
  );
  const startBytes = bytes.subarray(0, INSPECTED_BYTES_MAX / 2);
  return pack({ name: file.name, bytes: startBytes.slice(0, startBytes.lastIndexOf(NEWLINE) + 1) });
}

/** Returns a workbook or Parquet file unchanged. */
async function createWholeContent(one: ImportFile): Promise<ImportContent> {
  return { format: isParquet(one) ? 'parquet' : 'xlsx', content: await encodeBase64(await readBlob(one)) };
}

const createArchiveContent = async (packed: readonly PackedFile[]): Promise<ImportContent> => ({
  format: 'csv',
  content: await encodeBase64(createArchive(packed)),
});

const readBlob = async ({ file }: ImportFile): Promise<Blob> =>
  file instanceof Blob ? file : new Blob([await file.arrayBuffer()]);

function encodeBase64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result).replace(/^[^,]*,/, '')));
    reader.addEventListener('error', () =>
      reject(reader.error ?? new Error('The file cannot be read. Choose it again.')),
    );
    reader.readAsDataURL(blob);
  });
}

type ImportQuery = Operations['importStore']['request']['query'];

export interface SentImport {
  readonly result: ImportResult | null;
  readonly trouble: Trouble | null;
  /** True if some files were stored as a store although the service refused other files. */
  readonly isPartial?: boolean;
}

interface ImportOrder {
  readonly files: readonly ImportFile[];
  readonly header: JsonObject;
  readonly mapping: JsonObject | null;
  /** Called before each further request, with the number of files that were sent. */
  onSent(files: number): void;
}

export async function sendImport(wanted: ImportOrder): Promise<SentImport> {
  return wanted.files.some(isParquet) ? sendTables(wanted) : sendParts(wanted);
}

interface AcceptedImport {
  readonly results: ImportResult[];
  files: number;
}

/**
 * Sends the requests in order. The first request creates the store, the others add to it, and the last one serves it.
 * If a later request is refused and `on_exists` is `refuse`, the new store is deleted. Otherwise the result is partial.
 */
async function sendParts(wanted: ImportOrder): Promise<SentImport> {
  const acceptedImport: AcceptedImport = { results: [], files: 0 };
  try {
    const bytesMax = health.peek()?.limits['MAX_IMPORT_BYTES'] ?? Infinity;
    for await (const { content, sent, isLast } of iterateParts({ ...wanted, bytesMax })) {
      const [first] = acceptedImport.results;
      const fields = first === undefined ? {} : { store_id: first.store.store_id, on_exists: 'append' };
      const activate = isLast && wanted.header['activate'] === true;
      const body = { ...wanted.header, ...fields, activate, mapping: wanted.mapping, ...content };
      // the service reports errors in the body
      acceptedImport.results.push(await service.value.call('importStore', { body: body as unknown as ImportRequest }));
      acceptedImport.files = sent;
      if (!isLast) wanted.onSent(sent);
    }
    return { result: mergeAnswers(acceptedImport.results), trouble: null };
  } catch (thrown) {
    return handleRefusedPart(createTrouble(thrown), acceptedImport, wanted);
  }
}

async function handleRefusedPart(
  trouble: Trouble,
  { results, files }: AcceptedImport,
  { header }: ImportOrder,
): Promise<SentImport> {
  const [first] = results;
  if (first === undefined) return { result: null, trouble };
  const { store_id } = first.store;
  if (header['on_exists'] === 'refuse') {
    const isDeleted = await service.value.call('deleteStore', { params: { store_id } }).then(
      () => true,
      () => false,
    );
    if (isDeleted) return { result: null, trouble };
  }
  const message = `${countValues(files, 'file')} were stored in ${store_id}, the others were not: ${trouble.message}`;
  return { result: null, trouble: { ...trouble, message }, isPartial: true };
}

const PARQUET = 'application/vnd.apache.parquet';

/**
 * Sends the tables. Each Parquet file is a separate request. Prices create the store, and the other tables are added to
 * it.
 */
async function sendTables({ files, header, mapping }: ImportOrder): Promise<SentImport> {
  const orderedFiles = files.toSorted((a, b) => Number(b.table === 'market') - Number(a.table === 'market'));
  const results: ImportResult[] = [];
  for (const file of orderedFiles) {
    const [made] = results;
    const first = { ...header, ...(mapping === null ? {} : { mapping: JSON.stringify(mapping) }) };
    const fields = { name: header['name'], store_id: made?.store.store_id, on_exists: 'append', dataset: file.table };
    const query = (made === undefined ? first : fields) as ImportQuery; // the service reports errors in the body
    try {
      results.push(await service.value.upload('importStore', PARQUET, await readBlob(file), { query }));
    } catch (thrown) {
      const trouble = createTrouble(thrown);
      if (made === undefined) return { result: null, trouble };
      const message = `The store ${made.store.store_id} was created with the prices, but ${file.file.name} was not added: ${trouble.message}`;
      return { result: null, trouble: { ...trouble, message }, isPartial: true };
    }
  }
  return { result: mergeAnswers(results), trouble: null };
}

/** Returns the last response with the rows and findings of all responses. */
function mergeAnswers(done: readonly ImportResult[]): ImportResult | null {
  const last = done.at(-1);
  if (last === undefined) return null;
  const rows: Record<string, number> = {};
  for (const result of done)
    for (const [table, read] of Object.entries(result.rows)) rows[table] = (rows[table] ?? 0) + read;
  return { ...last, rows, findings: done.flatMap(({ findings }) => findings) };
}
