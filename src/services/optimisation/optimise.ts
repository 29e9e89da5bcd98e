import { callOnce } from '#base/once.js';
import type { ConstraintTypes, ObjectiveTypes } from '#contract/optimise.js';
import { listReturnsSpecs } from '#domain/expected-returns/catalogue.js';
import { listObjectiveSpecs } from '#domain/objectives/catalogue.js';
import { listConstraintSpecs } from '#domain/constraints/catalogue.js';
import type { ConstraintSet } from '#domain/documents/constraint-set.js';
import {
  readOptimisationPreview,
  readOptimisationRequest,
  type OptimisationRequest,
} from '#domain/documents/optimisation-request.js';
import { reportMissingReturns } from '#domain/documents/optimisation-spec.js';
import { OptimisationDocument } from '#domain/documents/optimisation-document.js';
import { checkConstraintFields } from '#domain/optimisation/field-uses.js';
import { assertNoErrors, Refusal } from '#domain/refusals/refusal.js';
import type { JobKind, Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import { findVersionByEtag } from '#store/history/history.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { addVersion } from '../indices/question-definitions.js';
import { runOnStoreOf } from '../indices/on-store.js';
import { readStoredModelId } from '#domain/documents/used-models.js';
import type { OptimisationPayload } from '#domain/jobs/payloads.js';
import type { StoredIndex } from '../stored/stored-indices.js';
import { resolveModelFiles, findModelFile } from '../stored/used-models.js';
import { createConstraintSets, type ConstraintSets } from './constraint-sets.js';
import {
  createOptimisationPlans,
  estimateOptimisationBytes,
  createOptimisationId,
  requireSet,
  requireTarget,
  type OptimisationPlansDependencies,
} from './optimisation-plans.js';

type Body = Readonly<Record<string, unknown>>;

export interface Optimise extends ConstraintSets {
  types(): ConstraintTypes;
  objectiveTypes(): ObjectiveTypes;
  /**
   * Queues an optimisation.
   * @throws Refusal VALIDATION_FAILED, INDEX_NOT_FOUND, CONSTRAINT_SET_NOT_FOUND, RISK_MODEL_NOT_FOUND, INVALID_RANGE,
   *   NO_DATA_AT_DATE, NO_DATA_SOURCE
   */
  start(body: Body, origin: Origin | null): Promise<JobStatus>;
  /**
   * Returns the weights that the same request would find as a job, as a PreviewResponse.
   * @throws the refusals of `start`, and the failures of its job
   */
  preview(body: Body, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the bytes of a finished run. @throws Refusal RUN_NOT_FOUND, DOCUMENT_UNREADABLE */
  result(
    runId: string,
  ): Promise<{ readonly length: number; readonly etag: string; open(): Promise<ReadableStream<Uint8Array>> }>;
}

export interface OptimiseDependencies extends OptimisationPlansDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly jobs: Pick<Jobs, 'submit' | 'query'>;
  readonly kind: JobKind<OptimisationPayload>;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly now: () => number;
}

function listConstraintTypes(): ConstraintTypes {
  const specs = listConstraintSpecs() as ConstraintTypes['specs']; // the service has read-only lists, the contract mutable ones
  return {
    types: Object.fromEntries(specs.map(({ type, parameters }) => [type, parameters.map(({ name }) => name)])),
    specs,
  };
}

const listObjectiveTypes = (): ObjectiveTypes => ({
  objectives: listObjectiveSpecs() as ObjectiveTypes['objectives'],
  expected_returns: listReturnsSpecs() as ObjectiveTypes['expected_returns'],
});

export function createOptimise(dependencies: OptimiseDependencies): Optimise {
  const { documents, artifacts, jobs, kind, markets, stores, now } = dependencies;
  const plans = createOptimisationPlans(dependencies);

  return {
    ...createConstraintSets({ documents, markets }),
    types: callOnce(listConstraintTypes),
    objectiveTypes: callOnce(listObjectiveTypes),
    async start(body, origin) {
      const request = readOptimisationRequest(body);
      const target = await requireTarget(documents, request.index_id);
      const { set } = await requireSet(documents, request.constraint_set_id);
      assertNoErrors('request', reportMissingReturns(request, set.constraints, ''));
      return runOnStoreOf({ documents, stores }, target.document, () =>
        startOnMarket(target, { set, request }, origin),
      );
    },
    async preview(body, signal) {
      const request = readOptimisationPreview(body);
      const target = await requireTarget(documents, request.index_id);
      return runOnStoreOf({ documents, stores }, target.document, () => previewOnMarket(target, request, signal));
    },
    result: (runId) => readResult({ documents, artifacts }, runId),
  };

  async function startOnMarket(
    target: StoredIndex,
    { set, request }: { readonly set: ConstraintSet; readonly request: OptimisationRequest },
    origin: Origin | null,
  ): Promise<JobStatus> {
    const { market, reached } = await plans.prepare(target, request);
    plans.assertRows(set, market);
    const models = await plans.readModels([request], { reached, storeId: market.datasetId });
    const runId = createOptimisationId(now());
    return jobs.submit({
      kind,
      payload: { run_id: runId, documents: reached, ...models, constraints: set.constraints, request },
      request,
      estimatedBytes: estimateOptimisationBytes(market),
      message: 'waiting for a worker',
      origin,
    });
  }

  async function previewOnMarket(
    target: StoredIndex,
    request: ReturnType<typeof readOptimisationPreview>,
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { handle, market, reached } = await plans.prepare(target, request);
    const missingFields = checkConstraintFields(request.constraints, market, {
      path: 'constraints',
      severity: 'error',
    });
    assertNoErrors('request', missingFields);
    const { datasetId: storeId } = market;
    const usedModels = await resolveModelFiles(documents, artifacts, { documents: reached, storeId });
    const ownModelId = readStoredModelId(request);
    const namedModel =
      ownModelId === undefined ? {} : await findModelFile(documents, artifacts, { modelId: ownModelId, storeId });
    const question = {
      market: handle,
      documents: reached,
      models: { ...usedModels.models, ...namedModel },
      indexId: request.index_id,
      request,
    };
    const { bytes } = await jobs.query('preview-optimisation', question, signal);
    return addVersion(await findVersionByEtag(documents, { kind: 'index', id: request.index_id }, target.etag), bytes);
  }
}

async function readResult(
  { documents, artifacts }: Pick<OptimiseDependencies, 'documents' | 'artifacts'>,
  runId: string,
): ReturnType<Optimise['result']> {
  const storedDocument = await documents.get('optimisation-run', runId);
  if (storedDocument === undefined)
    throw new Refusal('RUN_NOT_FOUND', `No finished optimisation has the id ${runId}.`, { run_id: runId });
  const document = parseStored(storedDocument, OptimisationDocument);
  if (document === undefined) throw new Refusal('DOCUMENT_UNREADABLE', `The optimisation ${runId} cannot be read.`);
  const { artifact } = document;
  return { length: artifact.bytes, etag: artifact.sha256, open: () => artifacts.stream(artifact) };
}
