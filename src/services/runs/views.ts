import { LRUCache } from 'lru-cache';
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { isKnownAtDecisions } from '#domain/datapoints/functions.js';
import type {
  ActionsView,
  LimitsRequest,
  RunFiguresPayload,
  RunSummaryCollection,
} from '#contract/analytics/run-views.js';
import { DEFAULT_RISK_WINDOW, type RiskReference } from '#domain/analytics/returns.js';
import { compareText, describeUnknownField, type Finding } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertOrder } from '#domain/base/schema.js';
import { hasAcquirerRemoval } from '#domain/books/universe.js';
import {
  isName,
  listCalls,
  type ParsedText,
  readExpression,
  readsUniverse,
} from '#domain/datapoints/expression-checks.js';
import { printExpression } from '#domain/datapoints/expression-text.js';
import { type ExpressionNode, useNumber } from '#domain/datapoints/expression-tree.js';
import type { AffectedIndex, DeskActionEffect } from '#domain/definition/action-desk.js';
import type { LimitRuleName } from '#domain/definition/compliance.js';
import type { ConstraintRow } from '#domain/definition/constraint-class.js';
import { readConstraintRows, validateConstraints } from '#domain/definition/constraint-sets.js';
import { locateInTexts } from '#domain/definition/document-expressions.js';
import { checkConstraintFields, checkFields } from '#domain/definition/field-uses.js';
import { stateRowDefaults } from '#domain/definition/index-document.js';
import { findStore, removeStores } from '#domain/definition/references.js';
import { BacktestFields, type RunDocument, type RunViewNeed, type RunViewTerms } from '#domain/definition/runs.js';
import { createMarketKey, type MarketData, SINGLE_GROUPS } from '#domain/market/market-data.js';
import type { ExportFormat } from '#domain/outputs/exports.js';
import type { FactorModelName } from '#domain/risk/contributions.js';
import { FACTOR_ESTIMATORS, type FactorEstimator, isFactorEstimator } from '#domain/risk/model-terms.js';
import { readModelSource, type RiskModelDocument } from '#domain/risk/risk-models.js';
import type { ScenarioRequest } from '#domain/studies/scenarios.js';
import { createHashCells, type HashedBytes, type ResponseBytes } from '#jobs/tasks/messages.js';
import type {
  ComparedWith,
  FactorMeasure,
  FactorModelFile,
  NeededExposures,
  NeededLimits,
  NeededMemory,
  RunViewInput,
} from '#jobs/tasks/views.js';
import { type ArtifactStore, computeRunId, type DocumentStore } from '#store/port.js';
import type { CalendarViews } from '../indices/calendars.js';
import { findIndex, resolveReached } from '../indices/documents.js';
import type { Context } from '../shared/context.js';
import { addUnreadable } from '../shared/documents.js';
import {
  type RequestedMeasure,
  requireModelOnStore,
  resolveModelFiles,
  resolveRiskMeasure,
} from '../shared/model-documents.js';
import {
  findRun,
  isWholeHistory,
  listNamedFiles,
  readRun,
  readRunDefinition,
  requireRun,
  requireColumnsFile,
  resolveColumnsFile,
  type RunName,
} from '../shared/run-documents.js';
import {
  type CheckedBytes,
  createStateHead,
  prependHead,
  type RunBytes,
  type StateHead,
} from '../shared/stamped-json.js';
import { type ActionEffects, type ExDates, formatActionKey } from '../stores/action-desk.js';
import { type BacktestPlans, createBacktestPlans, createStoredState } from './plans.js';

/** Maximum memory of the cache in bytes. It is enough for several hundred views of usual size. */
const CACHE_BYTES_MAX = 64 * 2 ** 20;

export interface ViewCache {
  /** Returns the cached bytes of a request. */
  find(question: unknown): Uint8Array<ArrayBuffer> | undefined;
  /** Stores the bytes of a request that `find` did not find. */
  hold(question: unknown, bytes: Uint8Array<ArrayBuffer>): void;
  /**
   * Returns the view of a request from the cache. If it is not there, computes the view. A failed view is not cached.
   */
  get<A extends ResponseBytes>(question: unknown, createView: () => Promise<A>): Promise<A>;
}

/**
 * Creates a cache of the views that were read last. A key must contain the names of a run's files and the content hash
 * of its store. File names are unique, and the hash changes with the data, so a cached view never becomes wrong.
 */
