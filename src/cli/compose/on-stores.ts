import type { Attempt, JobHandlers, JobKind } from '#jobs/job-kind.js';
import type { JobSystem } from '#jobs/job-system.js';
import { getCallMarket, runOffMarket } from '#market/serving/call-market.js';
import type { Markets } from '#market/serving/markets.js';
import type { StoreMarkets } from '#services/datasets/store-markets.js';

/** Payload of a job that names the store on which the job runs. */
interface StorePayload {
  readonly on_store?: string | undefined;
}

/**
 * Wraps the submission of jobs. A job runs on the store of the call that submits it; default: the store that is active
 * then, whatever store is active when the job starts.
 */
export function addStoreOfCall(jobs: JobSystem, active: Pick<Markets, 'served'>): JobSystem {
  return {
    ...jobs,
    async submit(submission) {
      const storeId = getCallMarket()?.identity.datasetId;
      const { payload, request } = submission;
      if (storeId === undefined)
        return jobs.submit({ ...submission, payload: { ...addActiveStore(active), ...payload } });
      const requestOnStore =
        typeof request === 'object' && request !== null ? { ...request, store_id: storeId } : request;
      return jobs.submit({ ...submission, payload: { ...payload, on_store: storeId }, request: requestOnStore });
    },
  };
}

function addActiveStore(active: Pick<Markets, 'served'>): StorePayload {
  const storeId = active.served()?.identity.datasetId;
  return storeId === undefined ? {} : { on_store: storeId };
}

/**
 * Wraps job kinds so that each attempt reads the market of its store. A job of an
 * earlier release may have no store; it reads the active market.
 */
export function wrapForStores(
  kinds: JobHandlers,
  { stores, markets }: { readonly stores: Pick<StoreMarkets, 'within'>; readonly markets: Pick<Markets, 'settled'> },
): JobHandlers {
  const runOnStoreMarket = async <T>({ on_store: storeId }: StorePayload, work: () => Promise<T>): Promise<T> => {
    if (storeId === undefined) return runOffMarket(work);
    await markets.settled(); // The store may be the one that was served before a restart.
    return runOffMarket(() => stores.within(storeId, work));
  };
  const wrapKind = <P extends StorePayload>(kind: JobKind<P>): JobKind<P> => ({
    ...kind,
    run: (payload, attempt) => runOnStoreMarket(payload, () => kind.run(payload, attempt)),
    ...(kind.runParts && {
      runParts: (payload: P, parts: readonly number[], attempt: Attempt) =>
        runOnStoreMarket(payload, () => kind.runParts!(payload, parts, attempt)),
    }),
  });
  const wrappedKinds = Object.entries(kinds as unknown as Record<string, JobKind<StorePayload>>).map(([name, kind]) => [
    name,
    wrapKind(kind),
  ]);
  return Object.fromEntries(wrappedKinds) as JobHandlers; // Each kind keeps its name.
}
