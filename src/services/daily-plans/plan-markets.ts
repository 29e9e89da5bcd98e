import type { Markets, ServedMarket } from '#market/serving/markets.js';
import type { DocumentReader } from '#store/port.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { findReferencedStore } from '../indices/on-store.js';
import { requireIndex } from '../stored/stored-indices.js';

export interface PlanMarketSources {
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly markets: Pick<Markets, 'require'>;
  readonly stores: Pick<StoreMarkets, 'of'>;
}

/**
 * Returns the market of an index of a plan. If the index names a store, it is the market of that store; otherwise it is
 * the active market. @throws the same refusals as `StoreMarkets.of`
 */
export async function findIndexMarket(
  { documents, markets, stores }: PlanMarketSources,
  indexId: string,
): Promise<ServedMarket> {
  const storeId = await findReferencedStore(documents, (await requireIndex(documents, indexId)).document);
  return storeId === null ? markets.require() : stores.of(storeId);
}

/** Returns the distinct markets of all indices of a plan. */
export async function listPlanMarkets(
  sources: PlanMarketSources,
  waves: readonly (readonly string[])[],
): Promise<readonly ServedMarket[]> {
  const marketsByStore = new Map<string, ServedMarket>();
  for (const indexId of waves.flat()) {
    const market = await findIndexMarket(sources, indexId);
    marketsByStore.set(market.identity.datasetId, market);
  }
  return [...marketsByStore.values()];
}
