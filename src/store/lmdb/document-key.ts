import { Buffer } from 'node:buffer';
import { isDocumentId } from '../document-id.js';
import { DOCUMENT_KINDS } from '../document-kinds.js';
import type { DocumentKind } from '../port.js';

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

/** Returns the key of a valid id. */
export function formatDocumentKey(kind: DocumentKind, id: string): string {
  const key = formatKey(kind, id);
  if (key === undefined) throw new Error(`not a document id: ${JSON.stringify(id.slice(0, 80))}`);
  return key;
}

/** Range of keys of a kind: from `start`, before `end`. */
export interface KeyRange {
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
