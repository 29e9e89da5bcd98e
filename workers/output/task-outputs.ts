import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { openArtifactWriter } from '#artifact-writer';
import { type ProducedBytes } from '#base/bytes.js';
import { allocatePageMemory, allocateRetainedMemory, type ByteRange, type Memory } from '#base/memory.js';
import type { SeparatePrices } from '#domain/backtest/run-file/header.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import { createMarketKey, type MarketIdentity } from '#domain/market/market-data.js';
import type {
  HashedBytes,
  ResponseBytes,
  RowBlock,
  RowsInBlocks,
  TaskControl,
  TaskOutputs,
  WrittenFile,
} from '#jobs/tasks/messages.js';
import { clearMemory, trimMemory } from '#kernels/memory/paged-memory.js';
import { isFull } from '#market/panels/market-transfer.js';
import type { ApartHash, ArtifactRef, EarlyArtifact, WriteOptions } from '#store/port.js';
import { createJsonWriter, type JsonBytesWriter, type JsonSink } from '#views/json/writer.js';
import { isContentOf } from '../run-files.js';

/**
 * Copies response bytes to a separate buffer that can leave the thread. Also computes their hash.
 * @cost one pass of SHA-256
 */
export function copyWithHash(content: string | Uint8Array): HashedBytes {
  const { bytes } = answerBytes(content);
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Copies response bytes to a separate buffer that can leave the thread. */
export function answerBytes(content: string | Uint8Array): ResponseBytes {
  return { bytes: typeof content === 'string' ? new TextEncoder().encode(content) : copyBytes(content) };
}

/**
 * Marks the outcome of a task, so that the buffers of its ResponseBytes move to the main thread without a copy. Piscina
 * reads the mark only from the result itself. A `move()` nested inside the result would become `{}` without an error,
 * so the entry point marks the complete outcome.
 */
export function transferFile<T extends object>(outcome: T): T {
  const buffers = new Set<ArrayBuffer>();
  collectBuffers(outcome, DEPTH_MAX, buffers);
  // Piscina accepts any object with these two members, but its types permit only buffers.
  return move({ [transferableSymbol]: [...buffers], [valueSymbol]: outcome } as never) as unknown as T;
}

/**
 * Maximum depth at which bytes are searched. The levels are outcome, output, a list or record in the output, and its
 * bytes.
 */
const DEPTH_MAX = 4;
/** Length above which a list is not searched. Such a list contains numbers or rows and no bytes to move. */
const LIST_LENGTH_MAX = 256;

function collectBuffers(value: unknown, depth: number, buffers: Set<ArrayBuffer>): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (hasBytes(value)) {
    buffers.add(value.bytes.buffer);
  } else if (depth > 0 && !(Array.isArray(value) && value.length > LIST_LENGTH_MAX)) {
    for (const member of Object.values(value)) collectBuffers(member, depth - 1, buffers);
  }
}

function hasBytes(value: object): value is ResponseBytes {
  return 'bytes' in value && value.bytes instanceof Uint8Array && value.bytes.buffer instanceof ArrayBuffer;
}

/**
 * Returns the bytes in a separate buffer. A view that begins at the start of a buffer and covers at least half of it is
 * not copied. Other content, such as a small part of a buffer or WebAssembly memory, is copied.
 */
function copyBytes(content: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = content;
  const hasOwnBuffer = buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength * 2 >= buffer.byteLength;
  return hasOwnBuffer ? new Uint8Array(buffer, 0, byteLength) : new Uint8Array(content);
}