export function createViewCache(limitBytes = CACHE_BYTES_MAX): ViewCache {
  const responses = new LRUCache<string, ResponseBytes>({
    maxSize: limitBytes,
    maxEntrySize: Math.floor(limitBytes / 8), // a large view must not displace eight others
    sizeCalculation: ({ bytes }) => Math.max(1, bytes.length),
  });
  return {
    find: (question) => responses.get(formatKey(question))?.bytes,
    hold: (question, view) => void responses.set(formatKey(question), { bytes: view }),
    async get(question, createView) {
      const key = formatKey(question);
      const response = responses.get(key) as Awaited<ReturnType<typeof createView>> | undefined; // a request always has responses of the type of its task
      if (response !== undefined) return response;
      const view = await createView();
      responses.set(key, view);
      return view;
    },
  };
}

const formatKey = (question: unknown): string =>
  createHash('sha256').update(toCanonicalJson(question)).digest('base64');

/** Service that computes views from the columns of stored runs. */
export interface ViewMaker {
  /** Returns the state of a run. Views of the run start with it. */
  readHead(run: RunDocument): Promise<StateHead>;
  make(input: RunViewInput, signal: AbortSignal): Promise<HashedBytes>;
  /** Returns the same view as `make`, from the cache if it is there. */
  readCached(input: RunViewInput, signal: AbortSignal): Promise<HashedBytes>;
  /**
   * Returns a view with the state of its run in front. The view may come from the cache; the state is always current.
   */
  stamped(run: RunDocument, view: Promise<HashedBytes>): Promise<CheckedBytes>;
}

export function createViewMaker({ jobs, states }: Context, views: ViewCache): ViewMaker {
  const makeView = (input: RunViewInput, signal: AbortSignal): Promise<HashedBytes> =>
    jobs.query('view-run', input, signal);
  const readHead = async (run: RunDocument): Promise<StateHead> =>
    createStateHead(await createStoredState(states, run));
  return {
    readHead,
    make: makeView,
    readCached: (input, signal) => views.get(createQuestion(input), () => makeView(input, signal)),
    async stamped(run, view) {
      const head = readHead(run); // With a database, both are requested concurrently.
      head.catch(() => {}); // the failure is reported below, unless the view is refused
      const { bytes, sha256 } = await view;
      const { toEtag } = await head;
      return { bytes: prependHead(await head, bytes), etag: toEtag(sha256) };
    },
  };
}

/** Returns a cache key that contains all inputs of a view. */
function createQuestion(input: RunViewInput): unknown {
  if (!('market' in input) || input.market === null) return input;
  return { ...input, market: createMarketKey(input.market) };
}

interface NeedSources extends Context {
  readonly maker: ViewMaker;
  readonly plans: BacktestPlans;
  /** Called with the run whose exposures a request reads. */
  readonly onExposures: (runId: string) => void;
}

/** Parsed request about a run. */
interface RunRequest {
  readonly run: RunDocument;
  /** Parameters of the path and the query. */
  readonly query: Readonly<Record<string, unknown>>;
  /** Parses the body of the request. @throws Refusal VALIDATION_FAILED */
  body(): unknown;
  /** Calls `help` as soon as a thread has started the view. */
  afterwards(help: () => void): void;
}

type NeedResolver = (sources: NeedSources, request: RunRequest) => object | Promise<object>;

/** Returns the benchmark of a comparison: an index and its risk models, or an identifier of the run's store. */
export async function readCompared(
  sources: Pick<NeedSources, 'plans'> & Context,
  run: RunDocument,
  benchmark: string,
): Promise<ComparedWith> {
  const { markets, states, plans } = sources;
  const comparedWith = await plans.comparedWith(benchmark, async () => {
    markets.current(); // The store that was served before a restart may still be loading.
    return (await states.servedMarket(run))?.market;
  });
  // the run and the benchmark are computed on the market of the run
  findStore(comparedWith.documents, run.store_id);
  const benchmarkDocuments = { ...comparedWith, documents: removeStores(comparedWith.documents) };
  return addModels(sources, benchmarkDocuments, run.store_id);
}

/** Adds the risk models that the documents of a benchmark use. @param storeId data store of the run, if it is known */
async function addModels(
  { documents, artifacts }: Context,
  comparedWith: ComparedWith,
  storeId: string | undefined,
): Promise<ComparedWith> {
  return { ...comparedWith, ...(await resolveModelFiles(documents, artifacts, { ...comparedWith, storeId })) };
}

/** Default factors of a view, and default number of principal components. */
const DEFAULT_MODEL: FactorModelName = 'market_sector';
export const DEFAULT_COMPONENTS = 5;

/** Source of the factors that a request names. */
export interface FactorRequest {
  readonly model?: FactorModelName | undefined;
  readonly risk_model?: string | undefined;
  readonly risk_estimator?: FactorEstimator | undefined;
  readonly factors?: number | undefined;
}

