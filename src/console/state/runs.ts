import type {
  BacktestRequest,
  IndexDocument,
  JobStatus,
  RunSummaryRow,
  StoredStrategy,
} from '#clients/typescript/divisor.js';
import { formatLag, findLag, formatStale } from '../words/freshness.js';
import { formatJobId } from '../words/jobs.js';
import { isObject, type Json } from '../words/paths.js';
import { health } from './live.js';
import { formatAddress, getParameter } from './location.js';
import { createTrouble, prefetch, service, useAnswer } from './service.js';

/** Maximum number of failed runs per request, as in the service. */
const ASKED_MAX = 500;

/** Returns the failed runs by the id of their index or strategy. A failed run is listed until there is a new run. */
export function useFailedRuns(): ReadonlyMap<string, JobStatus> {
  const failedJobs = useAnswer('listJobs', { query: { kind: ['backtest'], status: ['failed'], limit: ASKED_MAX } });
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

/** State of an index whose run has every session of its data store, which lacks sessions of its calendar. */
export const STORE_BEHIND = 'store behind';

/**
 * Describes why the run of an index is not current. Returns null if it is up to date with a data store that has every
 * session.
 * @param store data store of the index; null for the served store
 */
export function describeRunLag(
  stale: RunSummaryRow['stale'],
  store: string | null,
): { readonly text: string; readonly title: string } | null {
  if (stale !== null) return { text: formatStale(stale), title: stale.reasons.join(' ') };
  const lag = findLag(health.value?.freshness, store ?? health.value?.store?.active ?? null);
  if (lag === undefined || lag.behind === 0) return null;
  return { text: STORE_BEHIND, title: `up to date with the store, which is ${formatLag(lag)}` };
}

/** Returns the query parameters of the run on this page: the run in the address, or nothing for the latest run. */
export function readShownRun(): { readonly run_id?: string } {
  const run = getParameter('run_id');
  return run === null ? {} : { run_id: run };
}

/** Returns the resource key of the displayed run of an index. */
export const formatRunKey = (id: string): string => `${id} ${getParameter('run_id') ?? ''}`;

export const formatShownRunPath = (path: string): string => formatAddress(path, { run_id: getParameter('run_id') });

export type Definition =
  | { readonly index: IndexDocument; readonly strategy: null }
  | { readonly index: null; readonly strategy: StoredStrategy };

/** Returns the definition of an index, or of the strategy with this id. */
export async function readDefinition(id: string, signal: AbortSignal): Promise<Definition> {
  try {
    return { index: await service.value.call('getIndex', { params: { index_id: id }, signal }), strategy: null };
  } catch (thrown) {
    if (createTrouble(thrown).code !== 'INDEX_NOT_FOUND') throw thrown;
    const strategy = await service.value
      .call('getStrategy', { params: { strategy_id: id }, signal })
      .catch((missing: unknown) => {
        throw createTrouble(missing).code === 'STRATEGY_NOT_FOUND' ? thrown : missing;
      });
    return { index: null, strategy };
  }
}

export const formatDefinitionKey = (id: string): string => `definition ${id}`;

export const formatOverviewKey = (id: string): string => `overview ${formatRunKey(id)}`;

export const readOverview = (id: string, signal: AbortSignal) =>
  service.value.call('getOverview', { params: { index_id: id }, query: readShownRun(), signal });

/** Tabs of an index page that do not depend on a run. */
const WITHOUT_RUN = ['versions', 'methodology'];

/** Sends the first requests of an index page. Called while the scripts of the page are loading. */
export function prefetchIndexPage(id: string): void {
  prefetch(formatDefinitionKey(id), (signal) => readDefinition(id, signal));
  if (!WITHOUT_RUN.includes(getParameter('tab') ?? ''))
    prefetch(formatOverviewKey(id), (signal) => readOverview(id, signal));
}
