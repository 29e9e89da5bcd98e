import type { IndexDocument } from '#domain/documents/index-document.js';
import type { Adjustment } from '#domain/market/market-data.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentReader } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import { readDataset } from './dataset-documents.js';

export interface DeclarationSources {
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly markets: Pick<Markets, 'served'>;
}

/** Returns the price basis that the store of an index declares. Returns null if no store is known. */
export async function readAdjustment(
  { documents, markets }: DeclarationSources,
  { store_id: storeId }: Pick<IndexDocument, 'store_id'>,
): Promise<Adjustment | null> {
  if (storeId == null) return markets.served()?.market.adjustment ?? null;
  const storedDocument = await documents.get('store', storeId);
  const document = readStored(storedDocument, readDataset);
  return document?.adjustment ?? null;
}
