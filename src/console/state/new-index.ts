import type { DataStore } from '#clients/typescript/divisor.js';

/** The served store, and the store to which a new index belongs: the served one, if there are others to switch to. */
export function storeOfNew(stores: readonly DataStore[]): {
  readonly served: DataStore | undefined;
  readonly store: string | null;
} {
  const served = stores.find(({ active }) => active);
  return { served, store: stores.length > 1 && served !== undefined ? served.store_id : null };
}
