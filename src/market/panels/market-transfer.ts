import { type FileHandle, open, rm } from 'node:fs/promises';
import { type MarketHandle, shareTables } from '#domain/market/market-data.js';
import { findPagedFile, isPaged, type PagedFile } from '#kernels/memory/paged-memory.js';
import {
  allocateGrowablePanel,
  BLOCK_DAYS,
  computePanelBytes,
  createUsedDays,
  openPanel,
  type Panels,
} from './panels.js';

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

interface Extent {
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

function sliceDays(panels: readonly Float64Array[], assets: number, from: number, to: number): Uint8Array[] {
  return panels.map((panel) => {
    const { buffer, byteOffset, byteLength } = panel.subarray(from * assets, to * assets);
    return new Uint8Array(buffer, byteOffset, byteLength);
  });
}

/** Returns the memory of a panel before and after its file. @param bytes size of the panel */
function listEdges(memory: ArrayBufferLike, file: PagedFile, bytes: number): Uint8Array[] {
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

/** Panels and tables to send. */
type SentContent = Panels & Parameters<typeof shareTables>[0];

/** Market that is being sent to another process. */
interface OutgoingMarket {
  /** Begins with panels. Their days are sent as they are completed. Panels that were sent earlier are discarded. */
  begin(panels: Panels): void;
  /** Sends a range of days, which must not change afterwards. */
  send(from: number, to: number): void;
  /**
   * Sends the rest of a content. If its panels differ from those of `begin`, sends all of the content. Called once, at
   * the end.
   * @throws ENOSPC if no file has space for the rest
   */
  finish(content: SentContent): Promise<void>;
}

/** Returns the files of panels. Returns undefined unless all panels are kept in files. */
function findFiles({ fields }: Panels): readonly PagedFile[] | undefined {
  const files = Array.from(fields.values(), ({ buffer, byteOffset }) =>
    byteOffset === 0 ? findPagedFile(buffer) : undefined,
  );
  return files.length > 0 && files.every((file) => file !== undefined) ? files : undefined;
}

function sliceEdges({ fields }: Panels, files: readonly PagedFile[]): Uint8Array[] {
  const panels = [...fields.values()];
  return files.flatMap((file, f) => listEdges(panels[f]!.buffer, file, panels[f]!.byteLength));
}

/** Number of concurrent writes. Each occupies one of the threads for file access, which readers also need. */
const WRITE_CONCURRENCY = 2;

interface OutputFile {
  readonly path: string;
  readonly file: FileHandle;
  end: number;
}

/**
 * Writes a market to the first of several files with enough space. When a file is full, continues in the next one,
 * because shared memory is often small in a container. A market with panels in files is written to the last file, which
 * is on a disk. The files must not exist yet; only their owner can read them.
 * @cost 0.4 s/GiB, off the thread
 */
export function createOutgoingMarket(
  paths: readonly string[],
  report: (step: TransferMessage) => void,
): OutgoingMarket {
  const outputFiles: Promise<OutputFile>[] = [];
  const queues = Array.from({ length: WRITE_CONCURRENCY }, () => Promise.resolve());
  let nextIndex = 0;
  let remainingPaths = paths;
  let panels: Panels | undefined;
  let files: readonly PagedFile[] | undefined;
  /** 1 for each day of the panels that has been sent. */
  let sentBytes = new Uint8Array(0);

  function openNext(): boolean {
    const [path, ...others] = remainingPaths;
    if (path === undefined) return false;
    remainingPaths = others;
    const pendingFile = open(path, 'wx', 0o600).then((file) => ({ path, file, end: 0 }));
    pendingFile.catch(() => {}); // the writer receives the exception
    outputFiles.push(pendingFile);
    return true;
  }

  async function write(pieces: readonly Uint8Array[]): Promise<{ readonly file: string; readonly offset: number }> {
    if (outputFiles.length === 0) openNext();
    for (;;) {
      const fileCount = outputFiles.length;
      const outputFile = await outputFiles.at(-1)!;
      const offset = outputFile.end;
      outputFile.end += pieces.reduce((sum, { length }) => sum + length, 0);
      try {
        await transferMarket(pieces, offset, async (some, at) => (await outputFile.file.writev(some, at)).bytesWritten);
        return { file: outputFile.path, offset };
      } catch (error) {
        const isLast = outputFiles.length === fileCount;
        if (!isFull(error) || (isLast && !openNext())) throw error;
      }
    }
  }

  function begin(started: Panels): void {
    panels = started;
    const shape = { dates: started.dates.length, identifiers: started.identifiers.length, fields: started.fields.size };
    if (isPaged(computePanelBytes(shape))) remainingPaths = remainingPaths.slice(-1); // the data is paged because it exceeds memory
    files = findFiles(started);
    sentBytes = new Uint8Array(started.dates.length);
    report({
      kind: 'shape',
      days: shape.dates,
      assets: shape.identifiers,
      fields: [...started.fields.keys()],
      ...(files === undefined ? {} : { files }),
    });
  }

  function send(from: number, to: number): void {
    const sentPanels = panels!; // set by `begin`
    sentBytes.fill(1, from, to);
    if (files !== undefined) return; // paged panels are in their files already
    const queue = nextIndex++ % WRITE_CONCURRENCY;
    queues[queue] = queues[queue]!.then(async () => {
      const writtenDays = await write(
        sliceDays([...sentPanels.fields.values()], sentPanels.identifiers.length, from, to),
      );
      if (panels === sentPanels) report({ kind: 'days', ...writtenDays, from, to });
    });
    queues[queue].catch(() => {}); // fails later writes of the queue, and is thrown at the end
  }

  async function sendRest({ dates, ...content }: SentContent): Promise<void> {
    const { tables, actionPlaces } = shareTables(content);
    const pieces = [
      new Uint8Array(dates.buffer, dates.byteOffset, dates.byteLength),
      new Uint8Array(tables),
      new Uint8Array(actionPlaces),
    ] as const;
    const edges = sliceEdges(panels!, files ?? []);
    const { file, offset } = await write([...pieces, ...edges]);
    let end = offset;
    const createExtent = ({ length: bytes }: Uint8Array): Extent => ({ offset: (end += bytes) - bytes, bytes });
    await awaitAll(queues);
    report({
      kind: 'rest',
      file,
      dates: createExtent(pieces[0]),
      tables: createExtent(pieces[1]),
      actionPlaces: createExtent(pieces[2]),
      edges: { offset: end, bytes: edges.reduce((sum, { length }) => sum + length, 0) },
    });
  }

  return {
    begin,
    send,
    async finish(content: SentContent): Promise<void> {
      if (panels?.fields !== content.fields) begin(content);
      const step = computeBatchDays({ assets: content.identifiers.length, fields: content.fields.size }, BLOCK_DAYS);
      for (let from = 0; from < content.dates.length; from += step)
        if (sentBytes[from] === 0) send(from, Math.min(from + step, content.dates.length));
      try {
        await sendRest(content);
      } finally {
        await Promise.allSettled(queues);
        for (const place of outputFiles)
          await place.then(
            ({ file }) => file.close(),
            () => {},
          );
      }
    },
  };
}

/**
 * Number of concurrent reads. Most of the time is spent on the first access to new memory, which each read does on a
 * separate core.
 */
const READ_CONCURRENCY = 2;

interface Shape {
  readonly days: number;
  readonly assets: number;
  readonly fields: readonly Field[];
}

interface Field {
  readonly name: string;
  readonly values: SharedArrayBuffer;
  /** File that the other process fills. Present if its panels are kept in files. */
  readonly file: PagedFile | undefined;
  /** True if the memory maps this file. The file then need not be read. */
  readonly isOpened: boolean;
}

/**
 * Reads a market while the other process writes it. Removes the names of the files as soon as they are opened.
 * @cost 0.5 s/GiB, off the event loop
 */
export function createIncomingMarket() {
  const files = new Map<string, Promise<FileHandle>>();
  const queues = Array.from({ length: READ_CONCURRENCY }, () => Promise.resolve());
  let nextIndex = 0;
  let shape: Shape | undefined;
  let sharedMarket: Promise<SharedMarket> | undefined;
  let isStopped = false;

  function openFile(path: string): Promise<FileHandle> {
    const incomingFile = files.get(path);
    if (incomingFile !== undefined) return incomingFile;
    const pendingFile = open(path, 'r');
    files.set(path, pendingFile);
    return pendingFile.finally(() => rm(path, { force: true }));
  }

  async function read(path: string, offset: number, pieces: readonly Uint8Array[]): Promise<void> {
    const file = await openFile(path);
    await transferMarket(pieces, offset, async (some, at) => {
      if (isStopped) throw new Error('the transfer of the market was stopped');
      return (await file.readv(some, at)).bytesRead;
    });
  }

  /** Allocates the panels. @throws Error ENOSPC if the disk has no space for panels in files */
  function begin({ days, assets, fields, files: paged = [] }: TransferMessage & { kind: 'shape' }): void {
    const createField = (name: string, f: number): Field => {
      const file = paged[f];
      const openedPanel = file && openPanel(file, days, assets);
      const values = openedPanel ?? allocateGrowablePanel(days, assets, fields.length);
      return { name, values, file, isOpened: openedPanel !== undefined };
    };
    shape = { days, assets, fields: fields.map(createField) };
    reportPanelMemory(shape.fields.map(({ values }) => values));
  }

  function takeDays({ file, offset, from, to }: TransferMessage & { kind: 'days' }): void {
    const { assets, fields } = shape!; // the shape is received first
    const queue = nextIndex++ % READ_CONCURRENCY;
    queues[queue] = queues[queue]!.then(() =>
      read(
        file,
        offset,
        sliceDays(
          fields.map(({ values }) => new Float64Array(values)),
          assets,
          from,
          to,
        ),
      ),
    );
    queues[queue].catch(() => {}); // thrown when the last message is processed
  }

  /**
   * Reads panels that have separate files. Reads the bytes before and after their files, and whole panels that could
   * not be mapped.
   */
  async function readPaged({ days, assets, fields }: Shape, path: string, edges: Extent): Promise<void> {
    const bytes = days * assets * Float64Array.BYTES_PER_ELEMENT;
    const pagedFields = fields.flatMap(({ file, ...field }) => (file === undefined ? [] : [{ ...field, file }]));
    await read(
      path,
      edges.offset,
      pagedFields.flatMap(({ values, file }) => listEdges(values, file, bytes)),
    );
    for (const { values, file, isOpened } of pagedFields)
      if (!isOpened) await read(file.path, 0, [new Uint8Array(values, file.before, file.bytes)]);
  }

  async function takeRest(rest: TransferMessage & { kind: 'rest' }): Promise<SharedMarket> {
    const { file, dates, tables, actionPlaces, edges } = rest;
    const { days, fields } = shape!; // the shape is received first
    const readPart = async ({ offset, bytes }: Extent): Promise<SharedArrayBuffer> => {
      const memory = new SharedArrayBuffer(bytes);
      await read(file, offset, [new Uint8Array(memory)]);
      return memory;
    };
    const [parts] = await awaitAll([
      awaitAll([readPart(dates), readPart(tables), readPart(actionPlaces)]),
      awaitAll(queues),
      readPaged(shape!, file, edges),
    ]);
    const panels = fields.map(({ name, values }) => ({ name, values }));
    return { dates: parts[0], fields: panels, tables: parts[1], actionPlaces: parts[2], taken: createUsedDays(days) };
  }

  return {
    take(step: TransferMessage): void {
      if (step.kind === 'shape') begin(step);
      else if (step.kind === 'days') takeDays(step);
      else {
        sharedMarket = takeRest(step);
        sharedMarket.catch(() => {}); // reported to the caller that awaits it
      }
    },
    /** Returns the market in shared memory, with spare days. Returns undefined before the last message has arrived. */
    market: (): Promise<SharedMarket> | undefined => sharedMarket,
    /** Stops reading; resolves after all reads have settled. */
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.allSettled([...queues, sharedMarket]);
    },
    /** Closes the files after `stop`, without waiting for the operating system, which takes 0.1 s/GiB. */
    close(): void {
      for (const file of files.values()) void file.then((handle) => handle.close()).catch(() => {});
    },
  };
}
