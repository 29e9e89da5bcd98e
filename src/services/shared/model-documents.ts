import type { Finding } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import {
  checkLookAhead,
  findFirstModelDay,
  listUsedModels,
  type ModelUser,
  type PlannedModel,
  type PlannedModels,
  toPlannedModel,
} from '#domain/definition/backtest-plan.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { type Estimator, listMatrixFiles, type MatrixFiles, RiskModelDocument } from '#domain/risk/risk-models.js';
import type { ModelReferences } from '#jobs/tasks/catalogue.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import type { NeededRisk } from '#jobs/tasks/views.js';
import {
  type ArtifactRef,
  type ArtifactStore,
  type DocumentReader,
  readStoredBody,
  type StoredDocument,
} from '#store/port.js';
import type { Context } from './context.js';

export const resolveMatrixPaths = (artifacts: Pick<ArtifactStore, 'file'>, matrix: MatrixFiles): Promise<string[]> =>
  Promise.all(listMatrixFiles(matrix).map(artifacts.file));

export interface ModelUseOnStore {
  /** Store of the data; undefined if it is unknown. The model is then not checked. */
  readonly storeId: string | undefined;
  readonly path: string;
}

/** Checks that a model is used on the data store of its estimate. @throws Refusal VALIDATION_FAILED */
export function assertModelStore(model: RiskModelDocument, use: ModelUseOnStore, subject = 'request'): void {
  assertNoErrors(subject, checkModelStore(model, use));
}

/** Returns a finding if a model was estimated on another data store than the one on which it is used. */
function checkModelStore(
  { model_id: modelId, store_id: modelStore }: Pick<RiskModelDocument, 'model_id' | 'store_id'>,
  { storeId, path }: ModelUseOnStore,
  severity: Finding['severity'] = 'error',
): Finding[] {
  if (modelStore === undefined || storeId === undefined || modelStore === storeId) return [];
  const message = `The risk model ${modelId} was estimated on the data store ${modelStore} and cannot be used on the data store ${storeId}.`;
  return [{ severity, code: 'DIFFERENT_DATA', path, message, value: modelId }];
}

type Reader = Pick<DocumentReader, 'get'>;
type ModelArtifacts = Pick<ArtifactStore, 'file' | 'damaged'>;

export interface StoredRiskModel {
  readonly document: RiskModelDocument;
  readonly etag: string;
}

/** Returns a stored risk model. @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE */
export async function requireModel(reader: Reader, modelId: string): Promise<StoredRiskModel> {
  const storedDocument = await reader.get('risk-model', modelId);
  if (storedDocument === undefined) throw refuseMissingModel(modelId);
  const document = readStoredBody(storedDocument, readModel);
  if (document === undefined) throw refuseUnreadableModel(modelId);
  return { document, etag: (storedDocument as StoredDocument).etag }; // readable, because its document was readable
}

type NumberFiles = Pick<RiskModelDocument, 'covariance' | 'factors'>;

const listNumberFiles = ({ covariance, factors }: NumberFiles): readonly ArtifactRef[] => [
  ...listMatrixFiles(covariance),
  ...(factors === undefined ? [] : [factors]),
];

export interface DatedModel<M> {
  readonly model: M;
  /** Time at which the document was written, ms since 1970. Files that have not changed since are not read. */
  readonly writtenAt: number;
}

/**
 * Returns the stored models whose files with the numbers are intact. @cost a look-up of all files at once, and one read of
 * each file that has changed since its document was written, limited per call by the store
 */
export async function selectIntactModels<M extends NumberFiles>(
  artifacts: Pick<ArtifactStore, 'damaged'>,
  models: readonly DatedModel<M>[],
): Promise<readonly M[]> {
  const files = models.flatMap(({ model, writtenAt }) =>
    listNumberFiles(model).map((ref) => ({ ref, madeAt: writtenAt })),
  );
  const damagedNames = await artifacts.damaged(files);
  return models
    .map(({ model }) => model)
    .filter((model) => !listNumberFiles(model).some(({ name }) => damagedNames.has(name)));
}

/**
 * Checks that the numbers of a model are intact, because damaged numbers must not be used. @throws Refusal
 * DOCUMENT_UNREADABLE
 */
