import { createHash } from 'node:crypto';
import { countRetainedBytes } from '#base/memory.js';
import type { BacktestRequest } from '#contract/run.js';
import {
  assertForeign,
  combineStaleReasons,
  limitPlanToDate,
  listDefinitionChanges,
  mayDifferInBits,
  removeLabels,
  resolveRequest,
  type RunState,
  selectPlanClosures,
  type StaleReasons,
  type StaleState,
} from '#domain/backtest/plan.js';
import type { Finding } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { findFirstAtLeast } from '#domain/base/numbers.js';
import { type ErrorCode, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type AsKnownOn, assertOrder } from '#domain/base/schema.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { assertScheduled } from '#domain/books/composer.js';
import { type Calendars, listClosures, type RecordedClosures } from '#domain/calendars/calendar.js';
import { correctCalendars, type ExchangeCalendars } from '#domain/calendars/exchange-calendars.js';
import type { BacktestPlan, StrategyTerms } from '#domain/definition/backtest-plan.js';
import {
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  isSetKind,
} from '#domain/definition/index-document.js';
import { addDefaultsToPlan } from '#domain/definition/index-validation.js';
import { findStore, removeStores } from '#domain/definition/references.js';
import { type BenchmarkRef, parseBenchmark, type RunDocument } from '#domain/definition/runs.js';
import { listRebalanceDates } from '#domain/definition/schedule.js';
import type { StrategyDocument } from '#domain/definition/strategies.js';
import type { MarketData, MarketIdentity } from '#domain/market/market-data.js';
import type { EarlierContentReferences } from '#jobs/tasks/catalogue.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import type { ServedMarket } from '#market/serve/served-markets.js';
import { readHead } from '#store/history/history.js';
import type { DocumentKind, DocumentLookup, DocumentStore } from '#store/port.js';
import { ALL_CLOSURES, createIndexSchedules } from '../indices/calendars.js';
import { findIndex, requireIndex, resolveReached } from '../indices/documents.js';
import { findConstraintSet, findStrategy } from '../indices/strategies.js';
import type { Context, RunStates, StateTerms } from '../shared/context.js';
import { readUsedModels, toPlannedModels, type UsedModels } from '../shared/model-documents.js';
import { readStoredPlan } from '../shared/run-documents.js';
import { readDataset } from '../shared/store-documents.js';

/** Plan of a run, and the store that its documents or its request name. The store is null for the active store. */
interface PlannedRun {
  readonly plan: BacktestPlan;
  /** Stored risk models that the documents use. The plan does not state their stores. */
  readonly models: UsedModels;
  readonly storeId: string | null;
}

/** Plans of backtest requests, made from stored documents. */
export interface BacktestPlans {
  /**
   * Plans a run. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, INVALID_RANGE,
   * BENCHMARK_NOT_FOUND
   */
  planRun(runId: string, request: BacktestRequest): Promise<PlannedRun>;
  /**
   * Returns a benchmark index and every document that it refers to. @throws Refusal BENCHMARK_NOT_FOUND,
   * DOCUMENT_UNREADABLE
   */
  benchmarkDocuments(benchmarkId: string): Promise<Record<string, IndexDocument>>;
  /**
   * Finds the benchmark of a view by its name. The name is an index or an identifier of the market; only an identifier
   * loads the market.
   * @throws Refusal BENCHMARK_NOT_FOUND, DOCUMENT_UNREADABLE, and the refusals of loading the market
   */
  comparedWith(name: string, loadMarket: () => Promise<MarketData | undefined>): Promise<ComparedWith>;
}

