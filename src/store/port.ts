import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { ProducedBytes } from '#base/bytes.js';
import type { CommitEvent, CommitEventType } from '#domain/definition/commit-events.js';
import type { RunDocument } from '#domain/definition/runs.js';
import { type Authorship, VERSIONED_KINDS } from '#domain/definition/versions.js';

/**
 * Maximum length of an id in bytes. With it, every id fits into a key of every engine; LMDB allows 1,978 bytes. Ids in
 * requests are far shorter.
 */
const ID_BYTES_MAX = 512;

/**
 * Matches an unpaired surrogate, which UTF-8 cannot encode. Two ids with different unpaired surrogates would share a
 * key.
 */
const HALF_PAIR = /\p{Surrogate}/u;

export function isDocumentId(id: string): boolean {
  return id !== '' && !id.includes('\u0000') && !HALF_PAIR.test(id) && Buffer.byteLength(id) <= ID_BYTES_MAX;
}

/** Number of digits in a key. Leading zeros make keys sort like their numbers. */
const DIGITS = 10;

/** Returns the key of a numbered version, or part of a log, of one owner. */
export const formatNumberedId = (owner: string, number: number): string =>
  `${owner}/${String(number).padStart(DIGITS, '0')}`;

/** Returns the number in a key of `formatNumberedId`. */
export const parseNumber = (id: string): number => Number(id.slice(id.lastIndexOf('/') + 1));

/** Returns the range of the keys of `formatNumberedId` of one owner. */
export const createNumberedRange = (owner: string): { readonly from: string; readonly until: string } => ({
  from: `${owner}/`,
  until: `${owner}/:`, // colon is the character after 9
});

/** Returns the owner in a key of `formatNumberedId`. */
export const getOwner = (id: string): string => id.slice(0, id.lastIndexOf('/'));

export const DOCUMENT_KINDS = [
  ...VERSIONED_KINDS,
  'run',
  'kept-run',
  'run-list',
  'optimisation-run',
  'risk-model',
  'render',
  'market',
  'job',
  'job-input',
  'paused-kind',
  'delivery',
  'key',
  'key-use',
  'ended-sessions',
  'sharing',
  'history',
  'version',
  'publication',
  'publication-head',
  'publication-error',
  'signing-key',
  'data-version',
  'data-history',
  'audit',
  'audit-head',
  'audit-seal',
  'audit-push',
  'artifact-store',
  'stored-forms',
  'recorded-closures',
  'schedule-day',
  'schedule-state',
  'judgement',
  'action-decision',
  'client-secrets',
  'file-delivery',
  'approval',
  'approval-state',
] as const;

/** Number of hexadecimal digits of a run id: 64 bits. */
const ID_DIGITS = 16;

/** Returns the id of a run. It is a hash over its subject and the name of its columns file, which is never reused. */
export function computeRunId({
  run_id: subject,
  artifacts,
}: {
  readonly run_id: string;
  readonly artifacts: { readonly columns: Pick<RunDocument['artifacts']['columns'], 'name'> };
}): string {
  return createHash('sha256').update(`${subject} ${artifacts.columns.name}`).digest('hex').slice(0, ID_DIGITS);
}

/** Schema version of bodies that this release writes. A newer release wrote a body with a higher version. */
export const SCHEMA_VERSION = 1;

/** Formats a time for the wire: ISO-8601 UTC with microseconds and an offset. */
export function formatTimestamp(ms: number): string {
  return `${new Date(Math.floor(ms)).toISOString().slice(0, -1)}000+00:00`;
}

/** Returns the latest of several times in the format of `formatTimestamp`, ignoring undefined ones. */
export function findLatestTime(timestamp: string, ...others: readonly (string | undefined)[]): string {
  return others.reduce<string>((latest, time) => (time !== undefined && time > latest ? time : latest), timestamp);
}

/**
 * State of an artifact store that may become unavailable. Each check has a time limit, and requests do not wait for
 * checks.
 */
export interface ArtifactHealth {
  /** Returns the reason why artifacts are unavailable, as a sentence; undefined if they are available. */
  fault(): string | undefined;
  /**
   * Explains a failed operation on artifacts. If the store is unavailable, missing bytes are not lost.
   * @returns Refusal STORE_UNAVAILABLE if the store is unavailable, otherwise the failure
   */
  explain(thrown: unknown): Promise<unknown>;
}

