import { hash } from 'node:crypto';
import { canonicalJson } from '#domain/canonical-json.js';
import { declaredOf } from '#domain/documents/dataset-document.js';
import {
  HistoryDocument,
  LOCAL_AUTHOR,
  VersionDocument,
  type Authorship,
  type Subject,
  type VersionAction,
  type VersionedKind,
} from '#domain/documents/version-document.js';
import { numberedId } from '../document-id.js';
import type { DocumentReader, DocumentTransaction, FoundDocument } from '../port.js';
import { unpackContent, packContent } from './version-content.js';

/** A version with its content as text; null for a deletion. */
export interface Version extends Omit<VersionDocument, 'content'> {
  readonly content: string | null;
}

/** What is written about a document. */
interface Change extends Omit<Authorship, 'restores' | 'purges'> {
  readonly action: VersionAction;
  /** Time of the write, ISO-8601 UTC. */
  readonly at: string;
  readonly etag: string;
  /** Null for a deletion. */
  readonly content: string | null;
}

type Reader = Pick<DocumentReader, 'get' | 'ids'>;

const historyId = ({ kind, id }: Subject): string => `${kind}/${id}`;
const versionId = (subject: Subject, version: number): string => numberedId(historyId(subject), version);

/**
 * What stands last in the history of a document, undefined when it has none. A damaged head is made again from the keys
 * of the versions, and then says that nothing is known to stand.
 */
