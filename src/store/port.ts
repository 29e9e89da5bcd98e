import type { ArtifactHealth } from './access/artifact-health.js';
import type { DatedArtifact, ReferencedAmong, SweepOptions } from './artifact-terms.js';
import type { MadeBytes } from '#base/memory/made-bytes.js';
import type { CommitEvent, CommitEventType } from '#domain/documents/commit-events.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { DOCUMENT_KINDS } from './document-kinds.js';
import type { EarlyArtifact } from './early-artifact.js';
import type { NewFile } from './access/new-file.js';
import type { S3Access } from './access/s3-access.js';
import type { LowWaterMark } from './access/low-water-mark.js';

export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** A readable stored document with a correct checksum. */
export interface StoredDocument {
  readonly id: string;
  /** Parsed JSON body. */
  readonly body: unknown;
  /** SHA-256 (hex) of the canonical body: the strong ETag. */
  readonly etag: string;
  /** Time of the write, ISO-8601 UTC. */
  readonly updatedAt: string;
}

/** Reasons for a stored document not to be served; the names of SkippedCauses on the wire. */
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

/** Parses and validates one body of a kind; undefined if it does not satisfy its schema. */
export type BodyReader<T> = (body: unknown, id: string) => T | undefined;

/** The current document, the reason why it is unreadable, or undefined if there is none. */
export type FoundDocument = StoredDocument | UnreadableDocument | undefined;

/**
 * Reads of documents, inside a transaction and outside. No document has an invalid id (`isDocumentId`), and a write to
 * one is a defect.
 */
export interface DocumentReader {
  get(kind: DocumentKind, id: string): Promise<FoundDocument>;
  /** Lists the ids of a kind in code-point order, readable or not. */
  ids(kind: DocumentKind): Promise<readonly string[]>;
  /**
   * Returns the number of the last document of an owner (`formatNumberedId`), readable or not; 0 if there is none. A
   * transaction that reads it writes the next number and no other, so an engine need not check numbers beyond that
   * one.
   */
  lastNumber(kind: DocumentKind, owner: string): Promise<number>;
}

/** Which numbers of an owner are asked for. */
export interface NumbersQuery {
  /** Only numbers below this one. Default: all. */
  readonly below?: number | undefined;
  /** Longest list. */
  readonly limit: number;
}

/**
 * The document store: every acknowledged write is durable, every read sees all writes acknowledged before it. An
 * engine is an adapter of this port; `test/store/document-store-contract.ts` runs against each.
 */
