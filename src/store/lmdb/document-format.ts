import { Buffer } from 'node:buffer';
import { createHash, hash } from 'node:crypto';
import { toCanonicalJson } from '#domain/base/json.js';
import {
  DOCUMENT_KINDS,
  type DocumentKind,
  formatTimestamp,
  isDocumentId,
  type StoredDocument,
  type UnreadableCause,
} from '../port.js';

/**
 * Tenant of a service with a single tenant. It is a prefix of every key, so that tenants can be added without a
 * migration.
 */
const TENANT = 'main';
const SEPARATOR = '\u0000';

/** Matches ids of printable ASCII, in which characters equal bytes. Nearly all ids are of this kind. */
const ASCII_ID = /^[ -~]{1,512}$/;

/**
 * Returns the key `tenant NUL kind NUL id` as a string with one character per byte. The string sorts like the keys in
 * the engine, and by code points of ids. Returns undefined for an invalid id.
 */
export function formatKey(kind: DocumentKind, id: string): string | undefined {
  const { start } = getKindRange(kind);
  if (ASCII_ID.test(id)) return start + id;
  return isDocumentId(id) ? start + Buffer.from(id).toString('latin1') : undefined;
}

export function formatDocumentKey(kind: DocumentKind, id: string): string {
  const key = formatKey(kind, id);
  if (key === undefined) throw new Error(`not a document id: ${JSON.stringify(id.slice(0, 80))}`);
  return key;
}

/** Range of keys of a kind: from `start`, before `end`. */
interface KeyRange {
  readonly start: string;
  readonly end: string;
}

const KEY_RANGES = new Map<DocumentKind, KeyRange>(
  DOCUMENT_KINDS.map((kind) => [
    kind,
    { start: `${TENANT}${SEPARATOR}${kind}${SEPARATOR}`, end: `${TENANT}${SEPARATOR}${kind}\u0001` },
  ]),
);

export const getKindRange = (kind: DocumentKind): KeyRange => KEY_RANGES.get(kind)!; // contains every kind

/** Returns the id in a key of a kind. Returns undefined for an invalid key from a damaged page. */
export function parseId(kind: DocumentKind, key: string): string | undefined {
  const { start } = getKindRange(kind);
  const id = key.slice(start.length);
  if (ASCII_ID.test(id)) return key.startsWith(start) ? id : undefined;
  const parsedKey = parseKey(key);
  return parsedKey?.kind === kind ? parsedKey.id : undefined;
}

/** Returns kind and id of a key. Returns undefined for another tenant or an unknown kind. */
export function parseKey(key: string): { readonly kind: DocumentKind; readonly id: string } | undefined {
  const [tenant, kind, id] = Buffer.from(key, 'latin1').toString('utf8').split(SEPARATOR);
  const documentKind = DOCUMENT_KINDS.find((name) => name === kind);
  return tenant === TENANT && documentKind !== undefined && id !== undefined ? { kind: documentKind, id } : undefined;
}

export const encodeKey = (key: string): Buffer => Buffer.from(key, 'latin1');
export const decodeKey = (key: Buffer): string => key.toString('latin1');

/**
 * Layout of a stored document: `seal | format | schema | time | etag | body`. The engine detects no corruption. Every
 * value therefore contains a SHA-256 over its key and everything after the seal. With it, a changed bit is detected,
 * and so is a value that a damaged page returns for another key.
 */
const SEAL_BYTES = 32;
const FORMAT_OFFSET = SEAL_BYTES;
const SCHEMA_OFFSET = FORMAT_OFFSET + 1;
const TIME_OFFSET = SCHEMA_OFFSET + 2;
const ETAG_OFFSET = TIME_OFFSET + 8;
const BODY_OFFSET = ETAG_OFFSET + 32;
/**
 * Version of the layout. Every later version keeps the seal first, so that newer and damaged values can be
 * distinguished.
 */
const FORMAT = 1;

interface SealedDocument {
  readonly value: Buffer;
  readonly etag: string;
}

/**
 * Encodes a document.
 * @param key full key of the value, as a string of bytes
 * @param schema version of the body's schema
 * @param time time of the write, ms since 1970
 * @cost two passes of SHA-256 over the body
 */
export function sealDocument(
  key: string,
  body: unknown,
  { schema, time }: { schema: number; time: number },
): SealedDocument {
  const text = toCanonicalJson(body);
  const size = Buffer.byteLength(text);
  const value = Buffer.allocUnsafeSlow(BODY_OFFSET + size);
  value[FORMAT_OFFSET] = FORMAT;
  value.writeUInt16LE(schema, SCHEMA_OFFSET);
  value.writeDoubleLE(time, TIME_OFFSET);
  value.write(text, BODY_OFFSET, 'utf8');
  const etag = hash('sha256', value.subarray(BODY_OFFSET), 'hex');
  value.write(etag, ETAG_OFFSET, 'hex');
  value.write(computeSeal(key, value), 0, 'latin1');
  return { value, etag };
}

/** Opens a stored value, or returns the reason why it cannot be served. */
export function openDocument(
  id: string,
  { key, value, schemaMax }: { readonly key: string; readonly value: Buffer; readonly schemaMax: number },
): StoredDocument | UnreadableCause {
  if (value.length < BODY_OFFSET || computeSeal(key, value) !== value.toString('latin1', 0, SEAL_BYTES))
    return 'unreadable';
  if (value[FORMAT_OFFSET]! > FORMAT || value.readUInt16LE(SCHEMA_OFFSET) > schemaMax) return 'unsupported';
  try {
    return {
      id,
      body: JSON.parse(value.toString('utf8', BODY_OFFSET)),
      etag: value.toString('hex', ETAG_OFFSET, BODY_OFFSET),
      updatedAt: formatTimestamp(value.readDoubleLE(TIME_OFFSET)),
    };
  } catch {
    return 'unreadable'; // sealed text that is not JSON was written by another program
  }
}

/** Buffer for key and value. It is large enough for nearly all documents, so that one call hashes both. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

/** Returns the SHA-256 over the key and the value after the seal, as latin-1 text. */
function computeSeal(key: string, value: Uint8Array): string {
  const size = key.length + value.length - SEAL_BYTES;
  if (size > scratch.length)
    return createHash('sha256').update(key, 'latin1').update(value.subarray(SEAL_BYTES)).digest('binary');
  scratch.write(key, 0, 'latin1');
  scratch.set(value.subarray(SEAL_BYTES), key.length);
  return hash('sha256', scratch.subarray(0, size), 'binary');
}