export function createBacktestPlans(documents: Pick<DocumentStore, 'get'>): BacktestPlans {
  const readIndex = (indexId: string) => findIndex(documents, indexId);

  /**
   * Plans a run of an index or a strategy. A strategy adds its own terms, and the request can override some of them.
   * The plan includes all documents that the index refers to.
   */
  async function planRun(runId: string, requestedTerms: BacktestRequest): Promise<PlannedRun> {
    const strategy = (await findStrategy(documents, runId))?.strategy;
    const { document } =
      strategy === undefined ? await requireIndex(documents, runId) : { document: await findFollowedIndex(strategy) };
    const request = resolveRequest(
      { ...requestedTerms, benchmark: await readBenchmark(requestedTerms.benchmark) },
      strategy,
    );
    assertOrder(request);
    if (strategy === undefined) assertForeign(document, request);
    const reachedDocuments = {
      ...(await resolveReached(documents, document)),
      ...(request.benchmark?.kind === 'index' ? await readBenchmarkDocuments(request.benchmark.id) : {}),
    };
    const models = await readUsedModels(documents, reachedDocuments);
    const plan = {
      runId,
      name: (strategy ?? document).name,
      indexId: document.id,
      documents: removeStores(reachedDocuments),
      ...toPlannedModels(models),
      request,
      ...(strategy === undefined ? {} : { strategy: await readTerms(strategy) }),
    };
    return { plan, models, storeId: findStore(reachedDocuments, request.store_id) };
  }

  /**
   * Returns the terms of a strategy. @throws Refusal VALIDATION_FAILED if the constraint set was deleted or is
   * unreadable
   */
  async function readTerms({
    rebalance,
    drift_tolerance,
    exposure,
    constraint_set_id: setId,
  }: StrategyDocument): Promise<StrategyTerms> {
    const terms = { rebalance, drift_tolerance, exposure };
    if (setId === null) return terms;
    const constraintSet = await findConstraintSet(documents, setId);
    if (constraintSet !== undefined) return { ...terms, constraints: constraintSet.constraints };
    throw refuseWithFindings('strategy document', [
      {
        severity: 'error',
        code: 'CONSTRAINT_SET_NOT_FOUND',
        path: 'constraint_set_id',
        message: `No constraint set is stored under the id ${setId}.`,
        value: setId,
      },
    ]);
  }

  /** Returns the index of a strategy. @throws Refusal VALIDATION_FAILED if the index was deleted or is unreadable */
  async function findFollowedIndex({ index_id: id }: StrategyDocument): Promise<IndexDocument> {
    const document = await readIndex(id);
    if (document !== undefined) return document;
    throw refuseWithFindings('strategy document', [
      {
        severity: 'error',
        code: 'UNKNOWN_INDEX',
        path: 'index_id',
        message: `No index is stored under the id ${id}.`,
        value: id,
      },
    ]);
  }

  async function readBenchmarkDocuments(benchmarkId: string): Promise<Record<string, IndexDocument>> {
    if ((await documents.get('index', benchmarkId)) === undefined)
      throw new Refusal('BENCHMARK_NOT_FOUND', `The benchmark ${benchmarkId} is not a stored index.`, {
        benchmark: benchmarkId,
      });
    return resolveReached(documents, (await requireIndex(documents, benchmarkId)).document);
  }

  async function readComparedWith(
    name: string,
    loadMarket: () => Promise<MarketData | undefined>,
  ): Promise<ComparedWith> {
    const { kind, id } = parseBenchmark(name);
    if (kind === 'index' || (kind === null && (await documents.get('index', id)) !== undefined))
      return { indexId: id, documents: await readBenchmarkDocuments(id) };
    const market = await loadMarket();
    if (market?.series?.has(id) === true || market?.identifiers.includes(id) === true)
      return { indexId: id, documents: {} };
    const mismatch = kind === null ? 'neither a stored index nor an identifier' : 'no identifier';
    throw new Refusal('BENCHMARK_NOT_FOUND', `The benchmark ${id} is ${mismatch} of the data store of the runs.`, {
      benchmark: id,
    });
  }

  /** Returns the components of the benchmark that a request names. */
  async function readBenchmark(benchmark: BacktestRequest['benchmark']): Promise<BenchmarkRef | null | undefined> {
    if (typeof benchmark !== 'string') return benchmark;
    const { kind, id } = parseBenchmark(benchmark);
    const benchmarkKind = kind ?? ((await documents.get('index', id)) === undefined ? 'identifier' : 'index');
    return { id, kind: benchmarkKind, price_column: 'CLOSE' };
  }

  return { planRun, benchmarkDocuments: readBenchmarkDocuments, comparedWith: readComparedWith };
}

/**
 * Number of double-precision panels that a run allocates in addition to the shared market: three variants of growth
 * factors, weights, columns and text.
 */
