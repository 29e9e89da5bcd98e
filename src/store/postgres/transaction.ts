import type { CommitEvent } from '#domain/commit-events.js';
import { isDocumentId } from '../document-id.js';
import type { DocumentKind, DocumentTransaction, FoundDocument, TransactionBody } from '../port.js';
import { formatTimestamp } from '../timestamp.js';
import { ABSENT, type Draft, type Write } from './draft.js';
import { openRow, type Row, type Rows } from './rows.js';

export interface TransactionParts {
  readonly rows: Pick<Rows, 'row' | 'ids'>;
  readonly draft: Draft;
  /** Of its writes, ms since 1970. */
  readonly time: number;
  /** Receives what it publishes. */
  readonly events: CommitEvent[];
}

/** Runs the body of a transaction on a draft; what it has begun and not awaited changes nothing once it has ended. */
export async function runBody<T>(change: TransactionBody<T>, parts: TransactionParts): Promise<T> {
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

function transactionOver({ rows, draft, time, events }: TransactionParts, assertOpen: () => void): DocumentTransaction {
  const written = (id: string, { body, etag }: Write): FoundDocument => ({
    id,
    body: JSON.parse(body),
    etag,
    updatedAt: formatTimestamp(time),
  });
  async function storedRow(kind: DocumentKind, id: string): Promise<Row | undefined> {
    const row = await rows.row(kind, id);
    draft.hasRead(kind, id, row?.version ?? ABSENT);
    return row;
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
      const existed = own === undefined ? (await storedRow(kind, id)) !== undefined : own !== null;
      assertOpen();
      if (existed) draft.delete(kind, id);
      return existed;
    },
    publish(event) {
      assertOpen();
      events.push(event);
    },
  };
}
