import type { OverviewView } from '#clients/typescript/divisor.js';
import { useResource } from './resource.js';
import { service } from './service.js';

/**
 * Reads the fields of a data store.
 * @param store null for the served store
 */
export const useFields = (store: string | null) =>
  useResource(`fields ${store ?? ''}`, (signal) =>
    service.value.call('listFields', { query: store === null ? {} : { store_id: store }, signal }),
  );

/** Reads the fields of the store on which a run was computed. */
export const useFieldsOfRun = ({ store_id: store }: Pick<OverviewView, 'store_id'>) => useFields(store);