const PANELS_PER_RUN = 10;

/** Estimates the maximum memory of a backtest on a market. */
export function estimateBacktestBytes({ dates, identifiers }: MarketData): number {
  return 64 * 2 ** 20 + PANELS_PER_RUN * countRetainedBytes(8 * dates.length * identifiers.length);
}

interface DecisionSpan {
  readonly market: MarketData;
  /** Last date on which decisions are made; null for the last date of the market. */
  readonly end: string | null;
  readonly documents: Readonly<Record<string, IndexDocument>>;
}

/**
 * Refuses decisions on data as it was known if the first available version is later than all decisions.
 * @throws Refusal NO_DATA_KNOWN, LOOK_AHEAD
 */
export function assertSomeVersion(
  { knownOn, earlier }: EarlierContentReferences,
  { market, end, documents }: DecisionSpan,
): void {
  assertScheduled(documents);
  const firstKnownOn = earlier.at(-1)?.knownOn ?? knownOn;
  const last = findLastDay(market, end);
  if (firstKnownOn <= last) return;
  const message = `No decision up to ${formatDay(last)} can be made on known data: the first available version of the data store ${market.datasetId} was known on ${formatDay(firstKnownOn)}.`;
  throw refuseUnknown(message, { datasetId: market.datasetId, decision: last, first: firstKnownOn });
}

/**
 * Makes the check of `assertSomeVersion`. Also refuses a definition if its first decision is certainly earlier than the
 * first version. A universe that follows another index is known only after it was computed.
 * @throws Refusal NO_DATA_KNOWN, LOOK_AHEAD
 * @cost of a row of closes per definition
 */
export function assertFirstVersion(
  earlierContents: EarlierContentReferences,
  span: DecisionSpan & { readonly calendars: Calendars },
): void {
  assertSomeVersion(earlierContents, span);
  const { market, end, documents, calendars } = span;
  const { datasetId } = market;
  const firstKnownOn = earlierContents.earlier.at(-1)?.knownOn ?? earlierContents.knownOn;
  for (const document of Object.values(documents)) {
    const day = findFirstSession(document, market, calendars);
    if (day === undefined || day >= firstKnownOn || day > findLastDay(market, end)) continue;
    const message = `The decision of ${formatDay(day)}, the first of the index ${document.id}, is before the first available version of the data store ${datasetId}, known on ${formatDay(firstKnownOn)}.`;
    throw refuseUnknown(message, { datasetId, decision: day, first: firstKnownOn });
  }
}

/** Returns the session on which an index begins. Returns undefined if only the computation can determine it. */
function findFirstSession(document: IndexDocument, market: MarketData, calendars: Calendars): Day | undefined {
  const { dates, identifiers } = market;
  const calendar = calendars.get(document.calendar);
  const closes = market.fields.get('CLOSE');
  if (calendar === undefined || closes === undefined) return undefined;
  let row = findFirstAtLeast(dates, parseValidDay(document.base_date));
  while (row < dates.length && !calendar.isSession(dates[row]!)) row++;
  const day = dates[row];
  if (day === undefined) return undefined;
  const isMember = createMembershipTest(document, market, day);
  const isBegun = identifiers.some(
    (identifier, column) => isMember?.(identifier) === true && closes[row * identifiers.length + column]! > 0,
  );
  return isBegun ? day : undefined;
}

/** Format of identifiers of exchange rates. A universe does not contain exchange rates. */
const FIRST_USE_RATE = /^[A-Z]{6}$/;

/**
 * Returns a function that tests whether a security is in the universe of an index on a day. Returns undefined if
 * another index may determine the universe.
 */
function createMembershipTest(
  document: IndexDocument,
  { universes }: MarketData,
  day: Day,
): ((identifier: string) => boolean) | undefined {
  if (isDerivedDocument(document) || isOverlayDocument(document)) return undefined;
  const { universe } = document;
  if (universe?.kind === 'index' || isSetKind(universe?.kind)) return undefined;
  if (universe?.kind === 'list' || universe?.kind === 'watchlist') {
    const names = new Set(universe.identifiers);
    return (identifier) => names.has(identifier);
  }
  if (universe?.kind !== 'named') return (identifier) => !FIRST_USE_RATE.test(identifier);
  const members = new Set(
    universes.flatMap(({ universe: name, identifier, start, end }) =>
      name === universe.id && (start === null || start <= day) && (end === null || day < end) ? [identifier] : [],
    ),
  );
  return (identifier) => members.has(identifier);
}

