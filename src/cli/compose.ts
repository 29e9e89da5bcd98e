import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { API } from '#contract/api.js';
import { createApp, type App } from '#http/app.js';
import { createAuthenticate } from '#http/authentication.js';
import type { Handlers } from '#http/handler.js';
import { createMetrics } from '#http/metrics.js';
import { analyticsHandlers } from '#http/routes/analytics.js';
import { calendarHandlers } from '#http/routes/calendars.js';
import { changelogHandlers } from '#http/routes/changelog.js';
import { derivativeHandlers } from '#http/routes/derivatives.js';
import { documentationHandlers } from '#http/routes/documentation.js';
import { healthHandlers } from '#http/routes/health.js';
import { metricsHandlers } from '#http/routes/metrics.js';
import { indexHandlers } from '#http/routes/indices.js';
import { jobHandlers } from '#http/routes/jobs.js';
import { optimiseHandlers } from '#http/routes/optimise.js';
import { replayHandlers } from '#http/routes/replays.js';
import { reportHandlers } from '#http/routes/reports.js';
import { rollingRiskHandlers } from '#http/routes/rolling-risk.js';
import { simulationHandlers } from '#http/routes/simulations.js';
import { riskModelHandlers } from '#http/routes/risk-models.js';
import { createJobEngine } from '#jobs/engine.js';
import type { JobHandlers } from '#jobs/job-kind.js';
import { systemClock } from '#jobs/clock.js';
import { engineLimits } from '#jobs/engine-limits.js';
import { memoryBudget } from '#jobs/memory-budget.js';
import { createPool, heapMegabytes } from '#jobs/pool.js';
import { dataHandlers } from '#http/routes/data.js';
import { storeHandlers } from '#http/routes/stores.js';
import { sweepHandlers } from '#http/routes/sweeps.js';
import { strategyHandlers } from '#http/routes/strategies.js';
import { watchlistHandlers } from '#http/routes/watchlists.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { createAnalytics } from '#services/runs/analytics.js';
import { createBacktestJob } from '#services/runs/backtest-job.js';
import { createCalendarViews } from '#services/indices/calendars.js';
import { createRollingRisk } from '#services/runs/rolling-risk.js';
import { createSimulationJob, createSimulations } from '#services/runs/simulations.js';
import { createRiskModelJob } from '#services/risk/risk-model-job.js';
import { createRiskModels } from '#services/risk/risk-models.js';
import { createChangelog } from '#services/operations/changelog.js';
import { createDerivatives } from '#services/derivatives/derivatives.js';
import { createHealth, type Check } from '#services/operations/health.js';
import { createIndexQuestions } from '#services/indices/index-questions.js';
import { createIndices } from '#services/indices/indices.js';
import { createJobsService } from '#services/operations/jobs.js';
import { resultUpgrade } from '#services/runs/result-upgrade.js';
import { createKeys } from '#services/operations/keys.js';
import { relocateStores } from '#services/datasets/relocate-stores.js';
import { createOptimise } from '#services/optimisation/optimise.js';
import { createOptimisationJob } from '#services/optimisation/optimise-job.js';
import { createRenderJob } from '#services/reports/render-job.js';
import { createReplayJob, createReplays } from '#services/runs/replays.js';
import { createReports } from '#services/reports/reports.js';
import { requireIndex } from '#services/indices/stored-indices.js';
import { createSweepJob } from '#services/runs/sweep-job.js';
import { createSweeps } from '#services/runs/sweeps.js';
import { createStrategies } from '#services/indices/strategies.js';
import { createRunStates } from '#services/runs/run-states.js';
import { createViewCache } from '#services/runs/view-cache.js';
import { createWarmUp } from '#services/runs/warm-up.js';
import { createWatchlists } from '#services/datasets/watchlists.js';
import { openHome, type Home } from '#store/home/home.js';
import { watchHomeSizes } from '#store/home/home-sizes.js';
import { openStore, type Store } from '#store/open-store.js';
import { formatTimestamp } from '#store/timestamp.js';
import { composeMarket } from './compose-market.js';
import { watchDisk } from './disk-watch.js';
import { documentationSources } from './documentation-files.js';
import { openKeyDoor } from './key-door.js';
import { openNumerics } from './numerics.js';
import type { Settings } from './settings.js';
import { engineVersion, PACKAGE_ROOT } from './version.js';

const MS_PER_DAY = 86_400_000;

/** The service without its socket: what answers requests, and how it stops. */
export interface Service {
  readonly app: App;
  /** Whether requests need a key. */
  hasKeys(): boolean;
  /** Settled once the market that was served before is served again, or cannot be. */
  readonly resumed: Promise<void>;
  /** Stops taking new work: readiness and new jobs are refused from now on, requests are still answered. */
  drain(): void;
  /** Gives running jobs back to the queue and closes the rooms, outermost first. */
  close(): Promise<void>;
}

