import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { API } from '#contract/api.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import type { Health } from '#contract/service.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import { createAuthenticate } from '#http/authentication.js';
import { createRemovals, type Removals } from '#http/handler.js';
import { createMcpHandlers, type McpSources } from '#http/mcp/server.js';
import { createSessions, createSignIn, createSignInHandlers, formatSessionCookieName } from '#http/oidc/sign-in.js';
import { createTokens } from '#http/oidc/tokens.js';
import { createAuditHandlers } from '#http/routes/governance.js';
import { createWatchlistHandlers } from '#http/routes/indices.js';
import { createJobHandlers } from '#http/routes/jobs.js';
import {
  createAccessHandlers,
  createChangelogHandlers,
  createDocumentationHandlers,
  createHealthHandlers,
  createMetricsHandlers,
  type DocumentationSources,
  principalHandlers,
} from '#http/routes/service.js';
import {
  createDataHandlers,
  createDatasetHandlers,
  createDataVersionHandlers,
  createOverrideHandlers,
} from '#http/routes/stores.js';
import { createVersionHandlers, type VersionedServices } from '#http/routes/versions.js';
import {
  AUDITED_READS,
  type AuditNotes,
  createAudit,
  createAuditNotes,
  createAuditPush,
  createAuditSender,
} from '#services/governance/audit.js';
import { createWatchlists } from '#services/indices/watchlists.js';
import { createAccess } from '#services/keys/access.js';
import { createEndedSessions, type Keys } from '#services/keys/keys.js';
import { createSigningKeys } from '#services/publication/publications.js';
import type { RiskModels } from '#services/risk/models.js';
import {
  createJobKinds,
  createJobsService,
  type JobsServiceDependencies,
  type ResultSource,
} from '#services/shared/jobs.js';
import { createChangelog, createFreshnessReader, createHealth, type HealthService } from '#services/shared/service.js';
import { createVersions } from '#services/shared/versions.js';
import { createPriceOverriding } from '#services/stores/price-overrides.js';
import { formatTimestamp } from '#store/document-identity.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { readTlsFiles } from '../settings/security.js';
import type { Settings } from '../settings/settings.js';
import { PACKAGE_ROOT, readBuildInfo } from '../version.js';
import type { Closable, Core } from './core.js';
import { openDocumentationSources } from './package-files.js';

/** Composes the authentication of clients, their permissions, and the audit log. */
export async function composeAccountability(core: Core, keys: Keys, resources: Closable[]) {
  const { documents, settings, log, now } = core;
  const access = createAccess({ documents, isHidden: settings.tenancy === 'prefix' });
  const auditNotes = createAuditNotes({
    documents,
    timestamp: () => formatTimestamp(now()),
    monotonicMs: () => performance.now(),
    loggedReads: new Set(settings.auditReads.flatMap((readGroup) => AUDITED_READS[readGroup])),
    onFailure: (cause) => log.warn({ err: cause }, 'an entry of the audit log could not be written'),
  });
  const { auditPush, auditPushToken } = settings;
  if (auditPush !== undefined && !settings.readOnly) {
    const onFailure = (cause: unknown) => log.warn({ err: cause }, 'the receiver of the audit log accepts no entries');
    const auditForwarder = createAuditPush({
      documents,
      send: createAuditSender(auditPush, auditPushToken),
      onFailure,
    });
    resources.push(auditForwarder);
    auditForwarder.start();
  }
  const signInComponents = await composeSignIn(core);
  return {
    notes: auditNotes,
    findReach: access.findReach,
    authenticate: createAuthenticate(keys, signInComponents, readTlsFiles(settings) === undefined ? 'http' : 'https'),
    handlers: createAccessHandlers(access),
    signIn: signInComponents.handlers,
    hasProvider: signInComponents.tokens !== undefined,
  };
}

async function composeSignIn({ documents, settings, log, secrets, now }: Core) {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcClientId: clientId, publicUrl } = settings;
  const isSecure = readTlsFiles(settings) !== undefined;
  const isHttps = isSecure || publicUrl?.startsWith('https:') === true;
  if (issuer !== undefined && audience === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, 'Tokens of --oidc-issuer need --oidc-audience.');
  const grants = settings.oidcScopes;
  const onFailure = (cause: unknown) => log.warn({ err: cause }, 'the OpenID provider does not answer');
  const tokens = issuer && audience ? createTokens({ issuer, audience, grants, onFailure }) : undefined;
  // Processes with the same key accept each other's sessions. A session keeps the scopes that it had when it began.
  // Other grants therefore give another key, and earlier sessions become invalid.
  const key = secrets.derive(`sessions of subjects ${JSON.stringify([issuer, clientId, grants])}`) ?? randomBytes(32);
  const endedSessions = await createEndedSessions({ documents, isReadOnly: settings.readOnly, now });
  const sessions = createSessions({ key, ended: endedSessions, now });
  const { oidcClientSecret: clientSecret } = settings;
  const signIn = issuer && clientId ? createSignIn({ issuer, clientId, clientSecret, grants }) : undefined;
  return {
    tokens,
    sessions,
    cookie: formatSessionCookieName(isHttps),
    handlers: createSignInHandlers({ signIn, sessions, isSecure, publicUrl, now }),
  };
}

/**
 * Composes the versions of documents: the deletion, which other services need, and the handlers, which are created
 * after the services that write.
 */
export function composeHistory(core: Core) {
  const versions = createVersions(core);
  const terms = { ...core, timestamp: () => formatTimestamp(core.now()) };
  return {
    removals: createRemovals(versions),
    handlers: (services: Omit<VersionedServices, 'versions'>) => ({
      ...createVersionHandlers({ ...services, versions }),
      ...createAuditHandlers(createAudit({ ...terms, signingKeys: createSigningKeys(terms) })),
    }),
  };
}

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