/**
 * Returns the factors of a stored model, or factors that are estimated over the window of a run.
 * @param storeId data store of the run; undefined if it is unknown
 * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE; VALIDATION_FAILED if several are requested, or the stored
 * model has no factors or was estimated on another data store
 */
async function resolveFactorMeasure(
  { documents, artifacts }: Context,
  factorRequest: FactorRequest,
  storeId: string | undefined,
): Promise<FactorMeasure> {
  const { model, risk_model: modelId, risk_estimator: estimator, factors } = factorRequest;
  assertSingleSource({ risk_model: modelId, risk_estimator: estimator, model });
  if (modelId !== undefined) {
    if (factors !== undefined) throw createRefusal('UNKNOWN_FIELD', 'factors', 'A stored model has its own factors.');
    return {
      stored: await readStoredFactors(artifacts, await requireModelOnStore(documents, modelId, storeId, 'query')),
    };
  }
  const estimatorName = estimator ?? model ?? DEFAULT_MODEL;
  return {
    model: estimatorName,
    factors: factors ?? DEFAULT_COMPONENTS,
    estimator: estimator ?? null,
    findings:
      factors === undefined || estimatorName === 'statistical' ? [] : [createUnreadFactors(estimatorName, factors)],
  };
}

/** Checks that a request uses at most one of several alternatives. @throws Refusal VALIDATION_FAILED */
function assertSingleSource(riskSources: Readonly<Record<string, string | undefined>>): void {
  const [first, second] = Object.entries(riskSources).filter(([, value]) => value !== undefined);
  if (first === undefined || second === undefined) return;
  const message = `${second[0]} cannot be combined with ${first[0]}: factors are those of ${first[1]} or of ${second[1]}.`;
  throw createRefusal('UNKNOWN_FIELD', second[0], message);
}

async function readStoredFactors(
  artifacts: Pick<ArtifactStore, 'file'>,
  { model_id: modelId, request, imported, factor_model: factorModel, factors: file, ...document }: RiskModelDocument,
): Promise<FactorModelFile> {
  const source = readModelSource({ request });
  if ((source !== 'imported' && !isFactorEstimator(source)) || factorModel === undefined)
    throw createRefusal(
      'NOT_IN_CHOICES',
      'risk_model',
      source === 'imported'
        ? `The risk model ${modelId} was imported as covariances, without factors.`
        : `The risk model ${modelId} is estimated by ${source}, which has no factors; ${FACTOR_ESTIMATORS.join(', ')} have.`,
    );
  if (file === undefined)
    throw createRefusal(
      'REQUIRED',
      'risk_model',
      `The risk model ${modelId} was stored without its exposures, by an earlier version: estimate it again.`,
    );
  return {
    modelId,
    path: await artifacts.file(file),
    estimator: source,
    factors: factorModel.factors.map(({ factor }) => factor),
    names: document.asset_ids,
    observedStart: document.observed_start,
    observedEnd: document.observed_end,
    ...(imported === undefined ? {} : { dates: imported.dates.map(({ date, lacks }) => ({ date, lacks })) }),
  };
}

function createUnreadFactors(model: FactorModelName, value: number): Finding {
  const message = `factors does nothing: ${model} does not read it, as statistical does.`;
  return { severity: 'warning', code: 'NO_EFFECT', path: 'factors', message, value };
}

function createRefusal(code: Finding['code'], path: string, message: string) {
  return refuseWithFindings('query', [{ severity: 'error', code, path, message }]);
}

/** Checks that the reference data has a column. @throws Refusal VALIDATION_FAILED */
export function assertReferenceColumn(market: MarketData, column: string): void {
  const acceptedColumns = market.reference.columns;
  if (acceptedColumns.includes(column)) return;
  const sentence = `The data store of the index has no reference column ${column}; the store has ${acceptedColumns.join(', ') || 'none'}.`;
  throw refuseWithFindings('query', [
    { severity: 'error', path: 'by', ...describeUnknownField(sentence, { name: column, accepted: acceptedColumns }) },
  ]);
}

/** Default column for the proxies of scenarios. A market may not have it. */
const DEFAULT_PROXIES = 'SECTOR';

/**
 * Returns the column that identifies issuers, and the market that has it. @throws Refusal STORE_MISMATCH,
 * NO_DATA_SOURCE unless securities are their own issuers
 */
