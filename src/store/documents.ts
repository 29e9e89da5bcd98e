/** Kinds of document the store keeps, each in a table of its own. */
export const DOCUMENT_KINDS = [
  'index', 'run', 'constraint-set', 'optimisation-run', 'risk-model', 'strategy', 'template', 'render', 'watchlist', 'store', 'job', 'job-input', 'key',
] as const;
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

/** Why a stored document cannot be served; the names of SkippedCauses on the wire. */
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

/**
 * The document store: one writer, every acknowledged write on disk.
 * Reads are synchronous memory-mapped look-ups; writes resolve after commit and flush.
 */
export interface DocumentStore {
  get(kind: DocumentKind, id: string): StoredDocument | UnreadableDocument | undefined;
  /** Ids of a kind in code-point order, readable or not. */
  ids(kind: DocumentKind): string[];
  /** Every document of a kind by id ascending, the unreadable ones counted by cause. */
  list<T>(kind: DocumentKind, read: BodyReader<T>): Listing<T>;
  /**
   * Runs `change` synchronously against a transaction and commits all of its writes together, or none.
   * @returns once the commit is flushed to disk.
   * @throws Refusal STORAGE_FULL below the free-space mark, STORE_UNAVAILABLE when the store does not take the write.
   */
  transaction<T>(change: (tx: DocumentTransaction) => T, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

export interface TransactionOptions {
  /**
   * Changes that finish accepted work (the end of a job) may use the reserve below the free-space mark.
   * Deletions always may.
   */
  readonly reserve?: boolean;
}

export interface DocumentTransaction {
  get(kind: DocumentKind, id: string): StoredDocument | UnreadableDocument | undefined;
  ids(kind: DocumentKind): string[];
  /** Writes a body; returns its etag. */
  put(kind: DocumentKind, id: string, body: unknown): string;
  /** @returns whether there was anything under the id. */
  delete(kind: DocumentKind, id: string): boolean;
}