const findLastDay = ({ dates }: MarketData, end: string | null): Day =>
  Math.min(dates.at(-1)!, end === null ? Infinity : parseValidDay(end));

function refuseUnknown(
  message: string,
  { datasetId, decision, first }: { readonly datasetId: string; readonly decision: Day; readonly first: Day },
): Refusal {
  const detail = { store_id: datasetId, decision_date: formatDay(decision), first_known_on: formatDay(first) };
  return new Refusal('NO_DATA_KNOWN', message, detail);
}

export interface RequestedBacktest {
  readonly request: BacktestRequest;
  readonly asKnownOn?: AsKnownOn | undefined;
}

export interface VersionedPlan extends PlannedRun {
  /** Version of the index or strategy; null if it has no version. */
  readonly version: number | null;
}

/** Plan for which a market has the data. */
export interface RunnablePlan extends VersionedPlan {
  readonly market: MarketData;
  /** Version of the data if the client requested an earlier version; otherwise empty. */
  readonly dataVersion: { readonly data_version?: number };
}

interface VersionedPlanInput {
  readonly documents: DocumentStore;
  readonly plans: Pick<BacktestPlans, 'planRun'>;
  readonly runId: string;
  readonly request: BacktestRequest;
}

/** Returns a plan and the version of its index or strategy. The document did not change during the read. */
export async function readPlanVersion({
  documents,
  plans,
  runId,
  request,
}: VersionedPlanInput): Promise<VersionedPlan> {
  for (;;) {
    const version = await readSubjectVersion(documents, runId);
    const plannedRun = await plans.planRun(runId, request);
    if ((await readSubjectVersion(documents, runId)) === version) return { ...plannedRun, version };
  }
}

/**
 * Returns the version of the index or strategy with the id of a run. An index and a strategy never have the same id.
 */
async function readSubjectVersion(documents: DocumentStore, id: string): Promise<number | null> {
  const kind = (await documents.get('strategy', id)) === undefined ? 'index' : 'strategy';
  return (await readHead(documents, { kind, id }))?.latest ?? null;
}

/**
 * Number of days before the end of a run in which a later change of sessions can still move a rebalance. This is more
 * than one anchor period.
 */
const MOVED_WITHIN_DAYS = 366;

/**
 * Maximum number of calendars with changes that are cached: those of runs that are made one after another, and the
 * current calendars.
 */
const CORRECTED_MAX = 4;

/**
 * Creates a function that compares the sessions that two plans of a run use. These are sessions up to the end of the
 * run, and rebalances that are decided by then. A later closure matters only if it moves such a rebalance.
 * @param calendars calendars without recorded changes
 */
