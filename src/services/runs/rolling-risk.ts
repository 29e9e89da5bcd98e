import { DEFAULT_RISK_WINDOW, type RiskReference } from '#domain/analytics/rolling-risk.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { marketKey } from '#domain/market/handle.js';
import { refuseWithFindings, type Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import { modelFiles } from '../stored/used-models.js';
import type { CheckedBytes } from '../stored/stored-bytes.js';
import { createBacktestPlans } from './backtest-plans.js';
import { assertUndamaged } from '../stored/damaged-runs.js';
import { columnsFile, requireRun, type RunName } from '../stored/run-documents.js';
import { stateOf, type RunStates } from './run-states.js';
import { stateHead, withHead } from '../stored/stamped-json.js';
import type { ViewCache } from './view-cache.js';

export interface RollingRiskQuery {
  readonly window?: number | undefined;
  readonly half_life?: number | undefined;
  readonly against?: RiskReference | undefined;
  /** Name of a benchmark instead. */
  readonly benchmark?: string | undefined;
}

export interface RollingRiskService {
  /**
   * A RollingRiskView as JSON.
   * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, STORE_MISMATCH,
   *   RISK_INSUFFICIENT_DATA, OVERLOADED
   */
  rolling(name: RunName, query: RollingRiskQuery, signal: AbortSignal): Promise<CheckedBytes>;
}

export interface RollingRiskDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly states: Pick<RunStates, 'staleOf' | 'servedMarket' | 'requireMarket'>;
  readonly views: ViewCache;
}

export function createRollingRisk({
  documents,
  artifacts,
  jobs,
  states,
  views,
}: RollingRiskDependencies): RollingRiskService {
  const plans = createBacktestPlans(documents);

  async function comparedOf(run: RunDocument, name: string): Promise<ComparedWith> {
    const { market } = await states.requireMarket(run);
    const compared = await plans.comparedWith(name, () => Promise.resolve(market));
    return { ...compared, ...(await modelFiles(documents, artifacts, compared.documents)) };
  }

  return {
    async rolling(name, { window, half_life: halfLife, against: asked, benchmark: named }, signal) {
      const run = await requireRun(documents, name);
      const runId = run.run_id;
      await assertUndamaged(artifacts, run);
      const columns = await columnsFile(artifacts, run);
      if (window !== undefined && halfLife !== undefined) throw bothGiven('half_life', halfLife, { window });
      if (asked !== undefined && named !== undefined) throw bothGiven('benchmark', named, { against: asked });
      const against = named === undefined ? (asked ?? 'index') : 'benchmark';
      if (named === undefined && against === 'benchmark') assertBenchmark(run);
      const benchmark = named === undefined ? null : await comparedOf(run, named);
      const memory = halfLife === undefined ? { window: window ?? DEFAULT_RISK_WINDOW } : { halfLife };
      const market = (await states.servedMarket(run))?.handle ?? null;
      const question = {
        view: 'rolling-risk',
        columns,
        runId,
        memory,
        against,
        benchmark,
        market: market && marketKey(market),
      };
      const { bytes, sha256 } = await views.get(question, () =>
        jobs.query('rolling-risk', { columns, runId, memory, against, benchmark, market }, signal),
      );
      const head = stateHead(await stateOf(states, run));
      return { bytes: withHead(head, bytes), etag: head.etagOf(sha256) };
    },
  };
}

function bothGiven(path: string, value: string | number, other: Readonly<Record<string, unknown>>): Refusal {
  const [[name, given]] = Object.entries(other) as [[string, unknown]]; // of one member
  const message = `${name} ${String(given)} and ${path} ${value} were both given; give one of them.`;
  return refuseWithFindings('query', [{ severity: 'error', code: 'NOT_IN_CHOICES', message, path, value }]);
}

/** @throws Refusal VALIDATION_FAILED */
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
