import type { ArtifactHealth } from './access/artifact-health.js';
import type { DatedArtifact, SweepOptions } from './artifact-terms.js';
import type { MadeBytes } from '#base/memory/made-bytes.js';
import type { CommitEvent, CommitEventType } from '#domain/documents/commit-events.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { DOCUMENT_KINDS } from './document-kinds.js';
import type { EarlyArtifact } from './early-artifact.js';
import type { NewFile } from './access/new-file.js';
import type { S3Access } from './access/s3-access.js';
import type { LowWaterMark } from './access/low-water-mark.js';

export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** A stored document that could be read and whose checksum holds. */
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

/** Reads and checks one body of a kind: the document, or undefined when it does not satisfy its schema. */
export type BodyReader<T> = (body: unknown, id: string) => T | undefined;

/** A document as it is now, why it cannot be read, or undefined where there is none. */
export type FoundDocument = StoredDocument | UnreadableDocument | undefined;

/**
 * Reads of documents, inside a transaction and outside. Nothing is found under a name that can be no id
 * (`isDocumentId`), and writing under one is a defect.
 */
export interface DocumentReader {
  get(kind: DocumentKind, id: string): Promise<FoundDocument>;
  /** Ids of a kind in code-point order, readable or not. */
  ids(kind: DocumentKind): Promise<readonly string[]>;
  /**
   * Number of the last document of an owner (`numberedId`), readable or not; 0 where there is none. A transaction that
   * asks for it gives the next number, and no other: so an engine need not watch the numbers behind that one.
   */
  lastNumber(kind: DocumentKind, owner: string): Promise<number>;
}

/**
 * The document store: every acknowledged write is durable, every read sees all writes acknowledged before it.
 * An engine is an adapter of this port; `test/store/document-store-contract.ts` runs against each.
 */
