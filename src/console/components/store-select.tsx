import { getParameter, setParameters } from '../state/location.js';
import { useResource } from '../state/resource.js';
import { service } from '../state/service.js';
import { Select } from './choice.js';

/** Returns the data store in the address; undefined for the served store. */
export const getChosenStore = (): string | undefined => getParameter('store') ?? undefined;

/** Renders the choice of a data store. The address contains it. Renders nothing if there is only one store. */
export function StoreSelect() {
  const stores = useResource('stores', (signal) => service.value.call('listStores', { signal }));
  const all = stores.data?.stores ?? [];
  const served = all.find(({ active }) => active)?.store_id;
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
