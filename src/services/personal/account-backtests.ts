import { toPlannedModel } from '#domain/documents/used-models.js';
import type { AccountBacktestPayload } from '#domain/jobs/payloads.js';
import type { AccountBacktestRequest } from '#domain/personal/backtest-request.js';
import { createJobKind, type JobKind, type Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { DocumentStore } from '#store/port.js';
import { resolveReached } from '../indices/reached-documents.js';
import { runOnStoreOf } from '../indices/on-store.js';
import { assertOwnName, prefixName } from '../operations/access.js';
import { requireIndex } from '../stored/stored-indices.js';
import { listOptimisedModels, planModels, requireModel } from '../stored/used-models.js';
import { assertModelStore } from '../stored/model-stores.js';
import type { BatchJobDependencies } from './batch-job.js';
import { createBatchId, type BatchesDependencies } from './batches.js';

/** Creates the kind of job that simulates one account over the history of an index. */
export function createAccountBacktestJob({
  documents,
  artifacts,
  markets,
  dataVersions,
}: Omit<BatchJobDependencies, 'workers'>): JobKind<AccountBacktestPayload> {
  return createJobKind('account', async (payload, attempt) => {
    await markets.settled();
    const { served } = await dataVersions.at(payload.data_version);
    const { view } = await attempt.compute('account-backtest', {
      market: served.identity,
      documents: payload.documents,
      ...(await listOptimisedModels(documents, artifacts, payload.models)),
      indexId: payload.index_id,
      backtestId: payload.backtest_id,
      request: payload.request,
      engineVersion: payload.engine_version,
      outputs: attempt.outputs(['view']),
    });
    return { result: { artifact: view } };
  });
}

export interface AccountBacktestsDependencies extends Pick<
  BatchesDependencies,
  'markets' | 'stores' | 'engineVersion' | 'now'
> {
  readonly documents: DocumentStore;
  readonly jobs: Jobs;
  readonly kind: JobKind<AccountBacktestPayload>;
}

export interface AccountBacktests {
  /** Queues a backtest. @throws Refusal INDEX_NOT_FOUND, RISK_MODEL_NOT_FOUND, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED */
  start(indexId: string, request: AccountBacktestRequest, origin: Origin | null): Promise<JobStatus>;
}

/** Memory of a backtest in bytes: the shared data of a rebalance, and the entries of ten years. */
const BACKTEST_BYTES = 128 * 2 ** 20;

export function createAccountBacktests(dependencies: AccountBacktestsDependencies): AccountBacktests {
  const { documents, jobs, markets, stores, kind, engineVersion, now } = dependencies;
  return {
    async start(indexId, { backtest_id: requestedId, ...request }, origin) {
      const { document } = await requireIndex(documents, indexId);
      const { document: model } = await requireModel(documents, request.risk_model);
      const reachedDocuments = await resolveReached(documents, document);
      if (requestedId !== null) assertOwnName(requestedId);
      const backtestId = requestedId ?? prefixName(createBatchId(now()));
      const { account, start, end } = request;
      return runOnStoreOf({ documents, stores }, document, async () => {
        const { datasetId: storeId } = markets.require().identity;
        assertModelStore(model, { storeId, path: 'risk_model' });
        const { models = {} } = await planModels(documents, reachedDocuments, storeId);
        const payload = {
          backtest_id: backtestId,
          index_id: indexId,
          request,
          documents: reachedDocuments,
          models: { ...models, [request.risk_model]: toPlannedModel(model) },
          engine_version: engineVersion,
        };
        return jobs.submit({
          kind,
          payload,
          request: { index_id: indexId, account_id: account.account_id, start, end },
          estimatedBytes: BACKTEST_BYTES,
          message: 'waiting for a worker',
          origin,
        });
      });
    },
  };
}