function createComparedCalendars(calendars: ExchangeCalendars) {
  const correctedCalendars = new Map<string, ExchangeCalendars>();

  function getCalendars(closures: RecordedClosures): ExchangeCalendars {
    const key = toCanonicalJson(closures);
    const exchangeCalendars = correctedCalendars.get(key) ?? correctCalendars(calendars, closures);
    correctedCalendars.delete(key);
    correctedCalendars.set(key, exchangeCalendars);
    if (correctedCalendars.size > CORRECTED_MAX) correctedCalendars.delete(correctedCalendars.keys().next().value!);
    return exchangeCalendars;
  }

  /** Returns the rebalances of all indices of a plan that are decided by a day, as text. */
  async function readDecidedBy({ documents }: BacktestPlan, end: number): Promise<string> {
    const computeSchedule = createIndexSchedules(
      getCalendars(listClosures(documents)),
      async (id) => documents[id]!, // a plan has all documents that it refers to
      async () => undefined,
    );
    const dates: object[] = [];
    // the documents of a stored plan may be in another order
    for (const [, document] of Object.entries(documents).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const { cadences, baseDay } = await computeSchedule(document);
      for (const { rebalance, calendar, from = -Infinity, until = Infinity } of cadences) {
        const span = { from: end - MOVED_WITHIN_DAYS, to: calendar.coverage.to };
        for (const rebalanceDate of listRebalanceDates({ rebalance, calendar, baseDay, ...span }))
          if (rebalanceDate.decision <= end && rebalanceDate.date >= from && rebalanceDate.date < until)
            dates.push(rebalanceDate);
      }
    }
    return JSON.stringify(dates);
  }

  /** Removes from both plans the session changes that the run does not use. */
  return async function limitToUsedSessions(
    previousPlan: BacktestPlan,
    currentPlan: BacktestPlan,
    run: Pick<RunDocument, 'end' | 'called'>,
  ): Promise<readonly [BacktestPlan, BacktestPlan]> {
    // A rebalance that a breach triggered can become effective on a session after the end of the data.
    const last = (run.called ?? []).reduce((day, { effective }) => (effective > day ? effective : day), run.end);
    const truncatedPlans = [removeLater(previousPlan, last), removeLater(currentPlan, last)] as const;
    const isLaterSame = truncatedPlans.every((plan, k) => plan === [previousPlan, currentPlan][k]);
    if (isLaterSame) return truncatedPlans;
    try {
      const end = parseValidDay(run.end);
      return (await readDecidedBy(previousPlan, end)) === (await readDecidedBy(currentPlan, end))
        ? truncatedPlans
        : [previousPlan, currentPlan];
    } catch (failure) {
      if (failure instanceof Refusal) return [previousPlan, currentPlan];
      throw failure;
    }
  };
}

/** Removes the session changes after a date from a plan. Returns the same plan if there are none. */
function removeLater(plan: BacktestPlan, last: string): BacktestPlan {
  const isLater = Object.values(listClosures(plan.documents)).some(({ changes }) =>
    changes.some(({ date }) => date > last),
  );
  if (!isLater) return plan;
  const documents = Object.entries(plan.documents).map(([id, { closures = {}, ...document }]) => {
    const keptClosures = Object.entries(closures).flatMap(([code, { version, changes }]) => {
      const earlierChanges = changes.filter(({ date }) => date <= last);
      return earlierChanges.length === 0 ? [] : [[code, { version, changes: earlierChanges }] as const];
    });
    return [
      id,
      keptClosures.length === 0 ? document : { ...document, closures: Object.fromEntries(keptClosures) },
    ] as const;
  });
  return { ...plan, documents: Object.fromEntries(documents) };
}

/** Kinds of documents that determine a definition. */
const DEFINITION_KINDS = [
  'index',
  'strategy',
  'constraint-set',
  'risk-model',
  'watchlist',
  'plugin',
  'recorded-closures',
] as const satisfies readonly DocumentKind[];

/** Maximum number of runs whose comparison is cached. It equals the size of the largest listing. */
const CACHED_COMPARISONS_MAX = 10_000;

/** State of a document: its ETag, its absence, or the reason why it is unreadable. */
interface DocumentState {
  readonly kind: DocumentKind;
  readonly id: string;
  readonly found: string;
}

/** Comparison of a run with the present definition. */
interface DefinitionState {
  readonly reasons: readonly string[];
  /** Store that the same request would use now; null for the active store. */
  readonly storeId: string | null;
}

interface CachedComparison extends DefinitionState {
  /** Revision of the documents at the last check that found no change. */
  revision: string;
  readonly reads: readonly DocumentState[];
}

type StateContext = Omit<Context, 'states' | 'approvals'>;

