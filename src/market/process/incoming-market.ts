import { open, rm, type FileHandle } from 'node:fs/promises';
import type { PagedFile } from '#kernels/memory/paged-memory.js';
import { awaitAll } from '../panels/settle-all.js';
import { allocateGrowablePanel, createUsedDays, openPanel } from '../panels/panels.js';
import {
  sliceDays,
  listEdges,
  transferMarket,
  type Extent,
  type TransferMessage,
  type SharedMarket,
} from '../panels/shared-market.js';
import { reportPanelMemory } from '../panels/gc-pressure.js';

/** Market that is being received from another process. */
export interface IncomingMarket {
  /** Processes the next message of the transfer. */
  take(step: TransferMessage): void;
  /** Returns the market in shared memory, with spare days. Returns undefined before the last message has arrived. */
  market(): Promise<SharedMarket> | undefined;
  /** Stops reading; resolves after all reads have settled. */
  stop(): Promise<void>;
  /** Closes the files after `stop`, without waiting for the operating system, which takes 0.1 s/GiB. */
  close(): void;
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
export function createIncomingMarket(): IncomingMarket {
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
    take(step) {
      if (step.kind === 'shape') begin(step);
      else if (step.kind === 'days') takeDays(step);
      else {
        sharedMarket = takeRest(step);
        sharedMarket.catch(() => {}); // reported to the caller that awaits it
      }
    },
    market: () => sharedMarket,
    async stop() {
      isStopped = true;
      await Promise.allSettled([...queues, sharedMarket]);
    },
    close() {
      for (const file of files.values()) void file.then((handle) => handle.close()).catch(() => {});
    },
  };
}
