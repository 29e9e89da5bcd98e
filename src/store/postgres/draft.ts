import { Buffer } from 'node:buffer';
import { createHash, hash } from 'node:crypto';
import { canonicalJson } from '#domain/json/canonical-json.js';
import { namesIn } from '../files/artifact-owners.js';
import { isDocumentId, numberedId } from '../document-id.js';
import { SCHEMA_VERSION } from '../schema-version.js';
import type { DocumentKind } from '../port.js';

/** Version of a document that is not there. */
export const ABSENT = '0';

/** A document that a transaction writes, by its canonical JSON. */
export interface Write {
  readonly body: string;
  /** SHA-256 of the body, hex. */
  readonly etag: string;
}

/** What a transaction has read and written so far. Nothing of it is in the database before the commit. */
export interface Draft {
  /** Its own write of a document: null deletes, undefined when there is none. */
  own(kind: DocumentKind, id: string): Write | null | undefined;
  put(kind: DocumentKind, id: string, body: unknown): Write;
  delete(kind: DocumentKind, id: string): void;
  /** Notes the version of a document that was read. */
  hasRead(kind: DocumentKind, id: string, version: string): void;
  /** Notes the ids of a kind that were read. */
  hasListed(kind: DocumentKind, ids: readonly string[]): void;
  /** Ids of a kind with its own writes, in code-point order. */
  idsOver(kind: DocumentKind, stored: readonly string[]): readonly string[];
  /** Number of the last document of an owner with its own writes. */
  lastNumberOver(kind: DocumentKind, owner: string, stored: number): number;
  readonly isWritten: boolean;
  /** Reads that have to hold at once. */
  readonly readCount: number;
  /** One of the kinds that it writes whose changes are counted. */
  readonly kindWritten: DocumentKind | undefined;
  /** Whether it writes two documents at most and has read no other than the first of them, so that less is to be locked. */
  readonly isNarrow: boolean;
  /** What it has read, as parameters of the commit function. */
  readColumns(): readonly (readonly unknown[])[];
  /** What it writes, as the parameters after those. */
  writeColumns(): readonly (readonly unknown[])[];
}

interface Key {
  readonly kind: DocumentKind;
  readonly id: string;
}

const SEPARATOR = '\u0000';
const keyOf = (kind: DocumentKind, id: string): string => `${kind}${SEPARATOR}${id}`;

export function createDraft(): Draft {
  const reads = new Map<string, Key & { readonly version: string }>();
  const listings = new Map<DocumentKind, string>();
  const writes = new Map<string, Key & { readonly write: Write | null }>();

  return {
    own: (kind, id) => writes.get(keyOf(kind, id))?.write,
    put(kind, id, body) {
      if (!isDocumentId(id)) throw new Error(`not a document id: ${JSON.stringify(id.slice(0, 80))}`);
      const text = canonicalJson(body);
      const write = { body: text, etag: hash('sha256', text, 'hex') };
      writes.set(keyOf(kind, id), { kind, id, write });
      return write;
    },
    delete: (kind, id) => void writes.set(keyOf(kind, id), { kind, id, write: null }),
    hasRead(kind, id, version) {
      const key = keyOf(kind, id);
      // The first reading counts: another version later on is a conflict.
      if (!reads.has(key)) reads.set(key, { kind, id, version });
    },
    hasListed(kind, ids) {
      if (!listings.has(kind)) listings.set(kind, digestOf(ids));
    },
    idsOver(kind, stored) {
      const ids = new Set(stored);
      for (const written of writes.values()) {
        if (written.kind !== kind) continue;
        if (written.write === null) ids.delete(written.id);
        else ids.add(written.id);
      }
      return [...ids].sort(byCodePoints);
    },
    lastNumberOver(kind, owner, stored) {
      const own = (number: number) => writes.get(keyOf(kind, numberedId(owner, number)))?.write;
      let last = stored;
      while (own(last + 1) != null) last++;
      while (last > 0 && own(last) === null) last--;
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
      const [first] = inOrder(writes);
      const isOwn = first !== undefined && [...reads.keys()].every((key) => key === keyOf(first.kind, first.id));
      return isOwn && writes.size <= 2 && listings.size === 0;
    },
    readColumns() {
      const read = [...reads.values()];
      return [
        read.map(({ kind }) => kind),
        read.map(({ id }) => id),
        read.map(({ version }) => version),
        [...listings.keys()],
        [...listings.values()],
      ];
    },
    writeColumns() {
      const all = inOrder(writes);
      const puts = all.flatMap(({ kind, id, write }) => (write === null ? [] : [{ kind, id, body: write.body }]));
      const gone = all.filter(({ write }) => write === null);
      return [
        puts.map(({ kind }) => kind),
        puts.map(({ id }) => id),
        puts.map(() => SCHEMA_VERSION),
        puts.map(({ body }) => body),
        puts.map(({ body }) => namesIn(Buffer.from(body)).join(' ')),
        gone.map(({ kind }) => kind),
        gone.map(({ id }) => id),
      ];
    },
  };
}

/** Those that put come first. */
const inOrder = <W extends { readonly write: Write | null }>(writes: ReadonlyMap<string, W>): readonly W[] =>
  [...writes.values()].toSorted((a, b) => Number(a.write === null) - Number(b.write === null));

/** As the commit function computes it: of every id its length in bytes and itself. */
function digestOf(ids: readonly string[]): string {
  const digest = createHash('sha256');
  for (const id of ids) digest.update(`${Buffer.byteLength(id)}:${id}`);
  return digest.digest('hex');
}

/** The order of UTF-8 bytes, which is not that of UTF-16 units beyond the basic plane. */
const byCodePoints = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
