import { readJobRecord } from '#jobs/job-record.js';
import { rowOf } from '#jobs/postgres/job-documents.js';
import { advanceSequence } from '#jobs/postgres/job-rows.js';
import { DOCUMENT_KINDS } from '#store/document-kinds.js';
import type { DocumentEngine, DocumentKind, StoredDocument } from '#store/port.js';
import type { DatabaseDocuments } from '#store/postgres/open-documents.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import type { FileMove } from './move-files.js';

/** Documents to be read: of an engine, or of one moment. */
export type DocumentSource = Pick<DocumentEngine, 'ids' | 'get' | 'list'>;

export type DocumentTarget = DocumentEngine | DatabaseDocuments;

export interface CopiedKind {
  readonly kind: DocumentKind;
  readonly copied: number;
  /** Ids of those that cannot be read. */
  readonly unreadable: readonly string[];
}

export interface DocumentCopy {
  readonly source: DocumentSource;
  /** With the time of `clock` as its own. */
  readonly target: DocumentTarget;
  readonly clock: { ms: number };
  /** What goes along. Default: nothing does. */
  readonly files?: FileMove | undefined;
  readonly onKind?: (kind: DocumentKind) => void;
}

/** A database has its place for artifacts before it has anything else. */
const COPIED_KINDS = DOCUMENT_KINDS.filter((kind) => kind !== 'artifact-store');

/** Documents on their way at a time: their commits go to disk together. */
const AT_ONCE = 64;

/** Copies every document with its time, and what it refers to; each is read again and compared by its hash. */
export async function copyDocuments(copy: DocumentCopy): Promise<CopiedKind[]> {
  const copied: CopiedKind[] = [];
  for (const kind of COPIED_KINDS) {
    copy.onKind?.(kind);
    // What several processes serve is no matter of one home, which reads its active store.
    if (kind === 'market' && !('database' in copy.target)) continue;
    copied.push(await copyKind(kind, copy));
  }
  if ('database' in copy.target) await advanceSequence(copy.target);
  return copied;
}

/** @throws StartRefusal 78 */
export async function assertEmpty(documents: DocumentSource): Promise<void> {
  for (const kind of COPIED_KINDS) {
    const { length } = await documents.ids(kind);
    if (length > 0)
      throw new StartRefusal(EXIT_CONFIGURATION, `The target holds documents already: ${length} of kind ${kind}.`);
  }
}

async function copyKind(kind: DocumentKind, { source, target, clock, files }: DocumentCopy): Promise<CopiedKind> {
  const unreadable: string[] = [];
  const ids = kind === 'job' ? await inOrderOfSubmission(source) : await source.ids(kind);
  const atOnce = kind === 'job' ? 1 : AT_ONCE; // Turns are given in the order of writing.
  for (let i = 0; i < ids.length; i += atOnce) {
    const found = await Promise.all(ids.slice(i, i + atOnce).map((id) => source.get(kind, id)));
    const whole: StoredDocument[] = [];
    for (const document of found) {
      if (document === undefined) continue;
      if ('unreadable' in document) unreadable.push(document.id);
      else whole.push(document);
    }
    const written = [];
    for (const document of whole) {
      const body = files === undefined ? document.body : await files.take(kind, document);
      clock.ms = Date.parse(document.updatedAt); // Read by the store when the transaction begins.
      const isSame = body === document.body;
      written.push(
        write(target, kind, { ...document, body }).then((etag) => ({
          id: document.id,
          etag: isSame ? document.etag : etag,
        })),
      );
    }
    for (const { id, etag } of await Promise.all(written)) await assertSame(target, { kind, id, etag });
  }
  return { kind, copied: ids.length - unreadable.length, unreadable };
}

async function inOrderOfSubmission(source: DocumentSource): Promise<readonly string[]> {
  const { documents } = await source.list('job', readJobRecord);
  const sequences = new Map(documents.map(({ job_id: id, sequence }) => [id, sequence]));
  const place = (id: string): number => sequences.get(id) ?? 0;
  return [...(await source.ids('job'))].sort((a, b) => place(a) - place(b));
}

/** Writes a document; a job has a row beside it in a database. */
function write(target: DocumentTarget, kind: DocumentKind, { id, body }: StoredDocument): Promise<string> {
  const record = kind === 'job' ? readJobRecord(body, id) : undefined;
  if (record === undefined || !('jobTransaction' in target)) return target.transaction((tx) => tx.put(kind, id, body));
  // An attempt that ran when its service ended is taken up as one whose lease has run out.
  const lease = record.status === 'running' ? { node: '', ms: 0 } : undefined;
  return target.jobTransaction(async (tx) => {
    tx.putJob(rowOf(record, lease));
    return tx.put(kind, id, body);
  });
}

async function assertSame(
  target: DocumentEngine,
  { kind, id, etag }: { readonly kind: DocumentKind; readonly id: string; readonly etag: string },
): Promise<void> {
  const found = await target.get(kind, id);
  if (found === undefined || 'unreadable' in found || found.etag !== etag)
    throw new Error(`the copy of ${kind} ${id} is not what was written`);
}
