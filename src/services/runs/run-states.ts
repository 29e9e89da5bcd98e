import { planThrough } from '#domain/backtest/plan-through.js';
import { createHash } from 'node:crypto';
import type { BacktestRequest } from '#contract/analytics/request.js';
import { hasOtherBits } from '#domain/backtest/engine-bits.js';
import { planOnCalendars } from '#domain/backtest/plan-closures.js';
import { definitionChanges } from '#domain/backtest/plan-changes.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { staleState, type RunState, type StaleReasons, type StaleState } from '#domain/backtest/stale.js';
import { canonicalJson } from '#domain/json/canonical-json.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketIdentity } from '#domain/market/handle.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Markets, ServedMarket } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentKind, DocumentStore, FoundDocument } from '#store/port.js';
import { createBacktestPlans } from './backtest-plans.js';
import { readDataset } from '../stored/dataset-documents.js';
import { planWithDefaults } from '#domain/checks/plan-defaults.js';
import { storedPlan } from '../stored/stored-plans.js';

export interface RunStatesDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly markets: Pick<Markets, 'served' | 'require'>;
  readonly engineVersion: string;
}

export interface StateTerms {
  /** True for the content at that time, of a run as known on a version. */
  readonly isOfThen: boolean;
}

/**
 * Determines which stored runs are stale, and which market may be read with a run.
 */
export interface RunStates {
  /**
   * Null while a run of the same request on the current data would give the stored result.
   * @cost of a look-up, until a definition changes
   */
  staleOf(run: RunDocument, terms?: Partial<StateTerms>): Promise<StaleState | null>;
  /** The plan that a stored run's request has now. @throws Refusal as `BacktestPlans.planOf` */
  planNow(run: RunDocument): Promise<BacktestPlan>;
  /**
   * The served market for a view that needs prices.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE, STORE_MISMATCH when it is of another store than the run
   */
  requireMarket(run: RunDocument): Promise<ServedMarket>;
  /** As `requireMarket`, undefined while no store is served. @throws Refusal STORE_MISMATCH */
  servedMarket(run: RunDocument): Promise<ServedMarket | undefined>;
  /**
   * Tests that a market (default: the served one) belongs to another store than the run, for views that return less
   * without the market.
   */
  isOtherDataset(run: RunDocument, market?: ServedMarket): Promise<boolean>;
}

/** Kinds of document that definitions are made of. */
const DEFINING = [
  'index',
  'strategy',
  'constraint-set',
  'risk-model',
  'watchlist',
  'plugin',
  'recorded-closures',
] as const satisfies readonly DocumentKind[];

/** Runs whose definitions are remembered to have been compared: of a listing of the largest size. */
const REMEMBERED_MAX = 10_000;

interface KnownDatasets {
  /** Of the documents, when they were read. */
  readonly revision: number;
  readonly contents: readonly (MarketIdentity & { readonly isActive: boolean })[];
}

/** State of a document: its ETag, its absence, or the reason it is unreadable. */
interface DocumentRead {
  readonly kind: DocumentKind;
  readonly id: string;
  readonly found: string;
}

interface Compared {
  /** Of the documents, when they were found to be as they were compared. */
  revision: string;
  readonly reads: readonly DocumentRead[];
  readonly reasons: readonly string[];
}