export interface DocumentStore extends DocumentReader {
  /**
   * Grows with every commit that writes or deletes documents of a kind: results derived from them stay valid while it
   * is unchanged.
   */
  revision(kind: DocumentKind): Promise<number>;
  /**
   * Lists numbers of the documents of an owner (`formatNumberedId`), readable or not, the highest first.
   * @cost the length of the list
   */
  numbers(kind: DocumentKind, owner: string, query: NumbersQuery): Promise<readonly number[]>;
  /** Lists every document of a kind by id, ascending, in one snapshot; counts unreadable ones by cause. */
  list<T>(kind: DocumentKind, read: BodyReader<T>): Promise<Listing<T>>;
  /**
   * Runs `change` in a transaction and commits all of its writes together, or none. Transactions are serialisable:
   * each sees all earlier ones and none that is running. `change` awaits only the transaction, and an engine may run
   * it again after a conflict: its only effects are its writes, its events and its result.
   * @returns once the commit is durable.
   * @throws Refusal STORAGE_FULL below the free-space mark, STORE_UNAVAILABLE if the store does not accept the write.
   */
  transaction<T>(change: TransactionBody<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Listens to events of a type that transactions publish, once they are durable and, in the process that committed,
   * before the transaction resolves. Events of one process arrive in the order of its commits. A listener that throws
   * is a defect.
   * @returns a function that stops listening
   */
  subscribe<T extends CommitEventType>(type: T, listener: (event: CommitEvent<T>) => void): () => void;
  /** Waits for pending work. Later reads and writes are refused: Refusal STORE_UNAVAILABLE. May be called again. */
  close(): Promise<void>;
}

export type TransactionBody<T> = (tx: DocumentTransaction) => Promise<T>;

export interface TransactionOptions {
  /**
   * True for changes that finish accepted work (the end of a job), which may use the reserve below the free-space
   * mark. Deletions always may.
   */
  readonly reserve?: boolean;
  /** Author of the write, for the versions above the engines; an engine ignores it. */
  readonly by?: Authorship | undefined;
}

/**
 * A transaction as its body sees it, including its own writes. After the end of the body, each call is refused as a
 * defect.
 */
export interface DocumentTransaction extends DocumentReader {
  /** Author of the writes, in a store that keeps versions. */
  readonly authorship?: () => Authorship;
  /**
   * Writes a body as it is at the call; returns its etag. A refused body does not affect the others of the
   * transaction.
   */
  put(kind: DocumentKind, id: string, body: unknown): Promise<string>;
  /** @returns true if a document existed under the id. */
  delete(kind: DocumentKind, id: string): Promise<boolean>;
  /** Publishes an event to its listeners, if the transaction commits. */
  publish(event: CommitEvent): void;
}

/** Options of a document engine, in addition to the location of its data. */
export interface DocumentEngineOptions {
  /** Wall clock of `updatedAt`, ms since 1970. */
  readonly now?: () => number;
  /** Called for artifacts that became orphaned, once the commit that dropped them is durable. */
  readonly onUnreferenced?: (names: readonly string[]) => void;
  /** Called when the engine accepts no more writes, and for the error of a listener: the process should restart. */
  readonly onFailure?: (cause: unknown) => void;
}

/** A document store with the parts that the artifact store needs: the interface of an engine. */
export interface DocumentEngine extends DocumentStore {
  /** Returns the names of the artifacts that documents refer to, readable or not. */
  referencedArtifacts(): Promise<ReadonlySet<string>>;
  /** Returns those of some names to which documents refer. */
  referencedAmong(names: readonly string[]): Promise<ReadonlySet<string>>;
}

/** One stored document, readable or not. */
export interface StoredEntry {
  /** Unique key among all entries, for `DocumentsReader.entry`. */
  readonly key: string;
  /** Undefined for a kind that this version does not know. */
  readonly kind: DocumentKind | undefined;
  readonly id: string;
  readonly bytes: number;
  /** Reason it is unreadable; undefined if it is readable. */
  readonly unreadable: UnreadableCause | undefined;
  readonly body: unknown;
  /** Names of the artifacts it refers to, even if it is unreadable. */
  readonly artifactNames: readonly string[];
}

/** Documents for maintenance by another process, even while the service writes them. */
export interface DocumentsReader {
  /** Yields every document once, in one snapshot. */
  entries(): AsyncIterable<StoredEntry>;
  /** Returns the current document of a key. */
  entry(key: string): Promise<StoredEntry | undefined>;
  close(): Promise<void>;
}

/**
 * Reference to an immutable byte string outside the documents (run results, records, columns, renders): written once
 * under the home, named by the document that owns it, served as a stream.
 */
export interface ArtifactRef {
  /** File name in the artifacts folder, permanently unique. */
  readonly name: string;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** SHA-256 of the file, hex. */
  readonly sha256: string;
}

/** An artifact, and another name for its file. */
export interface ArtifactLink {
  readonly ref: ArtifactRef;
  readonly name: string;
}

/**
 * Destination of artifacts for writers without an open store (a thread, another process): plain data for
 * `openArtifactWriter`.
 */
export type ArtifactDestination =
  | {
      readonly kind: 'folder';
      readonly folder: string;
      readonly lowWaterMark: LowWaterMark;
      /** Id of a shared folder, checked before a write counts. */
      readonly storeId?: string;
    }
  | {
      readonly kind: 's3';
      readonly access: S3Access;
      /** Cached files of this machine, which are read next. */
      readonly cache: { readonly folder: string; readonly bytesMax: number };
    };

/** Bytes and the name of their artifact. */
export interface ArtifactContent {
  readonly name: string;
  readonly bytes: Uint8Array | MadeBytes;
}

export interface ArtifactWriter {
  /**
   * Writes each content as a separate artifact, hashed during the write; all are on disk when it resolves. They have
   * no owner yet: commit documents that refer to them. If one cannot be written, none is.
   * @throws Refusal STORAGE_FULL
   * @cost one pass of SHA-256; the memory of a part in addition to the bytes
   */
  write(contents: readonly ArtifactContent[], options?: WriteOptions): Promise<readonly ArtifactRef[]>;
  /**
   * Opens an artifact that goes to disk while its thread keeps computing; absent if the writer cannot do this.
   * @throws Refusal STORAGE_FULL
   */
  early?(name: string): Promise<EarlyArtifact>;
}

export interface WriteOptions {
  /** Called for each file of a local folder, before it has its name. */
  readonly onWritten?: ((file: NewFile) => Promise<void>) | undefined;
  /** True if the names need to be on disk only after the owner has called `settle` of the store. */
  readonly isSettledLater?: boolean;
}

export interface ArtifactStore {
  /** Health of a shared place. */
  readonly health?: ArtifactHealth;
  /**
   * Variant for requests: it refuses a read within seconds if the place does not answer. Absent if reads never
   * wait.
   */
  readonly forRequests?: ArtifactStore;
  /** Destination for other writers, under names that this store created. */
  readonly destination: ArtifactDestination;
  /** Writes and flushes bytes with a known hash. They have no owner yet: commit a document that refers to them. */
  write(bytes: Uint8Array, sha256: string): Promise<ArtifactRef>;
  /**
   * Writes and flushes the bytes of a file. They have no owner yet, as for `write`. A file that was claimed here stays
   * in place, and must not change any more.
   * @cost one read of it; memory for some pieces
   */
  writeFile(path: string): Promise<ArtifactRef>;
  /** Creates a name for a new artifact. */
  newName(): string;
  /**
   * Links the files of artifacts under other names, so that they survive the deletion of the first ones. They have no
   * owner yet, as for `write`, and are on disk after `settle`. If one is unavailable, none is linked.
   * @throws Refusal DOCUMENT_UNREADABLE if a file is missing or has another length
   */
  link(files: readonly ArtifactLink[]): Promise<readonly ArtifactRef[]>;
  /** Flushes the names of all links and of writes that are settled later, before a document refers to them. */
  settle(): Promise<void>;
  /**
   * Streams the bytes, or a byte range of the file (`end` exclusive). A whole stream is verified against its hash as
   * it passes and breaks off before the last chunk of a damaged file.
   * @throws Refusal DOCUMENT_UNREADABLE if a file is missing or has another length
   */
  stream(
    ref: ArtifactRef,
    range?: { readonly start: number; readonly end: number },
  ): Promise<ReadableStream<Uint8Array>>;
  /**
   * Reads the bytes of the file, verified against their hash unless a range is requested.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  read(ref: ArtifactRef, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array>;
  /** Returns true if the file exists with its content. @cost one read of it; memory for at most 64 MiB */
  isIntact(ref: ArtifactRef): Promise<boolean>;
  /**
   * Lists artifacts that are missing, have another length, or were modified and have other content. Damage without a
   * trace is found when bytes are read. Empty while the place is unavailable. @cost a stat of each, a read of modified
   * ones
   */
  damaged(artifacts: readonly DatedArtifact[]): Promise<ReadonlySet<string>>;
  /**
   * Returns the path of a file with the bytes, for a worker that reads it itself; all are in one folder. The file
   * exists for the duration of a request.
   * @throws Refusal DOCUMENT_UNREADABLE, STORE_UNAVAILABLE if it has to be fetched
   */
  file(ref: Pick<ArtifactRef, 'name'>): Promise<string>;
  /**
   * Returns a path for a file that a worker writes itself and that can be recreated: it is not flushed, no document
   * refers to it, and a later start deletes it. The caller removes it.
   * @param bytes approximate size
   * @throws Refusal STORAGE_FULL
   */
  claim(bytes: number): Promise<string>;
  /**
   * Removes complete or incomplete files; ignores absent ones. The store calls it for artifacts that lost their last
   * document, the job system for those of an attempt that did not complete.
   */
  remove(names: readonly string[]): Promise<void>;
  /**
   * Discards results that a document named: in a shared place into its trash, from which `restore` restores them, in a
   * home like `remove`.
   */
  discard(names: readonly string[]): Promise<void>;
  /** Restores files from the trash of a shared place. @returns names that are neither there nor in the trash */
  restore(names: readonly string[]): Promise<readonly string[]>;
  /**
   * Discards every orphaned file, and empties the trash.
   * @param referenced called once the files are listed
   * @returns the number of discarded files
   */
  sweep(referenced: ReferencedAmong, options?: SweepOptions): Promise<number>;
}