export async function assertNumbers(
  artifacts: Pick<ArtifactStore, 'damaged'>,
  document: RiskModelDocument,
): Promise<void> {
  if ((await selectIntactModels(artifacts, [{ model: document, writtenAt: 0 }])).length === 0)
    throw refuseUnreadableModel(document.model_id);
}

/**
 * Returns a stored model for use on a data store, which is undefined if it is unknown.
 * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE; VALIDATION_FAILED if it was estimated on another store
 */
export async function requireModelOnStore(
  reader: Reader,
  modelId: string,
  storeId: string | undefined,
  subject: 'request' | 'query' = 'request',
): Promise<RiskModelDocument> {
  const { document } = await requireModel(reader, modelId);
  assertModelStore(document, { storeId, path: 'risk_model' }, subject);
  return document;
}

const refuseUnreadableModel = (modelId: string): Refusal =>
  new Refusal('DOCUMENT_UNREADABLE', `The risk model ${modelId} cannot be read; it can still be deleted.`);

export function refuseMissingModel(modelId: string): Refusal {
  return new Refusal('RISK_MODEL_NOT_FOUND', `No risk model is stored under the id ${modelId}.`, { model_id: modelId });
}

const validatedModels = new WeakMap<object, RiskModelDocument>();

/** Reads a stored body as a model. @cost one validation; none for a frozen body that was read before */
export function readModel(body: unknown): RiskModelDocument | undefined {
  const isConstant = typeof body === 'object' && body !== null && Object.isFrozen(body);
  const cachedModel = isConstant ? validatedModels.get(body) : undefined;
  if (cachedModel !== undefined) return cachedModel;
  const { data } = RiskModelDocument.safeParse(body);
  if (isConstant && data !== undefined) validatedModels.set(body, data);
  return data;
}

/**
 * Returns the stored models that documents use, in the format of a plan. @throws Refusal VALIDATION_FAILED if a model
 * is not stored, or was estimated on another data store
 */
export async function planModels(
  reader: Reader,
  documents: Readonly<Record<string, IndexDocument>>,
  storeId?: string,
): Promise<{ readonly models?: PlannedModels }> {
  const models = await readUsedModels(reader, documents);
  assertModelStores(models, documents, storeId);
  return toPlannedModels(models);
}

/** Returns stored models in the format of a plan. */
export function toPlannedModels(models: UsedModels): { readonly models?: PlannedModels } {
  if (models.size === 0) return {};
  return { models: Object.fromEntries([...models].map(([id, document]) => [id, toPlannedModel(document)])) };
}

/**
 * Returns the models of a plan and their files, for a request that is answered at once. @throws Refusal
 * VALIDATION_FAILED
 */
export async function resolveModelFiles(
  reader: Reader,
  artifacts: ModelArtifacts,
  {
    documents,
    storeId,
  }: { readonly documents: Readonly<Record<string, IndexDocument>>; readonly storeId?: string | undefined },
): Promise<{ readonly models?: ModelFiles }> {
  const models = await readUsedModels(reader, documents);
  assertModelStores(models, documents, storeId);
  if (models.size === 0) return {};
  const files = [...models].map(async ([id, document]) => [id, await readModelFile(artifacts, document)] as const);
  return { models: Object.fromEntries(await Promise.all(files)) };
}

/** Returns the models of a plan and the files that a run stored for them, for a request that is answered at once. */
export async function resolveRunModelFiles(
  artifacts: Pick<ArtifactStore, 'file'>,
  plannedModels: PlannedModels | undefined,
  storedFiles: Readonly<Record<string, MatrixFiles>> = {},
): Promise<{ readonly models?: ModelFiles }> {
  if (plannedModels === undefined) return {};
  const files = Object.entries(plannedModels).map(
    async ([id, model]) =>
      [id, { paths: await resolveMatrixPaths(artifacts, storedFiles[id]!), ...createContent(model) }] as const,
  );
  return { models: Object.fromEntries(await Promise.all(files)) };
}

/**
 * Returns the stored model that a request names, for a request that is answered at once. @throws Refusal
 * RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE; VALIDATION_FAILED if the model was estimated on another data store
 */