export async function headOf(reader: Reader, subject: Subject): Promise<HistoryDocument | undefined> {
  const stored = await reader.get('history', historyId(subject));
  if (stored === undefined) return undefined;
  const head = 'unreadable' in stored ? undefined : HistoryDocument.safeParse(stored.body).data;
  if (head !== undefined) return head;
  const prefix = `${historyId(subject)}/`;
  const numbers = (await reader.ids('version')).flatMap((id) =>
    id.startsWith(prefix) ? Number(id.slice(prefix.length)) : [],
  );
  const [first, last] = [numbers[0], numbers.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return { latest: last, etag: null, ...(first === 1 ? {} : { purged: first - 1 }) };
}

/** @returns undefined when there is no version of the number, `unreadable` when it is damaged */
export async function versionOf(
  reader: Pick<DocumentReader, 'get'>,
  subject: Subject,
  version: number,
): Promise<Version | 'unreadable' | undefined> {
  const stored = await reader.get('version', versionId(subject, version));
  if (stored === undefined) return undefined;
  return ('unreadable' in stored ? undefined : readVersion(stored.body)) ?? 'unreadable';
}

/** A version with its content, undefined where that is not what its ETag says. */
export function readVersion(body: unknown): Version | undefined {
  const document = VersionDocument.safeParse(body).data;
  if (document === undefined) return undefined;
  const content = document.content === null ? null : unpackContent(document.content);
  if (content === undefined || (content !== null && etagOf(content) !== document.etag)) return undefined;
  return { ...document, content };
}

/** Begins the history of a document that was stored before it had one. */
export async function adopt(tx: DocumentTransaction, subject: Subject): Promise<HistoryDocument | undefined> {
  const head = await headOf(tx, subject);
  return head ?? begin(tx, subject, await tx.get(subject.kind, subject.id));
}

async function begin(
  tx: DocumentTransaction,
  subject: Subject,
  stored: FoundDocument,
): Promise<HistoryDocument | undefined> {
  if (stored === undefined || 'unreadable' in stored) return undefined;
  const { etag, content } = contentOf(subject.kind, stored.body, stored.etag);
  return append(tx, subject, undefined, {
    author: LOCAL_AUTHOR,
    note: null,
    requestId: '',
    action: 'created',
    at: stored.updatedAt,
    etag,
    content: content(),
  });
}

/**
 * Writes a document and adds what was written to its history; nothing when the same content stands already.
 * @returns ETag of the body, and what was added
 * @cost a deflation
 */
export async function putVersioned(
  tx: DocumentTransaction,
  subject: Subject,
  { body, by: { author, note, requestId, restores }, at, known }: VersionedPut,
): Promise<PutOutcome> {
  const { kind, id } = subject;
  // Where something stands, the document need not be read to know that there is one.
  const before = known?.etag == null ? await tx.get(kind, id) : undefined;
  const existed = known?.etag != null || before !== undefined;
  const head = known ?? (await begin(tx, subject, before));
  const bodyEtag = await tx.put(kind, id, body);
  const { etag, content } = contentOf(kind, body, bodyEtag);
  if (head?.etag === etag) return { etag: bodyEtag };
  const action = restores === true ? 'restored' : existed ? 'updated' : 'created';
  const { latest } = await append(tx, subject, head, { author, note, requestId, action, at, etag, content: content() });
  return { etag: bodyEtag, added: { version: latest, action, etag } };
}

interface PutOutcome {
  /** Of the body. */
  readonly etag: string;
  /** The version that was added; absent where the same content stood already. */
  readonly added?: Pick<VersionDocument, 'version' | 'action' | 'etag'>;
}

interface VersionedPut extends PutRecord {
  /** What `headOf` says of the document. */
  readonly known: HistoryDocument | undefined;
}

export interface PutRecord {
  readonly body: unknown;
  readonly by: Authorship;
  /** Time of the write, ISO-8601 UTC. */
  readonly at: string;
}

/** Adds the deletion of a document that was stored to its history. @returns its version */
export async function recordDeletion(
  tx: DocumentTransaction,
  subject: Subject,
  { by: { author, note, requestId }, at }: Pick<PutRecord, 'by' | 'at'>,
): Promise<number | null> {
  const head = await headOf(tx, subject);
  if (head?.etag == null) return null; // Nothing that could be read stood.
  const { latest } = await append(tx, subject, head, {
    author,
    note,
    requestId,
    action: 'deleted',
    at,
    etag: head.etag,
    content: null,
  });
  return latest;
}

/** Removes every version; their numbers are not given again. @returns whether there were any */
export async function purgeHistory(tx: DocumentTransaction, subject: Subject): Promise<boolean> {
  const head = await headOf(tx, subject);
  if (!hasVersions(head)) return false;
  const { latest, purged = 0 } = head;
  for (let version = purged + 1; version <= latest; version++) await tx.delete('version', versionId(subject, version));
  await tx.put('history', historyId(subject), { latest, etag: null, purged: latest } satisfies HistoryDocument);
  return true;
}

/** Whether a history has versions: that of a document that was purged has none. */
export function hasVersions(head: HistoryDocument | undefined): head is HistoryDocument {
  return head !== undefined && head.latest > (head.purged ?? 0);
}

async function append(
  tx: DocumentTransaction,
  subject: Subject,
  head: HistoryDocument | undefined,
  { author, note, requestId, action, at, etag, content }: Change,
): Promise<HistoryDocument> {
  const version = (head?.latest ?? 0) + 1;
  await tx.put('version', versionId(subject, version), {
    version,
    etag,
    at,
    author,
    note,
    action,
    request_id: requestId,
    content: content === null ? null : await packContent(content),
  } satisfies VersionDocument);
  const next: HistoryDocument = { ...head, latest: version, etag: action === 'deleted' ? null : etag };
  await tx.put('history', historyId(subject), next);
  return next;
}

/** What of a body is versioned: of a data store what was declared, of all others everything. */
function contentOf(kind: VersionedKind, body: unknown, bodyEtag: string): { readonly etag: string; content(): string } {
  if (kind !== 'store') return { etag: bodyEtag, content: () => JSON.stringify(body) };
  const text = canonicalJson(declaredOf(body));
  return { etag: etagOfCanonical(text), content: () => text };
}

/** SHA-256 of the canonical JSON of a text of JSON; undefined of any other text. */
function etagOf(text: string): string | undefined {
  try {
    return etagOfCanonical(canonicalJson(JSON.parse(text)));
  } catch {
    return undefined; // Damaged: what was written was JSON.
  }
}

const etagOfCanonical = (text: string): string => hash('sha256', text, 'hex');
