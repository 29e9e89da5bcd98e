import type { BacktestRequest, JobStatus } from '#clients/typescript/divisor.js';
import { jobIdent } from '../words/jobs.js';
import { isObject, type Json } from '../words/paths.js';
import { useResource } from './resource.js';
import { service } from './service.js';

/** Failed runs per request: the maximum of the service. */
const ASKED_MAX = 500;

/** Returns the last run of each index or strategy that failed, by id. The next run replaces it. */
export function useFailedRuns(): ReadonlyMap<string, JobStatus> {
  const failed = useResource('failed runs', (signal) =>
    service.value.call('listJobs', { query: { kind: ['backtest'], status: ['failed'], limit: ASKED_MAX }, signal }),
  );
  return new Map((failed.data?.jobs ?? []).map((job) => [jobIdent(job), job]));
}

/** Returns true if a run failed after the stored one was made. @param runAt null if none is stored */
export const isLater = ({ finished_at: failedAt }: JobStatus, runAt: string | null | undefined): boolean =>
  runAt == null || failedAt === null || failedAt > runAt;

/** Request of a run, to repeat it. */
export function requestOf({ request }: JobStatus): BacktestRequest {
  const asked = request as Json;
  if (!isObject(asked)) return {};
  // The run was accepted.
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null)) as BacktestRequest;
}
