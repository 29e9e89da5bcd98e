import { setTimeout as delay, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { API } from '#contract/api.js';
import { healthRoutes, metricsRoutes } from '#contract/service.js';
import { isUnavailable, Refusal } from '#domain/base/refusals.js';
import { type App, createApp } from '#http/app.js';
import type { Handlers } from '#http/handler.js';
import { signInRoutes } from '#http/oidc/sign-in.js';
import { consoleRoutes, createConsoleHandlers, createVerifyHandlers, verifyRoutes } from '#http/routes/console.js';
import type { Attempt, JobHandlers, JobKind } from '#jobs/port/job-kind.js';
import { createAddressCheck, createKeys } from '#services/keys/keys.js';
import { relocateDatasets } from '#services/stores/files.js';
import type { Activations } from '#services/stores/serving.js';
import { type Home, openHome } from '#store/home/home.js';
import { runUnrestricted } from '#store/reach.js';
import { readTlsFiles } from '../settings/security.js';
import { findCollector, type Settings } from '../settings/settings.js';
import { readEngineVersion } from '../version.js';
import { type Closable, type Core, openCore, openJobComponents } from './core.js';
import { composeIndices, composeReports, composeRuns } from './indices.js';
import { openKeySocket } from './key-socket.js';
import { type MarketComponents, wrapForStores } from './market.js';
import {
  composeAccountability,
  composeDatasets,
  composeHistory,
  composeOperations,
  createRiskResults,
} from './operations.js';
import { openConsoleFiles, openVerifyFiles } from './package-files.js';
import { composeSchedules } from './schedules.js';
import type { Role } from './storage.js';

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
async function followActive({
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
  if (role === 'worker' || core.settings.readOnly) return followActive(core);
  for (;;) {
    try {
      return await core.datasets.resume(keepsServed);
    } catch (thrown) {
      if (!isUnavailable(thrown)) throw thrown;
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
  /** Stops accepting work. Readiness fails and new jobs are refused; other requests are still answered. */
  drain(): void;
  /** Puts running jobs back into the queue. Then closes the components, the last opened first. */
  close(): Promise<void>;
}

export interface Composition {
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
export async function compose(composition: Composition): Promise<Service> {
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
async function openTracingIfConfigured({ settings, log }: Composition, resources: Closable[]): Promise<void> {
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
  version,
  log,
  markets,
  stores,
  metrics,
  deliveries,
  activations,
  jobs,
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
    version,
    log,
    isSecure: readTlsFiles(settings) !== undefined,
    isTrustedProxy: createAddressCheck(settings.trustedProxies),
    withinStore: stores.within,
    dataSettled: () => markets.settled(),
    dataWaitMs: settings.dataWaitMs,
    ...(settings.artifacts === undefined ? {} : { follow: async () => void (await activations.follow()) }),
    assertCallback: deliveries.assertAccepted,
    isReadOnly: settings.readOnly,
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
    api: { ...API, ...consolePages, ...signInApi },
    handlers: {
      ...handlers,
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
  { role, settings, log, onDefect, keepsServed = false }: Composition,
  resources: Closable[],
): Promise<Service> {
  const stopController = new AbortController();
  const core = openJobComponents(await openCore({ role, home, settings, log, onDefect, resources }), resources);
  const { documents, jobs } = core;
  const keys = await createKeys({ documents, environment: settings.apiKeys, now: Date.now });
  if (role !== 'worker') resources.push(await openKeySocket(home.path, keys));

  const history = composeHistory(core);
  const datasets = composeDatasets(core, history.removals);
  const indices = composeIndices(core, history.removals);
  const runs = composeRuns(core, { ...indices, resources });
  const reports = composeReports(core, history.removals);
  const accountability = await composeAccountability(core, keys, resources);
  const operations = composeOperations(core, {
    onCancelled: accountability.notes.cancelled,
    stopping: stopController.signal,
    startedAt: new Date(),
    results: { risk: createRiskResults(indices.riskModels), backtest: runs.backtestResults },
    answerFor: (request, client) => app.answerFor(request, client),
  });

  const plans = composeSchedules(core, { role, removals: history.removals, resources, keys, runs, reports, indices });

  // If a kind of job or a route has no handler, the code does not compile.
  const kinds: JobHandlers = { ...datasets.kinds, ...indices.kinds, ...runs.kinds, ...reports.kinds };
  const handlers: Handlers<typeof API> = {
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
    drain() {
      stopController.abort();
      jobs.drain();
      app.drain();
    },
    close: () => closeAll(resources),
  };
}
