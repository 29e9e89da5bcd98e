import { AuditSeal } from '#domain/documents/audit-document.js';
import { NO_HASH, type SigningKey } from '#domain/documents/publication-document.js';
import type { DocumentReader, DocumentTransaction } from '../port.js';
import { signHash } from '../publication/signing.js';
import { computeStatementHash } from '../publication/statement-hash.js';
import { findLatestTime } from '../timestamp.js';
import { readAuditHead, formatEntryId, putAuditHead } from './log.js';
import { parseStored } from '../read-stored.js';

/**
 * Signs the log up to its end, unless it is signed already. The time of the signature is never before the last
 * signature or the creation of the key.
 * @param time current time, ISO-8601 UTC
 * @cost 0.2 ms
 */
export async function signAuditLog(tx: DocumentTransaction, key: SigningKey, time: string): Promise<void> {
  const head = await readAuditHead(tx);
  const { seq, hash: entry_hash, seals } = head;
  if (seq === 0 || (await tx.get('audit-seal', formatEntryId(seq))) !== undefined) return;
  const lastSeal = await createLastSeal(tx);
  const count = lastSeal === null ? 0 : (seals ?? (await tx.ids('audit-seal')).length);
  const previous = lastSeal === null ? NO_HASH : (head.seal_hash ?? lastSeal?.hash);
  const timestamp = findLatestTime(time, key.valid_from, lastSeal?.at);
  const sealStatement = {
    seq,
    entry_hash,
    ...(previous === undefined ? {} : { previous }),
    at: timestamp,
    key_id: key.key_id,
  };
  const hash = computeStatementHash(sealStatement);
  await tx.put('audit-seal', formatEntryId(seq), {
    ...sealStatement,
    hash,
    signature: signHash(key, hash),
  } satisfies AuditSeal);
  await putAuditHead(tx, { ...head, sealed: seq, seals: count + 1, seal_hash: hash });
}

/** Returns the time of the last signature of the log; undefined if none is readable. */
export async function findLastSealTime(reader: Pick<DocumentReader, 'get' | 'ids'>): Promise<string | undefined> {
  return (await createLastSeal(reader))?.at;
}

/** Returns the last signature of the log. Returns null if there is none, undefined if it is unreadable. */
async function createLastSeal(reader: Pick<DocumentReader, 'get' | 'ids'>): Promise<AuditSeal | null | undefined> {
  const { sealed } = await readAuditHead(reader);
  const id = sealed === undefined ? (await reader.ids('audit-seal')).at(-1) : formatEntryId(sealed);
  if (id === undefined) return null;
  const storedSeal = await reader.get('audit-seal', id);
  return parseStored(storedSeal, AuditSeal);
}

/** Returns true if the last entry is signed, or there is no entry. */
export async function isSealed(reader: Pick<DocumentReader, 'get'>): Promise<boolean> {
  const { seq } = await readAuditHead(reader);
  return seq === 0 || (await reader.get('audit-seal', formatEntryId(seq))) !== undefined;
}
