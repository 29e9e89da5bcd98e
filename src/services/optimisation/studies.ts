import type { IndexDocument } from '#domain/documents/index-document.js';
import { readStudyRequest } from '#domain/documents/optimisation-request.js';
import { reportMissingReturns } from '#domain/documents/optimisation-spec.js';
import type { StudyPayload } from '#domain/jobs/payloads.js';
import { assertNoErrors, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { JobKind } from '#jobs/job-kind.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import { getCallMarket } from '#market/serving/call-market.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { findReferencedStore } from '../indices/on-store.js';
import { assertOwnName, prefixName } from '../operations/access.js';
import { limitJobs } from '../operations/reachable-jobs.js';
import { readRows } from '../runs/result-rows.js';
import type { StoredIndex } from '../stored/stored-indices.js';
import {
  createOptimisationPlans,
  estimateOptimisationBytes,
  createOptimisationId,
  requireSet,
  requireTarget,
  type OptimisationPlansDependencies,
} from './optimisation-plans.js';

export interface StudiesDependencies extends OptimisationPlansDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobSystem;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly kind: JobKind<StudyPayload>;
  readonly engineVersion: string;
  /** Number of threads of the pool. */
  readonly workers: number;
  readonly now: () => number;
}

/** Many optimisations as one job. */
export interface Studies {
  /**
   * Queues a study.
   * @throws Refusal VALIDATION_FAILED, INDEX_NOT_FOUND, CONSTRAINT_SET_NOT_FOUND, RISK_MODEL_NOT_FOUND, INVALID_RANGE,
   * NO_DATA_IN_RANGE, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED
   */
  start(body: Readonly<Record<string, unknown>>, origin: Origin | null): Promise<JobStatus>;
  /**
   * Returns a block of the rows of a succeeded study as JSON.
   * @throws Refusal JOB_NOT_FOUND; VALIDATION_FAILED beyond the last block; DOCUMENT_UNREADABLE
   */
  rows(studyId: string, block: number): Promise<Uint8Array<ArrayBuffer>>;
}

type StudyTerms = ReturnType<typeof readStudyRequest>;

export function createStudies(dependencies: StudiesDependencies): Studies {
  const { documents, jobs, artifacts, markets, stores, kind, engineVersion, workers, now } = dependencies;
  const plans = createOptimisationPlans(dependencies);

  async function submit(
    { studyId: requestedId, requests }: StudyTerms,
    targets: readonly StoredIndex[],
    origin: Origin | null,
  ) {
    const { identity, market } = markets.require();
    for (const request of requests) plans.assertRequest(request, market);
    const reachedDocuments: Record<string, IndexDocument> = {};
    for (const target of targets) Object.assign(reachedDocuments, await plans.reachedOn(target, market));
    const sets: Record<string, StudyPayload['sets'][string]> = {};
    for (const id of new Set(requests.map((request) => request.constraint_set_id))) {
      const { set } = await requireSet(documents, id);
      plans.assertRows(set, market);
      sets[id] = set.constraints;
    }
    assertNoErrors(
      'request',
      requests.flatMap((request, i) => reportMissingReturns(request, sets[request.constraint_set_id]!, `runs[${i}].`)),
    );
    const { models = {} } = await plans.readModels(requests, {
      reached: reachedDocuments,
      storeId: identity.datasetId,
    });
    const studyId = requestedId ?? prefixName(createOptimisationId(now()));
    const subjects = { indices: targets.map(({ document }) => document.id), constraint_sets: Object.keys(sets) };
    return jobs.submit({
      kind,
      payload: {
        study_id: studyId,
        documents: reachedDocuments,
        models,
        sets,
        requests,
        content_hash: identity.contentHash,
        engine_version: engineVersion,
      },
      request: { study_id: studyId, runs: requests.length, ...subjects },
      estimatedBytes: workers * estimateOptimisationBytes(market),
      message: 'waiting for a worker',
      origin,
    });
  }

  return {
    rows: (ident, block) => readRows({ kind: 'study', ident, block }, limitJobs(jobs), artifacts),
    async start(body, origin) {
      const terms = readStudyRequest(body);
      if (terms.studyId !== null) assertOwnName(terms.studyId);
      const targets: StoredIndex[] = [];
      for (const id of new Set(terms.requests.map((request) => request.index_id)))
        targets.push(await requireTarget(documents, id));
      const datasetId = getCallMarket()?.identity.datasetId;
      const storeIds = new Set<string | null>();
      for (const { document } of targets) storeIds.add(await findReferencedStore(documents, document, datasetId));
      if (storeIds.size > 1) throw createSeveralStoresRefusal([...storeIds]);
      return stores.within([...storeIds][0]!, () => submit(terms, targets, origin));
    },
  };
}

function createSeveralStoresRefusal(storeIds: readonly (string | null)[]) {
  const message = `A study is computed on one data store; its indices name ${storeIds.map((id) => id ?? 'the active one').join(', ')}.`;
  return refuseWithFindings('study', [{ severity: 'error', code: 'DIFFERENT_DATA', path: 'runs', message }]);
}
