import { Buffer } from 'node:buffer';
import { isDocumentId } from '../document-id.js';
import { DOCUMENT_KINDS } from '../document-kinds.js';
import type { DocumentKind } from '../port.js';

/**
 * The one tenant of a service without tenancy; a prefix of every key, so that tenants can be added without a migration.
 */
const TENANT = 'main';
const SEPARATOR = '\u0000';

/** Ids whose characters are their bytes: nearly all. */
const PLAIN = /^[ -~]{1,512}$/;

/**
 * `tenant NUL kind NUL id`, as a string of bytes (one character each): its order is the engine's, and code-point order
 * of ids. Undefined for what can be no id.
 */
export function keyOf(kind: DocumentKind, id: string): string | undefined {
  const { start } = kindRange(kind);
  if (PLAIN.test(id)) return start + id;
  return isDocumentId(id) ? start + Buffer.from(id).toString('latin1') : undefined;
}

/** The key of what is an id for sure. */
export function documentKey(kind: DocumentKind, id: string): string {
  const key = keyOf(kind, id);
  if (key === undefined) throw new Error(`not a document id: ${JSON.stringify(id.slice(0, 80))}`);
  return key;
}

/** The range of keys of a kind: from `start`, before `end`. */
export interface KeyRange {
  readonly start: string;
  readonly end: string;
}

const RANGES = new Map<DocumentKind, KeyRange>(
  DOCUMENT_KINDS.map((kind) => [
    kind,
    { start: `${TENANT}${SEPARATOR}${kind}${SEPARATOR}`, end: `${TENANT}${SEPARATOR}${kind}\u0001` },
  ]),
);

export const kindRange = (kind: DocumentKind): KeyRange => RANGES.get(kind)!; // Made of every kind.

/** The id in a key of a kind; undefined for a key that a damaged page put among them. */
export function idOf(kind: DocumentKind, key: string): string | undefined {
  const { start } = kindRange(kind);
  const id = key.slice(start.length);
  if (PLAIN.test(id)) return key.startsWith(start) ? id : undefined;
  const parsed = parseKey(key);
  return parsed?.kind === kind ? parsed.id : undefined;
}

/** Kind and id of a key; undefined for a key of another tenant or of a kind this engine does not know. */
export function parseKey(key: string): { readonly kind: DocumentKind; readonly id: string } | undefined {
  const [tenant, kind, id] = Buffer.from(key, 'latin1').toString('utf8').split(SEPARATOR);
  const known = DOCUMENT_KINDS.find((name) => name === kind);
  return tenant === TENANT && known !== undefined && id !== undefined ? { kind: known, id } : undefined;
}

export const keyBytes = (key: string): Buffer => Buffer.from(key, 'latin1');
export const keyText = (key: Buffer): string => key.toString('latin1');
