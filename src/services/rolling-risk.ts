import { marketKey } from '#domain/market/handle.js';
import { refuseWithFindings } from '#domain/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { OutputBytes } from '#jobs/tasks.js';
import type { Markets } from '#market/markets.js';
import type { ArtifactStore } from '#store/artifacts.js';
import type { DocumentStore } from '#store/documents.js';
import { requireRun } from './run-documents.js';
import type { ViewCache } from './view-cache.js';

/** Returns of a window that nobody chose: a quarter. */
const WINDOW = 63;

export interface RollingRiskQuery {
  readonly window?: number | undefined;
  readonly half_life?: number | undefined;
}

export interface RollingRiskService {
  /** A RollingRiskView as JSON. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, RISK_INSUFFICIENT_DATA, OVERLOADED */
  rolling(runId: string, query: RollingRiskQuery, signal: AbortSignal): Promise<OutputBytes>;
}

export interface RollingRiskDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: Pick<Markets, 'served'>;
  readonly views: ViewCache;
}

export function createRollingRisk({ documents, artifacts, jobs, markets, views }: RollingRiskDependencies): RollingRiskService {
  return {
    async rolling(runId, { window, half_life: halfLife }, signal) {
      const columns = artifacts.path((await requireRun(documents, runId)).artifacts.columns);
      if (window !== undefined && halfLife !== undefined) {
        throw refuseWithFindings('query', [{ severity: 'error', code: 'NOT_IN_CHOICES', message: `window ${window} and half_life ${halfLife} were both given; one of them says how far back to look.`, path: 'half_life', value: halfLife }]);
      }
      const memory = halfLife === undefined ? { window: window ?? WINDOW } : { halfLife };
      const market = markets.served()?.handle ?? null;
      const question = { view: 'rolling-risk', columns, runId, memory, market: market && marketKey(market) };
      return views.get(question, () => jobs.query('rolling-risk', { columns, runId, memory, market }, signal));
    },
  };
}
