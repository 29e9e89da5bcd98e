import type { DataStore } from '#clients/typescript/divisor.js';

/**
 * Returns the served store and the store of a new index. A new index names the served store only if there are several
 * stores.
 */
export function storeOfNew(stores: readonly DataStore[]): {
  readonly served: DataStore | undefined;
  readonly store: string | null;
} {
  const served = stores.find(({ active }) => active);
  return { served, store: stores.length > 1 && served !== undefined ? served.store_id : null };
}
