import { findStore, useStores } from '../state/stores.js';

/**
 * Renders why a data store provides no data, with a link to the page of the stores. Renders nothing until the stores
 * are known.
 * @param store data store of an index; null for the served store
 */
export function MissingData({ store }: { readonly store: string | null }) {
  const { data } = useStores();
  if (data === undefined) return null;
  const isRegistered = findStore(data.stores, store) !== undefined;
  return (
    <p class="quiet">
      {isRegistered
        ? `The data store ${store ?? data.active} cannot be read.`
        : store === null
          ? 'No data store is served.'
          : `The data store ${store} of the index is not registered.`}{' '}
      {store === null || isRegistered ? (
        <>
          The page <a href="/console/data">Data</a> lists the data stores.
        </>
      ) : (
        <>
          Register it on the page <a href="/console/data">Data</a>, or assign the index to another data store.
        </>
      )}
    </p>
  );
}
