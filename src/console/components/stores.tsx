import { setParameters } from '../state/location.js';
import { findStoreOfDocument, getChosenStore, useStores } from '../state/stores.js';
import { Select } from './controls/choice.js';

/**
 * Renders why a data store provides no data, with a link to the page of the stores. Renders nothing until the stores
 * are known.
 * @param store data store of an index; null for the served store
 */
export function MissingData({ store }: { readonly store: string | null }) {
  const { data } = useStores();
  if (data === undefined) return null;
  const isRegistered = findStoreOfDocument(data.stores, store) !== undefined;
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

/** Renders the choice of a data store. The address contains it. Renders nothing if there is only one store. */
export function StoreSelect() {
  const stores = useStores();
  const all = stores.data?.stores ?? [];
  const served = findStoreOfDocument(all, null)?.store_id;
  const chosen = getChosenStore() ?? served ?? '';
  if (all.length < 2 && (chosen === served || stores.data === undefined)) return null;
  const options = all.map(({ store_id: id, name, active }) => ({ value: id, text: active ? `${name}, served` : name }));
  return (
    <Select
      label="Data store"
      isLabelShown
      options={options.some(({ value }) => value === chosen) ? options : [{ value: chosen, text: chosen }, ...options]}
      value={chosen}
      onChoose={(id) => setParameters({ store: id === served ? null : id })}
    />
  );
}
