import type { DataStore } from '#clients/typescript/divisor.js';

/**
 * Returns the store of a new index; null if no store is served. A new index names the served store, so that it stays
 * current when another store is served.
 */
export const findStoreOfNew = (stores: readonly DataStore[]): string | null =>
  stores.find(({ active }) => active)?.store_id ?? null;