async function resolveIssuers({ states }: NeedSources, { run, query }: RunRequest): Promise<NeededLimits> {
  const { rule = null, by: requestedGrouping } = query as { readonly rule?: LimitRuleName; readonly by: string };
  const servedMarket = requestedGrouping === SINGLE_GROUPS ? null : await states.requireMarket(run);
  const { by, findings } = selectIssuerColumn(requestedGrouping, servedMarket && servedMarket.market);
  const market = by === SINGLE_GROUPS || servedMarket === null ? null : servedMarket.handle;
  return { limits: { rule }, by, findings, market };
}

/**
 * Returns the column that contains the issuer. If the market does not have the default column ISSUER, each security is
 * its own issuer.
 */
function selectIssuerColumn(
  requestedGrouping: string,
  market: MarketData | null,
): { readonly by: string; readonly findings: readonly Finding[] } {
  if (market === null) return { by: requestedGrouping, findings: [] };
  if (requestedGrouping !== 'ISSUER' || market.reference.columns.includes(requestedGrouping)) {
    assertReferenceColumn(market, requestedGrouping);
    return { by: requestedGrouping, findings: [] };
  }
  const message = 'The data store of the index has no reference column ISSUER: each security counts as its own issuer.';
  return { by: SINGLE_GROUPS, findings: [{ severity: 'warning', code: 'UNKNOWN_FIELD_NAME', message, path: 'by' }] };
}

/**
 * Returns the constraint rows to check. @throws Refusal VALIDATION_FAILED; STORE_MISMATCH, NO_DATA_SOURCE if a row
 * reads a datapoint
 */
async function resolveWatchedRows({ states }: NeedSources, { run, body }: RunRequest): Promise<NeededLimits> {
  const { rows: sentRows } = body() as LimitsRequest;
  const { rows: read, findings } = readConstraintRows(sentRows, 'rows');
  const rows: readonly ConstraintRow[] = stateRowDefaults(read as typeof sentRows, 'today'); // the rows have the same shape except for their expressions
  assertNoErrors('body', [...findings, ...validateConstraints(rows, { path: 'rows' })]);
  const servedMarket = rows.some(({ params }) => 'field' in params) ? await states.requireMarket(run) : null;
  if (servedMarket !== null)
    assertNoErrors('body', checkConstraintFields(rows, servedMarket.market, { path: 'rows', severity: 'error' }));
  return { limits: { rows }, by: SINGLE_GROUPS, findings: [], market: servedMarket && servedMarket.handle };
}

/** Returns the shocks and proxies of scenarios. @throws Refusal VALIDATION_FAILED, STORE_MISMATCH, NO_DATA_SOURCE */
async function resolveScenarios({ states }: NeedSources, { run, body }: RunRequest) {
  const request = body() as ScenarioRequest;
  const { handle, market } = await states.requireMarket(run);
  if (request.by !== DEFAULT_PROXIES) assertReferenceColumn(market, request.by);
  return { request, market: handle };
}

/**
 * Returns the datapoints that a request for a view of a run contains. Expressions are in their canonical form.
 * @throws Refusal VALIDATION_FAILED if a datapoint is unreadable, missing in the market or not numeric
 */
function readFields(fields: readonly string[], market: MarketData): string[] {
  const recordFields = fields.map((text, k) => readField(text, market, `fields[${k}]`));
  assertNoErrors(
    'query',
    recordFields.flatMap(({ findings }) => findings),
  );
  return recordFields.map(({ text }) => text);
}

interface RecordField {
  readonly text: string;
  readonly findings: readonly Finding[];
}

function readField(text: string, market: MarketData, path: string): RecordField {
  if (isName(text, market)) {
    const use = useNumber(text);
    return { text, findings: checkFields([{ use, path, rowId: null }], market, 'error') };
  }
  const parsedText = readExpression(text, 'number');
  const problems = parsedText.problems.map((problem): Finding => ({ severity: 'error', path, ...problem }));
  if (parsedText.tree === undefined) return { text, findings: problems };
  const result = checkFields([{ use: useNumber(parsedText.tree), path, rowId: null }], market, 'error');
  const findings = locateInTexts(result, new Map<string, ParsedText>([[path, parsedText]]));
  return {
    text: printExpression(parsedText.tree),
    findings: [...findings, ...findDecisionFunctions(parsedText.tree, path)],
  };
}

function findDecisionFunctions(tree: ExpressionNode, path: string): Finding[] {
  const call = listCalls(tree, new Map()).find(isKnownAtDecisions);
  if (call === undefined) return [];
  const message = `${call.name} is available only in the decisions of an index.`;
  return [{ severity: 'error', code: 'NOT_IN_CHOICES', path, message }];
}

/**
 * Returns the definition to whose universe some datapoints are relative. It is the definition of the run, or the stored
 * definition if the run has none. Returns null if no datapoint is relative, or if the definition was deleted.
 */
