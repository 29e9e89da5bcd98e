import { decodeUtf8 } from '#base/text/utf8.js';
import { Buffer } from 'node:buffer';
import { open, type FileHandle } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { findMemoryLimit, allocatePanels } from '#kernels/memory/paged-memory.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { createIdentity } from '#domain/market/market-identity.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { VersionFile } from '../sources/known-files.js';
import type { ServedMarket } from './markets.js';
import { computePanelBytesMax } from '../content/market-limits.js';
import { transferMarket } from '../panels/shared-market.js';

/**
 * Version of the format of a market as bytes, for machines that cannot read its sources:
 *
 * length of the head, uint32 little-endian | head, JSON | dates | tables | places of actions | panels
 */
const FORMAT = 1;

interface Head {
  readonly format: typeof FORMAT;
  readonly market: Pick<MarketHandle, 'datasetId' | 'contentHash' | 'adjustment' | 'currency'>;
  readonly loadedAt: string;
  /** Number of bytes of each part, in order. `panel` is the size of a single panel. */
  readonly dates: number;
  readonly tables: number;
  readonly actionPlaces: number;
  readonly panel: number;
  readonly fields: readonly string[];
  /** `ContentDigests` in base64. */
  readonly digests: Parts<string> | null;
  readonly files: readonly VersionFile[];
}

interface Parts<T> {
  readonly blocks: T;
  readonly tables: T;
  readonly history: T;
}

/** Maximum size of the head in bytes. The head contains names of source files, each a few hundred bytes. */
const HEAD_BYTES_MAX = 64 << 20;
/** Number of bytes that are copied in one turn of the event loop. Copying them takes a millisecond or two. */
const TURN_BYTES = 8 << 20;

/** Market read from a snapshot, ready to be opened. */
export interface OpenedSnapshot {
  readonly handle: MarketHandle;
  readonly loadedAt: string;
  readonly files: readonly VersionFile[];
}

/** Encodes a market as bytes. @cost one copy of the panels, in turns of the event loop */
export async function encodeSnapshot({ handle, market, loadedAt, files }: ServedMarket): Promise<Uint8Array> {
  const panel = market.dates.length * market.identifiers.length * Float64Array.BYTES_PER_ELEMENT;
  const head: Head = {
    format: FORMAT,
    market: createIdentity(handle),
    loadedAt,
    dates: handle.dates.byteLength,
    tables: handle.tables.byteLength,
    actionPlaces: handle.actionPlaces.byteLength,
    panel,
    fields: handle.fields.map(({ name }) => name),
    digests:
      handle.digests === undefined ? null : mapParts(handle.digests, (bytes) => Buffer.from(bytes).toString('base64')),
    files,
  };
  const textBytes = new TextEncoder().encode(JSON.stringify(head));
  const lengthBytes = new Uint8Array(4);
  new DataView(lengthBytes.buffer).setUint32(0, textBytes.length, true);
  const parts = [
    lengthBytes,
    textBytes,
    ...[handle.dates, handle.tables, handle.actionPlaces].map((memory) => new Uint8Array(memory)),
    ...handle.fields.map(({ values }) => new Uint8Array(values, 0, panel)),
  ];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let position = 0;
  for (const part of parts)
    for (let from = 0; from < part.length; from += TURN_BYTES) {
      const piece = part.subarray(from, from + TURN_BYTES);
      bytes.set(piece, position);
      position += piece.length;
      if (piece.length === TURN_BYTES) await setImmediate();
    }
  return bytes;
}

/**
 * Reads a file of `encodeSnapshot` into shared memory.
 * @throws Refusal DOCUMENT_UNREADABLE if it has another format, OVERLOADED if this machine has too little memory
 */
export async function readSnapshot(path: string): Promise<OpenedSnapshot> {
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The snapshot of the market is missing.', null, { cause });
  });
  try {
    const { head, end } = await readHead(file);
    const bytes = head.panel * head.fields.length;
    if (bytes > findMemoryLimit().panelBytes && bytes > computePanelBytesMax(head.fields.length))
      throw new Refusal(
        'OVERLOADED',
        `The panels of the data store ${head.market.datasetId} do not fit into this machine.`,
      );
    const sizes = [head.dates, head.tables, head.actionPlaces];
    const memories = [
      ...sizes.map((bytes) => new SharedArrayBuffer(bytes)),
      ...head.fields.map(() => allocatePanels(head.panel, bytes)),
    ];
    await readInto(
      file,
      memories.map((memory) => new Uint8Array(memory)),
      end,
    );
    const [dates, tables, actionPlaces, ...panels] = memories as [
      SharedArrayBuffer,
      SharedArrayBuffer,
      SharedArrayBuffer,
      ...SharedArrayBuffer[],
    ]; // the arrays have equal lengths
    const { market, digests } = head;
    const handle = {
      ...market,
      dates,
      fields: head.fields.map((name, i) => ({ name, values: panels[i]! })),
      tables,
      actionPlaces,
      ...(digests === null
        ? {}
        : { digests: mapParts(digests, (text) => new Uint8Array(Buffer.from(text, 'base64'))) }),
    };
    return { handle, loadedAt: head.loadedAt, files: head.files };
  } finally {
    await file.close();
  }
}

async function readHead(file: FileHandle): Promise<{ readonly head: Head; readonly end: number }> {
  const startBytes = new Uint8Array(4);
  await readInto(file, [startBytes], 0);
  const length = new DataView(startBytes.buffer).getUint32(0, true);
  const textBytes = new Uint8Array(Math.min(length, HEAD_BYTES_MAX));
  await readInto(file, [textBytes], startBytes.length);
  // `encodeSnapshot` wrote the text, and the digest of the file was verified.
  const head = JSON.parse(decodeUtf8(textBytes)) as Head;
  if (head.format !== FORMAT)
    throw new Refusal('DOCUMENT_UNREADABLE', 'The snapshot of the market is of another format.');
  return { head, end: startBytes.length + length };
}

const readInto = (file: FileHandle, pieces: readonly Uint8Array[], offset: number): Promise<void> =>
  transferMarket(pieces, offset, async (some, position) => (await file.readv(some, position)).bytesRead);

const mapParts = <A, B>({ blocks, tables, history }: Parts<A>, map: (value: A) => B): Parts<B> => ({
  blocks: map(blocks),
  tables: map(tables),
  history: map(history),
});