/** Service that compares the definitions of stored runs with the current definitions. */
function createRunDefinitions({ documents, artifacts, calendars, markets }: StateContext) {
  const { planRun } = createBacktestPlans(documents);
  const limitToUsedSessions = createComparedCalendars(calendars.base);
  /** Comparisons by run, least recently compared first. */
  const comparisonCache = new Map<string, CachedComparison>();

  /**
   * Returns the plan that the request of a stored run would get now. @throws the refusals of `BacktestPlans.planRun`
   */
  const planNow = async (run: RunDocument): Promise<BacktestPlan> =>
    (await planRun(run.run_id, getRequested(run))).plan;

  /** Compares the definition of a run with the current definition. @cost of a look-up, until a definition changes */
  async function readDefinition(run: RunDocument): Promise<DefinitionState> {
    const key = `${run.run_id} ${run.run_hash} ${run.run_at}`;
    const revisionText = (await Promise.all(DEFINITION_KINDS.map((kind) => documents.revision(kind)))).join(' ');
    const cachedComparison = comparisonCache.get(key);
    if (
      cachedComparison !== undefined &&
      (cachedComparison.revision === revisionText || (await areUnchanged(cachedComparison.reads)))
    ) {
      cachedComparison.revision = revisionText;
      return cachedComparison;
    }
    const readStates: DocumentState[] = [];
    const definition = await compareDefinitions(run, readStates);
    comparisonCache.delete(key);
    comparisonCache.set(key, { revision: revisionText, reads: readStates, ...definition });
    if (comparisonCache.size > CACHED_COMPARISONS_MAX) comparisonCache.delete(comparisonCache.keys().next().value!);
    return definition;
  }

  async function areUnchanged(readStates: readonly DocumentState[]): Promise<boolean> {
    for (const { kind, id, found } of readStates)
      if (formatFoundDocument(await documents.get(kind, id)) !== found) return false;
    return true;
  }

  /** @param readStates records the documents that are read */
  function compareDefinitions(run: RunDocument, readStates: DocumentState[]): Promise<DefinitionState> {
    return compareWith(run, {
      async get(kind, id) {
        const document = await documents.get(kind, id);
        readStates.push({ kind, id, found: formatFoundDocument(document) });
        return document;
      },
    });
  }

  async function compareWith(run: RunDocument, reader: Pick<DocumentStore, 'get'>): Promise<DefinitionState> {
    let now: PlannedRun;
    try {
      now = await createBacktestPlans(reader).planRun(run.run_id, getRequested(run));
    } catch (refusal) {
      if (refusal instanceof Refusal)
        return { reasons: [`It cannot be run any more: ${formatSentence(refusal)}`], storeId: run.store_id ?? null };
      throw refusal;
    }
    const { plan, storeId } = now;
    return { reasons: hashPlan(plan) === run.artifacts.plan?.sha256 ? [] : await readChangesFrom(run, plan), storeId };
  }

  async function readChangesFrom(run: RunDocument, now: BacktestPlan): Promise<readonly string[]> {
    if (run.artifacts.plan === undefined)
      return ['The run was stored without its definition: a change of the definition cannot be detected.'];
    let previousPlan: BacktestPlan;
    try {
      previousPlan = addDefaultsToPlan(await readStoredPlan(artifacts, run));
    } catch (refusal) {
      if (refusal instanceof Refusal) return ['The definition of the run cannot be read and is not compared.'];
      throw refusal;
    }
    const { asked } = run;
    const market = markets.served()?.market;
    const getComparablePlan = (plan: BacktestPlan): BacktestPlan =>
      removeLabels(selectPlanClosures(limitPlanToDate(plan, run.end), market));
    const [was, is] = await limitToUsedSessions(getComparablePlan(previousPlan), getComparablePlan(now), run);
    if (hashPlan(was) === hashPlan(is)) return [];
    const changes = listDefinitionChanges({ plan: was, asked }, { plan: is, asked });
    return changes.length > 0 ? changes : ['The definition changed since this run.'];
  }

  async function readReasons(run: RunDocument, closures: RecordedClosures): Promise<readonly string[]> {
    const next = { id: ALL_CLOSURES, body: closures, etag: '', updatedAt: '' };
    const [{ reasons: now }, { reasons }] = await Promise.all([
      readDefinition(run),
      compareWith(run, {
        get: async (kind, id) => (kind === 'recorded-closures' ? next : documents.get(kind, id)),
      }),
    ]);
    return reasons.filter((reason) => !now.includes(reason));
  }

  return {
    planNow,
    readDefinition,
    /**
     * Returns the reasons why recorded calendar changes would make a run stale. Returns no reasons if it stays current.
     */
    reasonsWith: readReasons,
  };
}

