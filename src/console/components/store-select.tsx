import { setParameters } from '../state/location.js';
import { findStore, getChosenStore, useStores } from '../state/stores.js';
import { Select } from './choice.js';

/** Renders the choice of a data store. The address contains it. Renders nothing if there is only one store. */
export function StoreSelect() {
  const stores = useStores();
  const all = stores.data?.stores ?? [];
  const served = findStore(all, null)?.store_id;
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
