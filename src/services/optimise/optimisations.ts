import type { Context } from '../shared/context.js';
import { createTimedId } from '../shared/jobs.js';
import { countRetainedBytes } from '#base/memory.js';
import { callOnce } from '#base/once.js';
import type { ConstraintSetCollection, ConstraintTypes, ObjectiveTypes } from '#contract/optimise.js';
import { compareText, type Finding, hasErrors, reportFindings } from '#domain/base/findings.js';
import { findFirstAtLeast } from '#domain/base/numbers.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertHasDates, assertOrder } from '#domain/base/schema.js';
import { parseValidDay } from '#domain/base/time.js';
import { type PlannedModels, readStoredModelId, toPlannedModel } from '#domain/definition/backtest-plan.js';
import { checkConstraintSet, type ConstraintSet, readConstraintSet } from '#domain/definition/constraint-sets.js';
import { listConstraintSpecs } from '#domain/definition/constraints.js';
import { listReturnsSpecs } from '#domain/definition/expected-returns.js';
import { checkConstraintFields, checkSpecFields } from '#domain/definition/field-uses.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import { assertDecides, checkOnMarket, findUnknownRowSecurities } from '#domain/definition/index-validation.js';
import { listObjectiveSpecs } from '#domain/definition/objectives.js';
import {
  OptimisationDocument,
  type OptimisationRequest,
  readOptimisationPreview,
  readOptimisationRequest,
} from '#domain/definition/optimisation-requests.js';
import { type OptimisationSpec, reportMissingReturns } from '#domain/definition/optimisation.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { OptimisationPayload } from '#domain/outputs/jobs.js';
import { listSettingsRead, readModelSource, type RiskMeasureModel } from '#domain/risk/risk-models.js';
import { type Attempt, createJobKind, type JobKind } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { PortableTaskName } from '#jobs/tasks/catalogue.js';
import type { OptimiseOutput } from '#jobs/tasks/indices.js';
import type { Markets, ServedMarket } from '#market/serve/served-markets.js';
import { findVersionByEtag } from '#store/history/history.js';
import {
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  parseStored,
  readStoredBody,
  type StoredDocument,
} from '#store/port.js';
import { requireIndex, resolveReached, runOnStoreOf, type StoredIndex } from '../indices/documents.js';
import { addVersion } from '../indices/questions.js';
import { assertIdOfPath, assertPrecondition, listTakenIdFindings, type Precondition } from '../shared/documents.js';
import {
  findModelFile,
  listOptimisedModels,
  planModels,
  requireModel,
  requireModelOnStore,
  resolveModelFiles,
} from '../shared/model-documents.js';

type Reader = Pick<DocumentReader, 'get'>;
type ComputedRequest = Pick<OptimisationRequest, 'as_of' | 'start' | 'end'> & OptimisationSpec;