export async function findRunUniverse(
  { documents, artifacts }: Pick<Context, 'documents' | 'artifacts'>,
  run: RunDocument,
  fields: readonly string[],
): Promise<ComparedWith | null> {
  if (!fields.some(readsUniverse)) return null;
  if (run.artifacts.plan !== undefined) return (await readRunDefinition(artifacts, run)).definition;
  const document = await findIndex(documents, run.index_id);
  return document === undefined ? null : { indexId: document.id, documents: await resolveReached(documents, document) };
}

/** Default grouping column. If the market does not have it, all securities form one group. */
const DEFAULT_GROUPS = 'SECTOR';

interface ExposuresQuery {
  readonly by?: string | undefined;
  readonly fields: readonly string[];
  readonly benchmark?: string | undefined;
}

/**
 * Returns what a view of exposures needs: groups, datapoints, universe and benchmark.
 * @throws Refusal VALIDATION_FAILED, BENCHMARK_NOT_FOUND; STORE_MISMATCH, NO_DATA_SOURCE unless securities are their
 * own groups and the request needs no other data
 */
async function resolveExposures(sources: NeedSources, { run, query }: RunRequest): Promise<NeededExposures> {
  const { states, onExposures } = sources;
  const { by = DEFAULT_GROUPS, fields: requestedFields, benchmark: other } = query as unknown as ExposuresQuery;
  const readsMarket = by !== SINGLE_GROUPS || requestedFields.length > 0 || other !== undefined;
  const servedMarket = readsMarket ? await states.requireMarket(run) : null;
  const isNamed = query.by !== undefined && by !== SINGLE_GROUPS;
  if (servedMarket !== null && isNamed) assertReferenceColumn(servedMarket.market, by);
  const fields = servedMarket === null ? [] : readFields(requestedFields, servedMarket.market);
  if (query.table === 'fields') assertHasFields(fields);
  const benchmark = other === undefined ? null : await readCompared(sources, run, other);
  onExposures(run.run_id);
  return {
    by,
    fields,
    universe: await findRunUniverse(sources, run, fields),
    benchmark,
    benchmarkColumns: benchmark === null ? null : await readWholeColumns(sources, run, benchmark.indexId),
    market: servedMarket && servedMarket.handle,
  };
}

/** Checks that a table of datapoints has at least one datapoint. @throws Refusal VALIDATION_FAILED */
function assertHasFields(fields: readonly string[]): void {
  if (fields.length > 0) return;
  const message = 'fields is required by the table fields: datapoints as DIVIDEND_YIELD,BETA.';
  assertNoErrors('query', [{ severity: 'error', code: 'REQUIRED', path: 'fields', message }]);
}

/**
 * Returns the columns of the latest run of an index if the run is up to date and covers the whole history; otherwise
 * null.
 */
async function readWholeColumns(
  { documents, artifacts, states }: NeedSources,
  runDocument: RunDocument,
  indexId: string,
): Promise<string | null> {
  const run = await findRun(documents, indexId);
  if (run === undefined || run.index_id !== indexId || run.store_id !== runDocument.store_id) return null;
  return isWholeHistory(run) && (await states.findStaleState(run)) === null ? requireColumnsFile(artifacts, run) : null;
}

interface RollingQuery {
  readonly window?: number | undefined;
  readonly half_life?: number | undefined;
  readonly against?: RiskReference | undefined;
  /** Name of a benchmark. It replaces the benchmark of the run. */
  readonly benchmark?: string | undefined;
}

/**
 * Returns what rolling figures need: memory, reference and market. @throws Refusal VALIDATION_FAILED,
 * BENCHMARK_NOT_FOUND, STORE_MISMATCH
 */
async function resolveRollingMemory(sources: NeedSources, { run, query }: RunRequest): Promise<NeededMemory> {
  const { window, half_life: halfLife, against: requestedReference, benchmark: benchmarkName } = query as RollingQuery;
  if (window !== undefined && halfLife !== undefined) throw refuseTwoReferences('half_life', halfLife, { window });
  if (requestedReference !== undefined && benchmarkName !== undefined)
    throw refuseTwoReferences('benchmark', benchmarkName, { against: requestedReference });
  const against = benchmarkName === undefined ? (requestedReference ?? 'index') : 'benchmark';
  if (benchmarkName === undefined && against === 'benchmark') assertBenchmark(run);
  return {
    runId: run.run_id,
    memory: halfLife === undefined ? { window: window ?? DEFAULT_RISK_WINDOW } : { halfLife },
    against,
    benchmark: benchmarkName === undefined ? null : await readCompared(sources, run, benchmarkName),
    market: (await sources.states.servedMarket(run))?.handle ?? null,
  };
}

