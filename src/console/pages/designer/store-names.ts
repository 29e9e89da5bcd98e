import type { FieldList } from '#clients/typescript/divisor.js';
import { useEffect, useRef } from 'preact/hooks';
import { useExchanges } from '../../state/exchanges.js';
import { useFields } from '../../state/fields.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { useStores } from '../../state/stores.js';
import type { JsonObject } from '../../words/paths.js';
import { adoptStore, createDocument, isSame, type Draft } from './draft.js';

interface StoreNamesInput {
  /** Data store of the definition; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
  readonly isStored: boolean;
}

/**
 * Loads the suggestions for fields: datapoints of the definition's store, and ids of stored documents. A new index
 * follows a store that is chosen.
 */
export function useStoreNames(draft: Draft, { store, isStored }: StoreNamesInput) {
  const fields = useFields(store ?? null);
  const stores = useStores();
  const exchanges = useExchanges();
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const watchlists = useResource('watchlists', (signal) => service.value.call('listWatchlists', { signal }));
  useStoreOfDraft(isStored ? null : draft, store === undefined ? undefined : fields.data);
  return {
    datapoints: fields.data?.fields.map(({ name }) => name) ?? [],
    known: {
      exchanges,
      indices: indices.data?.indices.map(({ id }) => id) ?? [],
      universes: fields.data?.universes ?? [],
      stores: new Map(stores.data?.stores.map(({ store_id: id, name }) => [id, name])),
      watchlists: watchlists.data?.watchlists.map(({ watchlist_id: id }) => id) ?? [],
    },
  };
}

/**
 * Changes the values that a new index takes from its store when another store is chosen. Changes nothing for a draft
 * that is already on a store when the page opens.
 * @param draft null for a stored index, whose values are kept
 */
function useStoreOfDraft(draft: Draft | null, market: FieldList | undefined): void {
  const before = useRef<JsonObject | null>(null);
  useEffect(() => {
    if (draft === null || market === undefined) return;
    const after = createDocument(new Set(), { market, store: null });
    const previous = before.current ?? after;
    before.current = after;
    if (isSame(previous, after)) return;
    const changedDocument = adoptStore(draft.document.peek(), previous, after);
    if (!isSame(changedDocument, draft.document.peek())) draft.replace(changedDocument);
  }, [market]);
}
