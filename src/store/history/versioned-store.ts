import { Refusal } from '#domain/base/refusals.js';
import { type AuditedKind, type AuditEntry, type Authorship, NO_REQUEST, type StoredAuditHead, type Subject, VERSIONED_KINDS, type VersionedKind } from '#domain/definition/versions.js';
import type { DatasetDocument, DataVersionDocument } from '#domain/definition/datasets.js';
import type { RunDocument } from '#domain/definition/runs.js';
import { computeRunId, type DocumentKind, type DocumentLookup, type DocumentStore, type DocumentTransaction, formatTimestamp, getOwner, isDocumentId, readStoredBody, type TransactionOptions } from '../port.js';
import { appendAudit, isAudited, readAuditHead } from './audit.js';
import {
  type PendingReads,
  purgeHistory,
  putVersioned,
  readDocumentState,
  readLastVersion,
  recordDeletion,
  trimHistory,
} from './history.js';

/** Limit on the bytes of the versions that each key may write. */
interface KeyQuota {
  /** Reads the stored versions at the first call. */
  ready(): Promise<void>;
  /** Counts the bytes that a transaction writes. @throws Refusal QUOTA_EXCEEDED from `put` */
  meter(tx: DocumentTransaction): {
    readonly tx: DocumentTransaction;
    /** Adds the written bytes; called when they are durable. */
    readonly commit: () => void;
  };
}

interface WriterRecord {
  readonly keyId: string;
  readonly bytes: number;
}

/**
 * Returns the key that wrote a version, and the size of the version. Returns undefined if it was not written with a
 * key.
 */
function readWriter(body: unknown): WriterRecord | undefined {
  const { key_id: keyId, content } = body as { readonly key_id?: unknown; readonly content?: unknown };
  if (typeof keyId !== 'string') return undefined;
  return { keyId, bytes: typeof content === 'string' ? content.length : 0 };
}

/**
 * Creates a limit on the bytes of the versions written with each key. The versions include the current documents. Each
 * process counts separately; it includes the writes of other processes after its next start.
 */
function createKeyQuota(documents: Pick<DocumentStore, 'list'>, bytesMax: number): KeyQuota {
  const bytesByKey = new Map<string, number>();
  let pendingRead: Promise<void> | undefined;

  async function read(): Promise<void> {
    const { documents: versions } = await documents.list('version', readWriter);
    for (const { keyId, bytes } of versions) add(keyId, bytes);
  }
  const add = (keyId: string, bytes: number): void => void bytesByKey.set(keyId, (bytesByKey.get(keyId) ?? 0) + bytes);

  return {
    ready() {
      pendingRead ??= read();
      pendingRead.catch(() => (pendingRead = undefined)); // the next write retries the read
      return pendingRead;
    },
    meter(tx) {
      const changes = new Map<string, number>();
      const computeChange = ({ keyId, bytes }: WriterRecord): number => {
        const sum = (changes.get(keyId) ?? 0) + bytes;
        changes.set(keyId, sum);
        return (bytesByKey.get(keyId) ?? 0) + sum;
      };
      return {
        commit: () => changes.forEach((bytes, keyId) => add(keyId, bytes)),
        tx: {
          ...tx,
          async put(kind, id, body) {
            const writerRecord = kind === 'version' ? readWriter(body) : undefined;
            if (writerRecord !== undefined && computeChange(writerRecord) > bytesMax)
              throw createQuotaRefusal(writerRecord.keyId, bytesMax);
            return tx.put(kind, id, body);
          },
          async delete(kind, id) {
            const storedVersion = kind === 'version' ? await tx.get(kind, id) : undefined;
            const writerRecord = readStoredBody(storedVersion, readWriter);
            if (writerRecord !== undefined) computeChange({ ...writerRecord, bytes: -writerRecord.bytes });
            return tx.delete(kind, id);
          },
        },
      };
    },
  };
}

const createQuotaRefusal = (keyId: string, limit: number): Refusal =>
  new Refusal(
    'QUOTA_EXCEEDED',
    `The documents and versions of the key ${keyId} exceed its limit of ${Math.floor(limit / 2 ** 20)} MiB; purge some to free space.`,
    { limit },
  );

export interface VersionLimits {
  /** Maximum number of bytes in the versions of one key. Default: no limit. */
  readonly keyBytesMax?: number | undefined;
  /** Maximum number of versions per document. Default: no limit. */
  readonly versionsKept?: number | undefined;
}

/**
 * Wraps an engine in a document store that keeps earlier states of some kinds of documents, and a log of the writes to
 * audited kinds. The transaction that writes a document also writes its version and its log entry.
 * @param now wall clock, ms since 1970
 */
