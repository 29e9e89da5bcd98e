import type { CommitEvent } from '#domain/commit-events.js';
import { isDocumentId } from '../document-id.js';
import type { DocumentKind, DocumentTransaction, FoundDocument } from '../port.js';
import { formatTimestamp } from '../timestamp.js';
import type { JobRow } from './commit.js';
import { ABSENT, type Draft, type Write } from './draft.js';
import { openRow, type DocumentKey, type Row, type Rows } from './rows.js';

export interface TransactionParts {
  readonly rows: Pick<Rows, 'row' | 'pair' | 'version' | 'ids'>;
  readonly draft: Draft;
  /** Of its writes, ms since 1970. */
  readonly time: number;
  /** Receives what it publishes. */
  readonly events: CommitEvent[];
  /** Receives what becomes of the rows of jobs. */
  readonly jobs: JobRow[];
}

/** A transaction that may change rows of jobs beside documents. */
export interface JobTransaction extends DocumentTransaction {
  /** Writes the row of a job whose document it writes. */
  putJob(row: JobRow): void;
}

export type JobTransactionBody<T> = (tx: JobTransaction) => Promise<T>;

/** Runs the body of a transaction on a draft; what it has begun and not awaited changes nothing once it has ended. */
export async function runBody<T>(change: JobTransactionBody<T>, parts: TransactionParts): Promise<T> {
  let isOver = false;
  const assertOpen = (): void => {
    if (isOver) throw new Error('the transaction is over');
  };
  try {
    return await change(transactionOver(parts, assertOpen));
  } finally {
    isOver = true;
  }
}

function transactionOver(
  { rows, draft, time, events, jobs }: TransactionParts,
  assertOpen: () => void,
): JobTransaction {
  const written = (id: string, { body, etag }: Write): FoundDocument => ({
    id,
    body: JSON.parse(body),
    etag,
    updatedAt: formatTimestamp(time),
  });
  const read = createPairedReads(rows);
  async function storedRow(kind: DocumentKind, id: string): Promise<Row | undefined> {
    const row = await read(kind, id);
    draft.hasRead(kind, id, row?.version ?? ABSENT);
    return row;
  }
  async function isStored(kind: DocumentKind, id: string): Promise<boolean> {
    const version = await rows.version(kind, id);
    draft.hasRead(kind, id, version ?? ABSENT);
    return version !== undefined;
  }

  return {
    async get(kind, id) {
      assertOpen();
      if (!isDocumentId(id)) return undefined;
      const own = draft.own(kind, id);
      if (own !== undefined) return own === null ? undefined : written(id, own);
      const row = await storedRow(kind, id);
      return row && openRow(row);
    },
    async ids(kind) {
      assertOpen();
      const stored = await rows.ids(kind);
      draft.hasListed(kind, stored);
      return draft.idsOver(kind, stored);
    },
    async put(kind, id, body) {
      assertOpen();
      return draft.put(kind, id, body).etag;
    },
    async delete(kind, id) {
      assertOpen();
      if (!isDocumentId(id)) return false;
      const own = draft.own(kind, id);
      const existed = own === undefined ? await isStored(kind, id) : own !== null;
      assertOpen();
      if (existed) draft.delete(kind, id);
      return existed;
    },
    publish(event) {
      assertOpen();
      events.push(event);
    },
    putJob(row) {
      assertOpen();
      jobs.push(row);
    },
  };
}

type RowReader = (kind: DocumentKind, id: string) => Promise<Row | undefined>;

/** Reads documents; two that are asked for before either is awaited go in one statement: each is a journey. */
function createPairedReads(rows: Pick<Rows, 'row' | 'pair'>): RowReader {
  let waiting: { readonly key: DocumentKey; readonly resolve: (row: Promise<Row | undefined>) => void } | undefined;
  return (kind, id) => {
    const first = waiting;
    if (first !== undefined) {
      waiting = undefined;
      const both = rows.pair([first.key, { kind, id }]);
      first.resolve(both.then(([row]) => row));
      return both.then(([, row]) => row);
    }
    return new Promise((resolve) => {
      const alone = { key: { kind, id }, resolve };
      waiting = alone;
      queueMicrotask(() => {
        if (waiting !== alone) return;
        waiting = undefined;
        resolve(rows.row(kind, id));
      });
    });
  };
}