function refuseTwoReferences(path: string, value: string | number, other: Readonly<Record<string, unknown>>): Refusal {
  const [[name, given]] = Object.entries(other) as [[string, unknown]]; // the record has one member
  const message = `${name} ${String(given)} and ${path} ${value} were both given; give one of them.`;
  return refuseWithFindings('query', [{ severity: 'error', code: 'NOT_IN_CHOICES', message, path, value }]);
}

/** Ensures that a run has a benchmark. @throws Refusal VALIDATION_FAILED */
function assertBenchmark({ run_id: runId, request }: RunDocument): void {
  if (BacktestFields.parse(request).benchmark !== null) return;
  throw refuseWithFindings('query', [
    {
      severity: 'error',
      code: 'NOT_IN_CHOICES',
      message: `The run of ${runId} has no benchmark; backtest it with one, or measure it against its index.`,
      path: 'against',
      accepted: ['index'],
      value: 'benchmark',
    },
  ]);
}

const readBenchmark = async (sources: NeedSources, { run, query }: RunRequest): Promise<ComparedWith | null> =>
  query.benchmark === undefined ? null : readCompared(sources, run, query.benchmark as string);

/** Function for each need of a view. Parameters have the types that the routes declare. */
const NEEDS: Readonly<Record<RunViewNeed, NeedResolver>> = {
  window(_sources, { query }) {
    const { start, end, from, to } = query as Readonly<Record<string, string | undefined>>;
    assertOrder({ start: start ?? null, end: end ?? null });
    assertOrder({ start: from ?? null, end: to ?? null }, ['from', 'to']);
    return {};
  },
  market: async ({ states }, { run }) => ({ market: (await states.requireMarket(run)).handle }),
  async 'own-market'({ states, markets }, { run }) {
    markets.current(); // The store that was served before a restart may still be loading.
    return { market: (await states.findMarket(run))?.handle ?? null };
  },
  async 'outside-mergers'({ artifacts }, { run }) {
    if (run.artifacts.plan === undefined) return { removing: null };
    const { definition } = await readRunDefinition(artifacts, run);
    const document = definition.documents[definition.indexId]!; // a plan contains the document of its index
    return { removing: hasAcquirerRemoval(document) ? definition : null };
  },
  async 'same-store'({ states }, { run }) {
    await states.servedMarket(run);
    return {};
  },
  benchmark: async (sources, runRequest) => ({ benchmark: await readBenchmark(sources, runRequest) }),
  async 'run-benchmark'(sources, { run }) {
    const { documents, plans } = sources;
    const { benchmark } = BacktestFields.parse(run.request);
    const isIndex = benchmark?.kind === 'index' && (await documents.get('index', benchmark.id)) !== undefined;
    if (!isIndex) return { benchmark: null };
    const comparedIndex = { indexId: benchmark.id, documents: await plans.benchmarkDocuments(benchmark.id) };
    return { benchmark: await addModels(sources, comparedIndex, run.store_id) };
  },
  async 'group-column'({ states }, { run, query }) {
    assertReferenceColumn((await states.requireMarket(run)).market, query.by as string);
    return {};
  },
  async risk(sources, runRequest) {
    const { states } = sources;
    const { run, query } = runRequest;
    const measure = await resolveRiskMeasure(sources, query as unknown as RequestedMeasure, run.store_id);
    const benchmark = await readBenchmark(sources, runRequest);
    const isNeeded = benchmark !== null || measure.risk;
    const market = await (isNeeded ? states.requireMarket(run) : states.findMarket(run));
    const isMarketOfRun = market?.handle.contentHash === run.store_content_hash;
    return { ...measure, benchmark, market: market?.handle ?? null, isMarketOfRun };
  },
  factors: async (sources, { run, query }) => ({
    measure: await resolveFactorMeasure(sources, query, run.store_id),
  }),
  exposures: resolveExposures,
  issuers: resolveIssuers,
  'watched-rows': resolveWatchedRows,
  scenarios: resolveScenarios,
  memory: resolveRollingMemory,
  async files({ artifacts, jobs }, { run, afterwards }) {
    const files = await listNamedFiles(artifacts, run);
    const cells = createHashCells(files.length);
    // Hashing takes as long as all other work together. Another thread can compute some of the hashes.
    afterwards(() => jobs.help('hash-files', { paths: files.map(({ path }) => path), cells }));
    return { files, cells };
  },
};