export function createVersionedStore(
  documents: DocumentStore,
  now: () => number = Date.now,
  { keyBytesMax, versionsKept }: VersionLimits = {},
): DocumentStore {
  const quota = keyBytesMax === undefined ? undefined : createKeyQuota(documents, keyBytesMax);
  return {
    ...documents,
    async transaction(change, options) {
      if (quota === undefined || options?.by === undefined)
        return documents.transaction(
          (tx) => change(createVersionedTransaction(tx, { now, options, versionsKept })),
          options,
        );
      await quota.ready();
      let commit = (): void => {};
      const result = await documents.transaction((tx) => {
        const meteredTransaction = quota.meter(tx); // a new meter for each run, because the engine repeats a transaction after a conflict
        ({ commit } = meteredTransaction);
        return change(createVersionedTransaction(meteredTransaction.tx, { now, options, versionsKept }));
      }, options);
      commit();
      return result;
    },
  };
}

interface TransactionParts {
  readonly now: () => number;
  readonly options: TransactionOptions | undefined;
  readonly versionsKept?: number | undefined;
}

/** Wraps a transaction. It also adds versions for kinds with versions, and log entries for kinds that are logged. */
export function createVersionedTransaction<T extends DocumentTransaction>(
  tx: T,
  { now, options, versionsKept: keptVersions = Infinity }: TransactionParts,
): T {
  const getAuthor = (): Authorship => options?.by ?? NO_REQUEST;
  let timestamp: string | undefined;
  const getTime = (): string => (timestamp ??= formatTimestamp(now()));
  const prefetchedReads = createPrefetchedReads(tx, options?.by !== undefined);

  async function appendLog(kind: AuditedKind, id: string, writtenVersion: WrittenVersion): Promise<void> {
    const { author: name, keyId, note, requestId: request_id } = getAuthor();
    const subject = kind === 'data-version' ? getOwner(id) : id;
    const by = keyId == null ? { author: name } : { author: name, key_id: keyId };
    const statement = { at: getTime(), ...by, request_id, note, kind, id: subject, ...writtenVersion };
    prefetchedReads.logEndsWith(await appendAudit(tx, statement, await prefetchedReads.logEnd()));
  }

  /** Deletes a versioned document. @returns true if the document or its versions existed */
  async function deleteVersioned(subject: Subject): Promise<boolean> {
    const { kind, id } = subject;
    const documentState = await readDocumentState(tx, subject, prefetchedReads.take(subject));
    const hasExisted = await tx.delete(kind, id);
    const authorship = getAuthor();
    if (authorship.purges === true) {
      const isPurged = await purgeHistory(tx, subject);
      if (hasExisted || isPurged) await appendLog(kind, id, { action: 'purged', version: null, etag: null });
      return hasExisted || isPurged;
    }
    if (!hasExisted) return false;
    const version = await recordDeletion(tx, subject, { by: authorship, at: getTime(), standing: documentState });
    if (version !== null) await trimHistory(tx, subject, { latest: version, keptVersions });
    await appendLog(kind, id, { action: 'deleted', version, etag: null });
    return true;
  }

  /** Deletes a kept run and logs the deletion as that of a run. */
  async function deletePurgedVersions(id: string): Promise<boolean> {
    const subject = getOwner(id);
    const hasExisted = await tx.delete('kept-run', id);
    const versionReference = { version: null, run_id: id.slice(subject.length + 1) };
    if (hasExisted) await appendLog('run', subject, { action: 'deleted', ...versionReference, etag: null });
    return hasExisted;
  }

  return {
    ...tx,
    authorship: getAuthor,
    get(kind, id) {
      return isVersioned(kind) ? prefetchedReads.document({ kind, id }) : tx.get(kind, id);
    },
    async put(kind, id, body) {
      if (isVersioned(kind)) {
        const documentState = await readDocumentState(tx, { kind, id }, prefetchedReads.take({ kind, id }));
        const { etag, added } = await putVersioned(
          tx,
          { kind, id },
          { body, by: getAuthor(), at: getTime(), standing: documentState },
        );
        if (added !== undefined) await trimHistory(tx, { kind, id }, { latest: added.version, keptVersions });
        const changes =
          kind === 'store' ? storeChanges(documentState.document, body, { etag, isVersion: added !== undefined }) : [];
        for (const writtenVersion of [added, ...changes])
          if (writtenVersion !== undefined) await appendLog(kind, id, writtenVersion);
        return etag;
      }
      if (kind === 'audit-head') prefetchedReads.logEndsWith(body as StoredAuditHead); // the only shape of this kind
      if (!isAudited(kind)) return tx.put(kind, id, body);
      const action = (await tx.get(kind, id)) === undefined ? 'created' : 'updated';
      const etag = await tx.put(kind, id, body);
      await appendLog(kind, id, { action, ...createReference(kind, body), etag });
      return etag;
    },
    async delete(kind, id) {
      if (isVersioned(kind)) return deleteVersioned({ kind, id });
      if (kind === 'kept-run') return deletePurgedVersions(id);
      if (!isAudited(kind)) return tx.delete(kind, id);
      const storedDocument = await tx.get(kind, id);
      const versionReference =
        storedDocument === undefined || 'unreadable' in storedDocument
          ? NO_VERSION
          : createReference(kind, storedDocument.body);
      const hasExisted = await tx.delete(kind, id);
      const isKept = kind === 'run' && (await tx.get('kept-run', `${id}/${versionReference.run_id}`)) !== undefined;
      if (hasExisted && !isKept) await appendLog(kind, id, { action: 'deleted', ...versionReference, etag: null });
      return hasExisted;
    },
  };
}