/** Writes rows as JSON text in consecutive blocks. @param row returns the row at a position */
export function writeRowsInBlocks(
  count: number,
  row: (position: number) => unknown,
): { readonly bytes: Uint8Array; readonly index: Omit<RowsInBlocks, 'artifact'> } {
  const blocks: RowBlock[] = [];
  const encodedTexts: Uint8Array[] = [];
  for (let from = 0; from < count; from += LIMITS.MAX_BLOCK_ROWS) {
    const json = createJsonWriter();
    for (let i = from; i < Math.min(count, from + LIMITS.MAX_BLOCK_ROWS); i++) {
      if (i > from) json.raw(',');
      json.value(row(i));
    }
    const bytes = json.bytes();
    encodedTexts.push(bytes);
    blocks.push({ bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
  }
  return { bytes: Buffer.concat(encodedTexts), index: { count, blocks } };
}

/**
 * Maximum memory in bytes that a thread keeps for its next run: 500 securities over 20 years take 57 MB. Of larger
 * memory, only the address range is kept.
 */
const CACHED_BYTES_MAX = 64 * 2 ** 20;

export interface RunMemory {
  /** Returns the memory of the previous run if it is large enough, otherwise new memory. */
  readonly take: Memory;
  /** Keeps the last memory for the next run. Its data must no longer be read. */
  giveBack(): void;
  /** Frees the kept memory. */
  release(): void;
}

/**
 * Creates memory that can be used again. New pages and garbage collections would take a fifth of the time of a run of
 * 500 securities over 20 years. Larger memory is returned to the system at once: shared memory is freed only by a
 * garbage collection, and nothing triggers one.
 */
export function createRunMemory(keptBytesMax = CACHED_BYTES_MAX): RunMemory {
  let usedMemory: SharedArrayBuffer | undefined;
  let reusableMemory: SharedArrayBuffer | undefined;
  let isZero = false;
  return {
    take(bytes, anything) {
      if (bytes > keptBytesMax) trimMemory(); // returns the memory of earlier responses to the system
      usedMemory =
        reusableMemory === undefined || reusableMemory.byteLength < bytes
          ? allocateRunMemory(bytes, keptBytesMax)
          : reusableMemory;
      if (usedMemory === reusableMemory && !isZero) clear(usedMemory, anything);
      reusableMemory = undefined;
      return usedMemory;
    },
    giveBack() {
      isZero = usedMemory !== undefined && usedMemory.byteLength > keptBytesMax && clearMemory(usedMemory);
      if (isZero) trimMemory();
      if (usedMemory !== undefined && (isZero || usedMemory.byteLength <= keptBytesMax)) reusableMemory = usedMemory;
      usedMemory = undefined;
    },
    release() {
      reusableMemory = undefined;
    },
  };
}

/**
 * Allocates page-aligned memory, because files are written directly from it. Larger memory can be returned to the
 * system.
 */
function allocateRunMemory(bytes: number, keptBytesMax: number): SharedArrayBuffer {
  return bytes <= keptBytesMax ? allocatePageMemory(bytes) : allocateRetainedMemory(bytes);
}

/** Clears shared memory in elements of eight bytes, which takes a third of the time of single bytes. */
function clear(memory: SharedArrayBuffer, { from, to }: ByteRange): void {
  const wordCount = memory.byteLength >> 3;
  new Float64Array(memory, 0, wordCount).fill(0, 0, from >> 3).fill(0, to >> 3);
  new Uint8Array(memory, wordCount << 3).fill(0);
}

/** Wraps a writer that checks for a cancellation before each list of numbers. @throws CancelledError */
export function wrapStoppable(json: JsonBytesWriter, { report }: TaskControl): JsonBytesWriter {
  return {
    ...json,
    numbers(values, from, to) {
      report(0);
      json.numbers(values, from, to);
    },
  };
}

/** Bytes of an artifact of a task. They are null if there is no artifact. */
type Content = Uint8Array<ArrayBuffer> | ProducedBytes | null;
type OutputReference<C extends Content> = C extends null ? null : ArtifactRef;

/** Copies the content of an artifact to memory that remains after the memory of the task was freed. */
export const copyOutput = (content: string | Uint8Array): Uint8Array<ArrayBuffer> => answerBytes(content).bytes;

interface OutputOptions extends Pick<WriteOptions, 'onWritten'> {
  /** Contents that are already stored. They are returned without a write. */
  readonly again?: StoredArtifacts;
}

/**
 * Writes the artifacts of a task under their names. They are on disk once the attempt has completed.
 * @throws Refusal STORAGE_FULL
 */
export async function writeOutputs<C extends Readonly<Record<string, Content>>>(
  { destination, names }: TaskOutputs<Extract<keyof C, string>>,
  contents: C,
  { again = new Map(), onWritten }: OutputOptions = {},
): Promise<{ readonly [F in keyof C]: OutputReference<C[F]> }> {
  const files = Object.keys(contents).flatMap((file) => {
    const bytes = contents[file]!;
    return bytes === null ? [] : [{ file, name: names[file as keyof typeof names], bytes }];
  });
  const newFiles = files.filter(({ file }) => !again.has(file));
  const writer = openArtifactWriter(destination);
  const options = { isSettledLater: true, onWritten };
  const refs = newFiles.length === 0 ? [] : await writer.write(newFiles, options);
  const byFile = new Map(newFiles.map(({ file }, i) => [file, refs[i]!]));
  for (const { file, name, bytes } of files)
    if (again.has(file)) byFile.set(file, { name, bytes: bytes.length, sha256: again.get(file)! });
  // only absent content is null
  return Object.fromEntries(Object.keys(contents).map((file) => [file, byFile.get(file) ?? null])) as {
    readonly [F in keyof C]: OutputReference<C[F]>;
  };
}

/** Artifact of a task. Its bytes may be complete before the task ends. */
export interface EarlyOutput {
  /**
   * Starts to write the likely final bytes to disk while the task computes.
   * @param final number of bytes at the begin that no longer change. Default: all
   */
  begin(bytes: Uint8Array<ArrayBuffer>, final?: number): void;
  /**
   * Continues with further bytes that no longer change. Other threads start with them when the task returns to its event
   * loop.
   * @returns true if it should do so now
   */
  extend(final: number): boolean;
  /**
   * Completes the artifact, which is on disk once the attempt has completed. If the bytes equal those of `begin`, uses
   * the write that `begin` started.
   */
  end(bytes: Uint8Array<ArrayBuffer>, options?: Pick<WriteOptions, 'onWritten'>): Promise<ArtifactRef>;
}

interface EarlyOptions {
  /** False if the task begins nothing. Default: true. */
  readonly mayBegin?: boolean;
  /** Creates the hash of large bytes. Default: large bytes are not written early. */
  readonly hashApart?: () => ApartHash | undefined;
}

/**
 * Runs a task that may write one of its artifacts early. A failure leaves no file.
 * @throws Refusal STORAGE_FULL, before the task starts if possible
 */
export async function runWithEarlyOutput<F extends string, T>(
  outputs: TaskOutputs<F>,
  file: F,
  run: (output: EarlyOutput) => Promise<T>,
  { mayBegin = true, hashApart }: EarlyOptions = {},
): Promise<T> {
  const name = outputs.names[file];
  const writer = openArtifactWriter(outputs.destination);
  let earlyArtifact: EarlyArtifact | undefined = mayBegin ? await writer.early?.(name, hashApart) : undefined;
  let startedBytes: Uint8Array | undefined;

  async function dropArtifact(): Promise<void> {
    const droppedArtifact = earlyArtifact;
    earlyArtifact = undefined;
    await droppedArtifact?.drop();
  }

  async function endArtifact(bytes: Uint8Array, options: Pick<WriteOptions, 'onWritten'> = {}): Promise<ArtifactRef> {
    const openArtifact = earlyArtifact;
    if (openArtifact !== undefined && startedBytes === bytes) {
      earlyArtifact = undefined;
      return { name, ...(await openArtifact.end(options)) };
    }
    await dropArtifact();
    const [ref] = await writer.write([{ name, bytes }], { ...options, isSettledLater: true });
    return ref!;
  }

  try {
    return await run({
      begin(bytes, final) {
        if (earlyArtifact?.begin(bytes, final)) startedBytes = bytes;
      },
      extend: (final) => startedBytes !== undefined && earlyArtifact!.extend(final),
      end: endArtifact,
    });
  } finally {
    await dropArtifact();
  }
}

/**
 * SHA-256 hashes of contents that need not be written, by the name of the content. Stored files have the same bytes.
 */
export type StoredArtifacts = ReadonlyMap<string, string>;

/**
 * Finds contents that are already stored in a local folder. A stored file with the same bytes is not damaged, and its
 * hash need not be computed again.
 * @param begins offset at which the comparison of a content begins. Default: 0
 * @cost one read of the files of equal size, up to the first different byte
 */
export function findStoredAlready(
  outputs: OutputDestination,
  contents: Readonly<Record<string, Uint8Array | null>>,
  stored: Readonly<Record<string, ArtifactRef | undefined>> = {},
  begins: Readonly<Record<string, number>> = {},
): StoredArtifacts {
  const repeatedHashes = new Map<string, string>();
  for (const [file, bytes] of Object.entries(contents)) {
    const artifactRef = stored[file];
    if (!bytes || artifactRef?.bytes !== bytes.length) continue;
    const path = findOutputPath(outputs, artifactRef);
    if (path !== undefined && isContentOf(path, bytes, begins[file])) repeatedHashes.set(file, artifactRef.sha256);
  }
  return repeatedHashes;
}

type OutputDestination = Pick<TaskOutputs<string>, 'destination'>;

/**
 * Returns the path of a stored artifact in the folder of a task's outputs. Returns undefined if the outputs are not in
 * a local folder.
 */
export function findOutputPath(
  { destination }: OutputDestination,
  { name }: Pick<ArtifactRef, 'name'>,
): string | undefined {
  if (destination.kind !== 'folder' || destination.storeId !== undefined) return undefined;
  return join(destination.folder, name);
}

/** Number of bytes read back at a time when a range is rewritten. */
const PART_BYTES = 1 << 18;

/**
 * Writes a new file through a sink. Removes it if it could not be completed.
 * @throws Refusal STORAGE_FULL
 */
export function writeTextFile(path: string, write: (sink: JsonSink) => void): WrittenFile {
  const file = openSync(path, 'wx+', 0o600);
  const hash = createHash('sha256');
  let length = 0;

  function append(part: Uint8Array): void {
    hash.update(part);
    for (let writtenBytes = 0; writtenBytes < part.length;)
      writtenBytes += writeSync(file, part, writtenBytes, part.length - writtenBytes, length + writtenBytes);
    length += part.length;
  }

  let isWhole = false;
  try {
    write({
      get length() {
        return length;
      },
      append,
      repeat(from, to) {
        const chunk = new Uint8Array(Math.min(PART_BYTES, to - from));
        for (let position = from; position < to;) {
          const count = readSync(file, chunk, 0, Math.min(chunk.length, to - position), position);
          if (count === 0) throw new Error(`${to - position} bytes of ${path} cannot be read again`);
          append(chunk.subarray(0, count));
          position += count;
        }
      },
    });
    isWhole = true;
  } catch (thrown) {
    throw isFull(thrown)
      ? new Refusal('STORAGE_FULL', `The service's volume accepted only ${length} bytes of a file.`, null, {
          cause: thrown,
        })
      : thrown;
  } finally {
    closeSync(file);
    if (!isWhole) unlinkSync(path);
  }
  return { bytes: length, sha256: hash.digest('hex') };
}

const REMEMBERED_PRICES_MAX = 64;

/** SHA-256 of the prices that this thread has written or hashed, by a key that identifies the prices. */
const hashes = new Map<string, string>();

/** Returns the key of a run's prices on a market. Equal keys mean equal files. */
export function formatPricesKey(market: MarketIdentity, { identifiers, days, adjustedBy }: SeparatePrices): string {
  const key = JSON.stringify([createMarketKey(market), identifiers, ...(adjustedBy === '' ? [] : [adjustedBy])]);
  return createHash('sha256').update(key).update(days).digest('hex');
}

/** Returns the SHA-256 of prices that this thread has written or hashed. Returns undefined for other prices. */
export function getPricesHash(key: string): string | undefined {
  return hashes.get(key);
}

export function rememberPrices(key: string, sha256: string): void {
  hashes.delete(key);
  hashes.set(key, sha256);
  for (const oldest of hashes.keys()) if (hashes.size > REMEMBERED_PRICES_MAX) hashes.delete(oldest);
}
