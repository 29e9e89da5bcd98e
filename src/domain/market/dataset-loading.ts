import { Refusal, isUnavailable } from '../refusals/refusal.js';

/** The refusal of a request that needs data while the store of before a restart is still being read. */
export function datasetLoading(datasetId: string): Refusal {
  return new Refusal('STORE_UNAVAILABLE', sentence(datasetId), detailOf(datasetId));
}

/** The refusal of a change to that store until then. */
export function datasetResuming(datasetId: string): Refusal {
  return new Refusal('STORE_LOADING', sentence(datasetId), detailOf(datasetId));
}

const sentence = (datasetId: string) =>
  `The data store ${datasetId} is being read after a restart; retry in a few seconds.`;

const detailOf = (datasetId: string) => ({ store_id: datasetId, status: 'loading' });

/** Whether a failure is one of those: nothing was done, and the same request may succeed once the store is served. */
export function isDatasetLoading(failure: unknown): boolean {
  const isEither = isUnavailable(failure) || (failure instanceof Refusal && failure.code === 'STORE_LOADING');
  return isEither && (failure as Refusal).detail?.['status'] === 'loading';
}
