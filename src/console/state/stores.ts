import type { DataStore } from '#clients/typescript/divisor.js';
import { health } from './live.js';
import { addQuery, consoleLocation, getParameter } from './location.js';
import { useAnswer } from './service.js';

/** Reads the registered data stores. @param isNeeded false if they are not read yet */
export const useStores = (isNeeded = true) => useAnswer('listStores', isNeeded ? {} : null);

/**
 * Returns the data store of a document: the named one, or the served one if the document names none.
 * @param id undefined until it is known
 */
export const findStoreOfDocument = (
  stores: readonly DataStore[] | undefined,
  id: string | null | undefined,
): DataStore | undefined => stores?.find((store) => (id === null ? store.active : store.store_id === id));

/** Returns true if a document names a data store that is not registered. Returns false until the stores are known. */
export const isUnregistered = (stores: readonly DataStore[] | undefined, id: string | null): boolean =>
  id !== null && stores !== undefined && findStoreOfDocument(stores, id) === undefined;

/** Returns the data store in the address; undefined for the served store. */
export const getChosenStore = (): string | undefined => getParameter('store') ?? undefined;

/** Pages that show the served store if the address names none. */
const STORE_PAGES = /^\/console\/(?:names|actions|watchlists|data\/sql|indices\/templates)(?:\/|$)/;

/**
 * Returns the address of the current page for a saved view, a copied link or a pin. It names the data store that the
 * page shows, so that it shows the same data when another store is served.
 */
export function formatKeptAddress(): string {
  const shownStore = STORE_PAGES.test(consoleLocation.value.path) ? health.value?.store?.active : null;
  return addQuery({ store: getChosenStore() ?? shownStore ?? null });
}
