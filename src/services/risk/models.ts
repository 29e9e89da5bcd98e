import { callOnce } from '#base/once.js';
import type { RiskModelCollection, RiskModelView } from '#contract/risk-models.js';
import { compareText, type Finding, sortFindings } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { LIMITS } from '#domain/base/limits.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertHasDates, assertOrder } from '#domain/base/schema.js';
import { parseValidDay } from '#domain/base/time.js';
import type { IndexDocument, TreatmentSpec } from '#domain/definition/index-document.js';
import { reportUnreadFields } from '#domain/definition/optimisation.js';
import { listReferences } from '#domain/definition/references.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { RiskModelPayload, RiskValidationPayload } from '#domain/outputs/jobs.js';
import {
  assertFewSecurities,
  hasPanelForm,
  MODEL_PARTS,
  SINGLE_THREAD_SECURITIES_MAX,
} from '#domain/risk/estimation.js';
import { findPart, groupPartsByDate } from '#domain/risk/model-tables.js';
import {
  readModelSource,
  type RiskModelDocument,
  type RiskModelPart,
  RiskModelRequest,
  type RiskValidationRequest,
  toServedDiagnostics,
} from '#domain/risk/risk-models.js';
import type { JobKind } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { ResponseBytes } from '#jobs/tasks/messages.js';
import { getLookup } from '#market/serve/served-markets.js';
import type { DocumentTransaction } from '#store/port.js';
import { readRecordedClosures } from '../indices/calendars.js';
import { findIndex } from '../indices/documents.js';
import type { Context } from '../shared/context.js';
import { addUnreadable, assertPrecondition, type Precondition } from '../shared/documents.js';
import {
  assertModelStore,
  assertNumbers,
  type ModelUseOnStore,
  readModel,
  refuseMissingModel,
  requireModel,
  resolveMatrixPaths,
  selectIntactModels,
} from '../shared/model-documents.js';
import { requireRun } from '../shared/run-documents.js';
import { selectVersion } from '../stores/data-versions.js';

/**
 * Number of return panels per thread: the panel that was read, the panel in the engine's workspace, and the panel that
 * is cached for the next part.
 */
const PANELS_PER_THREAD = 3;

/**
 * Memory in bytes that a process needs for its first estimate: code, open files and messages. It does not depend on the
 * number of securities.
 */
const BEGIN_BYTES = 128 * 2 ** 20;

/** Maximum number of vectors that the search for eigenvalues uses. Each vector has one element per security. */
const EIGENVALUE_STEPS = 1_000;

/** Returns the memory of an estimate in bytes. If the estimate has parts, each thread holds its own panels. */
export function estimateModelMemory(
  { identifiers, request }: Pick<RiskModelPayload, 'identifiers' | 'request'>,
  market: Pick<MarketData, 'dates' | 'identifiers'>,
  workers: number,
): number {
  const names = identifiers?.length ?? market.identifiers.length;
  if (names <= SINGLE_THREAD_SECURITIES_MAX || !hasPanelForm(request.estimator))
    return estimateMatrixMemory(market, names);
  const sessions = identifiers === null ? market.dates.length : countDays(market, request);
  const vectors = names * (PANELS_PER_THREAD * sessions + EIGENVALUE_STEPS);
  return BEGIN_BYTES + 8 * workers * (vectors + (2 * names * names) / MODEL_PARTS);
}

/**
 * Returns the memory of a matrix estimate: the panel and its copy, the matrix and its packed copy, and the workspace
 * for eigenvalues.
 */
function estimateMatrixMemory({ dates }: Pick<MarketData, 'dates'>, names: number): number {
  return 64 * 2 ** 20 + 8 * (4 * dates.length * names + 1.75 * names * names);
}

function countDays({ dates }: Pick<MarketData, 'dates'>, { start, end }: RiskModelRequest): number {
  const from = start === null ? 0 : findFirstAtLeast(dates, parseValidDay(start));
  const to = end === null ? dates.length - 1 : findLastAtMost(dates, parseValidDay(end));
  return Math.max(0, to - from + 1);
}

