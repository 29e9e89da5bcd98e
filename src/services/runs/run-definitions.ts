import { createHash } from 'node:crypto';
import type { BacktestRequest } from '#contract/analytics/request.js';
import { listDefinitionChanges, removeLabels } from '#domain/backtest/plan-changes.js';
import { selectPlanClosures } from '#domain/backtest/plan-closures.js';
import { limitPlanToDate } from '#domain/backtest/plan-through.js';
import type { RecordedClosures } from '#domain/calendars/closures.js';
import { addDefaultsToPlan } from '#domain/checks/plan-defaults.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { Finding } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentKind, DocumentStore, DocumentLookup } from '#store/port.js';
import { ALL_CLOSURES, type FollowingCalendars } from '../stored/recorded-closures.js';
import { readStoredPlan } from '../stored/stored-plans.js';
import { createBacktestPlans, type PlannedRun } from './backtest-plans.js';
import { createComparedCalendars } from './compared-calendars.js';

export interface RunDefinitionsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly calendars: Pick<FollowingCalendars, 'base'>;
  readonly markets: Pick<Markets, 'served'>;
}

/** Service that compares the definitions of stored runs with the current definitions. */
export interface RunDefinitions {
  /**
   * Returns the plan that the request of a stored run would get now. @throws the refusals of `BacktestPlans.planRun`
   */
  planNow(run: RunDocument): Promise<BacktestPlan>;
  /** Compares the definition of a run with the current definition. @cost of a look-up, until a definition changes */
  readDefinition(run: RunDocument): Promise<DefinitionState>;
  /**
   * Returns the reasons why recorded calendar changes would make a run stale. Returns no reasons if it stays current.
   */
  reasonsWith(run: RunDocument, closures: RecordedClosures): Promise<readonly string[]>;
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
export interface DefinitionState {
  readonly reasons: readonly string[];
  /** Store that the same request would use now; null for the active store. */
  readonly storeId: string | null;
}

interface CachedComparison extends DefinitionState {
  /** Revision of the documents at the last check that found no change. */
  revision: string;
  readonly reads: readonly DocumentState[];
}

export function createRunDefinitions({
  documents,
  artifacts,
  calendars,
  markets,
}: RunDefinitionsDependencies): RunDefinitions {
  const { planRun } = createBacktestPlans(documents);
  const limitToUsedSessions = createComparedCalendars(calendars.base);
  /** Comparisons by run, least recently compared first. */
  const comparisonCache = new Map<string, CachedComparison>();

  const planNow = async (run: RunDocument): Promise<BacktestPlan> =>
    (await planRun(run.run_id, getRequested(run))).plan;

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

  return { planNow, readDefinition, reasonsWith: readReasons };
}

/** Returns the request of a run as the client sent it. If that is not stored, returns the request with its defaults. */
export function getRequested({ asked, request }: RunDocument): BacktestRequest {
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
