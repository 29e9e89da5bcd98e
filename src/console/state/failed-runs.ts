import type { BacktestRequest, JobStatus } from '#clients/typescript/divisor.js';
import { formatJobId } from '../words/jobs.js';
import { isObject, type Json } from '../words/paths.js';
import { useResource } from './resource.js';
import { service } from './service.js';

/** Maximum number of failed runs per request, as in the service. */
const ASKED_MAX = 500;

/** Returns the failed runs by the id of their index or strategy. A failed run is listed until there is a new run. */
export function useFailedRuns(): ReadonlyMap<string, JobStatus> {
  const failedJobs = useResource('failed runs', (signal) =>
    service.value.call('listJobs', { query: { kind: ['backtest'], status: ['failed'], limit: ASKED_MAX }, signal }),
  );
  return new Map((failedJobs.data?.jobs ?? []).map((job) => [formatJobId(job), job]));
}

/**
 * Returns true if a run failed after the stored run.
 * @param runAt time of the stored run; null if there is none
 */
export const isLater = ({ finished_at: failedAt }: JobStatus, runAt: string | null | undefined): boolean =>
  runAt == null || failedAt === null || failedAt > runAt;

/** Returns the request of a run so that it can be repeated. Members that are null are left out. */
export function getBacktestRequest({ request }: JobStatus): BacktestRequest {
  const runRequest = request as Json;
  if (!isObject(runRequest)) return {};
  // The service accepted this request before.
  return Object.fromEntries(Object.entries(runRequest).filter(([, value]) => value !== null)) as BacktestRequest;
}
