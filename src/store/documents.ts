/** Kinds of document the store keeps, each in a table of its own. */
export const DOCUMENT_KINDS = [
  'index',
  'run',
  'constraint-set',
  'optimisation-run',
  'risk-model',
  'strategy',
  'template',
  'render',
  'watchlist',
  'store',
  'job',
  'job-input',
  'key',
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

/** A document as it is now, why it cannot be read, or undefined where there is none. */
export type FoundDocument = StoredDocument | UnreadableDocument | undefined;

/** Reads of documents, inside a transaction and outside. */
export interface DocumentReader {
  get(kind: DocumentKind, id: string): Promise<FoundDocument>;
  /** Ids of a kind in code-point order, readable or not. */
  ids(kind: DocumentKind): Promise<readonly string[]>;
}

/**
 * The document store: every acknowledged write is durable, every read sees all writes acknowledged before it.
 * An engine is an adapter of this port; `test/store/document-store-contract.ts` runs against each.
 */
export interface DocumentStore extends DocumentReader {
  /** Grows with every commit that writes or deletes documents of a kind: what was worked out from them holds while it is the same. */
  revision(kind: DocumentKind): Promise<number>;
  /** Every document of a kind by id ascending, the unreadable ones counted by cause. */
  list<T>(kind: DocumentKind, read: BodyReader<T>): Promise<Listing<T>>;
  /**
   * Runs `change` against a transaction and commits all of its writes together, or none. Transactions are serialisable:
   * each sees all earlier ones and none that is under way. `change` awaits the transaction alone, and an engine may run
   * it again after a conflict: it has no effect but its writes and its result.
   * @returns once the commit is durable.
   * @throws Refusal STORAGE_FULL below the free-space mark, STORE_UNAVAILABLE when the store does not take the write.
   */
  transaction<T>(change: TransactionBody<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

export type TransactionBody<T> = (tx: DocumentTransaction) => Promise<T>;

export interface TransactionOptions {
  /**
   * Changes that finish accepted work (the end of a job) may use the reserve below the free-space mark.
   * Deletions always may.
   */
  readonly reserve?: boolean;
}

export interface DocumentTransaction extends DocumentReader {
  /** Writes a body; returns its etag. */
  put(kind: DocumentKind, id: string, body: unknown): Promise<string>;
  /** @returns whether there was anything under the id. */
  delete(kind: DocumentKind, id: string): Promise<boolean>;
}
