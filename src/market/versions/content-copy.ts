import { Buffer } from 'node:buffer';
import { promisify } from 'node:util';
import { deflateRaw as deflateRawCallback, inflateRawSync, type InputType, type ZlibOptions } from 'node:zlib';
import type { MarketContent } from '../content/market-content.js';
import { tablesOf, tableTexts, type TableTexts } from './table-texts.js';

const deflateRaw = promisify<InputType, ZlibOptions, Buffer>(deflateRawCallback);

/** Version of the bytes below. */
const FORMAT = 1;

/** Prices deflate to half; a higher level takes twice the time for a hundredth less. */
const LEVEL = 1;

/** Longest part that is read: a panel of 2 GiB. */
const PART_BYTES_MAX = 2 ** 31;

interface Header {
  readonly format: typeof FORMAT;
  readonly dates: readonly number[];
  readonly identifiers: readonly string[];
  readonly tables: TableTexts;
  readonly fields: readonly string[];
}

/**
 * A whole content as bytes: a header as JSON, then each panel; every part deflated, after its length.
 * @cost 10 ms a megabyte of panels, on the threads of the compressor
 */
export async function encodeContent(content: MarketContent): Promise<Uint8Array<ArrayBuffer>> {
  const header: Header = {
    format: FORMAT,
    dates: [...content.dates],
    identifiers: content.identifiers,
    tables: tableTexts(content),
    fields: [...content.fields.keys()],
  };
  const panels = [...content.fields.values()].map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
  const parts = [Buffer.from(JSON.stringify(header)), ...panels];
  const deflated = await Promise.all(parts.map((part) => deflateRaw(part, { level: LEVEL })));
  return new Uint8Array(Buffer.concat(deflated.flatMap((part) => [lengthOf(part), part])));
}

function lengthOf({ length }: Buffer): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(length);
  return bytes;
}

/** A content from its bytes; panels are in shared memory. @throws Error of what is no content */
export function decodeContent(bytes: Uint8Array): MarketContent {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (): Buffer => {
    const from = at + 4;
    at = from + raw.readUInt32LE(at);
    return inflateRawSync(raw.subarray(from, at), { maxOutputLength: PART_BYTES_MAX });
  };
  const { dates, identifiers, tables, fields } = JSON.parse(take().toString('utf8')) as Header; // As it was encoded.
  return {
    identifiers,
    dates: Int32Array.from(dates),
    fields: new Map(fields.map((name) => [name, panelOf(take())])),
    ...tablesOf(tables),
  };
}

function panelOf(bytes: Buffer): Float64Array {
  const panel = new Float64Array(new SharedArrayBuffer(bytes.length));
  new Uint8Array(panel.buffer).set(bytes);
  return panel;
}
