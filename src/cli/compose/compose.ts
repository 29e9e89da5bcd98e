import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { findBundlePath } from '#bundle';
import { runViewRoutes } from '#contract/analytics/run-views.js';
import { API } from '#contract/api.js';
import { consoleRoutes, signInRoutes, textRoutes, verifyRoutes } from '#contract/pages.js';
import { type Health, healthRoutes, metricsRoutes } from '#contract/service.js';
import type { ToolDescription } from '#contract/tools.js';
import { LIMITS } from '#domain/base/limits.js';
import { isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { type App, createApp, createAuthenticate } from '#http/app.js';
import {
  createAccessHandlers,
  createAnalyticsHandlers,
  createApprovalHandlers,
  createAuditHandlers,
  createBatchHandlers,
  createChangelogHandlers,
  createClientHandlers,
  createClosureHandlers,
  createDataHandlers,
  createDatasetHandlers,
  createDifferenceHandlers,
  createEventHandlers,
  createExportHandlers,
  createGovernanceHandlers,
  createHealthHandlers,
  createIndexHandlers,
  createJobHandlers,
  createMetricsHandlers,
  createOptimiseHandlers,
  createOverrideHandlers,
  createPublicationHandlers,
  createRemovals,
  createReplayHandlers,
  createReportHandlers,
  createRiskModelHandlers,
  createRunDifferenceHandlers,
  createRunViewHandlers,
  createScheduleHandlers,
  createSimulationHandlers,
  createSqlHandlers,
  createStrategyHandlers,
  createStudyHandlers,
  createVersionHandlers,
  deriveHandlers,
  principalHandlers,
  type Removals,
} from '#http/routes.js';
import type { Handlers } from '#http/handler.js';
import { createMcpHandlers, type McpSources } from '#http/mcp/server.js';
import { createReceiptHandlers } from '#http/answers.js';
import { createSessions, createSignIn, createSignInHandlers, formatSessionCookieName } from '#http/oidc/sign-in.js';
import { createTokens } from '#http/oidc/tokens.js';
import {
  createConsoleHandlers,
  createDocumentationHandlers,
  createTextHandlers,
  createVerifyHandlers,
} from '#http/pages.js';
import { systemClock } from '#jobs/port/clock.js';
import type { Attempt, JobHandlers, JobKind } from '#jobs/port/job-kind.js';
import { createDays } from '#services/daily-plans/days.js';
import {
  createDayRunner,
  createPerformers,
  findAuthorFault,
  isWithoutSession,
  resumeDays,
  waitsForApproval,
} from '#services/daily-plans/runner.js';
import { createSchedules } from '#services/daily-plans/schedules.js';
import { findIndexMarket, type StepServices } from '#services/daily-plans/steps.js';
import { createStoredDays, followDayChanges } from '#services/daily-plans/stored-days.js';
import { type Clients, createClients } from '#services/delivery/clients.js';
import { createDeliverFiles, createDeliveryRecords } from '#services/delivery/deliveries.js';
import { type BucketService, createDeliveryDestinations, createSenders } from '#services/delivery/targets.js';
import {
  AUDITED_READS,
  type AuditNotes,
  createAudit,
  createAuditNotes,
  createAuditPush,
  createAuditSender,
} from '#services/governance/audit.js';
import { createClosureEffects, createClosures } from '#services/governance/closures.js';
import { createRestorations, type VersionedServices } from '#services/governance/restorations.js';
import {
  createProcedures,
  createStatements,
  type StatementSources,
  summariseGovernance,
} from '#services/governance/statements.js';
import { type CalendarViews, createCalendarViews, createIndexSchedules } from '#services/indices/calendars.js';
import { requireIndex } from '#services/indices/documents.js';
import { createEvents } from '#services/indices/events.js';
import { createIndices, type Indices } from '#services/indices/indices.js';
import { createPluginPreviews, createPlugins } from '#services/indices/plugins.js';
import { createDatapointQuestions, createIndexQuestions } from '#services/indices/questions.js';
import { createStrategies } from '#services/indices/strategies.js';
import { createMethodologyTemplates } from '#services/indices/templates.js';
import { createWatchlists } from '#services/indices/watchlists.js';
import { createAccess } from '#services/keys/access.js';
import { type AccessKeys, createAddressCheck, createEndedSessions, createKeys } from '#services/keys/keys.js';
import {
  createAccountBacktestJob,
  createAccountBacktests,
  createBatches,
  createBatchJob,
  createBatchResults,
} from '#services/optimise/batches.js';
import { createOptimisationJob, createOptimise } from '#services/optimise/optimisations.js';
import { createStudies, createStudyJob } from '#services/optimise/studies.js';
import { createBundles } from '#services/publication/bundles.js';
import { createPublications, createSigningKeys } from '#services/publication/publications.js';
import { createReceipts } from '#services/reports/receipts.js';
import { createRenderJob, createReports } from '#services/reports/reports.js';
import { createRiskModelImports, createRiskModelJob, createRiskValidationJob } from '#services/risk/estimation.js';
import { createRiskModels, type RiskModels } from '#services/risk/models.js';
import {
  createAnalytics,
  createBacktestBatches,
  createBacktestJob,
  createBacktestResults,
  createRerunJob,
  createReruns,
  createRunMaker,
  createRunnableRuns,
  type RunnableRuns,
} from '#services/runs/backtests.js';
import { createDerivatives, fetchAnnouncedDividends } from '#services/runs/derivatives.js';
import {
  createOutsideDifferenceJob,
  createOutsideDifferences,
  createReplayJob,
  createReplays,
  createRunDifferenceJob,
  createRunDifferences,
} from '#services/runs/differences.js';
import { createExports, type Exports } from '#services/runs/exports.js';
import { createSimulationJob, createSimulations } from '#services/runs/simulations.js';
import { createSql } from '#services/runs/sql.js';
import { createRunTexts, createStoredRuns } from '#services/runs/stored-runs.js';
import { createSweepJob, createSweeps } from '#services/runs/sweeps.js';
import { createActionEffects, createRunViews, createViewCache, createViewMaker } from '#services/runs/views.js';
import {
  createJobKinds,
  createJobsService,
  type JobResultSource,
  type JobsServiceTerms,
} from '#services/shared/jobs.js';
import { findRun } from '#services/shared/run-documents.js';
import { createChangelog, createFreshnessReader, createHealth, type HealthService } from '#services/shared/service.js';
import { createVersions } from '#services/shared/versions.js';
import { createActionDesk } from '#services/stores/action-desk.js';
import { createData } from '#services/stores/data.js';
import { relocateDatasets } from '#services/shared/store-documents.js';
import { createPriceOverriding } from '#services/stores/price-overrides.js';
import { type Activations, wrapForStores } from '#services/stores/serving.js';
import { findVersionByEtag } from '#store/history/history.js';
import { type Home, openHome } from '#store/home/home.js';
import { runUnrestricted } from '#store/reach.js';
import { chooseKeys, chooseRegion } from '#store/s3/keys.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { computeTarLength, createTarParts, type TarMember } from '#views/bundle/tar.js';
import { readTlsFiles } from '../settings/security.js';
import { findCollector, selectAwsSettings, type Settings } from '../settings/settings.js';
import { getBuildVersion, PACKAGE_ROOT, readBuildInfo, readEngineVersion } from '../version.js';
import { type Closable, type Core, type JobComponents, openCore, openJobComponents } from './core.js';
import { openKeySocket } from './key-socket.js';
import type { MarketComponents } from './market.js';
import { openConsoleFiles, openDocumentationSources, openVerifyFiles, readMethodologies } from './package-files.js';
import type { Role } from './storage.js';

const MS_PER_DAY = 86_400_000;

/** Composes definitions: indices, strategies, their calendars and their optimisation. */
function composeIndices(core: JobComponents, removals: Removals) {
  const { documents, calendars, jobContext } = core;
  const kinds = {
    risk: createRiskModelJob(jobContext),
    validate: createRiskValidationJob(jobContext),
    optimise: createOptimisationJob(jobContext),
    study: createStudyJob(jobContext),
    account: createAccountBacktestJob(jobContext),
    batch: createBatchJob(jobContext),
  };
  const batchResults = createBatchResults(core, kinds.batch);
  const studies = createStudies(core, kinds.study);

  const indices = createIndices(core);
  const strategies = createStrategies(core);
  const optimisations = createOptimise(core, kinds.optimise);
  const plugins = createPlugins(core);
  const riskModels = createRiskModels(core, kinds.risk, kinds.validate);
  const getToday = () => Math.floor(core.now() / MS_PER_DAY);
  const readIndex = async (indexId: string) => (await requireIndex(documents, indexId)).document;
  const findIndexRun = (indexId: string) => findRun(documents, indexId);
  const templates = createMethodologyTemplates(core, readMethodologies);
  const createScheduleReader = (usedCalendars: Calendars) =>
    createIndexSchedules(usedCalendars, readIndex, findIndexRun);
  const computeSchedule = createScheduleReader(calendars);
  const readSchedule = async (indexId: string) => computeSchedule(await readIndex(indexId));
  const calendarViews = createCalendarViews(core, readSchedule, getToday);
  const questions = createIndexQuestions(core, computeSchedule);

  return {
    indices,
    strategies,
    optimisations,
    kinds,
    riskModels,
    plugins,
    calendarViews,
    computeSchedule,
    schedulesOn: createScheduleReader,
    listTemplateChecks: templates.listChecks,
    called: {
      calendarViews,
      indices,
      templates,
      questions,
      datapoints: createDatapointQuestions(core),
      strategies,
      plugins,
      pluginPreviews: createPluginPreviews(core),
      optimisations,
      accountBacktests: createAccountBacktests(core, kinds.account),
      batchResults,
      studies,
      riskModels,
    },
    handlers: {
      ...createEventHandlers(createEvents(core, computeSchedule, getToday), getToday),
      ...createIndexHandlers(indices, questions, removals),
      ...createStrategyHandlers(strategies, removals),
      ...createOptimiseHandlers(optimisations, indices),
      ...createStudyHandlers(studies),
      ...createBatchHandlers(createBatches(core, kinds.batch), batchResults),
      ...createRiskModelHandlers(riskModels, createRiskModelImports(core)),
    },
  };
}

/** Composes report templates and rendered reports. */
function composeReports(core: JobComponents) {
  const renderJobKind = createRenderJob(core.jobContext, `Divisor ${getBuildVersion()}`);
  const reports = createReports(core, renderJobKind);
  return { reports, kinds: { render: renderJobKind }, handlers: createReportHandlers(reports) };
}

/** Composes queries over runs and the served market. */
function composeSql(core: Core, exports: Exports, resources: Closable[]) {
  const encoder =
    findBundlePath('result-writer') ?? new URL('../../../workers/sql/result-writer.js', import.meta.url).href;
  const sql = createSql(core, exports, { encoder, secondsMax: core.settings.sqlSeconds });
  resources.push(sql);
  return { handlers: createSqlHandlers(sql) };
}

/** Composes backtests, the views of their stored runs, and the pricing that uses them. */
function composeRuns(
  core: JobComponents,
  { calendarViews, resources }: { readonly calendarViews: CalendarViews; readonly resources: Closable[] },
) {
  const views = createViewCache();
  const maker = createViewMaker(core, views);
  const runnables = createRunnableRuns(core);
  const kinds = createKinds(core, runnables);

  const texts = createRunTexts(core);
  const analytics = createAnalytics(core, kinds.backtest, { maker, texts, runnables });
  const { estimatedBytes, readLevels } = analytics;
  const runViews = createRunViews(core, calendarViews, { maker, onExposures: core.onExposures });
  const replays = createReplays(core, kinds.replay, estimatedBytes);
  const sweeps = createSweeps(core, kinds.sweep, estimatedBytes);
  const reruns = createReruns(core, kinds.rerun, estimatedBytes);
  const exports = createExports(core, views);
  const simulations = createSimulations(core, kinds.simulate);
  const announcedDividends = fetchAnnouncedDividends(runViews, runViewRoutes.getDividendPoints.view);
  const derivatives = createDerivatives(core, readLevels, announcedDividends);
  const actionEffects = createActionEffects(runViews, runViewRoutes.getIndexActions.view, core.documents);

  return {
    analytics,
    exports,
    backtestResults: createBacktestResults(core.documents, texts),
    kinds,
    called: {
      analytics,
      runViews,
      derivatives,
      reruns,
      sweeps,
      storedRuns: createStoredRuns(core, maker),
      actionDesk: createActionDesk(core, actionEffects),
    },
    handlers: {
      ...createAnalyticsHandlers(analytics, createBacktestBatches(analytics)),
      ...createRunDifferenceHandlers(createRunDifferences(core, kinds.diff, estimatedBytes)),
      ...createRunViewHandlers(runViews),
      ...createExportHandlers(exports),
      ...composeSql(core, exports, resources).handlers,
      ...createReplayHandlers(replays),
      ...createDifferenceHandlers(createOutsideDifferences(core, kinds.differences, estimatedBytes)),
      ...createSimulationHandlers(simulations),
    },
  };
}

/** Returns the kinds of job that compute runs and results of runs. */
function createKinds(core: JobComponents, runnables: RunnableRuns) {
  const { jobContext } = core;
  const { runsKept } = core.settings;
  const runMaker = createRunMaker(jobContext);
  return {
    backtest: createBacktestJob(runMaker, runsKept),
    rerun: createRerunJob(jobContext, { runMaker, runnables, runsKept }),
    replay: createReplayJob(jobContext),
    diff: createRunDifferenceJob(jobContext),
    differences: createOutsideDifferenceJob(jobContext),
    sweep: createSweepJob(jobContext),
    simulate: createSimulationJob(jobContext),
  };
}

/** Composes the authentication of clients, their permissions, and the audit log. */
async function composeAccountability(core: Core, keys: AccessKeys, resources: Closable[]) {
  const { documents, settings, log } = core;
  const access = createAccess(documents, settings.tenancy === 'prefix');
  const auditNotes = createAuditNotes(core, {
    monotonicMs: () => performance.now(),
    loggedReads: new Set(settings.auditReads.flatMap((readGroup) => AUDITED_READS[readGroup])),
    onFailure: (cause) => log.warn({ err: cause }, 'an entry of the audit log could not be written'),
  });
  const { auditPush, auditPushToken } = settings;
  if (auditPush !== undefined && !settings.readOnly) {
    const onFailure = (cause: unknown) => log.warn({ err: cause }, 'the receiver of the audit log accepts no entries');
    const auditForwarder = createAuditPush(core, createAuditSender(auditPush, auditPushToken), onFailure);
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
  const endedSessions = await createEndedSessions(documents, now, settings.readOnly);
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
 * Composes the versions of documents and the keys that sign published closes: what other services need of them, and the
 * handlers, which are created after the services that write.
 */
function composeHistory(core: Core) {
  const versions = createVersions(core);
  const signingKeys = createSigningKeys(core);
  return {
    versions,
    signingKeys,
    removals: createRemovals(versions),
    handlers: (services: VersionedServices) => ({
      ...createVersionHandlers(versions, createRestorations(services)),
      ...createAuditHandlers(createAudit(core, signingKeys)),
    }),
  };
}

type HistoryComponents = Pick<ReturnType<typeof composeHistory>, 'versions' | 'signingKeys' | 'removals'>;

/** Composes the data stores. Their job handlers already exist. */
function composeDatasets(core: Core) {
  const watchlists = createWatchlists(core);
  const priceOverrides = createPriceOverriding(core, core.datasets);
  const data = createData(core, core.datasets.datasetInUse);
  return {
    watchlists,
    kinds: core.jobKinds,
    called: { datasets: core.datasets, dataVersions: core.dataVersions, data, priceOverrides, watchlists },
    handlers: {
      ...createDatasetHandlers(core.datasets),
      ...createOverrideHandlers(priceOverrides),
      ...createDataHandlers(data),
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

function ignoreRefusal(failure: unknown): void {
  if (!(failure instanceof Refusal)) throw failure;
}

/** Creates the source of the results of risk jobs. It reads their models. */
const createRiskResults = ({ result }: Pick<RiskModels, 'result'>): JobResultSource => ({
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
  readonly results: JobsServiceTerms['results'];
}

/** Composes health, metrics, jobs, the changelog and the documentation. */
function composeOperations(core: Core, { stopping, startedAt, results, onCancelled, answerFor }: OperationsInput) {
  const { engineVersion, jobs, datasets, checks, metrics } = core;
  const health = createHealth(core, {
    build: readBuildInfo(),
    startedAt,
    monotonic: () => performance.now(),
    draining: () => stopping.aborted,
    async store() {
      await core.activations.follow().catch(ignoreRefusal); // Another process may have activated another store.
      return datasets.health();
    },
    freshness: createFreshnessReader(core),
    isReachable: core.isReachable,
    checks,
  });
  checkPeriodically(health, stopping);
  const jobsService = createJobsService(core, { onCancelled, stopping, results });
  const changelog = createChangelog(readFileSync(new URL('CHANGELOG.md', PACKAGE_ROOT), 'utf8'), core);
  const documentation = openDocumentationSources();
  return {
    handlers: {
      ...createHealthHandlers(health, createLimits(core.settings)),
      ...createMetricsHandlers(metrics),
      ...createChangelogHandlers(changelog),
      ...principalHandlers,
      ...createJobHandlers(jobsService, createJobKinds(core, core.pausedKinds)),
      ...createDocumentationHandlers(documentation),
      ...createMcpHandlers({
        api: API,
        version: engineVersion,
        isReadOnly: core.settings.readOnly,
        describeTools: async () =>
          JSON.parse((await jobs.query('describe-tools', null)).json) as readonly ToolDescription[],
        pages: documentation.guide,
        answerFor,
      }),
      ...createReceiptHandlers({ answerFor, receipts: createReceipts({ jobs, documents: core.documents }) }),
    },
  };
}

/** Composes clients and the delivery of files to them. */
function composeDelivery(core: Core) {
  const { documents, settings, callbacks } = core;
  const { smtpUrl: url, smtpFrom: from } = settings;
  const mailServer = url === undefined || from === undefined ? undefined : { url, from };
  const destinations = createDeliveryDestinations({
    roots: settings.deliveryRoots,
    hosts: settings.deliveryHosts,
    buckets: settings.deliveryBuckets,
    callbacks: callbacks.destinations,
    hasMail: mailServer !== undefined,
    mailDomains: settings.mailDomains,
    bucketService: () => selectBucketService(settings),
  });
  const clients = createClients(core, destinations, settings.callbackSecrets);
  const records = createDeliveryRecords(documents);
  const senders = createSenders(destinations, callbacks.post, mailServer);
  const deliverFiles = createDeliverFiles(core, senders, destinations);
  return { clients, records, deliver: deliverFiles, handlers: createClientHandlers(clients, records) };
}

function selectBucketService(settings: Settings): BucketService {
  const aws = selectAwsSettings(settings);
  return { endpoint: aws.endpoint, region: chooseRegion(aws), keys: () => chooseKeys(aws).keys };
}

/** Reports stored clients that are disabled because a target is not permitted. */
async function reportDisabledClients({ log }: Core, clients: Pick<Clients, 'listProblems'>): Promise<void> {
  try {
    for (const client of await clients.listProblems())
      log.warn(client, 'a stored client is disabled, because a target is not permitted');
  } catch (err) {
    log.warn({ err }, 'stored clients could not be checked; each delivery checks its target');
  }
}

interface GovernanceInput extends Pick<StatementSources, 'publications' | 'exports' | 'computeSchedule'> {
  readonly schedulesOn: Parameters<typeof createClosureEffects>[1];
  readonly indices: Pick<Indices, 'get'>;
  readonly history: HistoryComponents;
  readonly endClosedDays: (code: string) => Promise<void>;
}

/** Composes the procedures of the administrator, the benchmark statements and the recorded changes of calendars. */
function composeGovernance(core: Core, { history, indices, schedulesOn, endClosedDays, ...parts }: GovernanceInput) {
  const { versions, removals } = history;
  const procedures = createProcedures(core);
  const readOverview = () => summariseGovernance(core);
  const statements = createStatements(core, { ...parts, versions, procedures });
  const closures = createClosures(core, createClosureEffects(core, schedulesOn), endClosedDays);
  return {
    procedures,
    closures,
    handlers: {
      ...createGovernanceHandlers({ overview: readOverview, statements, procedures, indices }),
      ...createClosureHandlers(closures, removals),
    },
  };
}

/** Composes published closes. */
function composePublication(core: Core, { signingKeys }: HistoryComponents) {
  const publications = createPublications(core, signingKeys);
  const bundles = createBundles(core, publications, signingKeys, createArchive);
  return { publications, handlers: createPublicationHandlers(publications, bundles) };
}

const createArchive = (members: readonly TarMember[]) => ({
  parts: createTarParts(members),
  length: computeTarLength(members),
});

export interface SchedulesInput {
  readonly role: Role;
  readonly history: HistoryComponents;
  readonly resources: Closable[];
  readonly keys: Pick<AccessKeys, 'findScopes'>;
  readonly runs: Pick<StepServices, 'analytics' | 'exports'>;
  readonly reports: Pick<StepServices, 'reports'>;
  readonly indices: Pick<GovernanceInput, 'indices' | 'computeSchedule' | 'schedulesOn'>;
}

/** Composes publication, the daily schedules of index families, and the runner of schedules. */
function composeSchedules(core: Core, { role, history, resources, keys, ...parts }: SchedulesInput) {
  const { runs, reports, indices } = parts;
  const publication = composePublication(core, history);
  const { documents, settings, calendars, now, log } = core;
  const isShared = settings.artifacts !== undefined;
  const schedules = createSchedules(core, (index) => findIndexMarket(core, index));
  const scheduledDays = { schedules, days: createStoredDays(core, isShared) };
  const delivery = composeDelivery(core);
  const performers = createPerformers({
    ...core,
    ...delivery,
    ...runs,
    ...reports,
    publications: publication.publications,
    follow: () => followActive(core, isShared),
  });
  const runner = createDayRunner(core, scheduledDays, {
    performers,
    authorFault: (day) => findAuthorFault(keys, day),
    clock: { ...systemClock, now },
    log,
  });
  const changes = followDayChanges(documents);
  const days = createDays(core, scheduledDays, changes, runner.wake);
  const wakeWhenDue = (isDue: boolean): void => void (isDue && runner.wake());
  const onApproval = documents.subscribe('approval-given', ({ approval_id: id }) => {
    if (role === 'worker') return;
    resumeDays(core, scheduledDays, waitsForApproval(id))
      .then(wakeWhenDue)
      .catch((cause: unknown) => log.warn({ err: cause }, 'a day that waits for approval resumes at its next attempt'));
  });
  /** Makes the open days of a closed exchange due. Each of them then ends with the reason for the closure. */
  const endClosedDays = async (code: string): Promise<void> => {
    if (role === 'worker') return;
    await resumeDays(core, scheduledDays, isWithoutSession(code, calendars))
      .then(wakeWhenDue)
      .catch((cause: unknown) => log.warn({ err: cause }, 'days of a closed exchange end at their next attempt'));
  };
  const governance = composeGovernance(core, {
    ...indices,
    ...publication,
    exports: runs.exports,
    history,
    endClosedDays,
  });
  const onClosures = calendars.onFollowed((code) => void endClosedDays(code));
  const closeFunctions = [onApproval, onClosures, changes.close];
  resources.push({ close: runner.close }, { close: async () => closeFunctions.forEach((close) => close()) });
  return {
    schedules,
    procedures: governance.procedures,
    closures: governance.closures,
    clients: delivery.clients,
    called: {
      publications: publication.publications,
      procedures: governance.procedures,
      closures: governance.closures,
      clients: delivery.clients,
      approvals: core.approvals,
      schedules,
      days,
    },
    handlers: {
      ...publication.handlers,
      ...governance.handlers,
      ...delivery.handlers,
      ...createScheduleHandlers(schedules, days, delivery.records),
      ...createApprovalHandlers(core.approvals),
    },
    /** Starts to run scheduled days. Must be called after jobs have started. */
    start: (): void => {
      if (role === 'worker') return;
      void reportDisabledClients(core, delivery.clients);
      runner.start();
    },
  };
}

/** Switches to the market that another process has activated. */
async function followActive({ activations }: Core, isShared: boolean): Promise<void> {
  if (isShared) await activations.follow();
}

/** Routes of a worker: health and metrics. */
const WORKER_API = { ...healthRoutes, ...metricsRoutes };

function createWorkerHandlers(handlers: Handlers<typeof WORKER_API>): Handlers<typeof WORKER_API> {
  const { getHealth, getLiveness, getReadiness, getMetrics } = handlers;
  return { getHealth, getLiveness, getReadiness, getMetrics };
}

/** Wraps job kinds so that each attempt first loads the active market. Another process may have activated it. */
function addActiveMarket(kinds: JobHandlers, { follow }: Pick<Activations, 'follow'>): JobHandlers {
  const entries = Object.entries(kinds as Record<string, JobKind<unknown>>).map(([name, kind]) => {
    const run: JobKind<unknown>['run'] = async (payload, attempt) => {
      await follow();
      return kind.run(payload, attempt);
    };
    const { runParts } = kind;
    if (runParts === undefined) return [name, { ...kind, run }];
    const loadActiveMarket: typeof runParts = async (payload, parts, attempt) => {
      await follow();
      return runParts(payload, parts, attempt);
    };
    return [name, { ...kind, run, runParts: loadActiveMarket }];
  });
  return Object.fromEntries(entries) as JobHandlers; // The wrapped kinds keep their names and payload types.
}

/** Loads the active market. For a process that does not read sources. */
async function followActiveOfCompose({
  activations,
  markets,
}: Pick<MarketComponents, 'activations' | 'markets'>): Promise<void> {
  try {
    await activations.follow();
  } catch (failure) {
    if (!(failure instanceof Refusal)) throw failure; // The next job tries again.
  } finally {
    markets.settle();
  }
}

/** Delay before another attempt to reach the database. */
const RETRY_DELAY_MS = 1000;

export interface ResumedTerms {
  readonly role: Role;
  /** True to serve the stored content without reading its source again. */
  readonly keepsServed: boolean;
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal;
}

/** Loads the market that was served before the restart. Waits until the database answers. */
async function resumeMarket(
  core: Pick<Core, 'activations' | 'markets' | 'datasets' | 'settings'>,
  { role, keepsServed, stopping }: ResumedTerms,
): Promise<void> {
  if (role === 'worker' || core.settings.readOnly) return followActiveOfCompose(core);
  for (;;) {
    try {
      return await core.datasets.resume(keepsServed);
    } catch (thrown) {
      if (!isStoreUnavailable(thrown)) throw thrown;
    }
    await delay(RETRY_DELAY_MS, undefined, { ref: false });
    if (stopping.aborted) return;
  }
}

/** Pause in ms between two steps. Requests are answered in this time. */
const PAUSE_MS = 50;

/** Step that runs after the start and makes the first requests faster. */
interface PreparationStep {
  /** Name in the log. */
  readonly name: string;
  run(): unknown;
}

/** Runs steps one after another. If a step fails, the failure is logged and the next step runs. */
export async function runPreparation(steps: Iterable<PreparationStep>, log: Pick<Logger, 'error'>): Promise<void> {
  for (const { name, run } of steps) {
    try {
      await run();
    } catch (err) {
      log.error({ err, step: name }, 'a preparation step failed');
    }
    await sleep(PAUSE_MS, undefined, { ref: false });
  }
}

/** Service without a socket: it handles requests and can be shut down. */
export interface Service {
  readonly app: App;
  /** Returns true if requests need a key. */
  hasKeys(): boolean;
  /** Settles when the previously served market is served again, or has failed to load. */
  readonly resumed: Promise<void>;
  /**
   * Returns the checks of the methodology templates. Without them, the first request for templates would have to wait
   * for the checks.
   */
  listTemplateChecks(): readonly PreparationStep[];
  /** Frees the memory that the start and the preparation of this process have used. */
  freeStartMemory(): Promise<void>;
  /** Stops accepting work. Readiness fails and new jobs are refused; other requests are still answered. */
  drain(): void;
  /** Puts running jobs back into the queue. Then closes the components, the last opened first. */
  close(): Promise<void>;
}

export interface ServiceComposition {
  readonly role: Role;
  readonly settings: Settings;
  readonly log: Logger;
  /**
   * True to serve the stored content without reading its source again. For a command that refreshes the data itself.
   */
  readonly keepsServed?: boolean;
  /** Receives a failure after which the process must end. A component can then no longer do what it guarantees. */
  readonly onDefect: (cause: unknown) => void;
}

/**
 * Opens the home and builds the service on it.
 * @throws StartRefusal if the home cannot be served
 */
export async function compose(composition: ServiceComposition): Promise<Service> {
  const home = await openHome(composition.settings.home);
  const resources: Closable[] = [home];
  try {
    await openTracingIfConfigured(composition, resources);
    return await composeOn(home, composition, resources);
  } catch (failure) {
    await closeAll(resources);
    throw failure;
  }
}

/** Starts to send traces if a collector is configured. Otherwise the tracing code is not even loaded. */
async function openTracingIfConfigured({ settings, log }: ServiceComposition, resources: Closable[]): Promise<void> {
  if (findCollector(settings) === undefined) return;
  const { openTracing } = await import('./otlp-exporter.js');
  const tracing = openTracing({ settings, version: readEngineVersion(), log });
  if (tracing !== undefined) resources.push(tracing);
}

/** Starts to run jobs and scheduled days, and to deliver the notifications of ended jobs. */
async function startJobs(core: Core, kinds: JobHandlers, startSchedules: () => void) {
  const { documents, home, jobs, settings, deliveries, activations } = core;
  const isShared = settings.artifacts !== undefined;
  const ownJobHandlers = wrapForStores(detachAttempts(kinds), core);
  jobs.register(isShared ? addActiveMarket(ownJobHandlers, activations) : ownJobHandlers);
  if (settings.readOnly) return;
  // Data stores of several processes keep their locations: these are in the home of the process that imported the
  // store.
  if (!isShared) await relocateDatasets(documents, home.stores);
  await jobs.start();
  await deliveries.start();
  startSchedules();
}

/** Wraps job kinds so that an attempt is not limited to the documents that the client of its request may access. */
function detachAttempts(kinds: JobHandlers): JobHandlers {
  const detachKind = <P>(kind: JobKind<P>): JobKind<P> => ({
    ...kind,
    run: (payload, attempt) => runUnrestricted(() => kind.run(payload, attempt)),
    ...(kind.runParts && {
      runParts: (payload: P, parts: readonly number[], attempt: Attempt) =>
        runUnrestricted(() => kind.runParts!(payload, parts, attempt)),
    }),
  });
  const handlers = Object.entries(kinds as unknown as Record<string, JobKind<never>>).map(([name, kind]) => [
    name,
    detachKind(kind),
  ]);
  return Object.fromEntries(handlers) as unknown as JobHandlers; // each kind keeps its name
}

/** Builds the dependencies of the request pipeline. */
function selectAnswerSources({
  settings,
  engineVersion,
  log,
  markets,
  stores,
  metrics,
  deliveries,
  activations,
  jobs,
  documents,
}: Core) {
  return {
    async checkLargeBody(operation: string, bytes: Uint8Array) {
      const checkedBody = await jobs.query('check-body', { operation, bytes });
      if ('value' in checkedBody) return checkedBody;
      if ('json' in checkedBody) {
        const { json, lines } = checkedBody;
        return { value: JSON.parse(json) as unknown, ...(lines && { lines: lines.bytes }) };
      }
      const { code, message, detail } = checkedBody.error;
      return { refusal: new Refusal(code, message, detail) };
    },
    version: engineVersion,
    log,
    isSecure: readTlsFiles(settings) !== undefined,
    isTrustedProxy: createAddressCheck(settings.trustedProxies),
    withinStore: stores.within,
    dataSettled: () => markets.settled(),
    dataWaitMs: settings.dataWaitMs,
    ...(settings.artifacts === undefined ? {} : { follow: async () => void (await activations.follow()) }),
    assertCallback: deliveries.assertAccepted,
    isReadOnly: settings.readOnly,
    findVersion: (subject: Parameters<typeof findVersionByEtag>[1], etag: string) =>
      findVersionByEtag(documents, subject, etag),
    observe: metrics.observe,
  };
}

/** Returns the routes of a role with their handlers. */
function selectApi(
  role: Role,
  { console, oidcClientId }: Settings,
  handlers: Handlers<typeof API>,
  signIn: Handlers<typeof signInRoutes>,
) {
  if (role === 'worker') return { api: WORKER_API, handlers: createWorkerHandlers(handlers) };
  const consolePages = console ? { ...consoleRoutes, ...verifyRoutes } : {};
  const signInApi = console || oidcClientId !== undefined ? signInRoutes : {};
  return {
    api: { ...API, ...textRoutes, ...consolePages, ...signInApi },
    handlers: {
      ...handlers,
      ...createTextHandlers(openDocumentationSources()),
      ...(console && { ...createConsoleHandlers(openConsoleFiles()), ...createVerifyHandlers(openVerifyFiles()) }),
      ...signIn,
    },
  };
}

/** Closes components in reverse order of opening. */
async function closeAll(resources: readonly Closable[]): Promise<void> {
  for (const component of resources.toReversed()) await component.close();
}

/** Opens the components, starting with those that others need. Then composes the features and the application. */
async function composeOn(
  home: Home,
  { role, settings, log, onDefect, keepsServed = false }: ServiceComposition,
  resources: Closable[],
): Promise<Service> {
  const stopController = new AbortController();
  const core = openJobComponents(await openCore({ role, home, settings, log, onDefect, resources }), resources);
  const { documents, jobs } = core;
  const keys = await createKeys(documents, settings.apiKeys, Date.now);
  if (role !== 'worker') resources.push(await openKeySocket(home.path, keys));

  const history = composeHistory(core);
  const datasets = composeDatasets(core);
  const indices = composeIndices(core, history.removals);
  const runs = composeRuns(core, { ...indices, resources });
  const reports = composeReports(core);
  const accountability = await composeAccountability(core, keys, resources);
  const operations = composeOperations(core, {
    onCancelled: accountability.notes.cancelled,
    stopping: stopController.signal,
    startedAt: new Date(),
    results: { risk: createRiskResults(indices.riskModels), backtest: runs.backtestResults },
    answerFor: (request, client) => app.answerFor(request, client),
  });

  const plans = composeSchedules(core, { role, history, resources, keys, runs, reports, indices });

  // If a kind of job or a route has no handler, the code does not compile.
  const kinds: JobHandlers = { ...datasets.kinds, ...indices.kinds, ...runs.kinds, ...reports.kinds };
  const called = { ...datasets.called, ...indices.called, ...runs.called, reports: reports.reports, ...plans.called };
  const handlers: Handlers<typeof API> = {
    ...deriveHandlers(API, called, history.removals),
    ...operations.handlers,
    ...accountability.handlers,
    ...datasets.handlers,
    ...indices.handlers,
    ...runs.handlers,
    ...reports.handlers,
    ...plans.handlers,
    ...history.handlers({ ...indices, ...reports, ...datasets, ...plans, datasets: core.datasets }),
  };

  await startJobs(core, kinds, plans.start);
  // The previously served market is loaded in the background. Until then, requests that need it get a Retry-After
  // header.
  await core.datasets.announce();
  const resumption = resumeMarket(core, { role, keepsServed, stopping: stopController.signal });
  resumption.catch(onDefect);
  const api = selectApi(role, settings, handlers, accountability.signIn);
  const app: App = createApp({ ...accountability, ...selectAnswerSources(core), ...api });

  return {
    app,
    hasKeys: () => accountability.hasProvider || keys.areConfigured(),
    resumed: resumption,
    listTemplateChecks: indices.listTemplateChecks,
    freeStartMemory: core.freeStartMemory,
    drain() {
      stopController.abort();
      jobs.drain();
      app.drain();
    },
    close: () => closeAll(resources),
  };
}
