import type { DataStore } from '#clients/typescript/divisor.js';
import { getParameter } from './location.js';
import { useResource } from './resource.js';
import { service } from './service.js';

/** Reads the registered data stores. @param isNeeded false if they are not read yet */
export const useStores = (isNeeded = true) =>
  useResource(isNeeded ? 'stores' : null, (signal) => service.value.call('listStores', { signal }));

/** Returns the data store of a document: the named one, or the served one if the document names none. */
export const findStore = (stores: readonly DataStore[] | undefined, id: string | null): DataStore | undefined =>
  stores?.find((store) => (id === null ? store.active : store.store_id === id));

/** Returns the data store in the address; undefined for the served store. */
export const getChosenStore = (): string | undefined => getParameter('store') ?? undefined;