export interface Composition {
  readonly settings: Settings;
  readonly log: Logger;
  /** Told of a failure after which the process has to end, because a room can no longer keep its promises. */
  readonly onDefect: (cause: unknown) => void;
}

/**
 * Opens the home and builds the service on it.
 * @throws StartRefusal when the home cannot be served
 */
export async function compose(composition: Composition): Promise<Service> {
  const home = await openHome(composition.settings.home);
  const open: Closable[] = [home];
  try {
    return await composeOn(home, composition, open);
  } catch (failure) {
    await closeAll(open);
    throw failure;
  }
}

interface Closable {
  close(): Promise<void>;
}

/** Closes in reverse order of opening. */
async function closeAll(open: readonly Closable[]): Promise<void> {
  for (const room of open.toReversed()) await room.close();
}

/**
 * Builds the rooms inside-out: store, calendars, markets, pool and jobs, services, and the application around them.
 * A room that must be closed is pushed on `open` as soon as it is.
 */
async function composeOn(home: Home, { settings, log, onDefect }: Composition, open: Closable[]): Promise<Service> {
  const version = engineVersion();
  const startedAt = new Date();
  const checks: Check[] = [];
  const stopping = new AbortController();

  // Rooms: each pushes what has to be closed, and the checks by which health looks at it.
  const store: Store = await openStore({ home, onFailure: onDefect });
  open.push(store);
  const disk = watchDisk(store.freeSpace);
  open.push(disk);
  checks.push(disk.check);

  const numerics = await openNumerics(settings.numerics, log);
  checks.push(numerics);

  const sizes = watchHomeSizes(home);
  const metrics = createMetrics({
    version,
    jobs: () => jobs.counts(),
    tasks: (lane) => pool.load(lane),
    homeBytes: sizes,
    freeBytes: async () => (await store.freeSpace.measure()).freeBytes,
  });
  const memoryBytes = memoryBudget();
  const pool = createPool({
    workers: settings.workers,
    numerics: settings.numerics,
    heapMegabytes: heapMegabytes(memoryBytes, settings.workers),
    onFault: (fault) => log.error({ err: fault }, 'a worker thread ended'),
    onThreadLost: (cause) => {
      metrics.threadLost(cause);
      warmUp?.forget();
    },
  });
  const jobs = createJobEngine({
    store: store.documents,
    artifacts: store.artifacts,
    pool,
    clock: systemClock,
    limits: engineLimits({ workers: settings.workers, memoryBytes }),
    log,
    onEnded: (job) => {
      metrics.jobEnded(job);
      if (job.kind === 'backtest' && job.outcome === 'succeeded') warmUp?.wake(job.jobId.slice('backtest:'.length));
    },
  });
  open.push({ close: () => jobs.stop() });
  const calendars = openCalendars();
  const { markets, stores, data, jobKinds } = composeMarket({
    home,
    settings,
    documents: store.documents,
    jobs,
    calendars,
    onServe: () => warmUp?.wake(),
  });
  open.push(stores);
  checks.push({ name: 'data', look: () => awaitedText(markets.awaited()), unready: 'STORE_UNAVAILABLE' });
  const warmUp = settings.warmUp
    ? createWarmUp({
        documents: store.documents,
        artifacts: store.artifacts,
        markets,
        pool,
        workers: settings.workers,
        clock: systemClock,
        onFault: (fault) => log.warn({ err: fault }, 'a worker thread could not be made ready'),
      })
    : undefined;
  open.push({ close: async () => warmUp?.close() });

  // Services, one per route family.
  const keys = await createKeys({ documents: store.documents, environment: settings.apiKeys, now: Date.now });
  open.push(await openKeyDoor(home.path, keys));
  const changelog = createChangelog({ text: readFileSync(new URL('CHANGELOG.md', PACKAGE_ROOT), 'utf8'), version });
  const health = createHealth({
    version,
    startedAt,
    monotonic: () => performance.now(),
    draining: () => stopping.signal.aborted,
    store: () => stores.health(),
    jobs: () => jobs.counts(),
    checks,
  });

  const calendarViews = createCalendarViews({
    calendars,
    indexOf: async (indexId) => (await requireIndex(store.documents, indexId)).document,
    today: () => Math.floor(Date.now() / MS_PER_DAY),
  });
  const indices = createIndices({ documents: store.documents, jobs, markets, calendars });
  const indexQuestions = createIndexQuestions({ documents: store.documents, jobs, markets, calendars });

  const backtestJob = createBacktestJob({ documents: store.documents, artifacts: store.artifacts, markets });
  const views = createViewCache();
  const states = createRunStates({
    documents: store.documents,
    artifacts: store.artifacts,
    markets,
    engineVersion: version,
  });
  const analytics = createAnalytics({
    documents: store.documents,
    artifacts: store.artifacts,
    jobs,
    kind: backtestJob,
    markets,
    calendars,
    views,
    states,
    engineVersion: version,
  });
  const replayJob = createReplayJob({ documents: store.documents, artifacts: store.artifacts, markets, states });
  const sweepJob = createSweepJob({ markets, workers: settings.workers });
  const simulationJob = createSimulationJob({
    documents: store.documents,
    artifacts: store.artifacts,
    markets,
    states,
  });
  const riskModelJob = createRiskModelJob({ documents: store.documents, artifacts: store.artifacts, markets });
  const riskModels = createRiskModels({
    documents: store.documents,
    artifacts: store.artifacts,
    jobs,
    kind: riskModelJob,
    markets,
  });
  const optimisationJob = createOptimisationJob({ markets });
  const optimise = createOptimise({
    documents: store.documents,
    artifacts: store.artifacts,
    jobs,
    kind: optimisationJob,
    markets,
    calendars,
    now: Date.now,
  });
  const renderJob = createRenderJob({
    documents: store.documents,
    artifacts: store.artifacts,
    markets,
    states,
    timestamp: () => formatTimestamp(Date.now()),
  });
  const reports = createReports({
    documents: store.documents,
    artifacts: store.artifacts,
    jobs,
    kind: renderJob,
    now: Date.now,
  });
  const derivatives = createDerivatives({ levelsOf: analytics.levelsOf, calendars });

  // Every kind of job has its handler: one that is forgotten does not compile.
  const kindHandlers: JobHandlers = {
    ...jobKinds,
    backtest: backtestJob,
    replay: replayJob,
    sweep: sweepJob,
    simulate: simulationJob,
    risk: riskModelJob,
    optimise: optimisationJob,
    render: renderJob,
  };
  jobs.register(kindHandlers);

  // Handlers, one spread per route family: a route of the API without one does not compile.
  const handlers: Handlers<typeof API> = {
    ...healthHandlers(health),
    ...metricsHandlers(metrics),
    ...changelogHandlers(changelog),
    ...jobHandlers(
      createJobsService({
        engine: jobs,
        artifacts: store.artifacts,
        stopping: stopping.signal,
        results: { risk: riskModels.result },
        upgrades: { backtest: resultUpgrade({ artifacts: store.artifacts, jobs }) },
      }),
    ),
    ...storeHandlers(stores),
    ...dataHandlers(data),
    ...watchlistHandlers(createWatchlists({ documents: store.documents, markets })),
    ...calendarHandlers(calendarViews),
    ...indexHandlers(indices, indexQuestions),
    ...analyticsHandlers(analytics),
    ...replayHandlers(
      createReplays({
        documents: store.documents,
        jobs,
        markets,
        kind: replayJob,
        engineVersion: version,
        estimatedBytes: analytics.estimatedBytes,
      }),
    ),
    ...sweepHandlers(
      createSweeps({
        documents: store.documents,
        jobs,
        markets,
        calendars,
        kind: sweepJob,
        engineVersion: version,
        workers: settings.workers,
        estimatedBytes: analytics.estimatedBytes,
        now: Date.now,
      }),
    ),
    ...strategyHandlers(createStrategies({ documents: store.documents, jobs, markets })),
    ...optimiseHandlers(optimise, indices),
    ...riskModelHandlers(riskModels),
    ...rollingRiskHandlers(
      createRollingRisk({ documents: store.documents, artifacts: store.artifacts, jobs, states, views }),
    ),
    ...simulationHandlers(
      createSimulations({
        documents: store.documents,
        artifacts: store.artifacts,
        jobs,
        markets,
        states,
        calendars,
        kind: simulationJob,
      }),
    ),
    ...reportHandlers(reports),
    ...derivativeHandlers(derivatives),
    ...documentationHandlers(documentationSources()),
  };

  await relocateStores(store.documents, home.stores);
  await jobs.start();
  // The market served before is read again in the background; requests that need it are told to come back.
  await stores.announce();
  const resumed = stores.resume();
  resumed.catch(onDefect);
  const app = createApp({
    api: API,
    handlers,
    authenticate: createAuthenticate(keys),
    version,
    log,
    dataSettled: () => markets.settled(),
    observe: metrics.observe,
  });

  return {
    app,
    hasKeys: () => keys.areConfigured(),
    resumed,
    drain() {
      stopping.abort();
      jobs.drain();
      app.drain();
    },
    close: () => closeAll(open),
  };
}

/** What keeps the service from being ready: the data store of before a restart, which is still being read. */
function awaitedText(storeId: string | undefined): string | undefined {
  return storeId === undefined ? undefined : `The data store ${storeId} is being read after a restart.`;
}
