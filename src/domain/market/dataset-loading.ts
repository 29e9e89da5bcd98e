import { Refusal, isUnavailable } from '../refusal.js';

/** The refusal of a request that needs data while the store of before a restart is still being read. */
export function datasetLoading(datasetId: string): Refusal {
  return new Refusal(
    'STORE_UNAVAILABLE',
    `The data store ${datasetId} is being read after a restart; retry in a few seconds.`,
    { store_id: datasetId, status: 'loading' },
  );
}

/** Whether a failure is that refusal: nothing was done, and the same request may succeed once the store is served. */
export function isDatasetLoading(failure: unknown): boolean {
  return isUnavailable(failure) && failure.detail?.['status'] === 'loading';
}
