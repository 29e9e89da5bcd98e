import { readConstraintSet, type ConstraintSet } from '#domain/documents/constraint-set.js';
import { readStrategy, type StrategyDocument } from '#domain/documents/strategy-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore, DocumentTransaction, StoredDocument } from '#store/port.js';
import { readStored } from '#store/read-stored.js';

/** Returns a stored constraint set. Returns undefined if it is not stored or is unreadable. */
export async function findConstraintSet(reader: Reader, setId: string): Promise<ConstraintSet | undefined> {
  const storedDocument = await reader.get('constraint-set', setId);
  return readStored(storedDocument, readConstraintSet);
}

type Reader = Pick<DocumentStore | DocumentTransaction, 'get'>;

/** Returns a stored strategy. @throws Refusal STRATEGY_NOT_FOUND, DOCUMENT_UNREADABLE */
export async function requireStrategy(
  reader: Reader,
  strategyId: string,
): Promise<{ readonly strategy: StrategyDocument; readonly etag: string }> {
  const storedDocument = await reader.get('strategy', strategyId);
  if (storedDocument === undefined)
    throw new Refusal('STRATEGY_NOT_FOUND', `No strategy is stored under the id ${strategyId}.`, {
      strategy_id: strategyId,
    });
  const strategy = readStored(storedDocument, readStrategy);
  if (strategy === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The strategy ${strategyId} cannot be read; it can still be deleted.`, {
      strategy_id: strategyId,
    });
  return { strategy, etag: (storedDocument as StoredDocument).etag }; // readable, because its document was readable
}
