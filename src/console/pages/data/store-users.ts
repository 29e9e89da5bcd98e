import type { DataStore } from '#clients/typescript/divisor.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';

/** Returns a function that counts the indices that are computed on a store. Its result is null until they are read. */
export function useStoreUsers(): (store: DataStore) => number | null {
  const { data } = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  return ({ store_id: id, active }) =>
    data?.indices.filter(({ store_id: indexStore }) => indexStore === id || (indexStore === null && active)).length ??
    null;
}