/** Request with default values only. A request without a body means the same. */
const getDefaultsText = callOnce(() => toCanonicalJson(RiskModelRequest.parse({})));

/** Requests for risk estimates, and the stored documents that they refer to. */
function createModelRequests({ documents, states }: Context) {
  async function resolveRequest(modelId: string, request: RiskModelRequest): Promise<RiskModelRequest> {
    if (request.identifiers.length > 0 || request.index_id !== null) return request;
    const isAbsent = toCanonicalJson(request) === getDefaultsText();
    if (isAbsent && (await documents.get('risk-model', modelId)) !== undefined) {
      const { request: storedRequest } = (await requireModel(documents, modelId)).document;
      if (storedRequest !== undefined) return storedRequest;
    }
    throw new Refusal(
      'UNIVERSE_REQUIRED',
      `The risk model ${modelId} needs identifiers or an index_id (--identifiers or --index).`,
    );
  }

  /** Returns the payload of an estimate. @throws Refusal VALIDATION_FAILED, DOCUMENT_UNREADABLE, STORE_MISMATCH */
  async function readPayload(
    modelId: string,
    request: RiskModelRequest,
    market: MarketData,
  ): Promise<RiskModelPayload> {
    const runId = findIndexId(request);
    if (runId === null) {
      const identifiers = [...new Set(request.identifiers)].toSorted(compareText);
      assertFewSecurities(identifiers.length, 'identifiers');
      assertKnownSecurities(market, request.identifiers);
      return { model_id: modelId, request, identifiers, run: null };
    }
    return { model_id: modelId, request, identifiers: null, run: { run_id: runId, ...(await readTerms(runId)) } };
  }

  /** Returns the calendar, currency and treatment that the run of an index uses. */
  async function readTerms(runId: string) {
    const document = await readRunIndex(runId);
    const { calendar, currency } = document;
    const closures = await readRecordedClosures(documents);
    return { calendar, ...(closures && { closures }), currency, treatment: await readTreatment(document) };
  }

  async function readRunIndex(runId: string): Promise<IndexDocument> {
    const createFinding = (message: string) =>
      refuseWithFindings('request', [
        { severity: 'error', code: 'RUN_NOT_FOUND', message, path: 'index_id', value: runId },
      ]);
    if ((await documents.get('run', runId)) === undefined)
      throw createFinding(`${runId} has no stored run to take names from: run its backtest first.`);
    const run = await requireRun(documents, runId);
    await states.requireMarket(run); // Securities of another store would otherwise be missing without notice.
    const document = await findIndex(documents, run.index_id);
    if (document === undefined) throw createFinding(`The index of the run of ${runId} was deleted.`);
    return document;
  }

  /** Returns the treatment of an index. A derived index has the treatment of its source. */
  async function readTreatment(document: IndexDocument): Promise<TreatmentSpec> {
    if (document.pipeline) return document.pipeline.treatment;
    const [parentId] = listReferences(document);
    const parent = parentId === undefined ? undefined : await findIndex(documents, parentId);
    if (parent === undefined)
      throw new Refusal('INDEX_NOT_FOUND', `The index ${parentId}, from which ${document.id} derives, is not stored.`);
    return readTreatment(parent);
  }

  async function findStoreOfRun(indexId: string | null): Promise<string | undefined> {
    if (indexId === null) return undefined;
    await readRunIndex(indexId);
    return states.findStore(await requireRun(documents, indexId));
  }

  return {
    /**
     * Returns the request to use. A request with default values only stands for the stored request of the model.
     * @throws Refusal UNIVERSE_REQUIRED if there are neither securities nor an index
     */
    settle: resolveRequest,
    readPayload,
    readTerms,
    /**
     * Returns the store of the run of an index. The index's securities are estimated in that store. Returns undefined for
     * the store of the current call.
     */
    storeOfRun: findStoreOfRun,
  };
}