export async function findModelFile(
  reader: Reader,
  artifacts: ModelArtifacts,
  { modelId, storeId }: { readonly modelId: string; readonly storeId: string },
): Promise<ModelFiles> {
  return { [modelId]: await readModelFile(artifacts, await requireModelOnStore(reader, modelId, storeId)) };
}

async function readModelFile(artifacts: ModelArtifacts, document: RiskModelDocument): Promise<ModelFiles[string]> {
  await assertNumbers(artifacts, document);
  return {
    paths: await resolveMatrixPaths(artifacts, document.covariance),
    ...createContent(toPlannedModel(document)),
  };
}

export interface RequestedMeasure {
  readonly risk: boolean;
  readonly risk_model?: string | undefined;
  readonly risk_estimator?: Estimator | undefined;
}

/**
 * Returns how a view measures risk: by a stored model, by an estimate over the window of the run, or not at all.
 * @param storeId data store of the run; undefined if it is unknown
 * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE; VALIDATION_FAILED if both a model and an estimator are
 * given, or the model was estimated on another data store
 */
export async function resolveRiskMeasure(
  { documents: reader, artifacts }: Context,
  { risk, risk_model: modelId, risk_estimator: estimator }: RequestedMeasure,
  storeId: string | undefined,
): Promise<Pick<NeededRisk, 'risk' | 'model' | 'estimator'>> {
  if (modelId === undefined) return estimator === undefined ? { risk } : { risk: true, estimator };
  if (estimator !== undefined) {
    const message = `risk_estimator cannot be combined with risk_model: risk is measured by the model ${modelId} or by ${estimator}.`;
    throw refuseWithFindings('query', [{ severity: 'error', code: 'UNKNOWN_FIELD', message, path: 'risk_estimator' }]);
  }
  const document = await requireModelOnStore(reader, modelId, storeId, 'query');
  const file = await readModelFile(artifacts, document);
  return { risk, model: { modelId, observedStart: document.observed_start, ...file } };
}

/**
 * Returns the matrices of the models of a plan. The stored models must still be those of the plan.
 * @throws Refusal RISK_MODEL_CHANGED, DOCUMENT_UNREADABLE
 */
export async function findPlannedFiles(
  reader: Reader,
  artifacts: Pick<ArtifactStore, 'damaged'>,
  plannedModels?: PlannedModels,
): Promise<Readonly<Record<string, MatrixFiles>>> {
  const documents = await listPlannedDocuments(reader, plannedModels);
  for (const document of Object.values(documents)) await assertNumbers(artifacts, document);
  return Object.fromEntries(Object.entries(documents).map(([id, { covariance }]) => [id, covariance]));
}

/**
 * Returns the models of a plan with references to their matrices and factors, as input of an optimisation.
 * @throws Refusal RISK_MODEL_CHANGED, DOCUMENT_UNREADABLE
 */
export async function listOptimisedModels(
  reader: Reader,
  artifacts: Pick<ArtifactStore, 'damaged'>,
  plannedModels: PlannedModels | undefined,
): Promise<{ readonly models?: ModelReferences }> {
  if (plannedModels === undefined) return {};
  const documents = await listPlannedDocuments(reader, plannedModels);
  for (const document of Object.values(documents)) await assertNumbers(artifacts, document);
  const references = Object.entries(documents).map(([id, document]) => [
    id,
    {
      artifacts: listNames(document.covariance),
      ...createContent(toPlannedModel(document)),
      ...createFactors(document),
    },
  ]);
  return { models: Object.fromEntries(references) as ModelReferences };
}

const listNames = (matrix: MatrixFiles): string[] => listMatrixFiles(matrix).map(({ name }) => name);

function createFactors({
  factors,
  factor_model: factorModel,
}: RiskModelDocument): Pick<ModelReferences[string], 'factors'> {
  if (factors === undefined || factorModel === undefined) return {};
  return { factors: { artifact: factors.name, names: factorModel.factors.map(({ factor }) => factor) } };
}

