import type { Logger } from 'pino';
import { API } from '#contract/api.js';
import { createApp, type App } from '#http/app.js';
import { createAddressCheck } from '#services/operations/address-ranges.js';
import type { Handlers } from '#http/handler.js';
import { createConsoleHandlers, consoleRoutes } from '#http/routes/console.js';
import { createVerifyHandlers, verifyRoutes } from '#http/routes/verify.js';
import { signInRoutes } from '#http/routes/sign-in.js';
import type { Attempt, JobHandlers, JobKind } from '#jobs/job-kind.js';
import { relocateDatasets } from '#services/datasets/relocate.js';
import { createKeys } from '#services/operations/keys.js';
import { runUnrestricted } from '#store/reach/reach-context.js';
import { openHome, type Home } from '#store/home/home.js';
import { addActiveMarket, WORKER_API, createWorkerHandlers } from './compose/cluster.js';
import { composeAccountability } from './compose/accountability.js';
import { composeHistory } from './compose/history.js';
import { composeIndices } from './compose/indices.js';
import { composeDatasets, composeOperations, createRiskResults } from './compose/operations.js';
import { composeReports } from './compose/reports.js';
import { openJobComponents } from './compose/documents-of-jobs.js';
import { composeSchedules } from './compose/schedules.js';
import { wrapForStores } from './compose/on-stores.js';
import { resumeMarket } from './compose/resumed.js';
import { openCore, type Closable, type Core } from './compose/core.js';
import type { Role } from './compose/service-store.js';
import { composeRuns } from './compose/runs.js';
import { openConsoleFiles, openVerifyFiles } from './console-files.js';
import { openKeySocket } from './key-socket.js';
import type { PreparationStep } from './preparation.js';
import { readTlsFiles } from './security-settings.js';
import type { Settings } from './settings.js';
import { findCollector } from './tracing/trace-settings.js';
import { readEngineVersion } from './version.js';

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
  const { openTracing } = await import('./tracing/otlp-exporter.js');
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
function selectAnswerSources({ settings, version, log, markets, stores, metrics, deliveries, activations }: Core) {
  return {
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