/**
 * Returns the index whose securities a model uses. Returns null if the request lists securities, because these have
 * priority.
 */
function findIndexId({ identifiers, index_id: indexId }: RiskModelRequest): string | null {
  return identifiers.length > 0 ? null : indexId;
}

/** Refuses securities that the store lacks, with one finding per security. @throws Refusal VALIDATION_FAILED */
function assertKnownSecurities(market: MarketData, identifiers: readonly string[]): void {
  const lookup = getLookup(market);
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

interface ServedModel {
  readonly date: string;
  /** Securities in the order of the model's matrix. */
  readonly assetIds: readonly string[];
  /** Position of the matrix in its file, counted in numbers. Absent if the file contains only one matrix. */
  readonly at?: number;
  /** Position of the factors in their file, counted in numbers. */
  readonly factorsAt: number;
}

/** Returns the models of a document in ascending order of dates. An estimated model has one date. */
function listServedModels({
  asset_ids: assetIds,
  observed_end: date,
  imported,
  factor_model: factorModel,
}: RiskModelDocument): ServedModel[] {
  if (imported === undefined) return [{ date, assetIds, factorsAt: 0 }];
  return groupPartsByDate(assetIds, imported.dates, factorModel?.factors.length ?? 0).map(({ names, ...part }) => ({
    ...part,
    assetIds: names,
  }));
}

/**
 * Returns the model that is valid on a date. If no date is given, returns the newest model. @throws Refusal
 * NO_DATA_AT_DATE, VALIDATION_FAILED
 */
function findServedModel(document: RiskModelDocument, date?: string): ServedModel {
  const { model_id: modelId, imported } = document;
  const models = listServedModels(document);
  const newestModel = models.at(-1)!; // a document has at least one model
  if (date === undefined) return newestModel;
  if (imported === undefined) {
    const message = `The risk model ${modelId} is estimated, and has one matrix; date is read with an imported model.`;
    throw refuseWithFindings('query', [
      { severity: 'error', code: 'UNKNOWN_FIELD', path: 'date', message, value: date },
    ]);
  }
  const result = findPart(models, date);
  if (result !== undefined) return result;
  const message = `The risk model ${modelId} begins on ${models[0]!.date}; it has no model of ${date}.`;
  throw new Refusal('NO_DATA_AT_DATE', message, { model_id: modelId, first_date: models[0]!.date });
}

/** Returns the settings of an export. The numbers of an export are annual. */
const createExportTerms = ({ imported }: RiskModelDocument) => ({
  units: 'annual',
  annualisation: imported?.annualisation ?? LIMITS.PERIODS_PER_YEAR,
  repair: false,
});

function createStream(chunks: AsyncGenerator<Uint8Array, undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void chunks.return(undefined),
  });
}

/** Number of matrix elements that are written at a time. They make a chunk of about 2 MB. */
const NUMBERS_PER_PART = 100_000;

function createSummary(document: RiskModelDocument): RiskModelCollection['risk_models'][number] {
  const {
    model_id,
    diagnostics,
    request,
    factor_model: factorModel,
    observed_start,
    observed_end,
    store_id,
  } = document;
  const { assets, average_correlation, observations, positive_semi_definite } = diagnostics;
  return {
    model_id,
    estimator: readModelSource(document),
    index_id: request?.index_id ?? null,
    store_id: store_id ?? null,
    observed_start,
    observed_end,
    factors: factorModel?.factors.length ?? null,
    assets,
    average_correlation,
    observations,
    positive_semi_definite,
  };
}

/** Members of the view that are written piece by piece. */
type StreamedMember = 'asset_ids' | 'correlation' | 'covariance' | 'volatilities';

/** Findings of the domain. The API returns them unchanged. */
type ServedFindings<T> = Omit<T, 'findings'> & { readonly findings: readonly Finding[] };