/** Checks for the data that an optimisation needs. They run before any work starts. */
export function createOptimisationPlans({ documents, markets, calendars }: Context) {
  /** Returns an index and its documents. If the served market lacks data, that is an error before any work starts. */
  async function readReachedOn({ document }: StoredIndex, market: MarketData) {
    const reachedDocuments = await resolveReached(documents, document);
    for (const indexDocument of Object.values(reachedDocuments))
      assertNoErrors(
        `index document ${indexDocument.id}`,
        checkOnMarket(indexDocument, market, { severity: 'error', indexOf: (id) => reachedDocuments[id] }),
      );
    return reachedDocuments;
  }

  /** Checks the dates of a request. @throws Refusal VALIDATION_FAILED, INVALID_RANGE, NO_DATA_IN_RANGE */
  function assertRequest(request: ComputedRequest, market: MarketData): void {
    assertOrder(request);
    assertHasDates(market, request);
    assertNoErrors('request', checkSpecFields(request, market, { path: '', severity: 'error' }));
  }

  /** Checks that the index can have a rebalance on or before a day. @throws Refusal NO_DATA_AT_DATE */
  function assertReached(document: IndexDocument, asOf: string | null, market: MarketData): void {
    if (asOf === null) return;
    const calendar = calendars.get(document.calendar);
    const from = Math.max(parseValidDay(document.base_date), market.dates[0] ?? 0);
    const firstSession = calendar?.sessions[findFirstAtLeast(calendar.sessions, from)];
    if (firstSession !== undefined && firstSession <= parseValidDay(asOf)) return;
    throw new Refusal('NO_DATA_AT_DATE', `The index ${document.id} has no rebalance on or before ${asOf}.`, {
      as_of: asOf,
    });
  }

  return {
    /**
     * Returns an index and all documents that it refers to. @throws Refusal VALIDATION_FAILED if the market lacks data
     */
    reachedOn: readReachedOn,
    assertRequest,
    /**
     * Returns a market that has the data for the index of a request, and all documents that the index refers to.
     * @throws Refusal VALIDATION_FAILED, INVALID_RANGE, NO_DATA_IN_RANGE, NO_DATA_AT_DATE, NO_DATA_SOURCE
     */
    async prepare(
      target: StoredIndex,
      request: ComputedRequest,
    ): Promise<ServedMarket & { readonly reached: Readonly<Record<string, IndexDocument>> }> {
      assertOrder(request);
      const servedMarket = markets.require();
      const { market } = servedMarket;
      assertHasDates(market, request);
      const reachedDocuments = await readReachedOn(target, market);
      assertRequest(request, market);
      assertReached(target.document, request.as_of, market);
      return { ...servedMarket, reached: reachedDocuments };
    },
    /**
     * Checks the rows of a stored constraint set. A row is an error if it is invalid or if it needs data that the market
     * lacks.
     */
    assertRows(constraintSet: ConstraintSet, market: MarketData): void {
      assertNoErrors(`constraint set ${constraintSet.id}`, [
        ...checkConstraintSet(constraintSet).findings,
        ...checkConstraintFields(constraintSet.constraints, market, { path: 'constraints', severity: 'error' }),
      ]);
    },
    /**
     * Returns the stored risk models that requests and their documents use.
     * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED
     */
    async readModels(
      requests: readonly OptimisationRequest[],
      {
        reached: reachedDocuments,
        storeId,
      }: { readonly reached: Readonly<Record<string, IndexDocument>>; readonly storeId: string },
    ): Promise<{ readonly models?: PlannedModels }> {
      const modelPlan = await planModels(documents, reachedDocuments, storeId);
      const modelIds = new Set(requests.flatMap((request) => readStoredModelId(request) ?? []));
      if (modelIds.size === 0) return modelPlan;
      const ownModels = await Promise.all(
        [...modelIds].map(
          async (id) => [id, toPlannedModel(await requireModelOnStore(documents, id, storeId))] as const,
        ),
      );
      return { models: { ...modelPlan.models, ...Object.fromEntries(ownModels) } };
    },
  };
}

/** Returns an index if its weights can be optimised. @throws Refusal INDEX_NOT_FOUND, VALIDATION_FAILED */
export async function requireTarget(documents: Reader, indexId: string): Promise<StoredIndex> {
  const storedIndex = await requireIndex(documents, indexId);
  assertDecides(storedIndex.document);
  return storedIndex;
}

