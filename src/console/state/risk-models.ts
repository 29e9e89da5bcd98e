import type { RiskModelCollection } from '#clients/typescript/divisor.js';
import { useContext } from 'preact/hooks';
import { health } from './live.js';
import { NamesStore } from './market.js';
import { useList } from './service.js';

export interface ListedModel {
  readonly model: RiskModelCollection['risk_models'][number];
  /**
   * Store of the returns; for a model that was stored without its store, that of its index. Null for the served store.
   * Undefined if the model may be of any store, for example an imported model.
   */
  readonly store: string | null | undefined;
}

/** Reads the stored risk models. The list is empty until the models and the indices are known. */
export function useStoredModels(): readonly ListedModel[] {
  const models = useList('risk models');
  const indices = useList('indices', { isLater: true });
  if (models.data === undefined || indices.data === undefined) return [];
  const storeById = new Map(indices.data.indices.map(({ id, store_id: store }) => [id, store]));
  return models.data.risk_models.map((model) => ({
    model,
    store: model.store_id ?? (model.index_id === null ? undefined : storeById.get(model.index_id)),
  }));
}

/**
 * Returns the risk models that apply to the displayed index. Equal tickers of different data stores are different
 * securities, so models of other stores are left out.
 */
export function useModelsOfStore(): readonly ListedModel['model'][] {
  return selectModels(useStoredModels(), useContext(NamesStore));
}

/** Returns the risk models that apply to an index of a data store. */
export function selectModels(
  models: readonly ListedModel[],
  indexStore: string | null,
): readonly ListedModel['model'][] {
  const ownStore = resolveStore(indexStore);
  return models
    .filter(({ store }) => store === undefined || resolveStore(store) === ownStore)
    .map(({ model }) => model);
}

/** Returns the id of a store; the served store replaces null. */
export const resolveStore = (store: string | null): string | null => store ?? health.value?.store?.active ?? null;
