import { callOnce } from '#base/once.js';
import type { RiskModelCollection } from '#contract/risk-models.js';
import { assertOrder, assertHeld } from '#domain/schema/assert-order.js';
import { listReferences } from '#domain/checks/validate-reference.js';
import { assertFewSecurities } from '#domain/risk/model-parts.js';
import { RiskModelRequest, type RiskModelDocument } from '#domain/risk/risk-model-document.js';
import type { RiskValidationRequest } from '#domain/risk/validation/risk-validation-request.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { compareText, type Finding } from '#domain/refusals/findings.js';
import type { IndexDocument, TreatmentSpec } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { RiskModelPart } from '#domain/risk/risk-model-part.js';
import type { JobKind, Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { AnswerBytes } from '#jobs/tasks/files.js';
import { lookupOf } from '#market/serving/market-lookup.js';
import type { ArtifactStore, DocumentStore, DocumentTransaction } from '#store/port.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';
import type { RiskModelPayload, RiskValidationPayload } from '#domain/jobs/payloads.js';
import { versionOf, type DataVersions } from '../datasets/data-versions.js';
import { requireRun } from '../stored/run-documents.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import type { RunStates } from '../runs/run-states.js';
import { readRecordedClosures } from '../stored/recorded-closures.js';
import { findIndex } from '../stored/stored-indices.js';
import { addUnreadable } from '../shared/skipped.js';
import { memoryOfEstimate, memoryOfMatrix } from './model-memory.js';
import {
  exportTerms,
  piecesOf,
  listServedModels,
  findServedModel,
  selectSmallFields,
  streamOf,
  summaryOf,
  type ServedModel,
} from './risk-model-views.js';
import { matrixPaths } from '../stored/matrix-paths.js';
import { assertNumbers, hasNumbers, modelNotFound, readModel, requireModel } from '../stored/used-models.js';

export interface RiskModelsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly jobs: Jobs;
  readonly kind: JobKind<RiskModelPayload>;
  readonly validation: JobKind<RiskValidationPayload>;
  readonly dataVersions: Pick<DataVersions, 'at'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly states: Pick<RunStates, 'requireMarket' | 'storeOf'>;
  /** Threads of the pool. */
  readonly workers: number;
}

/** A stored model as a response. */
export interface RiskModelReading {
  readonly etag: string;
  /** Returns RiskModelView as JSON, generated while it is read. */
  json(signal?: AbortSignal): ReadableStream<Uint8Array>;
  /** Returns the covariance as an Arrow stream. */
  arrow(signal?: AbortSignal): Promise<AnswerBytes>;
}