/** Keys that sign requests to an object store. */
export interface StorageKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** Expiry in milliseconds since 1970; undefined if it is unknown. */
  readonly expiresAt?: number | undefined;
}

/**
 * Source of the keys of a bucket, as plain data. A thread receives it together with its destination and obtains the
 * keys itself.
 */
export type KeySource = FixedKeys | QueriedKeySource;

export interface FixedKeys extends StorageKeys {
  readonly kind: 'given';
}

/** Sources that are queried for keys; the keys may change while a process runs. */
export type QueriedKeySource =
  | {
      readonly kind: 'profile';
      readonly profile: string;
      readonly credentialsFile: string;
      readonly configFile: string;
    }
  | {
      readonly kind: 'web-identity';
      /** File with the identity token, which an external program renews. */
      readonly tokenFile: string;
      readonly roleArn: string;
      readonly sessionName: string;
      /** Endpoint of the token service. */
      readonly endpoint: string;
    }
  | {
      readonly kind: 'container';
      readonly url: string;
      readonly token?: string | undefined;
      readonly tokenFile?: string | undefined;
    }
  | {
      readonly kind: 'machine';
      /** Endpoint of the instance metadata service. */
      readonly endpoint: string;
    };

/** Minimum free space of a volume. LMDB corrupts its heap on a full disk, so writes are stopped well before. */
export interface LowWaterMark {
  /** Minimum free bytes. Default: 256 MiB. */
  readonly bytes?: number;
  /** Minimum free share of the volume; the smaller of the two marks applies. Default: 0.05. */
  readonly fraction?: number;
}

/** New file of an artifact, completely written to disk. */
export interface NewFile {
  readonly file: FileHandle;
  readonly name: string;
  readonly bytes: number;
  /** SHA-256 of the bytes, hex. */
  readonly sha256: string;
}

/** Address and credentials of a bucket, as plain data. A thread receives it together with its destination. */
export interface S3Access {
  /** Origin of the service, without a trailing slash. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Prefix of every key; empty or with a trailing slash. */
  readonly prefix: string;
  readonly keys: KeySource;
}

interface SweepOptions {
  /** Minimum age of files that are deleted. Attempts that wrote younger files may still run. */
  readonly olderThanMs?: number;
  /** Time after which files are deleted from the trash of a shared store. Default: at once. */
  readonly trashMs?: number;
  /** Pause after each page of names. Use it for a sweep on a database with other load. Default: none. */
  readonly pauseMs?: number;
  /** Returns false if the sweep must stop. */
  readonly isWanted?: () => boolean;
}

/** Function that returns some of the given names, at most `SWEEP_PAGE`: those that documents refer to. */
type ReferencedAmong = (names: readonly string[]) => Promise<ReadonlySet<string>>;

/** Number of names per page of a sweep. The names of a page are in memory and in one query of the documents. */
export const SWEEP_PAGE = 1000;

/** Artifact of a document, with the latest possible time of its content, ms since 1970. */
export interface DatedArtifact {
  readonly ref: { readonly name: string; readonly bytes: number; readonly sha256: string };
  readonly madeAt: number;
}

interface CommitListeners {
  add<T extends CommitEventType>(type: T, listener: (event: CommitEvent<T>) => void): () => void;
  call(events: readonly CommitEvent[]): void;
}

/**
 * Creates the listeners of commits.
 * @param onFailure receives the error of a listener, whose state may no longer agree with the documents
 */
export function createCommitListeners(onFailure: (cause: unknown) => void): CommitListeners {
  const listeners = new Map<CommitEventType, Set<(event: never) => void>>();

  return {
    add(type, listener) {
      const typeListeners = listeners.get(type) ?? new Set();
      listeners.set(type, typeListeners.add(listener));
      return () => void typeListeners.delete(listener);
    },
    call(events) {
      for (const event of events) {
        for (const listener of listeners.get(event.type) ?? []) {
          try {
            listener(event as never); // registered for events of this type
          } catch (thrown) {
            onFailure(thrown);
          }
        }
      }
    },
  };
}

