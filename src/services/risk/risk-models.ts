import type { RiskModelCollection } from '#contract/risk-models.js';
import { assertOrder, assertHasDates } from '#domain/schema/assert-order.js';
import type { RiskModelDocument, RiskModelRequest } from '#domain/risk/risk-model-document.js';
import type { RiskValidationRequest } from '#domain/risk/validation/risk-validation-request.js';
import { compareText } from '#domain/refusals/findings.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { JobKind, Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { ResponseBytes } from '#jobs/tasks/files.js';
import type { ArtifactStore, DocumentStore, DocumentTransaction } from '#store/port.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';
import type { RiskModelPayload, RiskValidationPayload } from '#domain/jobs/payloads.js';
import { selectVersion, type DataVersions } from '../datasets/data-versions.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import type { RunStates } from '../runs/run-states.js';
import { addUnreadable } from '../shared/skipped.js';
import { estimateModelMemory, estimateMatrixMemory } from './model-memory.js';
import { createModelRequests, findIndexId } from './model-requests.js';
import { createModelStreams } from './model-streams.js';
import { findServedModel, selectSmallFields, createSummary } from './risk-model-views.js';
import { assertNumbers, hasNumbers, refuseMissingModel, readModel, requireModel } from '../stored/used-models.js';
import { assertModelStore, type ModelUseOnStore } from '../stored/model-stores.js';

export interface RiskModelsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly jobs: Jobs;
  readonly kind: JobKind<RiskModelPayload>;
  readonly validation: JobKind<RiskValidationPayload>;
  readonly dataVersions: Pick<DataVersions, 'at'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly states: Pick<RunStates, 'requireMarket' | 'findStore'>;
  /** Number of threads of the pool. */
  readonly workers: number;
}

/** Stored model as a response. */
export interface RiskModelReading {
  readonly etag: string;
  /** Returns a RiskModelView as JSON, which is generated while it is read. */
  json(signal?: AbortSignal): ReadableStream<Uint8Array>;
  /** Returns the covariance as an Arrow stream. */
  arrow(signal?: AbortSignal): Promise<ResponseBytes>;
}