async function listPlannedDocuments(
  reader: Reader,
  plannedModels: PlannedModels = {},
): Promise<Readonly<Record<string, RiskModelDocument>>> {
  const documents: Record<string, RiskModelDocument> = {};
  for (const [id, model] of Object.entries(plannedModels)) {
    const storedDocument = await reader.get('risk-model', id);
    const document = readStoredBody(storedDocument, readModel);
    if (document === undefined || toCanonicalJson(toPlannedModel(document)) !== toCanonicalJson(model))
      throw new Refusal(
        'RISK_MODEL_CHANGED',
        `The risk model ${id} is not stored any more as it was when the job was accepted; ask again.`,
        { model_id: id },
      );
    documents[id] = document;
  }
  return documents;
}

export function createModelReferences(
  plannedModels: PlannedModels | undefined,
  files: Readonly<Record<string, MatrixFiles>>,
): { readonly models?: ModelReferences } {
  if (plannedModels === undefined) return {};
  const references = Object.entries(plannedModels).map(([id, model]) => [
    id,
    { artifacts: listNames(files[id]!), ...createContent(model) },
  ]);
  return { models: Object.fromEntries(references) as ModelReferences };
}

/** Returns the description of a model. A task receives it in addition to the files. */
export function createContent({ asset_ids: names, observed_end: observedEnd, dates }: PlannedModel) {
  return { names, observedEnd, ...(dates === undefined ? {} : { dates }) };
}

/** Stored risk models by id. */
export type UsedModels = ReadonlyMap<string, RiskModelDocument>;

/** Returns the stored models that documents use. @throws Refusal VALIDATION_FAILED if a model is not stored */
export async function readUsedModels(
  reader: Reader,
  documents: Readonly<Record<string, IndexDocument>>,
): Promise<UsedModels> {
  const models = new Map<string, RiskModelDocument>();
  for (const [modelId, modelUser] of listUsedModels(Object.values(documents))) {
    const document = readStoredBody(await reader.get('risk-model', modelId), readModel);
    if (document === undefined) throw refuseWithFindings('index document', [createMissingModel(modelId, modelUser)]);
    models.set(modelId, document);
  }
  return models;
}

/**
 * Checks that the models of documents were estimated on a data store, unless the store is unknown. @throws Refusal
 * VALIDATION_FAILED
 */
export function assertModelStores(
  models: UsedModels,
  documents: Readonly<Record<string, IndexDocument>>,
  storeId: string | undefined,
): void {
  for (const [modelId, { path }] of listUsedModels(Object.values(documents)))
    assertModelStore(models.get(modelId)!, { storeId, path }, 'index document');
}

/** Returns a finding if the risk model of a definition is not stored. */
export async function findUnknownModels(reader: Reader, document: IndexDocument): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [modelId, modelUser] of listUsedModels([document]))
    if ((await reader.get('risk-model', modelId)) === undefined) findings.push(createMissingModel(modelId, modelUser));
  return findings;
}

/** Returns a warning for each stored model of a definition that was estimated on another data store. */
export async function findModelsOfOtherStores(
  reader: Reader,
  document: IndexDocument,
  storeId: string | undefined,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [modelId, { path }] of listUsedModels([document])) {
    const model = readStoredBody(await reader.get('risk-model', modelId), readModel);
    if (model !== undefined) findings.push(...checkModelStore(model, { storeId, path }, 'warning'));
  }
  return findings;
}

/**
 * Returns a warning if the stored model of a definition was estimated with returns after the first decision of the
 * definition.
 */
export async function findLookAhead(
  reader: Reader,
  document: IndexDocument,
  { calendars, market }: { readonly calendars: Calendars; readonly market: MarketData | undefined },
): Promise<Finding[]> {
  const calendar = calendars.get(document.calendar);
  const [used] = listUsedModels([document]).keys();
  if (used === undefined || calendar === undefined) return [];
  const storedDocument = await reader.get('risk-model', used);
  const model = readStoredBody(storedDocument, readModel);
  const firstDay = market?.dates[0] ?? null;
  return checkLookAhead(document, {
    calendar,
    firstDay,
    observedEndOf: () => model && findFirstModelDay(toPlannedModel(model)),
  });
}

function createMissingModel(modelId: string, { indexId, path }: ModelUser): Finding {
  return {
    severity: 'error',
    code: 'RISK_MODEL_NOT_FOUND',
    path,
    message: `The index ${indexId} is measured by the risk model ${modelId}, which is not stored.`,
    value: modelId,
  };
}
