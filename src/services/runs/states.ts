import { createHash } from 'node:crypto';
import type { BacktestRequest } from '#contract/run.js';
import {
  combineStaleReasons,
  limitPlanToDate,
  listDefinitionChanges,
  mayDifferInBits,
  removeLabels,
  type RunState,
  selectPlanClosures,
  type StaleReasons,
  type StaleState,
} from '#domain/backtest/plan.js';
import type { Finding } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { type ErrorCode, Refusal } from '#domain/base/refusals.js';
import { parseValidDay } from '#domain/base/time.js';
import { listClosures, type RecordedClosures } from '#domain/calendars/calendar.js';
import { correctCalendars, type ExchangeCalendars } from '#domain/calendars/exchange-calendars.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { addDefaultsToPlan } from '#domain/definition/index-validation.js';
import type { RunDocument } from '#domain/definition/runs.js';
import { listRebalanceDates } from '#domain/definition/schedule.js';
import type { MarketIdentity } from '#domain/market/market-data.js';
import type { ServedMarket } from '#market/serve/served-markets.js';
import type { DocumentKind, DocumentLookup, DocumentStore } from '#store/port.js';
import { ALL_CLOSURES, createIndexSchedules } from '../indices/calendars.js';
import type { Context, RunStates, StateTerms } from '../shared/context.js';
import { readStoredPlan } from '../shared/run-documents.js';
import { readDataset } from '../shared/store-documents.js';
import { createBacktestPlans, type PlannedRun } from './plans.js';

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