export function createRunStates({ documents, artifacts, markets, engineVersion }: RunStatesDependencies): RunStates {
  const { planOf } = createBacktestPlans(documents);
  /** By run, the one compared longest ago first. */
  const compared = new Map<string, Compared>();

  const planNow = (run: RunDocument): Promise<BacktestPlan> => planOf(run.run_id, askedOf(run));

  async function definitionReasons(run: RunDocument): Promise<readonly string[]> {
    const key = `${run.run_id} ${run.run_hash} ${run.run_at}`;
    const revision = (await Promise.all(DEFINING.map((kind) => documents.revision(kind)))).join(' ');
    const known = compared.get(key);
    if (known !== undefined && (known.revision === revision || (await areUnchanged(known.reads)))) {
      known.revision = revision;
      return known.reasons;
    }
    const reads: DocumentRead[] = [];
    const reasons = await compareDefinitions(run, reads);
    compared.delete(key);
    compared.set(key, { revision, reads, reasons });
    if (compared.size > REMEMBERED_MAX) compared.delete(compared.keys().next().value!);
    return reasons;
  }

  async function areUnchanged(reads: readonly DocumentRead[]): Promise<boolean> {
    for (const { kind, id, found } of reads) if (foundOf(await documents.get(kind, id)) !== found) return false;
    return true;
  }

  /** @param reads takes what is read of documents */
  async function compareDefinitions(run: RunDocument, reads: DocumentRead[]): Promise<readonly string[]> {
    const recording = createBacktestPlans({
      async get(kind, id) {
        const document = await documents.get(kind, id);
        reads.push({ kind, id, found: foundOf(document) });
        return document;
      },
    });
    let now: BacktestPlan;
    try {
      now = await recording.planOf(run.run_id, askedOf(run));
    } catch (refusal) {
      if (refusal instanceof Refusal) return [`It cannot be run any more: ${sentencesOf(refusal)}`];
      throw refusal;
    }
    return hashOf(now) === run.artifacts.plan?.sha256 ? [] : changesFrom(run, now);
  }

  async function changesFrom(run: RunDocument, now: BacktestPlan): Promise<readonly string[]> {
    if (run.artifacts.plan === undefined)
      return ['The run was stored without its definition: a change of the definition cannot be detected.'];
    let before: BacktestPlan;
    try {
      before = planWithDefaults(await storedPlan(artifacts, run));
    } catch (refusal) {
      if (refusal instanceof Refusal)
        return ['The definition that the run was made from cannot be read, so that it cannot be compared.'];
      throw refusal;
    }
    const { asked } = run;
    const market = markets.served()?.market;
    const comparable = (plan: BacktestPlan): BacktestPlan => planOnCalendars(planThrough(plan, run.end), market);
    const [was, is] = [comparable(before), comparable(now)];
    if (hashOf(was) === hashOf(is)) return [];
    const changes = definitionChanges({ plan: was, asked }, { plan: is, asked });
    return changes.length > 0 ? changes : ['The definition changed since this run.'];
  }

  /** The store of a run; of one stored before it was remembered, the store that has its content, if any. */
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

  /** The content that runs use: the served one, or that of the active store before it is served. */
  async function currentContent(): Promise<MarketIdentity | undefined> {
    return markets.served()?.handle ?? (await knownDatasets()).contents.find(({ isActive }) => isActive);
  }

  async function assertSameDataset(run: RunDocument, served: ServedMarket | undefined): Promise<void> {
    const servedDataset = served?.handle.datasetId;
    const runDataset = await datasetOf(run);
    if (servedDataset === undefined || runDataset === undefined || runDataset === servedDataset) return;
    const message = `The run of ${run.run_id} was made on the store ${runDataset}; ${servedDataset} is served. Activate ${runDataset}, or backtest again.`;
    throw new Refusal('STORE_MISMATCH', message, { store_id: runDataset, served_store_id: servedDataset });
  }

  async function dataReasons(
    run: RunDocument,
    { isOfThen }: StateTerms,
  ): Promise<Pick<StaleReasons, 'data' | 'otherStore'>> {
    const content = await currentContent();
    if (content === undefined) return { data: [], otherStore: null };
    const { datasetId } = content;
    const runDataset = (await datasetOf(run)) ?? datasetId;
    if (runDataset === datasetId) return { data: contentReasons(run, content, isOfThen), otherStore: null };
    const reason = `The run was made on the store ${runDataset}; ${datasetId} is active.`;
    return { data: [reason], otherStore: runDataset };
  }

  function contentReasons(run: RunDocument, content: MarketIdentity, isOfThen: boolean): string[] {
    const { datasetId, contentHash, adjustment, currency = null } = content;
    const { as_known_on: version } = run;
    if (contentHash !== run.store_content_hash && version === undefined)
      return [`The store ${datasetId} holds other content than the run was made on.`];
    if (contentHash !== run.store_content_hash && !isOfThen)
      return [
        `The run was made on version ${version} of the store ${datasetId}, as known then; it holds other content now.`,
      ];
    const declared = [
      { of: 'adjustment', was: run.adjustment, is: adjustment },
      { of: 'currency', was: run.declared_currency, is: currency },
    ];
    return declared.flatMap(({ of, was, is }) =>
      was === undefined || was === is
        ? []
        : [
            `The store ${datasetId} declares ${is === null ? `no ${of}` : `the ${of} ${is}`}; the run was made on ${was ?? 'none'}.`,
          ],
    );
  }

  function engineReasons({ engine_version: stored }: RunDocument): string[] {
    return hasOtherBits(stored, engineVersion)
      ? [`The run was made by engine ${stored}; ${engineVersion} may give other bits.`]
      : [];
  }

  return {
    planNow,
    async staleOf(run, { isOfThen = false } = {}) {
      return staleState({
        definition: await definitionReasons(run),
        ...(await dataReasons(run, { isOfThen })),
        engine: engineReasons(run),
      });
    },
    async requireMarket(run) {
      const served = markets.require();
      await assertSameDataset(run, served);
      return served;
    },
    async servedMarket(run) {
      const served = markets.served();
      await assertSameDataset(run, served);
      return served;
    },
    async isOtherDataset(run, market = markets.served()) {
      const runDataset = await datasetOf(run);
      return market !== undefined && runDataset !== undefined && runDataset !== market.handle.datasetId;
    },
  };
}

/** The state of a stored run, as answers have it. */
interface StoredState extends RunState {
  stale: (StaleState & { reasons: string[] }) | null;
}

/** The state of a run that every view reports. */
export async function stateOf(states: Pick<RunStates, 'staleOf'>, run: RunDocument): Promise<StoredState> {
  const stale = await states.staleOf(run);
  return { stale: stale && { ...stale, reasons: [...stale.reasons] }, index_version: run.index_version ?? null };
}

/** A request with the terms of a stored run where it says none. */
export function onTermsOf(run: RunDocument | undefined, given: BacktestRequest): BacktestRequest {
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return run === undefined ? given : { ...askedOf(run), ...said };
}

/** The request of a run as it was sent, or as it was filled in where that was not remembered. */
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