/** Returns the request of a run as the client sent it. If that is not stored, returns the request with its defaults. */
function getRequested({ asked, request }: RunDocument): BacktestRequest {
  return (asked ?? request) as BacktestRequest; // the request was parsed when it was sent
}

function formatFoundDocument(document: DocumentLookup): string {
  if (document === undefined) return 'absent';
  return 'unreadable' in document ? document.unreadable : document.etag;
}

function hashPlan(plan: BacktestPlan): string {
  return createHash('sha256').update(toCanonicalJson(plan)).digest('hex');
}

/** Returns the message of a refusal. If the message only counts the findings, the findings are added. */
function formatSentence({ message, detail }: Refusal): string {
  const findings = detail?.['findings'];
  return Array.isArray(findings)
    ? (findings as readonly Finding[]).map((finding) => finding.message).join(' ')
    : message;
}

/** Codes of refusals that may go away later. The run stays with its store. */
const TEMPORARY_CODES: ReadonlySet<string> = new Set<ErrorCode>(['STORE_UNAVAILABLE', 'OVERLOADED', 'STORAGE_FULL']);

interface DatasetsByContent {
  /** Revision of the documents when they were read. */
  readonly revision: number;
  readonly contents: readonly (MarketIdentity & { readonly isActive: boolean })[];
}

function createRunStores({ documents, markets, stores }: StateContext) {
  /**
   * Returns the store of a run. If the run was stored without its store, returns a store with the same content, if any.
   */
  async function findDataset({
    store_id: datasetId,
    store_content_hash: hash,
  }: RunDocument): Promise<string | undefined> {
    if (datasetId !== undefined) return datasetId;
    const servedHandle = markets.served()?.handle;
    if (servedHandle?.contentHash === hash) return servedHandle.datasetId;
    return (await readDatasetsByContent()).contents.find(({ contentHash }) => contentHash === hash)?.datasetId;
  }

  let datasets: DatasetsByContent | undefined;

  /** Lists the content hash and the properties of each store. The list is cached until a store changes. */
  async function readDatasetsByContent(): Promise<DatasetsByContent> {
    const revision = await documents.revision('store');
    if (datasets?.revision === revision) return datasets;
    const { documents: allDatasets } = await documents.list('store', readDataset);
    const contents = allDatasets.flatMap(
      ({ store_id: datasetId, content_hash: contentHash, adjustment, currency, active: isActive }) =>
        contentHash === null ? [] : [{ datasetId, contentHash, adjustment, currency, isActive }],
    );
    const cachedContents = { revision, contents };
    datasets = cachedContents;
    return cachedContents;
  }

  /**
   * Returns the content that a new run would use. It is the content of the given store; if none is given, the served
   * content or that of the previously active store.
   */
  async function readCurrentContent(storeId: string | null): Promise<MarketIdentity | undefined> {
    const servedHandle = markets.served()?.handle;
    if (servedHandle !== undefined && (storeId === null || storeId === servedHandle.datasetId)) return servedHandle;
    const { contents } = await readDatasetsByContent();
    return contents.find(({ isActive, datasetId }) => (storeId === null ? isActive : datasetId === storeId));
  }

  /** Returns the market of a run's store. @throws Refusal STORE_MISMATCH */
  async function findMarket(run: RunDocument, active: ServedMarket | undefined): Promise<ServedMarket | undefined> {
    const storeId = await findDataset(run);
    if (storeId === undefined || storeId === active?.identity.datasetId) return active;
    try {
      return await stores.of(storeId);
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || TEMPORARY_CODES.has(refusal.code)) throw refusal;
      const message = `The run of ${run.run_id} was made on the store ${storeId}, which cannot be read: ${refusal.message}`;
      const detail = { store_id: storeId, served_store_id: active?.identity.datasetId ?? null };
      throw new Refusal('STORE_MISMATCH', message, detail, { cause: refusal });
    }
  }

  return { datasetOf: findDataset, currentContent: readCurrentContent, marketOf: findMarket };
}

/**
 * Returns the reasons why the content of its store makes a run stale. @param isOfThen true if `content` is that of the
 * version on which the run was made
 */