/** Returns the members of the view that are not streamed. */
function selectSmallFields(
  {
    model_id,
    diagnostics,
    factor_model: factorModel,
    imported,
    findings = [],
    request,
    excluded,
    store_id,
    observed_start,
    observed_end,
    content_hash,
    precision,
  }: RiskModelDocument,
  { date }: ServedModel,
): ServedFindings<Omit<RiskModelView, StreamedMember>> {
  const unreadFindings = request === undefined ? [] : reportUnreadFields(request);
  return {
    model_id,
    diagnostics: toServedDiagnostics(diagnostics),
    ...(factorModel === undefined ? {} : { factor_model: factorModel }),
    ...(imported === undefined ? {} : { imported, date }),
    start: request?.start ?? null,
    end: request?.end ?? null,
    excluded,
    findings: sortFindings([...unreadFindings, ...findings]),
    store_id: store_id ?? null,
    observed_start,
    observed_end,
    content_hash,
    precision,
  };
}

/** Yields the JSON text of a view in pieces: its start, the rows of both frames, and its end. */
async function* streamPieces(
  document: RiskModelDocument,
  servedModel: ServedModel,
  write: (part: RiskModelPart) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder();
  const { assetIds } = servedModel;
  const ids = JSON.stringify(assetIds);
  const step = Math.max(1, Math.floor(NUMBERS_PER_PART / assetIds.length));
  yield encoder.encode(`{"model_id":${JSON.stringify(document.model_id)},"asset_ids":${ids}`);
  for (const part of ['correlation', 'covariance'] as const) {
    yield encoder.encode(`,"${part}":{"index":${ids},"columns":${ids},"data":[`);
    for (let from = 0; from < assetIds.length; from += step) {
      if (from > 0) yield encoder.encode(',');
      yield await write({ part, from, to: Math.min(from + step, assetIds.length) });
    }
    yield encoder.encode(']}');
  }
  yield encoder.encode(',"volatilities":');
  yield await write({ part: 'volatilities', assetIds });
  const { model_id: _, ...rest } = selectSmallFields(document, servedModel);
  yield encoder.encode(`,${toCanonicalJson(rest).slice(1)}`);
  return undefined;
}

