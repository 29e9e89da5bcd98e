import { hash as hashOnce } from 'node:crypto';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import {
  AuditEntry,
  AUDITED_KINDS,
  NO_AUDIT,
  StoredAuditHead,
  type AuditedKind,
  type AuditHead,
} from '#domain/documents/audit-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentKind, DocumentReader, DocumentTransaction } from '../port.js';
import { parseStored } from '../read-stored.js';

/** Content of an entry that has not been appended to the log yet. */
export type AuditStatement = Omit<AuditEntry, 'seq' | 'previous' | 'hash'>;

type Reader = Pick<DocumentReader, 'get'>;

/** Id of the only head document of the log. */
const HEAD_ID = 'head';

/** Number of digits in a key, so that keys sort like entry numbers. */
const ID_DIGITS = 12;

export const formatEntryId = (seq: number): string => String(seq).padStart(ID_DIGITS, '0');

/** Number of entries per read. */
const BATCH_ENTRIES = 256;

export function isAudited(kind: DocumentKind): kind is AuditedKind {
  return (AUDITED_KINDS as readonly string[]).includes(kind);
}

/** Returns the head of the log: the number and hash of its last entry. @throws Refusal DOCUMENT_UNREADABLE */
export async function readAuditHead(reader: Reader): Promise<StoredAuditHead> {
  const storedHead = await reader.get('audit-head', HEAD_ID);
  if (storedHead === undefined) return NO_AUDIT;
  const head = parseStored(storedHead, StoredAuditHead);
  if (head === undefined) throw refuseLog('its head');
  return head;
}

/** Appends an entry to the log. @param end current head @returns the new head */
export async function appendAudit(
  tx: DocumentTransaction,
  statement: AuditStatement,
  { seq, hash: previous, ...signed }: StoredAuditHead,
): Promise<StoredAuditHead> {
  const statedEntry = { ...statement, seq: seq + 1, previous };
  const head: StoredAuditHead = { hash: computeAuditHash(statedEntry), ...signed, seq: seq + 1 };
  await tx.put('audit', formatEntryId(head.seq), orderMembers({ ...statedEntry, hash: head.hash }));
  await putAuditHead(tx, head);
  return head;
}

export async function putAuditHead(tx: DocumentTransaction, head: StoredAuditHead): Promise<void> {
  await tx.put('audit-head', HEAD_ID, head);
}

/** Returns an entry with its members in stored order. The hash may be missing. */
function orderMembers(entry: { readonly [Member in keyof AuditEntry]?: AuditEntry[Member] | undefined }): object {
  const { action, at, author, etag, hash, id, key_id, kind, note, previous, request_id, run_id, seq, version } = entry;
  return { action, at, author, etag, hash, id, key_id, kind, note, previous, request_id, run_id, seq, version };
}

/** Yields the entries after a number in batches, in order. @throws Refusal DOCUMENT_UNREADABLE */
export async function* readAuditBatches(
  reader: Reader,
  { after, head }: { readonly after: number; readonly head: AuditHead },
): AsyncGenerator<readonly AuditEntry[]> {
  for (let from = after + 1; from <= head.seq; from += BATCH_ENTRIES) {
    const seqs = Array.from({ length: Math.min(BATCH_ENTRIES, head.seq - from + 1) }, (_, i) => from + i);
    yield Promise.all(seqs.map((seq) => readEntry(reader, seq)));
  }
}

async function readEntry(reader: Reader, seq: number): Promise<AuditEntry> {
  const storedEntry = await reader.get('audit', formatEntryId(seq));
  const entry = parseStored(storedEntry, AuditEntry);
  if (entry === undefined) throw refuseLog(`its entry ${seq}`);
  return entry;
}

/** Returns the SHA-256 of the canonical JSON of an entry without its hash. */
export function computeAuditHash(entry: Partial<AuditEntry>): string {
  return hashOnce('sha256', toCanonicalJson(orderMembers({ ...entry, hash: undefined })), 'hex');
}

function refuseLog(part: string): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `The audit log cannot be read: ${part}; restore it from a backup.`);
}
