import { hash as hashOnce } from 'node:crypto';
import { canonicalJson } from '#domain/canonical-json.js';
import { AuditEntry, AuditHead, AUDITED_KINDS, NO_AUDIT, type AuditedKind } from '#domain/documents/audit-document.js';
import { Refusal } from '#domain/refusal.js';
import type { DocumentKind, DocumentReader, DocumentTransaction } from '../port.js';

/** What an entry says, before it has its place. */
export type AuditStatement = Omit<AuditEntry, 'seq' | 'previous' | 'hash'>;

type Reader = Pick<DocumentReader, 'get'>;

/** The one head of the log. */
const HEAD = 'head';

/** Digits of a number in a key: keys of entries are in their order. */
const DIGITS = 12;

export const entryId = (seq: number): string => String(seq).padStart(DIGITS, '0');

/** Entries that are read at a time. */
const BATCH = 256;

export function isAudited(kind: DocumentKind): kind is AuditedKind {
  return (AUDITED_KINDS as readonly string[]).includes(kind);
}

/** Where the log ends. @throws Refusal DOCUMENT_UNREADABLE */
export async function auditHead(reader: Reader): Promise<AuditHead> {
  const stored = await reader.get('audit-head', HEAD);
  if (stored === undefined) return NO_AUDIT;
  const head = 'unreadable' in stored ? undefined : AuditHead.safeParse(stored.body).data;
  if (head === undefined) throw unreadable('its head');
  return head;
}

/** Adds an entry to the end of the log. @param head where it ends, when that is known */
export async function appendAudit(tx: DocumentTransaction, statement: AuditStatement, head?: AuditHead): Promise<void> {
  const { seq, hash: previous } = head ?? (await auditHead(tx));
  const stated = { ...statement, seq: seq + 1, previous };
  const hash = auditHash(stated);
  await tx.put('audit', entryId(seq + 1), { ...stated, hash } satisfies AuditEntry);
  await tx.put('audit-head', HEAD, { seq: seq + 1, hash } satisfies AuditHead);
}

/** Entries after a number, in their order, batch by batch. @throws Refusal DOCUMENT_UNREADABLE */
export async function* auditBatches(
  reader: Reader,
  { after, head }: { readonly after: number; readonly head: AuditHead },
): AsyncGenerator<readonly AuditEntry[]> {
  for (let from = after + 1; from <= head.seq; from += BATCH) {
    const seqs = Array.from({ length: Math.min(BATCH, head.seq - from + 1) }, (_, i) => from + i);
    yield Promise.all(seqs.map((seq) => entryOf(reader, seq)));
  }
}

async function entryOf(reader: Reader, seq: number): Promise<AuditEntry> {
  const stored = await reader.get('audit', entryId(seq));
  const entry = stored === undefined || 'unreadable' in stored ? undefined : AuditEntry.safeParse(stored.body).data;
  if (entry === undefined) throw unreadable(`its entry ${seq}`);
  return entry;
}

/** SHA-256 of the canonical JSON of an entry without its hash. */
export function auditHash({ hash: _hash, ...stated }: Partial<AuditEntry>): string {
  return hashOnce('sha256', canonicalJson(stated), 'hex');
}

function unreadable(part: string): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `The log of writes cannot be read: ${part}; restore it from a backup.`);
}
