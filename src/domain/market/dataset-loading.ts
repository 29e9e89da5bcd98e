import { Refusal, isUnavailable } from '../refusals/refusal.js';

/** Returns the refusal of a request that needs data of a store which is still being read after a restart. */
export function refuseWhileLoading(datasetId: string): Refusal {
  return new Refusal('STORE_UNAVAILABLE', describeLoading(datasetId), createDetail(datasetId));
}

/** Returns the refusal of a change of a store that has not been read yet. */
export function refuseWhileResuming(datasetId: string): Refusal {
  return new Refusal('STORE_LOADING', describeLoading(datasetId), createDetail(datasetId));
}

const describeLoading = (datasetId: string) =>
  `The data store ${datasetId} is being read after a restart; retry in a few seconds.`;

const createDetail = (datasetId: string) => ({ store_id: datasetId, status: 'loading' });

/**
 * Returns true if a failure is a refusal of `refuseWhileLoading` or `refuseWhileResuming`. Nothing was changed then,
 * and the request may succeed once the store is loaded.
 */
export function isDatasetLoading(failure: unknown): boolean {
  const isEither = isUnavailable(failure) || (failure instanceof Refusal && failure.code === 'STORE_LOADING');
  return isEither && (failure as Refusal).detail?.['status'] === 'loading';
}