function listContentReasons(run: RunDocument, content: MarketIdentity, isOfThen: boolean): string[] {
  const { datasetId, contentHash, adjustment, currency = null } = content;
  const { as_known_on: version } = run;
  if (contentHash !== run.store_content_hash && version === undefined)
    return [`The store ${datasetId} holds other content than the run was made on.`];
  if (contentHash !== run.store_content_hash && !isOfThen)
    return [
      `The run was made on version ${version} of the store ${datasetId}, as known then; it holds other content now.`,
    ];
  const declarations = [
    { of: 'adjustment', was: run.adjustment, is: adjustment },
    { of: 'currency', was: run.declared_currency, is: currency },
  ];
  return declarations.flatMap(({ of, was, is }) =>
    was === undefined || was === is
      ? []
      : [
          `The store ${datasetId} declares ${is === null ? `no ${of}` : `the ${of} ${is}`}; the run was made on ${was ?? 'none'}.`,
        ],
  );
}

/**
 * Returns the reason why the engine makes a run stale. Returns no reasons if this engine computes bit-identical
 * results.
 */
function listEngineReasons({ engine_version: storedVersion }: RunDocument, engineVersion: string): string[] {
  return mayDifferInBits(storedVersion, engineVersion)
    ? [`The run was made by engine ${storedVersion}; engine ${engineVersion} may compute slightly different values.`]
    : [];
}

/** @param context its markets read the active store, whatever store a call names */
export function createRunStates(context: StateContext): RunStates {
  const { markets, engineVersion } = context;
  const { planNow, readDefinition, reasonsWith } = createRunDefinitions(context);
  const { datasetOf, currentContent, marketOf } = createRunStores(context);

  async function readDataReasons(
    run: RunDocument,
    { isOfThen, storeId }: StateTerms & Pick<DefinitionState, 'storeId'>,
  ): Promise<Pick<StaleReasons, 'data' | 'otherStore'>> {
    const content = await currentContent(storeId);
    if (content === undefined && storeId === null) return { data: [], otherStore: null };
    if (content === undefined)
      return { data: [`The store ${storeId} of the index is not registered.`], otherStore: null };
    const { datasetId } = content;
    const runDataset = (await datasetOf(run)) ?? datasetId;
    if (runDataset === datasetId) return { data: listContentReasons(run, content, isOfThen), otherStore: null };
    const currentState = storeId === null ? `${datasetId} is active` : `the index belongs to ${datasetId}`;
    return { data: [`The run was made on the store ${runDataset}; ${currentState}.`], otherStore: runDataset };
  }

  return {
    reasonsWith,
    planNow,
    async findStaleState(run, { isOfThen = false } = {}) {
      const { reasons, storeId } = await readDefinition(run);
      return combineStaleReasons({
        definition: reasons,
        ...(await readDataReasons(run, { isOfThen, storeId })),
        engine: listEngineReasons(run, engineVersion),
      });
    },
    requireMarket: async (run) => (await marketOf(run, markets.served())) ?? markets.require(),
    servedMarket: (run) => marketOf(run, markets.served()),
    async findMarket(run) {
      try {
        return await marketOf(run, markets.served());
      } catch (refusal) {
        if (refusal instanceof Refusal && refusal.code === 'STORE_MISMATCH') return undefined;
        throw refusal;
      }
    },
    async findStore(run) {
      const storeId = await datasetOf(run);
      return storeId === markets.served()?.identity.datasetId ? undefined : storeId;
    },
  };
}

interface StoredState extends RunState {
  stale: (StaleState & { reasons: string[] }) | null;
}

/** Returns the state of a run. Every view of the run contains it. */
export async function createStoredState(
  states: Pick<RunStates, 'findStaleState'>,
  run: RunDocument,
): Promise<StoredState> {
  const staleState = await states.findStaleState(run);
  return {
    stale: staleState && { ...staleState, reasons: [...staleState.reasons] },
    index_version: run.index_version ?? null,
    store_id: run.store_id ?? null,
  };
}

/** Completes a request: members that are absent get the values of a stored run. */
export function applyStoredTerms(run: RunDocument | undefined, request: BacktestRequest): BacktestRequest {
  const presentTerms = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
  return run === undefined ? request : { ...getRequested(run), ...presentTerms };
}
