import { planThrough } from '#domain/backtest/plan-through.js';
import { createHash } from 'node:crypto';
import type { BacktestRequest } from '#contract/analytics/request.js';
import type { RecordedClosures } from '#domain/calendars/closures.js';
import { planOnCalendars } from '#domain/backtest/plan-closures.js';
import { definitionChanges } from '#domain/backtest/plan-changes.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { combineStaleReasons, type RunState, type StaleReasons, type StaleState } from '#domain/backtest/stale.js';
import { canonicalJson } from '#domain/json/canonical-json.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketIdentity } from '#domain/market/handle.js';
import { Refusal, type ErrorCode } from '#domain/refusals/refusal.js';
import type { Markets, ServedMarket } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentKind, DocumentStore, FoundDocument } from '#store/port.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { ALL_CLOSURES, type FollowingCalendars } from '../stored/recorded-closures.js';
import { createBacktestPlans, type PlannedRun } from './backtest-plans.js';
import { createComparedCalendars } from './compared-calendars.js';
import { contentReasons, engineReasons } from './stale-reasons.js';
import { readDataset } from '../stored/dataset-documents.js';
import { planWithDefaults } from '#domain/checks/plan-defaults.js';
import { readStoredPlan } from '../stored/stored-plans.js';

export interface RunStatesDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly calendars: Pick<FollowingCalendars, 'base'>;
  /** The active store. */
  readonly markets: Pick<Markets, 'served' | 'require'>;
  readonly stores: Pick<StoreMarkets, 'of'>;
  readonly engineVersion: string;
}

export interface StateTerms {
  /** True for the content at that time; the run used the data as known in a version. */
  readonly isOfThen: boolean;
}

/**
 * Determines which stored runs are stale, and which market may be read with a run.
 */
export interface RunStates {
  /**
   * Returns null while a run of the same request on the current data would give the stored result.
   * @cost of a look-up, until a definition changes
   */
  staleOf(run: RunDocument, terms?: Partial<StateTerms>): Promise<StaleState | null>;
  /** Returns the reasons for which a run becomes stale if changes of calendars are recorded; empty if it does not. */
  reasonsWith(run: RunDocument, closures: RecordedClosures): Promise<readonly string[]>;
  /** Returns the plan that a stored run's request has now. @throws Refusal as `BacktestPlans.planOf` */
  planNow(run: RunDocument): Promise<BacktestPlan>;
  /**
   * Returns the market of the store of a run, for a view that needs prices.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE, STORE_MISMATCH if the store cannot be read
   */
  requireMarket(run: RunDocument): Promise<ServedMarket>;
  /**
   * Returns the market like `requireMarket`; undefined if the store of the run is unknown and none is active. @throws
   * Refusal STORE_MISMATCH
   */
  servedMarket(run: RunDocument): Promise<ServedMarket | undefined>;
  /**
   * Returns the market like `servedMarket`; undefined if the store is unreadable, for views that return less without a
   * market.
   */
  findMarket(run: RunDocument): Promise<ServedMarket | undefined>;
  /** Returns the store of a run, on which work on its market is computed; undefined for the active one. */
  storeOf(run: RunDocument): Promise<string | undefined>;
}

/** Kinds of documents that definitions consist of. */
const DEFINING = [
  'index',
  'strategy',
  'constraint-set',
  'risk-model',
  'watchlist',
  'plugin',
  'recorded-closures',
] as const satisfies readonly DocumentKind[];

/** Refusals of a read that may succeed later, so that the store is still the right one. */
const MAY_PASS: ReadonlySet<string> = new Set<ErrorCode>(['STORE_UNAVAILABLE', 'OVERLOADED', 'STORAGE_FULL']);

/** Maximum number of runs whose comparison is cached, equal to the largest listing. */
const REMEMBERED_MAX = 10_000;

interface KnownDatasets {
  /** Revision of the documents when they were read. */
  readonly revision: number;
  readonly contents: readonly (MarketIdentity & { readonly isActive: boolean })[];
}

/** State of a document: its ETag, its absence, or the reason it is unreadable. */
interface DocumentRead {
  readonly kind: DocumentKind;
  readonly id: string;
  readonly found: string;
}

/** Comparison of a run with the present definition. */
interface Definition {
  readonly reasons: readonly string[];
  /** Store that a run of the same request would use now; null for the active one. */
  readonly storeId: string | null;
}

interface Compared extends Definition {
  /** Revision of the documents when they were last found unchanged. */
  revision: string;
  readonly reads: readonly DocumentRead[];
}

