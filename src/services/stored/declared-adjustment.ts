import type { IndexDocument } from '#domain/documents/index-document.js';
import type { Adjustment } from '#domain/market/market-data.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentReader } from '#store/port.js';
import { readDataset } from './dataset-documents.js';

export interface DeclaredRooms {
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly markets: Pick<Markets, 'served'>;
}

/** The price basis that the store of an index declares; null if no store is known. */
export async function adjustmentOf(
  { documents, markets }: DeclaredRooms,
  { store_id: storeId }: Pick<IndexDocument, 'store_id'>,
): Promise<Adjustment | null> {
  if (storeId == null) return markets.served()?.market.adjustment ?? null;
  const stored = await documents.get('store', storeId);
  const document = stored === undefined || 'unreadable' in stored ? undefined : readDataset(stored.body);
  return document?.adjustment ?? null;
}