/** Reads of documents before their writes. Each read of a database is a round trip, so all of them start at once. */
interface PrefetchedReads {
  /**
   * Reads a document. A request usually writes the document, so the reads for its version and for the log start too.
   */
  document(subject: Subject): Promise<DocumentLookup>;
  /** Returns the reads that have started for a document that is about to be written. */
  take(subject: Subject): PendingReads;
  /** Returns the head of the log. It includes the entries of this transaction. */
  logEnd(): Promise<StoredAuditHead>;
  logEndsWith(head: StoredAuditHead): void;
}

function createPrefetchedReads(tx: DocumentTransaction, isRequest: boolean): PrefetchedReads {
  const readings = new Map<string, PendingReads>();
  let end: Promise<StoredAuditHead> | undefined;
  const formatKey = ({ kind, id }: Subject): string => `${kind}/${id}`;

  function read(subject: Subject, isWritten: boolean): PendingReads {
    const pendingReads = readings.get(formatKey(subject));
    if (pendingReads !== undefined) return pendingReads;
    const document = tx.get(subject.kind, subject.id);
    const last = isWritten && isDocumentId(subject.id) ? readLastVersion(tx, subject) : undefined;
    if (isWritten) end ??= readAuditHead(tx);
    for (const pendingWrite of [last, end]) pendingWrite?.catch(() => {}); // the caller that awaits the read receives the error
    const newReads = { document, last };
    readings.set(formatKey(subject), newReads);
    return newReads;
  }

  return {
    document: (subject) => read(subject, isRequest).document,
    take(subject) {
      const nextReads = read(subject, true);
      readings.delete(formatKey(subject));
      return nextReads;
    },
    logEnd: () => (end ??= readAuditHead(tx)),
    logEndsWith(head) {
      end = Promise.resolve(head);
    },
  };
}

/** Outcome of a write to a document. */
type WrittenVersion = Pick<AuditEntry, 'action' | 'version' | 'etag' | 'run_id'>;

type VersionReference = Pick<AuditEntry, 'version' | 'run_id'>;
const NO_VERSION: VersionReference = { version: null };

/** Returns members that identify a written document in addition to its id. */
function createReference(kind: AuditedKind, body: unknown): VersionReference {
  if (kind === 'data-version') return { version: (body as Pick<DataVersionDocument, 'version'>).version };
  if (kind !== 'run') return { version: null };
  const { run_id, artifacts } = body as Partial<RunDocument>;
  if (run_id === undefined || artifacts === undefined) return { version: null };
  return { version: null, run_id: computeRunId({ run_id, artifacts }) };
}

/**
 * Returns the changes of a data store that are no versions. These are a new password of its source, which no version
 * contains, and new content. The entry of a store's creation also covers its first content.
 */
function storeChanges(
  before: DocumentLookup,
  body: unknown,
  { etag, isVersion }: { readonly etag: string; readonly isVersion: boolean },
): readonly WrittenVersion[] {
  if (before !== undefined && 'unreadable' in before) return [];
  const [was, is] = [before?.body, body] as readonly (Partial<DatasetDocument> | undefined)[]; // bodies of this kind are datasets
  const actions: WrittenVersion['action'][] = [];
  if (!isVersion && was !== undefined && is!.source !== was.source) actions.push('updated');
  if (is!.active === true && was?.active !== true) actions.push('activated');
  else if (was !== undefined && is!.content_hash !== was.content_hash) actions.push('loaded');
  return actions.map((action) => ({ action, version: null, etag }));
}

function isVersioned(kind: DocumentKind): kind is VersionedKind {
  return (VERSIONED_KINDS as readonly string[]).includes(kind);
}