export interface RiskModels {
  list(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<RiskModelCollection>;
  /**
   * @param date of an imported model: the model in force on it; default: the latest
   * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE, NO_DATA_AT_DATE, VALIDATION_FAILED
   */
  get(modelId: string, date?: string): Promise<RiskModelReading>;
  /** Returns a model as an import reads it. @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE */
  exported(
    modelId: string,
    signal?: AbortSignal,
  ): Promise<{ readonly etag: string; readonly json: ReadableStream<Uint8Array> }>;
  /**
   * Queues an estimate after every check that needs no returns.
   * @throws Refusal UNIVERSE_REQUIRED, INVALID_RANGE, VALIDATION_FAILED, DOCUMENT_UNREADABLE, NO_DATA_SOURCE,
   *   STORE_MISMATCH, JOB_RUNNING, OVERLOADED
   */
  estimate(modelId: string, request: RiskModelRequest, origin: Origin | null): Promise<JobStatus>;
  /**
   * Queues a validation of a stored model.
   * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE, INVALID_RANGE, VALIDATION_FAILED, NO_DATA_SOURCE,
   *   STORE_MISMATCH, JOB_RUNNING, OVERLOADED
   */
  validate(modelId: string, request: RiskValidationRequest, origin: Origin | null): Promise<JobStatus>;
  /** @throws Refusal RISK_MODEL_NOT_FOUND, PRECONDITION_FAILED */
  remove(modelId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  /** Returns the result of a finished job as JSON. @throws Refusal DOCUMENT_UNREADABLE */
  result(value: unknown): Promise<ReadableStream<Uint8Array>>;
}

/** The request of an absent body. */
const defaultsText = callOnce(() => toCanonicalJson(RiskModelRequest.parse({})));

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

  const matrixOf = async ({ covariance }: RiskModelDocument, { assetIds, at }: ServedModel) => ({
    paths: await matrixPaths(artifacts, covariance),
    order: assetIds.length,
    ...(at === undefined ? {} : { at }),
  });

  function json(document: RiskModelDocument, served: ServedModel, signal?: AbortSignal): ReadableStream<Uint8Array> {
    const write = async (part: RiskModelPart) =>
      (await jobs.query('risk-model-part', { ...(await matrixOf(document, served)), part }, signal)).bytes;
    return streamOf(piecesOf(document, served, write));
  }

  /** Returns a model as an import reads it, date by date. */
  async function* importPieces(
    document: RiskModelDocument,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, undefined> {
    const { factors, factor_model: told } = document;
    const encoder = new TextEncoder();
    yield encoder.encode(`${toCanonicalJson(exportTerms(document)).slice(0, -1)},"models":[`);
    for (const [k, served] of listServedModels(document).entries()) {
      const own =
        factors === undefined || told === undefined
          ? null
          : {
              path: await artifacts.file(factors),
              at: served.factorsAt,
              names: told.factors.map(({ factor }) => factor),
            };
      const input = { ...(await matrixOf(document, served)), date: served.date, names: served.assetIds, factors: own };
      if (k > 0) yield encoder.encode(',');
      yield (await jobs.query('export-risk-model', input, signal)).bytes;
    }
    yield encoder.encode(']}');
    return undefined;
  }

  /** Returns a new request without securities repeats the stored one, unless it differs otherwise. */
  async function settle(modelId: string, request: RiskModelRequest): Promise<RiskModelRequest> {
    if (request.identifiers.length > 0 || request.index_id !== null) return request;
    const isAbsent = toCanonicalJson(request) === defaultsText();
    if (isAbsent && (await documents.get('risk-model', modelId)) !== undefined) {
      const { request: earlier } = (await load(modelId)).document;
      if (earlier !== undefined) return earlier;
    }
    throw new Refusal(
      'UNIVERSE_REQUIRED',
      `The risk model ${modelId} needs identifiers or an index_id (--identifiers or --index).`,
    );
  }

  async function payloadOf(modelId: string, request: RiskModelRequest, market: MarketData): Promise<RiskModelPayload> {
    const runId = indexOf(request);
    if (runId === null) {
      const identifiers = [...new Set(request.identifiers)].toSorted(compareText);
      assertFewSecurities(identifiers.length, 'identifiers');
      assertKnown(market, request.identifiers);
      return { model_id: modelId, request, identifiers, run: null };
    }
    return { model_id: modelId, request, identifiers: null, run: { run_id: runId, ...(await termsOf(runId)) } };
  }

  async function termsOf(runId: string) {
    const document = await indexOfRun(runId);
    const { calendar, currency } = document;
    const closures = await readRecordedClosures(documents);
    return { calendar, ...(closures && { closures }), currency, treatment: await treatmentOf(document) };
  }

  async function indexOfRun(runId: string): Promise<IndexDocument> {
    const finding = (message: string) =>
      refuseWithFindings('request', [
        { severity: 'error', code: 'RUN_NOT_FOUND', message, path: 'index_id', value: runId },
      ]);
    if ((await documents.get('run', runId)) === undefined)
      throw finding(`${runId} has no stored run to take names from: run its backtest first.`);
    const run = await requireRun(documents, runId);
    await states.requireMarket(run); // Names of another store would be missing without a word.
    const document = await findIndex(documents, run.index_id);
    if (document === undefined) throw finding(`The index of the run of ${runId} was deleted.`);
    return document;
  }

  /** A derived index has the treatment of its source. */
  async function treatmentOf(document: IndexDocument): Promise<TreatmentSpec> {
    if (document.pipeline) return document.pipeline.treatment;
    const [parentId] = listReferences(document);
    const parent = parentId === undefined ? undefined : await findIndex(documents, parentId);
    if (parent === undefined)
      throw new Refusal('INDEX_NOT_FOUND', `The index ${parentId}, from which ${document.id} derives, is not stored.`);
    return treatmentOf(parent);
  }

  return {
    async list({ limit, after }) {
      const { documents: models, skipped, skipped_causes } = await documents.list('risk-model', readModel);
      const page = models
        .filter(({ model_id: id }) => after === undefined || compareText(id, after) > 0)
        .slice(0, limit);
      const readable: RiskModelDocument[] = [];
      for (const model of page) if (await hasNumbers(artifacts, model)) readable.push(model);
      const lost = page.length - readable.length;
      return { risk_models: readable.map(summaryOf), ...addUnreadable({ skipped, skipped_causes }, lost) };
    },
    async get(modelId, date) {
      const { document, etag } = await load(modelId);
      const served = findServedModel(document, date);
      await assertNumbers(artifacts, document); // Before the first byte is out.
      return {
        etag,
        json: (signal) => json(document, served, signal),
        arrow: async (signal) =>
          jobs.query(
            'risk-model-arrow',
            {
              ...(await matrixOf(document, served)),
              assetIds: served.assetIds,
              body: selectSmallFields(document, served),
            },
            signal,
          ),
      };
    },
    async exported(modelId, signal) {
      const { document, etag } = await load(modelId);
      await assertNumbers(artifacts, document);
      return { etag, json: streamOf(importPieces(document, signal)) };
    },
    async estimate(modelId, asked, origin) {
      const request = await settle(modelId, asked);
      return stores.within(await storeOfRun(indexOf(request)), () => estimateOn(modelId, { asked, request }, origin));
    },
    async validate(modelId, request, origin) {
      const { start, end } = request;
      assertOrder({ start, end });
      const { document } = await load(modelId);
      const settings = estimatedBy(document);
      const estimatedOn = indexOf(settings);
      const indexId = request.index_id ?? estimatedOn;
      return stores.within(await storeOfRun(indexId), async () => {
        const known = await dataVersions.at(settings.as_known_on);
        assertHeld(known.served.market, { start, end });
        return jobs.submit({
          kind: validation,
          payload: {
            model_id: modelId,
            request,
            model: { asset_ids: document.asset_ids, request: settings },
            terms: estimatedOn === null ? null : await termsOf(estimatedOn),
            index_id: indexId,
            ...versionOf(settings, known),
          },
          request,
          estimatedBytes: memoryOfMatrix(known.served.market, document.asset_ids.length),
          origin,
        });
      });
    },
    async remove(modelId, ifMatch, by) {
      const forget = async (tx: DocumentTransaction): Promise<void> => {
        await assertPrecondition(tx, 'risk-model', modelId, ifMatch);
        if (!(await tx.delete('risk-model', modelId))) throw modelNotFound(modelId);
      };
      await documents.transaction(forget, { by });
    },
    async result(value) {
      const document = readModel(value);
      if (document === undefined) throw new Refusal('DOCUMENT_UNREADABLE', 'The result of the job cannot be read.');
      await assertNumbers(artifacts, document);
      return json(document, findServedModel(document));
    },
  };

  /**
   * Returns the store of the run of an index, on which its securities are estimated; undefined for the store of the
   * call.
   */
  async function storeOfRun(indexId: string | null): Promise<string | undefined> {
    if (indexId === null) return undefined;
    await indexOfRun(indexId);
    return states.storeOf(await requireRun(documents, indexId));
  }

  async function estimateOn(
    modelId: string,
    { asked, request }: { readonly asked: RiskModelRequest; readonly request: RiskModelRequest },
    origin: Origin | null,
  ): Promise<JobStatus> {
    const { start, end } = request;
    assertOrder({ start, end });
    const known = await dataVersions.at(request.as_known_on);
    const { market } = known.served;
    assertHeld(market, { start, end });
    const payload = await payloadOf(modelId, request, market);
    return jobs.submit({
      kind,
      payload: { ...payload, ...versionOf(request, known) },
      request: asked,
      estimatedBytes: memoryOfEstimate(payload, market, workers),
      origin,
    });
  }
}

/** The index whose names a model has; null if the request lists them, which takes precedence. */
function indexOf({ identifiers, index_id: indexId }: RiskModelRequest): string | null {
  return identifiers.length > 0 ? null : indexId;
}

/** Settings that an estimated model can be estimated by again. @throws Refusal VALIDATION_FAILED of an imported one */
function estimatedBy({ model_id: modelId, request }: RiskModelDocument): RiskModelRequest {
  if (request !== undefined) return request;
  const message = `The risk model ${modelId} was imported; a validation needs settings of an estimate.`;
  throw refuseWithFindings('request', [
    { severity: 'error', code: 'NOT_IN_CHOICES', path: 'model_id', message, value: modelId },
  ]);
}

/** @throws Refusal VALIDATION_FAILED with one finding for each name that the store does not hold */
function assertKnown(market: MarketData, identifiers: readonly string[]): void {
  const lookup = lookupOf(market);
  const findings = identifiers.flatMap((identifier, i): Finding[] => {
    if (lookup.positionOf(identifier) !== undefined) return [];
    return [
      {
        severity: 'error',
        code: 'UNKNOWN_IDENTIFIER',
        message: `The data contains no prices for ${identifier}.`,
        path: `identifiers[${i}]`,
        value: identifier,
      },
    ];
  });
  if (findings.length > 0) throw refuseWithFindings('request', findings);
}
