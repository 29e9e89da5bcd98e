import { Buffer } from 'node:buffer';
import { isDocumentId } from '../document-id.js';
import { DOCUMENT_KINDS, type DocumentKind } from '../port.js';

/**
 * The one tenant of a service without tenancy; a prefix of every key, so that tenants can be added without a migration.
 */
const TENANT = 'main';
const SEPARATOR = '\u0000';

/**
 * `tenant NUL kind NUL id`, as a string of bytes (one character each): its order is the engine's, and code-point order
 * of ids.
 */
export function documentKey(kind: DocumentKind, id: string): string {
  if (!isDocumentId(id)) throw new Error(`not a document id: ${JSON.stringify(id.slice(0, 80))}`);
  return Buffer.from(`${TENANT}${SEPARATOR}${kind}${SEPARATOR}${id}`).toString('latin1');
}

/** The range of keys of a kind: from `start`, before `end`. */
export function kindRange(kind: DocumentKind): { readonly start: string; readonly end: string } {
  return { start: `${TENANT}${SEPARATOR}${kind}${SEPARATOR}`, end: `${TENANT}${SEPARATOR}${kind}\u0001` };
}

/** Kind and id of a key; undefined for a key of another tenant or of a kind this engine does not know. */
export function parseKey(key: string): { readonly kind: DocumentKind; readonly id: string } | undefined {
  const [tenant, kind, id] = Buffer.from(key, 'latin1').toString('utf8').split(SEPARATOR);
  const known = DOCUMENT_KINDS.find((name) => name === kind);
  return tenant === TENANT && known !== undefined && id !== undefined ? { kind: known, id } : undefined;
}

export const keyBytes = (key: string): Buffer => Buffer.from(key, 'latin1');
export const keyText = (key: Buffer): string => key.toString('latin1');