export function createRunStates(dependencies: RunStatesDependencies): RunStates {
  const { documents, artifacts, calendars, markets, stores, engineVersion } = dependencies;
  const { planOf } = createBacktestPlans(documents);
  const onUsedSessions = createComparedCalendars(calendars.base);
  /** Comparisons by run, least recently compared first. */
  const compared = new Map<string, Compared>();

  const planNow = async (run: RunDocument): Promise<BacktestPlan> => (await planOf(run.run_id, askedOf(run))).plan;

  async function definitionOf(run: RunDocument): Promise<Definition> {
    const key = `${run.run_id} ${run.run_hash} ${run.run_at}`;
    const revision = (await Promise.all(DEFINING.map((kind) => documents.revision(kind)))).join(' ');
    const known = compared.get(key);
    if (known !== undefined && (known.revision === revision || (await areUnchanged(known.reads)))) {
      known.revision = revision;
      return known;
    }
    const reads: DocumentRead[] = [];
    const definition = await compareDefinitions(run, reads);
    compared.delete(key);
    compared.set(key, { revision, reads, ...definition });
    if (compared.size > REMEMBERED_MAX) compared.delete(compared.keys().next().value!);
    return definition;
  }

  async function areUnchanged(reads: readonly DocumentRead[]): Promise<boolean> {
    for (const { kind, id, found } of reads) if (foundOf(await documents.get(kind, id)) !== found) return false;
    return true;
  }

  /** @param reads records the documents that are read */
  function compareDefinitions(run: RunDocument, reads: DocumentRead[]): Promise<Definition> {
    return compareWith(run, {
      async get(kind, id) {
        const document = await documents.get(kind, id);
        reads.push({ kind, id, found: foundOf(document) });
        return document;
      },
    });
  }

  async function compareWith(run: RunDocument, reader: Pick<DocumentStore, 'get'>): Promise<Definition> {
    let now: PlannedRun;
    try {
      now = await createBacktestPlans(reader).planOf(run.run_id, askedOf(run));
    } catch (refusal) {
      if (refusal instanceof Refusal)
        return { reasons: [`It cannot be run any more: ${sentencesOf(refusal)}`], storeId: run.store_id ?? null };
      throw refusal;
    }
    const { plan, storeId } = now;
    return { reasons: hashOf(plan) === run.artifacts.plan?.sha256 ? [] : await changesFrom(run, plan), storeId };
  }

  async function changesFrom(run: RunDocument, now: BacktestPlan): Promise<readonly string[]> {
    if (run.artifacts.plan === undefined)
      return ['The run was stored without its definition: a change of the definition cannot be detected.'];
    let before: BacktestPlan;
    try {
      before = planWithDefaults(await readStoredPlan(artifacts, run));
    } catch (refusal) {
      if (refusal instanceof Refusal) return ['The definition of the run cannot be read and is not compared.'];
      throw refusal;
    }
    const { asked } = run;
    const market = markets.served()?.market;
    const comparable = (plan: BacktestPlan): BacktestPlan => planOnCalendars(planThrough(plan, run.end), market);
    const [was, is] = await onUsedSessions(comparable(before), comparable(now), run);
    if (hashOf(was) === hashOf(is)) return [];
    const changes = definitionChanges({ plan: was, asked }, { plan: is, asked });
    return changes.length > 0 ? changes : ['The definition changed since this run.'];
  }

  /** Returns the store of a run. For a run stored without it, the store that has its content, if any. */
  async function datasetOf({
    store_id: datasetId,
    store_content_hash: hash,
  }: RunDocument): Promise<string | undefined> {
    if (datasetId !== undefined) return datasetId;
    const served = markets.served()?.handle;
    if (served?.contentHash === hash) return served.datasetId;
    return (await knownDatasets()).contents.find(({ contentHash }) => contentHash === hash)?.datasetId;
  }

  let datasets: KnownDatasets | undefined;

  /** Contents of stores when last read. */
  async function knownDatasets(): Promise<KnownDatasets> {
    const revision = await documents.revision('store');
    if (datasets?.revision === revision) return datasets;
    const { documents: all } = await documents.list('store', readDataset);
    const contents = all.flatMap(
      ({ store_id: datasetId, content_hash: contentHash, adjustment, currency, active: isActive }) =>
        contentHash === null ? [] : [{ datasetId, contentHash, adjustment, currency, isActive }],
    );
    const known = { revision, contents };
    datasets = known;
    return known;
  }

  /**
   * Returns the content that a run would use: of a named store, otherwise the served one, or that of the previously
   * active store.
   */
  async function currentContent(storeId: string | null): Promise<MarketIdentity | undefined> {
    const served = markets.served()?.handle;
    if (served !== undefined && (storeId === null || storeId === served.datasetId)) return served;
    const { contents } = await knownDatasets();
    return contents.find(({ isActive, datasetId }) => (storeId === null ? isActive : datasetId === storeId));
  }

  /** @throws Refusal STORE_MISMATCH */
  async function marketOf(run: RunDocument, active: ServedMarket | undefined): Promise<ServedMarket | undefined> {
    const storeId = await datasetOf(run);
    if (storeId === undefined || storeId === active?.identity.datasetId) return active;
    try {
      return await stores.of(storeId);
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || MAY_PASS.has(refusal.code)) throw refusal;
      const message = `The run of ${run.run_id} was made on the store ${storeId}, which cannot be read: ${refusal.message}`;
      const detail = { store_id: storeId, served_store_id: active?.identity.datasetId ?? null };
      throw new Refusal('STORE_MISMATCH', message, detail, { cause: refusal });
    }
  }

  async function dataReasons(
    run: RunDocument,
    { isOfThen, storeId }: StateTerms & Pick<Definition, 'storeId'>,
  ): Promise<Pick<StaleReasons, 'data' | 'otherStore'>> {
    const content = await currentContent(storeId);
    if (content === undefined && storeId === null) return { data: [], otherStore: null };
    if (content === undefined)
      return { data: [`The store ${storeId} of the index is not registered.`], otherStore: null };
    const { datasetId } = content;
    const runDataset = (await datasetOf(run)) ?? datasetId;
    if (runDataset === datasetId) return { data: contentReasons(run, content, isOfThen), otherStore: null };
    const now = storeId === null ? `${datasetId} is active` : `the index belongs to ${datasetId}`;
    return { data: [`The run was made on the store ${runDataset}; ${now}.`], otherStore: runDataset };
  }

  async function reasonsWith(run: RunDocument, closures: RecordedClosures): Promise<readonly string[]> {
    const next = { id: ALL_CLOSURES, body: closures, etag: '', updatedAt: '' };
    const [{ reasons: now }, { reasons }] = await Promise.all([
      definitionOf(run),
      compareWith(run, {
        get: async (kind, id) => (kind === 'recorded-closures' ? next : documents.get(kind, id)),
      }),
    ]);
    return reasons.filter((reason) => !now.includes(reason));
  }

  return {
    reasonsWith,
    planNow,
    async staleOf(run, { isOfThen = false } = {}) {
      const { reasons, storeId } = await definitionOf(run);
      return combineStaleReasons({
        definition: reasons,
        ...(await dataReasons(run, { isOfThen, storeId })),
        engine: engineReasons(run, engineVersion),
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
    async storeOf(run) {
      const storeId = await datasetOf(run);
      return storeId === markets.served()?.identity.datasetId ? undefined : storeId;
    },
  };
}

/** State of a stored run as in responses. */
interface StoredState extends RunState {
  stale: (StaleState & { reasons: string[] }) | null;
}

/** Returns the state of a run that every view reports. */
export async function stateOf(states: Pick<RunStates, 'staleOf'>, run: RunDocument): Promise<StoredState> {
  const stale = await states.staleOf(run);
  return { stale: stale && { ...stale, reasons: [...stale.reasons] }, index_version: run.index_version ?? null };
}

/** Returns a request with the terms of a stored run as defaults. */
export function applyStoredTerms(run: RunDocument | undefined, given: BacktestRequest): BacktestRequest {
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return run === undefined ? given : { ...askedOf(run), ...said };
}

/** Returns the request of a run as it was sent; if that was not stored, with defaults filled in. */
function askedOf({ asked, request }: RunDocument): BacktestRequest {
  return (asked ?? request) as BacktestRequest; // Read when it was sent.
}

function foundOf(document: FoundDocument): string {
  if (document === undefined) return 'absent';
  return 'unreadable' in document ? document.unreadable : document.etag;
}

function hashOf(plan: BacktestPlan): string {
  return createHash('sha256').update(canonicalJson(plan)).digest('hex');
}

/** Message of a refusal, with its findings if the message only counts them. */
function sentencesOf({ message, detail }: Refusal): string {
  const findings = detail?.['findings'];
  return Array.isArray(findings)
    ? (findings as readonly Finding[]).map((finding) => finding.message).join(' ')
    : message;
}
