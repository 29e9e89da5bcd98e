import { NO_REQUEST, VERSIONED_KINDS, type VersionedKind } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusal.js';
import type { DocumentKind, DocumentStore, DocumentTransaction, TransactionOptions } from '../port.js';
import { formatTimestamp } from '../timestamp.js';
import { adopt, purgeHistory, putVersioned, recordDeletion } from './history.js';

/**
 * A document store that keeps every state of its versioned kinds, over any engine: the version is written by the
 * transaction that writes the document, whoever asks for it.
 * @param now wall clock, ms since 1970
 */
export function createVersionedStore(documents: DocumentStore, now: () => number = Date.now): DocumentStore {
  return {
    ...documents,
    transaction: (change, options) =>
      documents.transaction((tx) => change(versionedTransaction(tx, { now, options })), options),
  };
}

interface TransactionParts {
  readonly now: () => number;
  readonly options: TransactionOptions | undefined;
}

/** A transaction whose writes of versioned kinds write versions, too. */
export function versionedTransaction<T extends DocumentTransaction>(tx: T, { now, options }: TransactionParts): T {
  const by = options?.by ?? NO_REQUEST;
  return {
    ...tx,
    async put(kind, id, body) {
      if (!isVersioned(kind)) return tx.put(kind, id, body);
      return putVersioned(tx, { kind, id }, { body, by, at: formatTimestamp(now()) });
    },
    async delete(kind, id) {
      if (!isVersioned(kind)) return tx.delete(kind, id);
      const subject = { kind, id };
      await adopt(tx, subject);
      const existed = await tx.delete(kind, id);
      if (by.purges === true) await purgeHistory(tx, subject);
      else if (existed) await recordDeletion(tx, subject, { by, at: formatTimestamp(now()) });
      return existed;
    },
  };
}

/** Documents that one transaction adopts. */
const ADOPTED_AT_ONCE = 256;

/**
 * Makes version 1 of every document that was stored before there were versions.
 * @returns how many there were
 * @cost two listings of ids once all have one
 */
export async function adoptDocuments(documents: DocumentStore): Promise<number> {
  const known = new Set(await documents.ids('history'));
  let adopted = 0;
  for (const kind of VERSIONED_KINDS) {
    const missing = (await documents.ids(kind)).filter((id) => !known.has(`${kind}/${id}`));
    for (let from = 0; from < missing.length; from += ADOPTED_AT_ONCE) {
      const batch = missing.slice(from, from + ADOPTED_AT_ONCE);
      if (!(await isWritten(documents, kind, batch))) return adopted;
      adopted += batch.length;
    }
  }
  return adopted;
}

/** A disk that is full is no reason not to start: each document is adopted by its next write. */
async function isWritten(documents: DocumentStore, kind: VersionedKind, ids: readonly string[]): Promise<boolean> {
  try {
    await documents.transaction(async (tx) => {
      for (const id of ids) await adopt(tx, { kind, id });
    });
    return true;
  } catch (thrown) {
    if (thrown instanceof Refusal && thrown.code === 'STORAGE_FULL') return false;
    throw thrown;
  }
}

function isVersioned(kind: DocumentKind): kind is VersionedKind {
  return (VERSIONED_KINDS as readonly string[]).includes(kind);
}