/** Streams of stored models. Threads generate the parts of a stream while it is read. */
function createModelStreams({ artifacts, jobs }: Context) {
  /** Returns the files with a model's covariance. They are an input of tasks. */
  const readMatrix = async ({ covariance }: RiskModelDocument, { assetIds, at }: ServedModel) => ({
    paths: await resolveMatrixPaths(artifacts, covariance),
    order: assetIds.length,
    ...(at === undefined ? {} : { at }),
  });

  /** Returns a RiskModelView as JSON. */
  function streamModel(
    document: RiskModelDocument,
    servedModel: ServedModel,
    signal?: AbortSignal,
  ): ReadableStream<Uint8Array> {
    const write = async (part: RiskModelPart) =>
      (await jobs.query('risk-model-part', { ...(await readMatrix(document, servedModel)), part }, signal)).bytes;
    return createStream(streamPieces(document, servedModel, write));
  }

  async function* importPieces(
    document: RiskModelDocument,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, undefined> {
    const { factors, factor_model: factorModel } = document;
    const encoder = new TextEncoder();
    yield encoder.encode(`${toCanonicalJson(createExportTerms(document)).slice(0, -1)},"models":[`);
    for (const [k, served] of listServedModels(document).entries()) {
      const ownFiles =
        factors === undefined || factorModel === undefined
          ? null
          : {
              path: await artifacts.file(factors),
              at: served.factorsAt,
              names: factorModel.factors.map(({ factor }) => factor),
            };
      const input = {
        ...(await readMatrix(document, served)),
        date: served.date,
        names: served.assetIds,
        factors: ownFiles,
      };
      if (k > 0) yield encoder.encode(',');
      yield (await jobs.query('export-risk-model', input, signal)).bytes;
    }
    yield encoder.encode(']}');
    return undefined;
  }

  return {
    readMatrix,
    streamModel,
    /** Returns a model in the import format, one date after another. */
    streamImport: (document: RiskModelDocument, signal?: AbortSignal): ReadableStream<Uint8Array> =>
      createStream(importPieces(document, signal)),
  };
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
  estimate(modelId: string, request: RiskModelRequest, origin: JobOrigin | null): Promise<JobStatus>;
  /**
   * Queues a validation of a stored model.
   * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE, INVALID_RANGE, VALIDATION_FAILED, NO_DATA_SOURCE,
   *   STORE_MISMATCH, JOB_RUNNING, OVERLOADED
   */
  validate(modelId: string, request: RiskValidationRequest, origin: JobOrigin | null): Promise<JobStatus>;
  /** Deletes a stored model. @throws Refusal RISK_MODEL_NOT_FOUND, PRECONDITION_FAILED */
  remove(modelId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  /** Returns the result of a finished job as JSON. @throws Refusal DOCUMENT_UNREADABLE */
  result(value: unknown): Promise<ReadableStream<Uint8Array>>;
}

export function createRiskModels(
  context: Context,
  kind: JobKind<RiskModelPayload>,
  validation: JobKind<RiskValidationPayload>,
): RiskModels {
  const { documents, artifacts, jobs, dataVersions, stores, workers } = context;
  const load = (modelId: string) => requireModel(documents, modelId);
  const { readMatrix, streamModel, streamImport } = createModelStreams(context);
  const { settle, readPayload, readTerms, storeOfRun } = createModelRequests(context);

  return {
    async list({ limit, after }) {
      const {
        documents: models,
        skipped,
        skipped_causes,
      } = await documents.list('risk-model', (body, _, { updatedAt }) => {
        const model = readModel(body);
        return model && { model, writtenAt: Date.parse(updatedAt) };
      });
      const page = models
        .filter(({ model: { model_id: id } }) => after === undefined || compareText(id, after) > 0)
        .slice(0, limit);
      const readableModels = await selectIntactModels(artifacts, page);
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
      const isCancelled = await cancelEstimate(context, modelId, ifMatch);
      await documents.transaction((tx) => deleteModel(tx, { modelId, isCancelled }, ifMatch), { by: authorship });
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
    origin: JobOrigin | null,
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

const createModelUse = (request: RiskValidationRequest, storeId: string): ModelUseOnStore => ({
  storeId,
  path: request.index_id === null ? 'model_id' : 'index_id',
});

/**
 * Returns the settings of an estimated model, so that it can be estimated again. @throws Refusal VALIDATION_FAILED for
 * an imported model
 */
async function deleteModel(
  tx: DocumentTransaction,
  { modelId, isCancelled }: { readonly modelId: string; readonly isCancelled: boolean },
  ifMatch: Precondition | undefined,
): Promise<void> {
  await assertPrecondition(tx, 'risk-model', modelId, ifMatch);
  // A model whose first estimate was cancelled has no document yet.
  if (!(await tx.delete('risk-model', modelId)) && !isCancelled) throw refuseMissingModel(modelId);
}

/**
 * Cancels the estimate of a model that is deleted. Its end would store the model again.
 * @returns true if there was an estimate
 */
async function cancelEstimate(
  { documents, jobs }: Context,
  modelId: string,
  ifMatch: Precondition | undefined,
): Promise<boolean> {
  await assertPrecondition(documents, 'risk-model', modelId, ifMatch); // a refused request must not cancel the job
  const jobId = `risk:${modelId}`;
  if (!(await jobs.isLive(jobId))) return false;
  await jobs.cancel(jobId);
  return true;
}

function requireEstimatedSettings({ model_id: modelId, request }: RiskModelDocument): RiskModelRequest {
  if (request !== undefined) return request;
  const message = `The risk model ${modelId} was imported; a validation needs settings of an estimate.`;
  throw refuseWithFindings('request', [
    { severity: 'error', code: 'NOT_IN_CHOICES', path: 'model_id', message, value: modelId },
  ]);
}