/** Returns a stored constraint set. @throws Refusal CONSTRAINT_SET_NOT_FOUND, DOCUMENT_UNREADABLE */
export async function requireSet(
  documents: Reader,
  setId: string,
): Promise<{ readonly set: ConstraintSet; readonly etag: string }> {
  const storedDocument = await documents.get('constraint-set', setId);
  if (storedDocument === undefined) throw refuseMissingSet(setId);
  const constraintSet = readStoredBody(storedDocument, readConstraintSet);
  if (constraintSet === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The constraint set ${setId} cannot be read; it can still be deleted.`);
  return { set: constraintSet, etag: (storedDocument as StoredDocument).etag }; // readable, because its document was readable
}

function refuseMissingSet(setId: string): Refusal {
  return new Refusal('CONSTRAINT_SET_NOT_FOUND', `No constraint set is stored under the id ${setId}.`, {
    constraint_set_id: setId,
  });
}

/**
 * Estimates the memory of an optimisation. It needs the growth factors twice, and a few matrices over the securities of
 * a large index.
 */
export function estimateOptimisationBytes({ dates, identifiers }: MarketData): number {
  const names = Math.min(identifiers.length, 3000);
  return 128 * 2 ** 20 + 2 * countRetainedBytes(8 * dates.length * identifiers.length) + 8 * 4 * names * names;
}

type Body = Readonly<Record<string, unknown>>;

export interface SavedSet {
  readonly saved: { readonly constraint_set: ConstraintSet; readonly findings: readonly Finding[] };
  readonly etag: string;
}

interface ConstraintSets {
  listSets(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<ConstraintSetCollection>;
  /** Returns a constraint set. @throws Refusal CONSTRAINT_SET_NOT_FOUND, DOCUMENT_UNREADABLE */
  getSet(setId: string): Promise<{ readonly set: ConstraintSet; readonly etag: string }>;
  /** Creates a constraint set. @throws Refusal VALIDATION_FAILED */
  createSet(body: Body, by?: Authorship): Promise<SavedSet>;
  /** Creates or replaces a constraint set. @throws Refusal ID_MISMATCH, VALIDATION_FAILED, PRECONDITION_FAILED */
  replaceSet(setId: string, body: Body, ifMatch: Precondition | undefined, by?: Authorship): Promise<SavedSet>;
  /** Deletes a constraint set. @throws Refusal CONSTRAINT_SET_NOT_FOUND, PRECONDITION_FAILED */
  removeSet(setId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  validateSet(body: Body): { readonly valid: boolean; readonly findings: readonly Finding[] };
}

function createConstraintSets(documents: DocumentStore, markets: Pick<Markets, 'current'>): ConstraintSets {
  async function save(
    body: Body,
    allow: (tx: DocumentTransaction) => Promise<readonly Finding[]>,
    authorship: Authorship | undefined,
  ): Promise<SavedSet> {
    const write = async (tx: DocumentTransaction): Promise<SavedSet> => {
      const ownFindings = await allow(tx);
      const { set, findings } = checkConstraintSet(body);
      const allFindings = reportFindings([...ownFindings, ...findings, ...listMarketWarnings(set)]);
      if (set === undefined || hasErrors(allFindings)) throw refuseWithFindings('constraint set', allFindings);
      return {
        saved: { constraint_set: set, findings: allFindings },
        etag: await tx.put('constraint-set', set.id, set),
      };
    };
    return documents.transaction(write, { by: authorship });
  }

  /**
   * Returns warnings about data that the served market lacks. A set can still be saved, because another store may have
   * the data.
   */
  function listMarketWarnings(constraintSet: ConstraintSet | undefined): Finding[] {
    const market = markets.current()?.market;
    return constraintSet === undefined || market === undefined
      ? []
      : [
          ...checkConstraintFields(constraintSet.constraints, market, { path: 'constraints', severity: 'warning' }),
          ...findUnknownRowSecurities(constraintSet.constraints, market, 'constraints'),
        ];
  }

  return {
    getSet: (setId) => requireSet(documents, setId),
    async listSets({ limit, after }) {
      const { documents: sets, skipped, skipped_causes } = await documents.list('constraint-set', readConstraintSet);
      const remainingSets = sets.filter(({ id }) => after === undefined || compareText(id, after) > 0);
      return {
        constraint_sets: remainingSets.slice(0, limit ?? remainingSets.length),
        skipped,
        skipped_causes: { ...skipped_causes },
      };
    },
    createSet(body, authorship) {
      return save(
        body,
        (tx) => listTakenIdFindings(tx, { kind: 'constraint-set', name: 'A constraint set', id: body['id'] }),
        authorship,
      );
    },
    replaceSet(setId, body, ifMatch, authorship) {
      assertIdOfPath(setId, body);
      const checkPrecondition = async (tx: DocumentTransaction): Promise<readonly Finding[]> => {
        await assertPrecondition(tx, 'constraint-set', setId, ifMatch);
        return [];
      };
      return save(body, checkPrecondition, authorship);
    },
    async removeSet(setId, ifMatch, authorship) {
      const deleteSet = async (tx: DocumentTransaction): Promise<void> => {
        await assertPrecondition(tx, 'constraint-set', setId, ifMatch);
        if (!(await tx.delete('constraint-set', setId))) throw refuseMissingSet(setId);
      };
      await documents.transaction(deleteSet, { by: authorship });
    },
    validateSet(body) {
      const { set, findings } = checkConstraintSet(body);
      return { valid: set !== undefined, findings: reportFindings([...findings, ...listMarketWarnings(set)]) };
    },
  };
}

/** Creates the kind of job that runs an optimisation. The transaction that ends the job stores the result. */
export function createOptimisationJob(context: Context): JobKind<OptimisationPayload> {
  return createJobKind('optimise', async (payload, attempt) => {
    await context.markets.settled(); // An optimisation that the previous process left waits until the data is loaded.
    const { document, message } = await optimiseOnce(context, attempt, payload);
    return {
      result: { artifact: document.artifact },
      message,
      async effect(tx) {
        await tx.put('optimisation-run', payload.run_id, document);
      },
    };
  });
}

/** Runs an optimisation on the served market. @returns the document to store, and the main figures of the result */
export async function optimiseOnce(
  { documents: stored, artifacts, markets }: Context,
  attempt: Pick<Attempt<PortableTaskName>, 'compute' | 'outputs'>,
  { run_id, documents, models, constraints, request }: OptimisationPayload,
): Promise<Omit<OptimiseOutput, 'result'> & { readonly document: OptimisationDocument }> {
  const { identity } = markets.require();
  const { result: artifact, ...about } = await attempt.compute('optimise', {
    market: identity,
    runId: run_id,
    documents,
    ...(await listOptimisedModels(stored, artifacts, models)),
    constraints,
    request,
    measuredBy: await readMeasuringModel(stored, request),
    outputs: attempt.outputs(['result']),
  });
  const { index_id, constraint_set_id } = request;
  const document = { run_id, index_id, constraint_set_id, store_content_hash: identity.contentHash, artifact };
  return { ...about, document };
}

/** Returns the stored model that a request names. @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE */
async function readMeasuringModel(
  documents: Reader,
  optimisation: OptimisationRequest,
): Promise<RiskMeasureModel | null> {
  const modelId = readStoredModelId(optimisation);
  if (modelId === undefined) return null;
  const { document } = await requireModel(documents, modelId);
  const { request, diagnostics, observed_start: start, observed_end: end } = document;
  const settings = request === undefined ? {} : listSettingsRead(request);
  return { modelId, estimator: readModelSource(document), settings, start, end, sessions: diagnostics.observations };
}

export interface Optimise extends ConstraintSets {
  types(): ConstraintTypes;
  objectiveTypes(): ObjectiveTypes;
  /**
   * Queues an optimisation.
   * @throws Refusal VALIDATION_FAILED, INDEX_NOT_FOUND, CONSTRAINT_SET_NOT_FOUND, RISK_MODEL_NOT_FOUND, INVALID_RANGE,
   *   NO_DATA_AT_DATE, NO_DATA_SOURCE
   */
  start(body: Body, origin: JobOrigin | null): Promise<JobStatus>;
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

export function createOptimise(context: Context, kind: JobKind<OptimisationPayload>): Optimise {
  const { documents, artifacts, jobs, markets, now } = context;
  const plans = createOptimisationPlans(context);

  return {
    ...createConstraintSets(documents, markets),
    types: callOnce(listConstraintTypes),
    objectiveTypes: callOnce(listObjectiveTypes),
    async start(body, origin) {
      const request = readOptimisationRequest(body);
      const target = await requireTarget(documents, request.index_id);
      const { set } = await requireSet(documents, request.constraint_set_id);
      assertNoErrors('request', reportMissingReturns(request, set.constraints, ''));
      return runOnStoreOf(context, target.document, () => startOnMarket(target, { set, request }, origin));
    },
    async preview(body, signal) {
      const request = readOptimisationPreview(body);
      const target = await requireTarget(documents, request.index_id);
      return runOnStoreOf(context, target.document, () => previewOnMarket(target, request, signal));
    },
    result: (runId) => readResult(context, runId),
  };

  async function startOnMarket(
    target: StoredIndex,
    { set, request }: { readonly set: ConstraintSet; readonly request: OptimisationRequest },
    origin: JobOrigin | null,
  ): Promise<JobStatus> {
    const { market, reached } = await plans.prepare(target, request);
    plans.assertRows(set, market);
    const models = await plans.readModels([request], { reached, storeId: market.datasetId });
    const runId = createTimedId(now());
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

async function readResult({ documents, artifacts }: Context, runId: string): ReturnType<Optimise['result']> {
  const storedDocument = await documents.get('optimisation-run', runId);
  if (storedDocument === undefined)
    throw new Refusal('RUN_NOT_FOUND', `No finished optimisation has the id ${runId}.`, { run_id: runId });
  const document = parseStored(storedDocument, OptimisationDocument);
  if (document === undefined) throw new Refusal('DOCUMENT_UNREADABLE', `The optimisation ${runId} cannot be read.`);
  const { artifact } = document;
  return { length: artifact.bytes, etag: artifact.sha256, open: () => artifacts.stream(artifact) };
}