export interface ListingQuery {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

/** Request for a view of a stored run, after its route has parsed it. */
export interface RunViewRequest {
  readonly terms: RunViewTerms;
  readonly name: RunName;
  /** Parameters of the path and the query. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly format: ExportFormat;
  /** Parses the body of the request. @throws Refusal VALIDATION_FAILED */
  body(): unknown;
}

export interface RunViews {
  /** Returns one row per run. A run with damaged files is skipped and counted. */
  summaries(query: ListingQuery, signal: AbortSignal): Promise<RunSummaryCollection>;
  /**
   * Returns a view of one run. In JSON, the view starts with the state of the run.
   * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, and the refusals of the view's inputs
   */
  show(question: RunViewRequest, signal: AbortSignal): Promise<RunBytes>;
}

/** Number of rows that are computed at the same time. One row is little work for a thread. */
const ROW_CONCURRENCY = 8;

export function createRunViews(
  context: Context,
  { nextRebalance, comingRebalance }: Pick<CalendarViews, 'nextRebalance' | 'comingRebalance'>,
  inputs: Pick<NeedSources, 'maker' | 'onExposures'>,
): RunViews {
  const { documents, artifacts, states } = context;
  const { maker } = inputs;
  const sources: NeedSources = { ...context, ...inputs, plans: createBacktestPlans(documents) };

  async function readRow(run: RunDocument, signal: AbortSignal): Promise<RunSummaryCollection['summaries'][number]> {
    const { bytes } = await maker.readCached(
      { view: 'summary', columns: await requireColumnsFile(artifacts, run) },
      signal,
    );
    const figures = JSON.parse(new TextDecoder().decode(bytes)) as RunFiguresPayload; // the view wrote this JSON, about 4 KB
    const { run_id: runId, index_id: indexId, name, run_at, start } = run;
    return {
      ...(await createStoredState(states, run)),
      ...figures,
      name,
      run_at,
      start,
      benchmark: BacktestFields.parse(run.request).benchmark?.id ?? null,
      next_rebalance: runId === indexId ? await nextRebalance(indexId, figures.end) : null,
      coming_rebalance: runId === indexId ? await comingRebalance(indexId, figures.end) : null,
    };
  }

  return {
    async summaries({ limit, after }, signal) {
      const { documents: runs, skipped, skipped_causes: causes } = await documents.list('run', readRun);
      const request = runs.filter(({ run_id }) => after === undefined || run_id > after).slice(0, limit ?? runs.length);
      const summaries: RunSummaryCollection['summaries'] = [];
      let damagedCount = 0;
      for (let offset = 0; offset < request.length; offset += ROW_CONCURRENCY) {
        const rows = await Promise.all(
          request.slice(offset, offset + ROW_CONCURRENCY).map((run) => readRow(run, signal).catch(ignoreDamage)),
        );
        const readableRows = rows.filter((row) => row !== null);
        summaries.push(...readableRows);
        damagedCount += rows.length - readableRows.length;
        await setImmediate();
      }
      return { summaries, ...addUnreadable({ skipped, skipped_causes: causes }, damagedCount) };
    },
    async show({ terms, name, query, format, body }, signal) {
      const run = await requireRun(documents, name);
      const { given, afterwards: completionActions } = await lookUpRun(terms, { run, query, body });
      const columns = await (terms.isMadeAnew
        ? resolveColumnsFile(artifacts, run)
        : requireColumnsFile(artifacts, run));
      // The parameters of the route and the members that its needs add have the type that the terms require.
      const input = { ...getParameters(query), ...given, format, view: terms.name, columns } as unknown as RunViewInput;
      const view = terms.isMadeAnew ? maker.make(input, signal) : maker.readCached(input, signal);
      for (const runAction of completionActions) runAction();
      const runId = computeRunId(run);
      const stamped = format === 'json' ? await maker.stamped(run, view) : undefined;
      const { bytes, sha256 } = await view;
      const isOfRun = terms.needs.every((need) => NEEDS_OF_RUN.has(need));
      return { ...(stamped ?? { bytes, etag: sha256 }), runId, ...(!isOfRun && { contentHash: sha256 }) };
    },
  };

  async function lookUpRun(terms: RunViewTerms, request: Omit<RunRequest, 'afterwards'>) {
    const noQuery: object = {};
    const completionActions: (() => void)[] = [];
    for (const need of terms.needs)
      Object.assign(
        noQuery,
        await NEEDS[need](sources, { ...request, afterwards: (help) => void completionActions.push(help) }),
      );
    return { given: noQuery, afterwards: completionActions };
  }
}

/** Needs whose inputs the run determines. Others read documents, models or data that may change. */
const NEEDS_OF_RUN: ReadonlySet<string> = new Set(['window', 'same-store', 'files', 'own-market']);

/** Parameters that select the run, and parameters that a need replaces. */
const RESOLVED_PARAMETERS = new Set(['index_id', 'run_id', 'benchmark']);

const getParameters = (query: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(query).filter(([name, value]) => value !== undefined && !RESOLVED_PARAMETERS.has(name)),
  );

/** Returns null for an error of one run, so that the other runs are still listed. */
function ignoreDamage(failure: unknown): null {
  if (failure instanceof Refusal && failure.code === 'DOCUMENT_UNREADABLE') return null;
  throw failure;
}

/** Maximum number of runs that are read at the same time. Each needs a thread. */
const RUN_CONCURRENCY = 4;

/** Maximum number of runs that a list of actions reads. Reading a run takes up to 200 ms; it is then cached. */
const LISTED_RUNS_MAX = 50;

/**
 * Finds effects of corporate actions on stored runs. At most 50 runs are read for a list, newest first.
 * @param terms terms of the view of a run's actions
 */
export function createActionEffects(
  views: Pick<RunViews, 'show'>,
  terms: RunViewTerms,
  documents: Pick<DocumentStore, 'ids' | 'list'>,
): ActionEffects {
  async function readActions(
    indexId: string,
    { from, to }: ExDates,
    signal: AbortSignal,
  ): Promise<ActionsView['actions']> {
    const query = { index_id: indexId, from, to };
    const question = { terms, name: indexId, query, format: 'json', body: () => undefined } as const;
    try {
      const { bytes } = await views.show(question, signal);
      return (JSON.parse(new TextDecoder().decode(bytes)) as ActionsView).actions; // this engine wrote the view
    } catch (failure) {
      if (failure instanceof Refusal && !signal.aborted) return []; // the run was deleted, or its store is not served
      throw failure;
    }
  }

  /** Reads the actions of indices in a period, and converts those of each index. */
  async function collect<T>(
    ids: readonly string[],
    dates: ExDates,
    { signal, convert }: { readonly signal: AbortSignal; convert(id: string, actions: ActionsView['actions']): T[] },
  ): Promise<T[]> {
    const results: T[] = [];
    for (let k = 0; k < ids.length; k += RUN_CONCURRENCY) {
      const batchIds = ids.slice(k, k + RUN_CONCURRENCY);
      const batch = await Promise.all(batchIds.map(async (id) => convert(id, await readActions(id, dates, signal))));
      results.push(...batch.flat());
    }
    return results;
  }

  return {
    async read(identifier, exDate, signal) {
      const indices = new Set(await documents.ids('index'));
      const ids = (await documents.ids('run')).filter((id) => indices.has(id));
      return collect(
        ids,
        { from: exDate, to: exDate },
        {
          signal,
          convert: (id, actions) =>
            actions.filter((action) => action.identifier === identifier).map((action) => createEffect(id, action)),
        },
      );
    },
    async list(dates, signal) {
      const indices = new Set(await documents.ids('index'));
      const { documents: runs } = await documents.list('run', readRun);
      const ids = runs
        .filter(({ run_id: id }) => indices.has(id))
        .toSorted((a, b) => compareText(b.run_at ?? '', a.run_at ?? ''))
        .map(({ run_id: id }) => id);
      const holdings = await collect(ids.slice(0, LISTED_RUNS_MAX), dates, { signal, convert: listHoldings });
      const byAction = new Map<string, AffectedIndex[]>();
      for (const { key, index } of holdings.toSorted((a, b) => b.index.weight - a.index.weight))
        byAction.set(key, [...(byAction.get(key) ?? []), index]);
      return { byAction, unread: Math.max(0, ids.length - LISTED_RUNS_MAX) };
    },
  };
}

function createEffect(indexId: string, action: ActionsView['actions'][number]): DeskActionEffect {
  return {
    index_id: indexId,
    state: action.state,
    weight_before: action.weight_before,
    weight_after: action.weight_after,
    shares_before: action.shares_before,
    shares_after: action.shares_after,
    divisor_before: action.divisor_before,
    divisor_after: action.divisor_after,
    dividend_return: action.dividend_return,
    net_dividend_return: action.net_dividend_return,
  };
}

/** Returns the weight of an index in each security with actions. A security with several actions on a date is once. */
function listHoldings(indexId: string, actions: ActionsView['actions']) {
  const weights = new Map(
    actions.map(({ identifier, ex_date: exDate, weight_before: weight }) => [
      formatActionKey(identifier, exDate),
      weight,
    ]),
  );
  return [...weights].map(([key, weight]) => ({ key, index: { index_id: indexId, weight } }));
}