/** SHA-256 computed by another thread. */
export interface ApartHash {
  /** Adds bytes, which must not change before `hex` resolves. The hash of the first ones starts at once. */
  begin(bytes: Uint8Array): void;
  /** Returns the hash of all bytes as hexadecimal text. Called once, at the end. */
  hex(): Promise<string>;
}

/** Artifact whose bytes are complete before all work is done. Call either `end` or `drop`, once. */
export interface EarlyArtifact {
  /**
   * Starts to write and hash the bytes. Called once.
   * @param final number of bytes at the begin that no longer change; `end` writes the others. Default: all
   * @returns false if these bytes cannot be written early
   * @cost small bytes: one pass of SHA-256, a copy to the page cache of the operating system; large bytes: none
   */
  begin(bytes: Uint8Array, final?: number): boolean;
  /**
   * Continues with further bytes that no longer change.
   * @param final number of bytes at the begin that no longer change
   * @returns true if they are enough for a write
   */
  extend(final: number): boolean;
  /**
   * Completes the file under its final name. `settle` of the store then makes the name durable. A failure leaves no
   * file.
   * @throws Refusal STORAGE_FULL
   */
  end(options?: Pick<WriteOptions, 'onWritten'>): Promise<{ readonly bytes: number; readonly sha256: string }>;
  /** Deletes the draft of the file. */
  drop(): Promise<void>;
}

export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** Readable stored document with a correct checksum. */
export interface StoredDocument {
  readonly id: string;
  /** Parsed JSON body. */
  readonly body: unknown;
  /** SHA-256 (hex) of the canonical body: the strong ETag. */
  readonly etag: string;
  /** Time of the write, ISO-8601 UTC. */
  readonly updatedAt: string;
}

/** Reasons why a stored document is not served. They have the names of SkippedCauses in responses. */
export type UnreadableCause = 'unreadable' | 'invalid' | 'unsupported';

export interface UnreadableDocument {
  readonly id: string;
  readonly unreadable: UnreadableCause;
}

export interface Listing<T> {
  readonly documents: readonly T[];
  readonly skipped: number;
  readonly skipped_causes: Readonly<Record<UnreadableCause, number>>;
}

/**
 * Function that parses and validates the body of a document. It returns undefined if the body does not satisfy its
 * schema.
 */
export type DocumentBodyReader<T> = (body: unknown, id: string) => T | undefined;

/** Reader of the documents of a list, which may also use their etags and times. */
export type EntryReader<T> = (
  body: unknown,
  id: string,
  heading: Pick<StoredDocument, 'etag' | 'updatedAt'>,
) => T | undefined;

/** Current document, or the reason why it is unreadable. It is undefined if the document does not exist. */
export type DocumentLookup = StoredDocument | UnreadableDocument | undefined;

/**
 * Reads of documents, inside and outside a transaction. No document has an invalid id (`isDocumentId`). A write to an
 * invalid id is a bug.
 */
export interface DocumentReader {
  get(kind: DocumentKind, id: string): Promise<DocumentLookup>;
  /** Lists the ids of a kind in code-point order. Includes unreadable documents. */
  ids(kind: DocumentKind): Promise<readonly string[]>;
  /**
   * Returns the number of the last document of an owner (`formatNumberedId`), readable or not. Returns 0 if there is
   * none. A transaction that reads the number writes only the next number, so that an engine need not check later
   * numbers.
   */
  lastNumber(kind: DocumentKind, owner: string): Promise<number>;
}

/** Selection of numbered documents of an owner. */
interface NumbersQuery {
  /** Exclusive upper bound of the numbers. Default: none. */
  readonly below?: number | undefined;
  /** Maximum length of the list. */
  readonly limit: number;
}

/**
 * Document store. Every acknowledged write is durable, and every read sees all writes acknowledged before it. An engine
 * is an adapter of this interface; `test/store/document-store-contract.ts` tests each of them.
 */