export interface RiskModels {
  list(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<RiskModelCollection>;
  /**
   * Returns a stored model. @param date for an imported model, returns the model that is valid on this date; default:
   * the latest
   * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE, NO_DATA_AT_DATE, VALIDATION_FAILED
   */
  get(modelId: string, date?: string): Promise<RiskModelReading>;
  /** Returns a model in the format of an import. @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE */
  exported(
    modelId: string,
    signal?: AbortSignal,
  ): Promise<{ readonly etag: string; readonly json: ReadableStream<Uint8Array> }>;
  /**
   * Queues an estimate. First makes every check that needs no returns.
   * @throws Refusal UNIVERSE_REQUIRED, INVALID_RANGE, VALIDATION_FAILED, DOCUMENT_UNREADABLE, NO_DATA_SOURCE,
   * STORE_MISMATCH, JOB_RUNNING, OVERLOADED
   */
  estimate(modelId: string, request: RiskModelRequest, origin: Origin | null): Promise<JobStatus>;
  /**
   * Queues a validation of a stored model.
   * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE, INVALID_RANGE, VALIDATION_FAILED, NO_DATA_SOURCE,
   *   STORE_MISMATCH, JOB_RUNNING, OVERLOADED
   */
  validate(modelId: string, request: RiskValidationRequest, origin: Origin | null): Promise<JobStatus>;
  /** Deletes a stored model. @throws Refusal RISK_MODEL_NOT_FOUND, PRECONDITION_FAILED */
  remove(modelId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  /** Returns the result of a finished job as JSON. @throws Refusal DOCUMENT_UNREADABLE */
  result(value: unknown): Promise<ReadableStream<Uint8Array>>;
}

export function createRiskModels({
  documents,
  artifacts,
  jobs,
  kind,
  validation,
  dataVersions,
  stores,
  states,
  workers,
}: RiskModelsDependencies): RiskModels {
  const load = (modelId: string) => requireModel(documents, modelId);
  const { readMatrix, streamModel, streamImport } = createModelStreams({ artifacts, jobs });
  const { settle, readPayload, readTerms, storeOfRun } = createModelRequests({ documents, states });

  return {
    async list({ limit, after }) {
      const { documents: models, skipped, skipped_causes } = await documents.list('risk-model', readModel);
      const page = models
        .filter(({ model_id: id }) => after === undefined || compareText(id, after) > 0)
        .slice(0, limit);
      const readableModels: RiskModelDocument[] = [];
      for (const model of page) if (await hasNumbers(artifacts, model)) readableModels.push(model);
      const unreadableCount = page.length - readableModels.length;
      return {
        risk_models: readableModels.map(createSummary),
        ...addUnreadable({ skipped, skipped_causes }, unreadableCount),
      };
    },
    async get(modelId, date) {
      const { document, etag } = await load(modelId);
      const servedModel = findServedModel(document, date);
      await assertNumbers(artifacts, document); // reports errors before the first byte is sent
      return {
        etag,
        json: (signal) => streamModel(document, servedModel, signal),
        arrow: async (signal) =>
          jobs.query(
            'risk-model-arrow',
            {
              ...(await readMatrix(document, servedModel)),
              assetIds: servedModel.assetIds,
              body: selectSmallFields(document, servedModel),
            },
            signal,
          ),
      };
    },
    async exported(modelId, signal) {
      const { document, etag } = await load(modelId);
      await assertNumbers(artifacts, document);
      return { etag, json: streamImport(document, signal) };
    },
    async estimate(modelId, estimateRequest, origin) {
      const request = await settle(modelId, estimateRequest);
      return stores.within(await storeOfRun(findIndexId(request)), () =>
        estimateOnMarket(modelId, { requested: estimateRequest, request }, origin),
      );
    },
    async validate(modelId, request, origin) {
      assertOrder(request);
      const { document } = await load(modelId);
      const settings = requireEstimatedSettings(document);
      const estimatedOn = findIndexId(settings);
      const indexId = request.index_id ?? estimatedOn;
      return stores.within(await storeOfRun(indexId), async () => {
        const versionedMarket = await dataVersions.at(settings.as_known_on);
        assertModelStore(document, createModelUse(request, versionedMarket.served.identity.datasetId));
        assertHasDates(versionedMarket.served.market, request);
        return jobs.submit({
          kind: validation,
          payload: {
            model_id: modelId,
            request,
            model: { asset_ids: document.asset_ids, request: settings },
            terms: estimatedOn === null ? null : await readTerms(estimatedOn),
            index_id: indexId,
            ...selectVersion(settings, versionedMarket),
          },
          request,
          estimatedBytes: estimateMatrixMemory(versionedMarket.served.market, document.asset_ids.length),
          origin,
        });
      });
    },
    async remove(modelId, ifMatch, authorship) {
      await cancelEstimate({ documents, jobs }, modelId, ifMatch);
      await documents.transaction((tx) => deleteModel(tx, modelId, ifMatch), { by: authorship });
    },
    async result(value) {
      const document = readModel(value);
      if (document === undefined) throw new Refusal('DOCUMENT_UNREADABLE', 'The result of the job cannot be read.');
      await assertNumbers(artifacts, document);
      return streamModel(document, findServedModel(document));
    },
  };

  async function estimateOnMarket(
    modelId: string,
    { requested, request }: { readonly requested: RiskModelRequest; readonly request: RiskModelRequest },
    origin: Origin | null,
  ): Promise<JobStatus> {
    const { start, end } = request;
    assertOrder({ start, end });
    const versionedMarket = await dataVersions.at(request.as_known_on);
    const { market } = versionedMarket.served;
    assertHasDates(market, { start, end });
    const payload = await readPayload(modelId, request, market);
    return jobs.submit({
      kind,
      payload: { ...payload, ...selectVersion(request, versionedMarket) },
      request: requested,
      estimatedBytes: estimateModelMemory(payload, market, workers),
      origin,
    });
  }
}

/** Returns the use of a model by its validation, at the member of the request that selects the data store. */
const createModelUse = (request: RiskValidationRequest, storeId: string): ModelUseOnStore => ({
  storeId,
  path: request.index_id === null ? 'model_id' : 'index_id',
});

/**
 * Returns the settings of an estimated model, so that it can be estimated again. @throws Refusal VALIDATION_FAILED for
 * an imported model
 */
async function deleteModel(tx: DocumentTransaction, modelId: string, ifMatch: Precondition | undefined): Promise<void> {
  await assertPrecondition(tx, 'risk-model', modelId, ifMatch);
  if (!(await tx.delete('risk-model', modelId))) throw refuseMissingModel(modelId);
}

/** Cancels the estimate of a model that is deleted. Its end would store the model again. */
async function cancelEstimate(
  { documents, jobs }: Pick<RiskModelsDependencies, 'documents' | 'jobs'>,
  modelId: string,
  ifMatch: Precondition | undefined,
): Promise<void> {
  await assertPrecondition(documents, 'risk-model', modelId, ifMatch); // a refused request must not cancel the job
  const jobId = `risk:${modelId}`;
  if (await jobs.isLive(jobId)) await jobs.cancel(jobId);
}

function requireEstimatedSettings({ model_id: modelId, request }: RiskModelDocument): RiskModelRequest {
  if (request !== undefined) return request;
  const message = `The risk model ${modelId} was imported; a validation needs settings of an estimate.`;
  throw refuseWithFindings('request', [
    { severity: 'error', code: 'NOT_IN_CHOICES', path: 'model_id', message, value: modelId },
  ]);
}
