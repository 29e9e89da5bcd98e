import type { MarketHandle } from '#domain/market/market-handle.js';
import type { PagedFile } from '#kernels/memory/paged-memory.js';

/**
 * Size of a buffer that makes the engine count memory. It slightly exceeds the growth of external memory at which the
 * engine collects garbage.
 */
const BALLAST_BYTES_MAX = 96 << 20;

/**
 * Buffers that the engine counts in place of shared memory. The key is the first panel of the store that a buffer
 * represents.
 */
const ballast = new WeakMap<ArrayBufferLike, ArrayBuffer>();

/**
 * Makes the garbage collector account for panels. The engine does not count shared memory, so unused versions of a
 * store would remain until something else triggered a collection. The engine does count an ArrayBuffer, so this
 * function creates one with the lifetime of the panels. It is never written, so it takes no physical memory. Call this
 * before new panels are filled: unused panels are then collected in the background.
 * @param panels memory of the panels of one store, of any length; the first identifies them
 * @cost a concurrent collection, which pauses the thread for a few milliseconds
 */
export function reportPanelMemory(panels: readonly ArrayBufferLike[]): void {
  const [first] = panels;
  if (first === undefined || ballast.has(first)) return;
  const bytes = panels.reduce((sum, { byteLength }) => sum + byteLength, 0);
  ballast.set(first, new ArrayBuffer(Math.min(bytes, BALLAST_BYTES_MAX)));
}

/**
 * Waits for concurrent work on one connection or file. An error is thrown only after all work has ended, because a
 * connection or file must not be closed while it is in use.
 */
export async function awaitAll<const T extends readonly Promise<unknown>[]>(
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** Messages of the reading process to the serving process. They transfer a market in batches of days, through files. */
export type TransferMessage =
  /** Panels of this shape follow. Panels that were sent before are discarded. */
  | {
      readonly kind: 'shape';
      readonly days: number;
      readonly assets: number;
      readonly fields: readonly string[];
      /** File of each panel, if all panels are kept in files. Then no `days` message follows. */
      readonly files?: readonly PagedFile[];
    }
  /** A file contains the values of all panels for a range of days, field after field. */
  | {
      readonly kind: 'days';
      readonly file: string;
      readonly offset: number;
      readonly from: number;
      readonly to: number;
    }
  /** All days have been written; a file contains the remaining parts of the market. */
  | {
      readonly kind: 'rest';
      readonly file: string;
      readonly dates: Extent;
      readonly tables: Extent;
      readonly actionPlaces: Extent;
      /** Bytes before and after the files of panels that have separate files, panel after panel. */
      readonly edges: Extent;
    };

export interface Extent {
  readonly offset: number;
  readonly bytes: number;
}

export type SharedMarket = Pick<MarketHandle, 'dates' | 'fields' | 'tables' | 'actionPlaces' | 'taken'>;

/** Error codes of the operating system for a full disk or quota. */
const FULL_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** Returns true if a write failed because the disk or quota is full. */
export const isFull = (error: unknown): boolean =>
  error instanceof Error && FULL_CODES.has((error as NodeJS.ErrnoException).code ?? '');

/**
 * Maximum number of bytes per read or write call. A call occupies one of the few threads for file access and cannot be
 * cancelled.
 */
const CALL_BYTES_MAX = 8 << 20;

/**
 * Reads or writes pieces of memory that are contiguous in a file, in as many calls as necessary.
 * @param offset in the file of the first piece
 * @param call reads or writes some pieces at an offset and returns the number of bytes transferred; 0 at the end of the
 * file
 * @throws Error if the file ends early, and errors of `call`
 */
export async function transferMarket(
  pieces: readonly Uint8Array[],
  offset: number,
  call: (pieces: Uint8Array[], offset: number) => Promise<number>,
): Promise<void> {
  let remainingPieces = pieces;
  for (let position = offset; ;) {
    remainingPieces = remainingPieces.filter(({ length }) => length > 0);
    if (remainingPieces.length === 0) return;
    const transferredBytes = await call(listFirstBytes(remainingPieces, CALL_BYTES_MAX), position);
    if (transferredBytes === 0) throw new Error(`the shared file ends at byte ${position}; more bytes were announced`);
    position += transferredBytes;
    remainingPieces = skipPieces(remainingPieces, transferredBytes);
  }
}

function listFirstBytes(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  const first: Uint8Array[] = [];
  for (let i = 0, freeBytes = bytes; i < pieces.length && freeBytes > 0; i++) {
    first.push(pieces[i]!.subarray(0, freeBytes));
    freeBytes -= first[i]!.length;
  }
  return first;
}

function skipPieces(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes;
  return pieces.map((piece) => {
    const skippedBytes = Math.min(skip, piece.length);
    skip -= skippedBytes;
    return piece.subarray(skippedBytes);
  });
}

export function sliceDays(panels: readonly Float64Array[], assets: number, from: number, to: number): Uint8Array[] {
  return panels.map((panel) => {
    const { buffer, byteOffset, byteLength } = panel.subarray(from * assets, to * assets);
    return new Uint8Array(buffer, byteOffset, byteLength);
  });
}

/** Returns the memory of a panel before and after its file. @param bytes size of the panel */
export function listEdges(memory: ArrayBufferLike, file: PagedFile, bytes: number): Uint8Array[] {
  const end = file.before + file.bytes;
  return [new Uint8Array(memory, 0, file.before), new Uint8Array(memory, end, bytes - end)];
}

/**
 * Number of bytes per batch. It is large enough to outweigh the cost of a message, and small enough to be transferred
 * while the next batch is read.
 */
const BATCH_BYTES = 4 << 20;

/** Returns the number of days per batch, a multiple of `blockDays`. */
export function computeBatchDays(
  shape: { readonly assets: number; readonly fields: number },
  blockDays: number,
): number {
  const blockBytes = blockDays * shape.assets * shape.fields * Float64Array.BYTES_PER_ELEMENT;
  return blockDays * Math.max(1, Math.floor(BATCH_BYTES / Math.max(1, blockBytes)));
}
