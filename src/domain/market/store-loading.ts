import { Refusal } from '../refusal.js';

/** The refusal of a request that needs data while the store of before a restart is still being read. */
export function storeLoading(storeId: string): Refusal {
  return new Refusal(
    'STORE_UNAVAILABLE',
    `The data store ${storeId} is being read after a restart; retry in a few seconds.`,
    { store_id: storeId, status: 'loading' },
  );
}

/** Whether a failure is that refusal: nothing was done, and the same request may succeed once the store is served. */
export function isStoreLoading(failure: unknown): boolean {
  return failure instanceof Refusal && failure.code === 'STORE_UNAVAILABLE' && failure.detail?.['status'] === 'loading';
}
