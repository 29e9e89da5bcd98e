import { readJobRecord } from '#jobs/job-record.js';
import { createRow } from '#jobs/postgres/job-documents.js';
import { advanceSequence } from '#jobs/postgres/job-rows.js';
import { DOCUMENT_KINDS } from '#store/document-kinds.js';
import type { DocumentEngine, DocumentKind, StoredDocument } from '#store/port.js';
import type { DatabaseDocuments } from '#store/postgres/open-documents.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import type { FileMove } from './move-files.js';

/** Source of documents: an engine or a snapshot. */
export type DocumentSource = Pick<DocumentEngine, 'ids' | 'get' | 'list'>;

export type DocumentTarget = DocumentEngine | DatabaseDocuments;

export interface CopiedKind {
  readonly kind: DocumentKind;
  readonly copied: number;
  /** Ids of unreadable documents. */
  readonly unreadable: readonly string[];
}

export interface CopiedDocuments {
  readonly source: DocumentSource;
  /** Target of the copy. It takes the time of each document from `clock`. */
  readonly target: DocumentTarget;
  readonly clock: { ms: number };
  /** Files to copy too. Default: none. */
  readonly files?: FileMove | undefined;
  readonly onKind?: (kind: DocumentKind) => void;
}

/** Document kinds that are copied. A database records its artifact location before all other documents. */
const COPIED_KINDS = DOCUMENT_KINDS.filter((kind) => kind !== 'artifact-store');

/** Maximum number of pending writes. Their commits are written to disk together. */
const PENDING_WRITES_MAX = 64;

/**
 * Copies every document with its time and with the files that it refers to. Then reads each document again and compares
 * its hash.
 */
export async function copyDocuments(copy: CopiedDocuments): Promise<CopiedKind[]> {
  const copiedKinds: CopiedKind[] = [];
  for (const kind of COPIED_KINDS) {
    copy.onKind?.(kind);
    // Only several processes share a market. A single home reads its active store instead.
    if (kind === 'market' && !('database' in copy.target)) continue;
    copiedKinds.push(await copyKind(kind, copy));
  }
  if ('database' in copy.target) await advanceSequence(copy.target);
  return copiedKinds;
}

/** Checks that the target is empty. @throws StartRefusal 78 if it contains documents */
export async function assertEmpty(documents: DocumentSource): Promise<void> {
  for (const kind of COPIED_KINDS) {
    const { length } = await documents.ids(kind);
    if (length > 0)
      throw new StartRefusal(EXIT_CONFIGURATION, `The target already contains documents: ${length} of kind ${kind}.`);
  }
}

async function copyKind(kind: DocumentKind, { source, target, clock, files }: CopiedDocuments): Promise<CopiedKind> {
  const unreadableIds: string[] = [];
  const ids = kind === 'job' ? await listInSubmissionOrder(source) : await source.ids(kind);
  const concurrency = kind === 'job' ? 1 : PENDING_WRITES_MAX; // Jobs are written one after another, because the queue runs them in the order of writing.
  for (let i = 0; i < ids.length; i += concurrency) {
    const result = await Promise.all(ids.slice(i, i + concurrency).map((id) => source.get(kind, id)));
    const storedDocuments: StoredDocument[] = [];
    for (const document of result) {
      if (document === undefined) continue;
      if ('unreadable' in document) unreadableIds.push(document.id);
      else storedDocuments.push(document);
    }
    const writtenDocuments = [];
    for (const document of storedDocuments) {
      const body = files === undefined ? document.body : await files.take(kind, document);
      clock.ms = Date.parse(document.updatedAt); // The store reads the clock when the transaction begins.
      const isSame = body === document.body;
      writtenDocuments.push(
        write(target, kind, { ...document, body }).then((etag) => ({
          id: document.id,
          etag: isSame ? document.etag : etag,
        })),
      );
    }
    for (const { id, etag } of await Promise.all(writtenDocuments)) await assertSame(target, { kind, id, etag });
  }
  return { kind, copied: ids.length - unreadableIds.length, unreadable: unreadableIds };
}

async function listInSubmissionOrder(source: DocumentSource): Promise<readonly string[]> {
  const { documents } = await source.list('job', readJobRecord);
  const sequences = new Map(documents.map(({ job_id: id, sequence }) => [id, sequence]));
  const parseSequence = (id: string): number => sequences.get(id) ?? 0;
  return [...(await source.ids('job'))].sort((a, b) => parseSequence(a) - parseSequence(b));
}

/** Writes a document. In a database, a job also needs a row. */
function write(target: DocumentTarget, kind: DocumentKind, { id, body }: StoredDocument): Promise<string> {
  const record = kind === 'job' ? readJobRecord(body, id) : undefined;
  if (record === undefined || !('jobTransaction' in target)) return target.transaction((tx) => tx.put(kind, id, body));
  // If an attempt was running when its service ended, another node may take it over, as if its lease had expired.
  const lease = record.status === 'running' ? { node: '', ms: 0 } : undefined;
  return target.jobTransaction(async (tx) => {
    tx.putJob(createRow(record, lease));
    return tx.put(kind, id, body);
  });
}

async function assertSame(
  target: DocumentEngine,
  { kind, id, etag }: { readonly kind: DocumentKind; readonly id: string; readonly etag: string },
): Promise<void> {
  const storedDocument = await target.get(kind, id);
  if (storedDocument === undefined || 'unreadable' in storedDocument || storedDocument.etag !== etag)
    throw new Error(`the copy of ${kind} ${id} differs from its source`);
}
