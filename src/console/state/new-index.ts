import type { DataStore } from '#clients/typescript/divisor.js';

/**
 * Returns the served store and the store of a new index. A new index names the served store, so that it stays current
 * when another store is served.
 */
export function storeOfNew(stores: readonly DataStore[]): {
  readonly served: DataStore | undefined;
  readonly store: string | null;
} {
  const servedStore = stores.find(({ active }) => active);
  return { served: servedStore, store: servedStore?.store_id ?? null };
}
