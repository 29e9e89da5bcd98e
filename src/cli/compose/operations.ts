import { readFileSync } from 'node:fs';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { API } from '#contract/api.js';
import type { Health } from '#contract/health.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import type { Removals } from '#http/removals.js';
import { createChangelogHandlers } from '#http/routes/changelog.js';
import { createDataHandlers } from '#http/routes/data.js';
import { createDocumentationHandlers, type DocumentationSources } from '#http/routes/documentation.js';
import { createHealthHandlers } from '#http/routes/health.js';
import { createJobHandlers } from '#http/routes/jobs.js';
import { createMcpHandlers, type McpSources } from '#http/routes/mcp.js';
import { createMetricsHandlers } from '#http/routes/metrics.js';
import { principalHandlers } from '#http/routes/principal.js';
import { createDataVersionHandlers } from '#http/routes/data-versions.js';
import { createOverrideHandlers } from '#http/routes/price-overrides.js';
import { createDatasetHandlers } from '#http/routes/stores.js';
import { createFreshnessReader } from '#services/operations/freshness.js';
import { createPriceOverriding } from '#services/datasets/price-overrides.js';
import { createWatchlistHandlers } from '#http/routes/watchlists.js';
import type { AuditNotes } from '#services/history/audit-notes.js';
import { createWatchlists } from '#services/datasets/watchlists.js';
import { createChangelog } from '#services/operations/changelog.js';
import { createHealth, type HealthService } from '#services/operations/health.js';
import { createJobKinds } from '#services/operations/job-kinds.js';
import { createJobsService, type JobsServiceDependencies, type ResultSource } from '#services/operations/jobs.js';
import type { RiskModels } from '#services/risk/risk-models.js';
import { openDocumentationSources } from '../documentation-files.js';
import { readBuildInfo, PACKAGE_ROOT } from '../version.js';
import type { Settings } from '../settings.js';
import type { Core } from './core.js';

/** Composes the data stores. Their job handlers already exist. */
export function composeDatasets(core: Core, removals: Removals) {
  const watchlists = createWatchlists(core);
  const priceOverrides = createPriceOverriding(core);
  return {
    watchlists,
    kinds: core.jobKinds,
    handlers: {
      ...createDatasetHandlers(core.datasets, removals),
      ...createOverrideHandlers(priceOverrides),
      ...createDataVersionHandlers(core.dataVersions),
      ...createDataHandlers(core.data),
      ...createWatchlistHandlers(watchlists, removals),
    },
  };
}

/**
 * Returns the limits that the health report contains. HEARTBEAT_TIMEOUT_SECONDS is the lease of a node, after which
 * other nodes may claim its jobs.
 */
function createLimits(settings: Settings): Health['limits'] {
  const { database, lease, keyQuotaMegabytes, jobsKept, jobsWaiting } = settings;
  const nodeLimits = { MAX_QUEUED_JOBS: jobsWaiting, MAX_ENDED_JOBS: jobsKept };
  const limits = { ...LIMITS, ...nodeLimits, MAX_KEY_STORED_BYTES: keyQuotaMegabytes * 2 ** 20 };
  return database === undefined ? limits : { ...limits, HEARTBEAT_TIMEOUT_SECONDS: lease };
}

/** Interval in ms between health checks if no client requests health. The last known states then stay recent. */
const LOOK_MS = 15_000;

function checkPeriodically(health: Pick<HealthService, 'look'>, stopSignal: AbortSignal): void {
  const checkHealth = (): void => void health.look().catch(() => {}); // the next request reports the failure
  const timer = setInterval(checkHealth, LOOK_MS);
  timer.unref();
  stopSignal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/** Reads the contract that the build wrote. This is faster than creating it again. */
function readContract({ built, openApi }: DocumentationSources): OpenApiDocument {
  const page = built('contract');
  return page === undefined ? openApi() : (JSON.parse(new TextDecoder().decode(page.bytes)) as OpenApiDocument);
}

function ignoreRefusal(failure: unknown): void {
  if (!(failure instanceof Refusal)) throw failure;
}

/** Creates the source of the results of risk jobs. It reads their models. */
export const createRiskResults = ({ result }: Pick<RiskModels, 'result'>): ResultSource => ({
  written: async (value) => ({ length: null, open: () => result(value) }),
});

export interface OperationsInput {
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal;
  readonly startedAt: Date;
  readonly onCancelled: AuditNotes['cancelled'];
  /** Answers a request that an agent sends, on behalf of an authenticated client. */
  readonly answerFor: McpSources['answerFor'];
  /** Results that are rendered when read, by kind. */
  readonly results: JobsServiceDependencies['results'];
}

/** Composes health, metrics, jobs, the changelog and the documentation. */
export function composeOperations(
  core: Core,
  { stopping, startedAt, results, onCancelled, answerFor }: OperationsInput,
) {
  const { version, jobs, datasets, checks, metrics, artifacts } = core;
  const health = createHealth({
    version,
    build: readBuildInfo(),
    startedAt,
    monotonic: () => performance.now(),
    draining: () => stopping.aborted,
    async store() {
      await core.activations.follow().catch(ignoreRefusal); // Another process may have activated another store.
      return datasets.health();
    },
    freshness: createFreshnessReader(core),
    jobs,
    isReachable: core.isReachable,
    checks,
  });
  checkPeriodically(health, stopping);
  const jobsService = createJobsService({
    system: jobs,
    artifacts,
    onCancelled,
    stopping,
    results,
  });
  const changelog = createChangelog({ text: readFileSync(new URL('CHANGELOG.md', PACKAGE_ROOT), 'utf8'), version });
  const documentation = openDocumentationSources();
  return {
    handlers: {
      ...createHealthHandlers(health, createLimits(core.settings)),
      ...createMetricsHandlers(metrics),
      ...createChangelogHandlers(changelog),
      ...principalHandlers,
      ...createJobHandlers(jobsService, createJobKinds({ paused: core.pausedKinds, now: core.now })),
      ...createDocumentationHandlers(documentation),
      ...createMcpHandlers({
        api: API,
        version,
        isReadOnly: core.settings.readOnly,
        openApi: () => readContract(documentation),
        pages: documentation.guide,
        answerFor,
      }),
    },
  };
}
