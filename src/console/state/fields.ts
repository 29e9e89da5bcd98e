import type { OverviewView } from '#clients/typescript/divisor.js';
import { useResource } from './resource.js';
import { formatDefinitionKey, readDefinition } from './run-questions.js';
import { service } from './service.js';

/**
 * Reads the fields of a data store.
 * @param store null for the served store
 */
export const useFields = (store: string | null) =>
  useResource(`fields ${store ?? ''}`, (signal) =>
    service.value.call('listFields', { query: store === null ? {} : { store_id: store }, signal }),
  );

/** Reads the fields of the store with which a run was computed. */
export function useFieldsOfRun(id: string, { stale }: Pick<OverviewView, 'stale'>) {
  const definition = useResource(formatDefinitionKey(id), (signal) => readDefinition(id, signal));
  return useFields(stale?.store_id ?? definition.data?.index?.store_id ?? null);
}
