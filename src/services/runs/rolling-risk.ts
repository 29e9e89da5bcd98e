import { DEFAULT_RISK_WINDOW, type RiskReference } from '#domain/analytics/rolling-risk.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { marketKey } from '#domain/market/handle.js';
import { refuseWithFindings } from '#domain/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { CheckedBytes } from './analytics.js';
import { columnsFile, requireRun, type RunName } from './run-documents.js';
import type { RunStates } from './run-states.js';
import { stateHead, withHead } from './stamped-json.js';
import type { ViewCache } from './view-cache.js';

export interface RollingRiskQuery {
  readonly window?: number | undefined;
  readonly half_life?: number | undefined;
  readonly against: RiskReference;
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
  readonly states: Pick<RunStates, 'staleOf' | 'servedMarket'>;
  readonly views: ViewCache;
}

export function createRollingRisk({
  documents,
  artifacts,
  jobs,
  states,
  views,
}: RollingRiskDependencies): RollingRiskService {
  return {
    async rolling(name, { window, half_life: halfLife, against }, signal) {
      const run = await requireRun(documents, name);
      const runId = run.run_id;
      const columns = await columnsFile(artifacts, run);
      if (window !== undefined && halfLife !== undefined) {
        throw refuseWithFindings('query', [
          {
            severity: 'error',
            code: 'NOT_IN_CHOICES',
            message: `window ${window} and half_life ${halfLife} were both given; give one of them.`,
            path: 'half_life',
            value: halfLife,
          },
        ]);
      }
      if (against === 'benchmark') assertBenchmark(run);
      const memory = halfLife === undefined ? { window: window ?? DEFAULT_RISK_WINDOW } : { halfLife };
      const market = (await states.servedMarket(run))?.handle ?? null;
      const question = { view: 'rolling-risk', columns, runId, memory, against, market: market && marketKey(market) };
      const { bytes, sha256 } = await views.get(question, () =>
        jobs.query('rolling-risk', { columns, runId, memory, against, market }, signal),
      );
      const head = stateHead(await states.staleOf(run));
      return { bytes: withHead(head, bytes), etag: head.etagOf(sha256) };
    },
  };
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