export interface DocumentStore extends DocumentReader {
  /**
   * Grows with every commit that writes or deletes documents of a kind: what was worked out from them holds while it is
   * the same.
   */
  revision(kind: DocumentKind): Promise<number>;
  /** Every document of a kind by id ascending, as one moment had them; the unreadable ones are counted by cause. */
  list<T>(kind: DocumentKind, read: BodyReader<T>): Promise<Listing<T>>;
  /**
   * Runs `change` against a transaction and commits all of its writes together, or none. Transactions are serialisable:
   * each sees all earlier ones and none that is under way. `change` awaits the transaction alone, and an engine may run
   * it again after a conflict: it has no effect but its writes, its events and its result.
   * @returns once the commit is durable.
   * @throws Refusal STORAGE_FULL below the free-space mark, STORE_UNAVAILABLE when the store does not take the write.
   */
  transaction<T>(change: TransactionBody<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Calls for every event of a type that a transaction published, once it is durable and, in the process that
   * committed, before the transaction resolves. Events of one process come in the order of its commits. A listener that
   * throws is a defect.
   * @returns how to stop
   */
  subscribe<T extends CommitEventType>(type: T, listener: (event: CommitEvent<T>) => void): () => void;
  /**
   * Waits for what is under way. Reads and writes after it are refused: Refusal STORE_UNAVAILABLE. Closing again is
   * fine.
   */
  close(): Promise<void>;
}

export type TransactionBody<T> = (tx: DocumentTransaction) => Promise<T>;

export interface TransactionOptions {
  /**
   * Changes that finish accepted work (the end of a job) may use the reserve below the free-space mark.
   * Deletions always may.
   */
  readonly reserve?: boolean;
  /** Who writes, for the versions that are kept above the engines; an engine needs nothing of it. */
  readonly by?: Authorship | undefined;
}

/** A transaction as its body sees it: with its own writes. Once the body has ended, each call is refused as a defect. */
export interface DocumentTransaction extends DocumentReader {
  /** Who writes, of a store that keeps versions. */
  readonly authorship?: () => Authorship;
  /** Writes a body as it is at the call; returns its etag. A body that is refused leaves the others of the transaction. */
  put(kind: DocumentKind, id: string, body: unknown): Promise<string>;
  /** @returns whether there was anything under the id. */
  delete(kind: DocumentKind, id: string): Promise<boolean>;
  /** Reports something to those who have subscribed to it, should the transaction commit. */
  publish(event: CommitEvent): void;
}

/** What an engine of documents is opened with, beside the place of its data. */
export interface DocumentEngineOptions {
  /** Wall clock of `updatedAt`, ms since 1970. */
  readonly now?: () => number;
  /** Called for artifacts that no document names any more, once the commit that dropped them is durable. */
  readonly onUnreferenced?: (names: readonly string[]) => void;
  /** Called when the engine takes no write any more, and for what a listener threw: the process should start again. */
  readonly onFailure?: (cause: unknown) => void;
}

/** A document store with what the store of artifacts beside it needs: all that an engine has to be. */
export interface DocumentEngine extends DocumentStore {
  /** Names of the artifacts that documents refer to, readable or not. */
  referencedArtifacts(): Promise<ReadonlySet<string>>;
}

/** One stored document as it lies there, readable or not. */
export interface StoredEntry {
  /** Unique among all entries; what `DocumentsReader.entry` finds it by. */
  readonly key: string;
  /** Undefined for a kind that this version does not know. */
  readonly kind: DocumentKind | undefined;
  readonly id: string;
  readonly bytes: number;
  /** Reason it is unreadable; undefined if it is readable. */
  readonly unreadable: UnreadableCause | undefined;
  readonly body: unknown;
  /** Names of the artifacts it refers to, whether or not it can be read. */
  readonly artifactNames: readonly string[];
}

/** Maintenance: the documents as a process beside the service looks at them, also while the service writes them. */
export interface DocumentsReader {
  /** Every document once, as one moment had them. */
  entries(): AsyncIterable<StoredEntry>;
  /** The document under a key now. */
  entry(key: string): Promise<StoredEntry | undefined>;
  close(): Promise<void>;
}

/**
 * Immutable byte strings beside the documents (run results, records, columns, renders): written once under the home,
 * named by the document that owns them, served as streams. A document refers to an artifact by this value.
 */
export interface ArtifactRef {
  /** File name below the artifacts folder, unique for ever. */
  readonly name: string;
  /** Bytes of the file. */
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
 * Where artifacts are written by whoever has no store open (a thread, another process): plain data, which
 * `openArtifactWriter` takes.
 */
export type ArtifactDestination =
  | {
      readonly kind: 'folder';
      readonly folder: string;
      readonly lowWaterMark: LowWaterMark;
      /** Of a folder that machines share: it is asked for before anything counts as written. */
      readonly storeId?: string;
    }
  | {
      readonly kind: 's3';
      readonly access: S3Access;
      /** Files of this machine that are read next. */
      readonly cache: { readonly folder: string; readonly bytesMax: number };
    };

/** Bytes under the name that their artifact is to have. */
export interface ArtifactContent {
  readonly name: string;
  readonly bytes: Uint8Array | MadeBytes;
}

export interface ArtifactWriter {
  /**
   * Writes each content as an artifact of its own, hashed while it is written; all are on disk when it resolves. Not
   * yet owned: commit documents that refer to them. When one cannot be written, none is.
   * @throws Refusal STORAGE_FULL
   * @cost one pass of SHA-256; the memory of a part beside the bytes
   */
  write(contents: readonly ArtifactContent[], options?: WriteOptions): Promise<readonly ArtifactRef[]>;
  /**
   * An artifact that goes to disk while its thread computes on; absent where none does.
   * @throws Refusal STORAGE_FULL
   */
  early?(name: string): Promise<EarlyArtifact>;
}

export interface WriteOptions {
  /** Called for each file of a folder of this machine alone, before it has its name. */
  readonly onWritten?: ((file: NewFile) => Promise<void>) | undefined;
  /** Whether their names are on disk only once whoever owns them has called `settle` of the store. */
  readonly isSettledLater?: boolean;
}

export interface ArtifactStore {
  /** Of a place that machines share. */
  readonly health?: ArtifactHealth;
  /** The same for requests: a read from a place that does not answer is refused within seconds. Absent where none waits. */
  readonly forRequests?: ArtifactStore;
  /** Where its artifacts are written by others: under names that it has made. */
  readonly destination: ArtifactDestination;
  /**
   * Writes and flushes bytes whose hash the caller already knows. Not yet owned: commit a document that refers to it.
   */
  write(bytes: Uint8Array, sha256: string): Promise<ArtifactRef>;
  /**
   * Writes and flushes the bytes of a file. Not yet owned, as `write`. One that was claimed here stays where it is on the disk, and is
   * changed no more.
   * @cost one read of it; memory for some pieces
   */
  writeFile(path: string): Promise<ArtifactRef>;
  /** A name for an artifact to come. */
  newName(): string;
  /**
   * The files of artifacts under other names, so that they stay when the first ones go. Not yet owned, as `write`, and on
   * disk once `settle` is called. When one cannot be had, none is.
   * @throws Refusal DOCUMENT_UNREADABLE when a file is missing or has another length
   */
  link(files: readonly ArtifactLink[]): Promise<readonly ArtifactRef[]>;
  /** Puts on disk the names of all that was linked or written to be settled later: before a document refers to them. */
  settle(): Promise<void>;
  /**
   * A readable stream over the bytes, or over a byte range of the file (`end` exclusive). A
   * whole stream is checked against its hash while it passes and breaks off before the last chunk of a file that was
   * damaged.
   * @throws Refusal DOCUMENT_UNREADABLE when a file is missing or has another length
   */
  stream(
    ref: ArtifactRef,
    range?: { readonly start: number; readonly end: number },
  ): Promise<ReadableStream<Uint8Array>>;
  /**
   * The bytes of the file, checked against their hash unless a range is asked for.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  read(ref: ArtifactRef, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array>;
  /** Whether the file is there with its content. @cost one read of it; memory for at most 64 MiB */
  isIntact(ref: ArtifactRef): Promise<boolean>;
  /**
   * Names of those that are missing, have another length, or were written to since and have another content now. Damage
   * without a trace shows when bytes are read. None while the place is away. @cost a look at each, a read of those written to
   */
  damaged(artifacts: readonly DatedArtifact[]): Promise<ReadonlySet<string>>;
  /**
   * Path of a file with the bytes, for a worker that reads it itself; all of them lie in one folder. It stays for as long
   * as a request lasts.
   * @throws Refusal DOCUMENT_UNREADABLE, STORE_UNAVAILABLE where it has to be fetched
   */
  file(ref: Pick<ArtifactRef, 'name'>): Promise<string>;
  /**
   * A name for a file that a worker writes itself and that can be made again: it is not flushed, no document refers to
   * it, and it is gone after a later start. Whoever asked removes it.
   * @param bytes about how many there will be
   * @throws Refusal STORAGE_FULL
   */
  claim(bytes: number): Promise<string>;
  /**
   * Removes files, whole or half written; absent ones are fine. The store calls it for artifacts that lost their last document, the job system
   * for those of an attempt that did not complete: nobody else has to.
   */
  remove(names: readonly string[]): Promise<void>;
  /**
   * Puts results that a document named aside: in a shared place into its trash, from where `restore` brings them back, in a
   * home as `remove`.
   */
  discard(names: readonly string[]): Promise<void>;
  /** Brings files back from the trash of a shared place. @returns those that are neither there nor in the trash */
  restore(names: readonly string[]): Promise<readonly string[]>;
  /**
   * Discards every file that no document refers to, and empties the trash.
   * @param referenced asked once it is known which files there are
   * @returns how many were discarded
   */
  sweep(referenced: () => Promise<ReadonlySet<string>>, options?: SweepOptions): Promise<number>;
}
