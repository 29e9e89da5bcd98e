import { createHash } from 'node:crypto';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { PublicationEntry } from '#domain/documents/publication-document.js';

/** Entry, signature statement or manifest, with its hash and signature. */
type Signable = object & Partial<Pick<PublicationEntry, 'hash' | 'signature'>>;

/** Returns the SHA-256 of the canonical JSON of a statement, without its hash and signature. */
export function computeStatementHash({ hash: _hash, signature: _signature, ...stated }: Signable): string {
  return createHash('sha256').update(toCanonicalJson(stated)).digest('hex');
}
