import { open, rm } from 'node:fs/promises';
import { shareMarket, type MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { allOver } from './all-over.js';
import { roomyMemory, takenDays } from './panels.js';
import { weighPanels } from './weight.js';

/** Where the parts of a market lie in a file that one process writes and another reads into shared memory. */
export interface SharedLayout {
  readonly dates: Extent;
  readonly fields: readonly (Extent & { readonly name: string })[];
  readonly tables: Extent;
  readonly actionPlaces: Extent;
}

export interface Extent {
  readonly offset: number;
  readonly bytes: number;
}

/** The parts of a handle that lie in shared memory. */
export type SharedMarket = Pick<MarketHandle, 'dates' | 'fields' | 'tables' | 'actionPlaces' | 'taken'>;

/** Bytes read or written by one call: small enough to report progress and to be cancelled between two. */
const CHUNK_BYTES = 8 << 20;

/** Codes of the system for a disk, or a share of it, that is full. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** Whether something could not be written for want of room. */
export const isFull = (error: unknown): boolean => error instanceof Error && FULL.has((error as NodeJS.ErrnoException).code ?? '');

/** Writes a market to the first of some files that has room for it: memory that files are kept in is often small in a container. */
export async function writeWhereRoomIs(files: readonly string[], market: MarketData): Promise<{ readonly file: string; readonly layout: SharedLayout }> {
  const [file, ...others] = files;
  if (file === undefined) throw new Error('there is no file to write to');
  try {
    return { file, layout: await writeSharedFile(file, market) };
  } catch (error) {
    if (!isFull(error) || others.length === 0) throw error;
    await rm(file, { force: true });
    return writeWhereRoomIs(others, market);
  }
}

/**
 * Writes a market to a file that must not exist yet, readable by its owner alone.
 * @cost 0.4 s/GiB, off the thread: all of it is handed to the file system at once, so that it goes on while the thread is busy.
 */
export async function writeSharedFile(path: string, market: MarketData): Promise<SharedLayout> {
  const { tables, actionPlaces } = shareMarket({ ...market, fields: new Map() });
  const file = await open(path, 'wx', 0o600);
  const writes: Promise<void>[] = [];
  let offset = 0;
  function write({ buffer, byteOffset, byteLength }: ArrayBufferView): Extent {
    const extent = { offset, bytes: byteLength };
    for (let from = 0; from < byteLength; from += CHUNK_BYTES) {
      writes.push(writeFully(file, new Uint8Array(buffer, byteOffset + from, Math.min(CHUNK_BYTES, byteLength - from)), offset + from));
    }
    offset += byteLength;
    return extent;
  }
  const layout = {
    dates: write(market.dates),
    fields: [...market.fields].map(([name, values]) => ({ name, ...write(values) })),
    tables: write(new Uint8Array(tables)),
    actionPlaces: write(new Uint8Array(actionPlaces)),
  };
  try {
    await allOver(writes);
    return layout;
  } finally {
    await file.close();
  }
}

/**
 * Reads a market that `writeSharedFile` wrote, straight into shared memory that has room for days to come, and removes the file: its name
 * at once, its bytes when they are read, which nobody waits for.
 * @cost 0.5 s/GiB, off the event loop.
 */
export async function readSharedFile(path: string, layout: SharedLayout, signal?: AbortSignal): Promise<SharedMarket> {
  const file = await open(path, 'r');
  async function read({ offset, bytes }: Extent, buffer = new SharedArrayBuffer(bytes)): Promise<SharedArrayBuffer> {
    for (let from = 0; from < bytes;) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(new Uint8Array(buffer, from, Math.min(CHUNK_BYTES, bytes - from)), 0, undefined, offset + from);
      if (bytesRead === 0) throw new Error(`the shared file ends at ${offset + from}; ${offset + bytes} bytes were promised`);
      from += bytesRead;
    }
    return buffer;
  }
  try {
    await rm(path);
    const dates = await read(layout.dates);
    const days = layout.dates.bytes / Int32Array.BYTES_PER_ELEMENT;
    const fields = layout.fields.map(({ name, bytes, offset }) => {
      const values = roomyMemory(days, days === 0 ? 0 : bytes / (days * Float64Array.BYTES_PER_ELEMENT));
      return { name, values, extent: { offset, bytes } };
    });
    weighPanels(fields.map(({ values }) => values));
    // Most of the time goes into memory that is touched for the first time, by each lane on a core of its own.
    await allOver([0, 1].map(async (lane) => {
      for (let f = lane; f < fields.length; f += 2) await read(fields[f]!.extent, fields[f]!.values);
    }));
    return { dates, fields: fields.map(({ name, values }) => ({ name, values })), tables: await read(layout.tables), actionPlaces: await read(layout.actionPlaces), taken: takenDays(days) };
  } finally {
    void file.close().catch(() => {}); // gives back its memory, which takes the system 0.1 s/GiB
  }
}

async function writeFully(file: Awaited<ReturnType<typeof open>>, bytes: Uint8Array, position: number): Promise<void> {
  for (let from = 0; from < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, from, bytes.length - from, position + from);
    from += bytesWritten;
  }
}
