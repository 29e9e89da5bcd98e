import type { CommitEvent } from '#domain/documents/commit-events.js';
import { isDocumentId, formatNumberedId, parseNumber } from '../document-id.js';
import type { DocumentKind, DocumentTransaction, DocumentLookup } from '../port.js';
import { formatTimestamp } from '../timestamp.js';
import type { JobRow } from './commit-order.js';
import { ABSENT_ETAG, type TransactionDraft, type DraftWrite } from './draft.js';
import { openRow, type DocumentKey, type DocumentRow, type RowQuery, type Rows } from './rows.js';

export interface TransactionParts {
  readonly rows: Pick<Rows, 'row' | 'several' | 'version' | 'ids'>;
  readonly draft: TransactionDraft;
  /** Time of the writes, ms since 1970. */
  readonly time: number;
  /** Receives the published events. */
  readonly events: CommitEvent[];
  /** Receives the changes of job rows. */
  readonly jobs: JobRow[];
}

/** Transaction that may change job rows in addition to documents. */
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
function createJoinedReads(rows: Pick<Rows, 'row' | 'several'>): RowReader {
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