export interface DocumentStore extends DocumentReader {
  /**
   * Returns a number that grows with every commit that writes or deletes documents of a kind. While it is unchanged,
   * results derived from the documents remain valid.
   */
  revision(kind: DocumentKind): Promise<number>;
  /**
   * Lists numbers of the documents of an owner (`formatNumberedId`), readable or not, in descending order.
   * @cost proportional to the length of the list
   */
  numbers(kind: DocumentKind, owner: string, query: NumbersQuery): Promise<readonly number[]>;
  /**
   * Lists all documents of a kind by id, ascending, in one snapshot. Counts unreadable documents by cause. Many or large
   * documents are read in several turns of the event loop.
   */
  list<T>(kind: DocumentKind, read: EntryReader<T>): Promise<Listing<T>>;
  /**
   * Runs `change` in a transaction and commits either all of its writes or none. Transactions are serialisable: each
   * sees all earlier transactions and no concurrent one. `change` may await only the transaction. An engine may run it
   * again after a conflict, so that its only effects must be its writes, its events and its result.
   * @returns after the commit is durable.
   * @throws Refusal STORAGE_FULL below the free-space mark, STORE_UNAVAILABLE if the store does not accept the write.
   */
  transaction<T>(change: TransactionBody<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Subscribes to events of a type that transactions publish. Events are delivered when they are durable and, in the
   * process that committed, before the transaction resolves. Events of one process arrive in the order of its commits.
   * A listener must not throw.
   * @returns a function that unsubscribes
   */
  subscribe<T extends CommitEventType>(type: T, listener: (event: CommitEvent<T>) => void): () => void;
  /**
   * Waits for pending work. Later reads and writes are rejected with Refusal STORE_UNAVAILABLE. May be called again.
   */
  close(): Promise<void>;
}

export type TransactionBody<T> = (tx: DocumentTransaction) => Promise<T>;

export interface TransactionOptions {
  /**
   * True for changes that finish accepted work, such as the end of a job. They may use the reserved part of the minimum
   * free space. Deletions may always use it.
   */
  readonly reserve?: boolean;
  /** Author of the write. The layer that keeps versions uses it; engines ignore it. */
  readonly by?: Authorship | undefined;
}

/**
 * Transaction as passed to its body. Reads include its own writes. After the end of the body, any call throws, because
 * it is a bug.
 */
export interface DocumentTransaction extends DocumentReader {
  /** Author of the writes. Present in a store that keeps versions. */
  readonly authorship?: () => Authorship;
  /**
   * Writes the body as it is at the time of the call and returns its ETag. If a body is rejected, other writes of the
   * transaction are not affected.
   */
  put(kind: DocumentKind, id: string, body: unknown): Promise<string>;
  /** @returns true if a document existed under the id. */
  delete(kind: DocumentKind, id: string): Promise<boolean>;
  publish(event: CommitEvent): void;
}

export interface DocumentEngineOptions {
  /** Clock for `updatedAt`, ms since 1970. */
  readonly now?: () => number;
  /**
   * Called with artifacts that no document refers to any more. The commit that removed the last reference is then
   * durable.
   */
  readonly onUnreferenced?: (names: readonly string[]) => void;
  /** Called when the engine accepts no more writes, and with the error of a listener. The process should restart. */
  readonly onFailure?: (cause: unknown) => void;
}

/** Document store with the functions that the artifact store needs. Engines implement this interface. */
export interface DocumentEngine extends DocumentStore {
  /** Returns the names of the artifacts that documents refer to. Includes unreadable documents. */
  referencedArtifacts(): Promise<ReadonlySet<string>>;
  /** Returns some of the given names: those that documents refer to. */
  referencedAmong(names: readonly string[]): Promise<ReadonlySet<string>>;
}

/** Stored document, readable or not. */
export interface DocumentEntry {
  readonly key: string;
  /** Kind of the document. It is undefined for a kind that this version does not know. */
  readonly kind: DocumentKind | undefined;
  readonly id: string;
  readonly bytes: number;
  /** Reason why the document is unreadable. It is undefined if the document is readable. */
  readonly unreadable: UnreadableCause | undefined;
  readonly body: unknown;
  /** Names of the artifacts that the document refers to, even if it is unreadable. */
  readonly artifactNames: readonly string[];
}

/** Access to documents for maintenance by another process. It only reads, even while the service writes. */
export interface DocumentsReader {
  /** Yields every document once, in one snapshot. */
  entries(): AsyncIterable<DocumentEntry>;
  entry(key: string): Promise<DocumentEntry | undefined>;
  close(): Promise<void>;
}

/**
 * Reference to an immutable byte string outside the documents, such as run results, records, columns and reports. The
 * byte string is written once, referenced by the document that owns it, and served as a stream.
 */
export interface ArtifactRef {
  /** File name in the artifacts folder, permanently unique. */
  readonly name: string;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** SHA-256 of the file, hex. */
  readonly sha256: string;
}

/** Artifact, and a second name for its file. */
export interface ArtifactLink {
  readonly ref: ArtifactRef;
  readonly name: string;
}

/**
 * Destination of artifacts for a thread or another process, which has no open store. It is plain data for
 * `openArtifactWriter`.
 */
export type ArtifactDestination =
  | {
      readonly kind: 'folder';
      readonly folder: string;
      readonly lowWaterMark: LowWaterMark;
      /** Id of a shared folder. It is checked before and after a write. */
      readonly storeId?: string;
    }
  | {
      readonly kind: 's3';
      readonly access: S3Access;
      /** Local cache. It also receives the object, because the object is read next. */
      readonly cache: { readonly folder: string; readonly bytesMax: number };
    };

/** Bytes of an artifact, with its name. */
export interface ArtifactContent {
  readonly name: string;
  readonly bytes: Uint8Array | ProducedBytes;
}

export interface ArtifactWriter {
  /**
   * Writes each content as a separate artifact and hashes it during the write. All are on disk when the promise
   * resolves. They have no owner yet: commit documents that refer to them. If one cannot be written, none is.
   * @throws Refusal STORAGE_FULL
   * @cost one pass of SHA-256; the memory of a part in addition to the bytes
   */
  write(contents: readonly ArtifactContent[], options?: WriteOptions): Promise<readonly ArtifactRef[]>;
  /**
   * Opens an artifact that is written to disk while its thread keeps computing. Absent if the writer does not support
   * this.
   * @param hashApart creates the hash of large bytes. Default: large bytes are not written early
   * @throws Refusal STORAGE_FULL
   */
  early?(name: string, hashApart?: () => ApartHash | undefined): Promise<EarlyArtifact>;
}

export interface WriteOptions {
  /** Called for each file in a local folder, before it gets its final name. */
  readonly onWritten?: ((file: NewFile) => Promise<void>) | undefined;
  /** True if the file names need to be on disk only after the owner has called `settle` of the store. */
  readonly isSettledLater?: boolean;
}

export interface ArtifactStore {
  readonly health?: ArtifactHealth;
  /**
   * Variant for requests. It rejects a read within seconds if the artifact store does not answer. Absent if reads never
   * wait.
   */
  readonly forRequests?: ArtifactStore;
  /** Destination for other writers. They use names that this store created. */
  readonly destination: ArtifactDestination;
  /**
   * Writes and flushes bytes whose hash is known. The artifact has no owner yet: commit a document that refers to it.
   */
  write(bytes: Uint8Array, sha256: string): Promise<ArtifactRef>;
  /**
   * Writes and flushes the content of a file. The artifact has no owner yet, as for `write`. A file that was claimed in
   * this store stays where it is, and must not be changed afterwards.
   * @cost one read of the file; memory for some pieces
   */
  writeFile(path: string): Promise<ArtifactRef>;
  newName(): string;
  /**
   * Links the files of artifacts under further names. They then survive the deletion of the first names. The links have
   * no owner yet, as for `write`, and are on disk after `settle`. If one artifact is unavailable, none is linked.
   * @throws Refusal DOCUMENT_UNREADABLE if a file is missing or has another length
   */
  link(files: readonly ArtifactLink[]): Promise<readonly ArtifactRef[]>;
  /**
   * Writes the names of all links, and of writes with `isSettledLater`, to disk. Call it before a document refers to
   * them.
   */
  settle(): Promise<void>;
  /**
   * Streams the bytes of an artifact, or a byte range (`end` exclusive). Before a stream of all bytes, the file is
   * verified against its hash. If the file changes during the stream, the stream ends with an error before its last
   * chunk.
   * @throws Refusal DOCUMENT_UNREADABLE if a file is missing or has another length
   */
  stream(
    ref: ArtifactRef,
    range?: { readonly start: number; readonly end: number },
  ): Promise<ReadableStream<Uint8Array>>;
  /**
   * Reads the bytes of an artifact. Verifies them against their hash unless a range is requested.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  read(ref: ArtifactRef, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array>;
  /** Returns true if the file exists and matches its hash. @cost one read of the file; memory for at most 64 MiB */
  isIntact(ref: ArtifactRef): Promise<boolean>;
  /**
   * Returns artifacts that are missing, have another length, or were modified and differ from their hash. Damage that
   * leaves size and times unchanged is found only when bytes are read. The result is empty while the artifact store is
   * unavailable. @cost a stat of each file, a read of modified files
   */
  damaged(artifacts: readonly DatedArtifact[]): Promise<ReadonlySet<string>>;
  /**
   * Returns the path of a file with the content, for a worker that reads the file. All paths are in one folder. The
   * file exists for the duration of a request.
   * @throws Refusal DOCUMENT_UNREADABLE, STORE_UNAVAILABLE if the file must be fetched
   */
  file(ref: Pick<ArtifactRef, 'name'>): Promise<string>;
  /**
   * Returns the name of a file that a worker writes and that can be created again. `file` returns its path. The file is
   * not flushed, no document refers to it, and a later start deletes it. The caller removes the file.
   * @param bytes approximate size
   * @throws Refusal STORAGE_FULL
   */
  claim(bytes: number): Promise<string>;
  /**
   * Removes files, complete or not. Ignores absent files. The store removes artifacts that have lost their last
   * reference; the job system removes artifacts of an attempt that did not complete.
   */
  remove(names: readonly string[]): Promise<void>;
  /**
   * Removes results that a document referred to. In a shared artifact store, they go to its trash, from which `restore`
   * can bring them back. In a home folder, they are removed at once.
   */
  discard(names: readonly string[]): Promise<void>;
  /**
   * Moves files from the trash of a shared artifact store back. @returns names that are neither in the store nor in the
   * trash
   */
  restore(names: readonly string[]): Promise<readonly string[]>;
  /**
   * Discards every file that no document refers to, and empties the trash.
   * @param referenced called after the files have been listed
   * @returns the number of discarded files
   */
  sweep(referenced: ReferencedAmong, options?: SweepOptions): Promise<number>;
}

/** Result of a read, with only the members that readers of the body need. */
type ParsedDocument = Pick<StoredDocument, 'id' | 'body'> | UnreadableDocument | undefined;

/** Reads the body of a stored document. @returns undefined if the document is missing, unreadable or invalid */
export function readStoredBody<T>(parsedDocument: ParsedDocument, read: DocumentBodyReader<T>): T | undefined {
  return parsedDocument === undefined || 'unreadable' in parsedDocument
    ? undefined
    : read(parsedDocument.body, parsedDocument.id);
}

/** Document of a list, or the reason why the list leaves it out. */
export type ListedDocument<T> = { readonly document: T } | { readonly cause: UnreadableCause };

export function listDocument<T>(found: StoredDocument | UnreadableDocument, read: EntryReader<T>): ListedDocument<T> {
  if ('unreadable' in found) return { cause: found.unreadable };
  const document = read(found.body, found.id, found);
  return document === undefined ? { cause: 'invalid' } : { document };
}

export function collectListing<T>(entries: readonly ListedDocument<T>[]): Listing<T> {
  const documents: T[] = [];
  const causes: Record<UnreadableCause, number> = { unreadable: 0, invalid: 0, unsupported: 0 };
  for (const entry of entries) {
    if ('document' in entry) documents.push(entry.document);
    else causes[entry.cause]++;
  }
  return { documents, skipped: entries.length - documents.length, skipped_causes: causes };
}

/** Validates the body of a stored document with a schema. @returns undefined as `readStored` does */
export function parseStored<T>(
  parsedDocument: ParsedDocument,
  schema: { safeParse(body: unknown): { readonly data?: T } },
): T | undefined {
  return readStoredBody(parsedDocument, (body) => schema.safeParse(body).data);
}

/** Returns the reason why a stored document is unreadable. Returns undefined for a readable or absent document. */
export function findCause(
  parsedDocument: ParsedDocument,
  read: DocumentBodyReader<unknown>,
): UnreadableCause | undefined {
  if (parsedDocument === undefined) return undefined;
  if ('unreadable' in parsedDocument) return parsedDocument.unreadable;
  return read(parsedDocument.body, parsedDocument.id) === undefined ? 'invalid' : undefined;
}
