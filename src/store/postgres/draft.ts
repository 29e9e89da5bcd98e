import { Buffer } from 'node:buffer';
import { createHash, hash } from 'node:crypto';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { listNames } from '../files/artifact-owners.js';
import { isDocumentId, formatNumberedId } from '../document-id.js';
import { SCHEMA_VERSION } from '../schema-version.js';
import type { DocumentKind } from '../port.js';

/** Version number of an absent document. */
export const ABSENT_ETAG = '0';

/** Document written by a transaction, as canonical JSON. */
export interface DraftWrite {
  readonly body: string;
  /** SHA-256 of the body, hex. */
  readonly etag: string;
}

/** Reads and writes of a transaction so far. The writes are not in the database before the commit. */
export interface TransactionDraft {
  /** Returns the write of a document in this transaction. Returns null for a deletion, undefined without a write. */
  getWrite(kind: DocumentKind, id: string): DraftWrite | null | undefined;
  put(kind: DocumentKind, id: string, body: unknown): DraftWrite;
  delete(kind: DocumentKind, id: string): void;
  /** Records the version of a document that was read. */
  hasRead(kind: DocumentKind, id: string, version: string): void;
  /** Records the ids of a kind that were read. */
  hasListed(kind: DocumentKind, ids: readonly string[]): void;
  /** Returns the stored ids of a kind after the writes of this transaction, in code-point order. */
  idsOver(kind: DocumentKind, stored: readonly string[]): readonly string[];
  /** Returns the number of the last document of an owner after the writes of this transaction. */
  lastNumberOver(kind: DocumentKind, owner: string, stored: number): number;
  readonly isWritten: boolean;
  /** Number of reads, which must be consistent with each other. */
  readonly readCount: number;
  /** Kind of a written document. The commit is counted under this kind. It is undefined without writes. */
  readonly kindWritten: DocumentKind | undefined;
  /**
   * True if the transaction writes at most two documents and has read only the first of them. Fewer locks are needed
   * then.
   */
  readonly isNarrow: boolean;
  /** Returns the reads as parameters of the SQL function that commits. */
  readColumns(): readonly (readonly unknown[])[];
  /** Returns the writes as the parameters that follow the reads. */
  writeColumns(): readonly (readonly unknown[])[];
}

interface Key {
  readonly kind: DocumentKind;
  readonly id: string;
}

const SEPARATOR = '\u0000';
const formatKey = (kind: DocumentKind, id: string): string => `${kind}${SEPARATOR}${id}`;

export function createDraft(): TransactionDraft {
  const reads = new Map<string, Key & { readonly version: string }>();
  const listings = new Map<DocumentKind, string>();
  const writes = new Map<string, Key & { readonly write: DraftWrite | null }>();

  return {
    getWrite: (kind, id) => writes.get(formatKey(kind, id))?.write,
    put(kind, id, body) {
      if (!isDocumentId(id)) throw new Error(`not a document id: ${JSON.stringify(id.slice(0, 80))}`);
      const text = toCanonicalJson(body);
      const write = { body: text, etag: hash('sha256', text, 'hex') };
      writes.set(formatKey(kind, id), { kind, id, write });
      return write;
    },
    delete: (kind, id) => void writes.set(formatKey(kind, id), { kind, id, write: null }),
    hasRead(kind, id, version) {
      const key = formatKey(kind, id);
      // Keeps the first read. If a later read has a different version, there is a conflict.
      if (!reads.has(key)) reads.set(key, { kind, id, version });
    },
    hasListed(kind, ids) {
      if (!listings.has(kind)) listings.set(kind, computeDigest(ids));
    },
    idsOver(kind, stored) {
      const ids = new Set(stored);
      for (const write of writes.values()) {
        if (write.kind !== kind) continue;
        if (write.write === null) ids.delete(write.id);
        else ids.add(write.id);
      }
      return [...ids].sort(compareByCodePoints);
    },
    lastNumberOver(kind, owner, stored) {
      const findOwnWrite = (number: number) => writes.get(formatKey(kind, formatNumberedId(owner, number)))?.write;
      let last = stored;
      while (findOwnWrite(last + 1) != null) last++;
      while (last > 0 && findOwnWrite(last) === null) last--;
      return last;
    },
    get isWritten() {
      return writes.size > 0;
    },
    get readCount() {
      return reads.size + listings.size;
    },
    get kindWritten() {
      const kinds = [...writes.values()].map(({ kind }) => kind);
      return kinds.find((kind) => kind !== 'job-input') ?? kinds[0];
    },
    get isNarrow() {
      const [first] = sortWrites(writes);
      const isOwnRead =
        first !== undefined && [...reads.keys()].every((key) => key === formatKey(first.kind, first.id));
      return isOwnRead && writes.size <= 2 && listings.size === 0;
    },
    readColumns() {
      const versions = [...reads.values()];
      return [
        versions.map(({ kind }) => kind),
        versions.map(({ id }) => id),
        versions.map(({ version }) => version),
        [...listings.keys()],
        [...listings.values()],
      ];
    },
    writeColumns() {
      const sortedWrites = sortWrites(writes);
      const puts = sortedWrites.flatMap(({ kind, id, write }) =>
        write === null ? [] : [{ kind, id, body: write.body }],
      );
      const deletions = sortedWrites.filter(({ write }) => write === null);
      return [
        puts.map(({ kind }) => kind),
        puts.map(({ id }) => id),
        puts.map(() => SCHEMA_VERSION),
        puts.map(({ body }) => body),
        puts.map(({ body }) => listNames(Buffer.from(body)).join(' ')),
        deletions.map(({ kind }) => kind),
        deletions.map(({ id }) => id),
      ];
    },
  };
}

/** Sorts the writes of a transaction. Puts come before deletions. */
const sortWrites = <W extends { readonly write: DraftWrite | null }>(writes: ReadonlyMap<string, W>): readonly W[] =>
  [...writes.values()].toSorted((a, b) => Number(a.write === null) - Number(b.write === null));

/** Computes the digest of a list of ids as the SQL function does, from the length of each id in bytes and the id. */
function computeDigest(ids: readonly string[]): string {
  const digest = createHash('sha256');
  for (const id of ids) digest.update(`${Buffer.byteLength(id)}:${id}`);
  return digest.digest('hex');
}

/** Compares by UTF-8 bytes. Their order differs from that of UTF-16 units for characters beyond the basic plane. */
const compareByCodePoints = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
