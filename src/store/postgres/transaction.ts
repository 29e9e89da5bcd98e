import { Buffer } from 'node:buffer';
import { createHash, hash } from 'node:crypto';
import { toCanonicalJson } from '#domain/base/json.js';
import type { CommitEvent } from '#domain/definition/commit-events.js';
import { listArtifactNames } from '../artifacts/artifact.js';
import {
  type DocumentKind,
  type DocumentLookup,
  type DocumentTransaction,
  formatNumberedId,
  formatTimestamp,
  isDocumentId,
  parseNumber,
  SCHEMA_VERSION,
} from '../port.js';
import { type DocumentKey, type DocumentRow, openRow, type RowQuery, type DocumentRows } from './rows.js';

/** Version number of an absent document. */
export const ABSENT_ETAG = '0';

/** Document written by a transaction, as canonical JSON. */
interface DraftWrite {
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
  hasRead(kind: DocumentKind, id: string, version: string): void;
  hasListed(kind: DocumentKind, ids: readonly string[]): void;
  /** Returns the stored ids of a kind after the writes of this transaction, in code-point order. */
  idsOver(kind: DocumentKind, stored: readonly string[]): readonly string[];
  lastNumberOver(kind: DocumentKind, owner: string, stored: number): number;
  readonly isWritten: boolean;
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
        puts.map(({ body }) => listArtifactNames(Buffer.from(body)).join(' ')),
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

export interface CommitOrder {
  readonly draft: TransactionDraft;
  readonly events: readonly CommitEvent[];
  readonly jobs: readonly JobRow[];
  /** Time of the writes, ms since 1970. */
  readonly time: number;
}

/** Row of a job for the queue. It is written and deleted together with the document of the job. */
export interface JobRow {
  readonly job_id: string;
  readonly kind: string;
  readonly lane: string;
  readonly owner: string;
  readonly status: string;
  readonly sequence: number;
  readonly attempt: number;
  readonly estimated_bytes: number;
  /** Node of the running attempt, and the remaining duration of its lease. It is null if no attempt runs. */
  readonly node: string | null;
  readonly lease_ms: number | null;
  /** Delay before a waiting job may start again. */
  readonly delay_ms?: number;
}

export interface TransactionParts {
  readonly rows: Pick<DocumentRows, 'row' | 'several' | 'version' | 'ids'>;
  readonly draft: TransactionDraft;
  /** Time of the writes, ms since 1970. */
  readonly time: number;
  /** Receives the published events. */
  readonly events: CommitEvent[];
  readonly jobs: JobRow[];
}

export interface JobTransaction extends DocumentTransaction {
  /** Writes the row of a job. The transaction also writes the document of the job. */
  putJob(row: JobRow): void;
  /** Makes the transaction depend on a document that was read before. It commits only if the document is unchanged. */
  buildOn(document: DocumentKey, version: string): void;
  /** Deletes a document, if it exists, without reading it. */
  drop(document: DocumentKey): void;
}

export type JobTransactionBody<T> = (tx: JobTransaction) => Promise<T>;

/** Runs the body of a transaction on a draft. Operations that were not awaited change nothing after its end. */
export async function runBody<T>(change: JobTransactionBody<T>, parts: TransactionParts): Promise<T> {
  let isOver = false;
  const assertOpen = (): void => {
    if (isOver) throw new Error('the transaction is over');
  };
  try {
    return await change(createTransaction(parts, assertOpen));
  } finally {
    isOver = true;
  }
}

function createTransaction(
  { rows, draft, time, events, jobs }: TransactionParts,
  assertOpen: () => void,
): JobTransaction {
  const write = (id: string, { body, etag }: DraftWrite): DocumentLookup => ({
    id,
    body: JSON.parse(body),
    etag,
    updatedAt: formatTimestamp(time),
  });
  const readJoinedRow = createJoinedReads(rows);
  async function findStoredRow(kind: DocumentKind, id: string): Promise<DocumentRow | undefined> {
    const row = await readJoinedRow({ kind, id });
    draft.hasRead(kind, id, row?.version ?? ABSENT_ETAG);
    return row;
  }
  async function readStoredNumber(kind: DocumentKind, owner: string): Promise<number> {
    const row = await readJoinedRow({ kind, owner });
    if (row !== undefined) draft.hasRead(kind, row.id, row.version);
    const number = row === undefined ? 0 : parseNumber(row.id);
    draft.hasRead(kind, formatNumberedId(owner, number + 1), ABSENT_ETAG);
    return number;
  }
  async function isStored(kind: DocumentKind, id: string): Promise<boolean> {
    const version = await rows.version(kind, id);
    draft.hasRead(kind, id, version ?? ABSENT_ETAG);
    return version !== undefined;
  }

  return {
    async get(kind, id) {
      assertOpen();
      if (!isDocumentId(id)) return undefined;
      const ownDraftWrite = draft.getWrite(kind, id);
      if (ownDraftWrite !== undefined) return ownDraftWrite === null ? undefined : write(id, ownDraftWrite);
      const row = await findStoredRow(kind, id);
      return row && openRow(row);
    },
    async ids(kind) {
      assertOpen();
      const storedIds = await rows.ids(kind);
      draft.hasListed(kind, storedIds);
      return draft.idsOver(kind, storedIds);
    },
    async lastNumber(kind, owner) {
      assertOpen();
      return draft.lastNumberOver(kind, owner, await readStoredNumber(kind, owner));
    },
    async put(kind, id, body) {
      assertOpen();
      return draft.put(kind, id, body).etag;
    },
    async delete(kind, id) {
      assertOpen();
      if (!isDocumentId(id)) return false;
      const ownDraftWrite = draft.getWrite(kind, id);
      const hasExisted = ownDraftWrite === undefined ? await isStored(kind, id) : ownDraftWrite !== null;
      assertOpen();
      if (hasExisted) draft.delete(kind, id);
      return hasExisted;
    },
    publish(event) {
      assertOpen();
      events.push(event);
    },
    putJob(row) {
      assertOpen();
      jobs.push(row);
    },
    buildOn({ kind, id }, version) {
      assertOpen();
      draft.hasRead(kind, id, version);
    },
    drop({ kind, id }) {
      assertOpen();
      draft.delete(kind, id);
    },
  };
}

type RowReader = (read: RowQuery) => Promise<DocumentRow | undefined>;

/** Maximum number of reads in one statement. There is a prepared statement for each sequence of read types. */
const JOINED_READS_MAX = 4;

/**
 * Creates a reader of rows. Reads that are requested in the same turn share one statement, because each statement is a
 * round trip.
 */
function createJoinedReads(rows: Pick<DocumentRows, 'row' | 'several'>): RowReader {
  let waitingReads:
    | { readonly reads: RowQuery[]; readonly found: Promise<readonly (DocumentRow | undefined)[]> }
    | undefined;

  async function readNext(reads: readonly RowQuery[]): Promise<readonly (DocumentRow | undefined)[]> {
    await undefined; // concurrent reads are added here
    waitingReads = undefined;
    const [only] = reads;
    if (reads.length === 1 && 'id' in only!) return [await rows.row(only.kind, only.id)];
    return rows.several(reads);
  }

  return async (rowQuery) => {
    if (waitingReads === undefined || waitingReads.reads.length === JOINED_READS_MAX) {
      const reads: RowQuery[] = [];
      waitingReads = { reads, found: readNext(reads) };
    }
    const { reads, found } = waitingReads;
    const readIndex = reads.push(rowQuery) - 1;
    return (await found)[readIndex];
  };
}
