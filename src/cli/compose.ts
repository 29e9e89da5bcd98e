import type { Logger } from 'pino';
import { API } from '#contract/api.js';
import { createApp, type App } from '#http/app.js';
import { addressesOf } from '#services/operations/address-ranges.js';
import type { Handlers } from '#http/handler.js';
import { consoleHandlers, consoleRoutes } from '#http/routes/console.js';
import { verifyHandlers, verifyRoutes } from '#http/routes/verify.js';
import { signInRoutes } from '#http/routes/sign-in.js';
import type { JobHandlers, JobKind } from '#jobs/job-kind.js';
import { relocateDatasets } from '#services/datasets/relocate.js';
import { createKeys } from '#services/operations/keys.js';
import { beyondReach } from '#store/reach/reach-context.js';
import { openHome, type Home } from '#store/home/home.js';
import { following, WORKER_API, workerHandlers } from './compose/cluster.js';
import { composeAccountability } from './compose/accountability.js';
import { composeHistory } from './compose/history.js';
import { composeIndices } from './compose/indices.js';
import { composeDatasets, composeOperations, riskResults } from './compose/operations.js';
import { composePublication } from './compose/publication.js';
import { composeReports } from './compose/reports.js';
import { openRoomsOfJobs } from './compose/documents-of-jobs.js';
import { resumedMarket } from './compose/resumed.js';
import { openRooms, type Closable, type Rooms } from './compose/rooms.js';
import type { Role } from './compose/service-store.js';
import { composeRuns } from './compose/runs.js';
import { consoleFiles, verifyFiles } from './console-files.js';
import { openKeyDoor } from './key-door.js';
import { tlsOf } from './security-settings.js';
import type { Settings } from './settings.js';
import { collectorOf } from './tracing/trace-settings.js';
import { engineVersion } from './version.js';

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
  readonly role: Role;
  readonly settings: Settings;
  readonly log: Logger;
  /** Serves what was served before without what its source has now: for a command that takes that itself. */
  readonly keepsServed?: boolean;
  /** Receives a failure after which the process has to end, because a room can no longer keep its promises. */
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
    await traceIfAsked(composition, open);
    return await composeOn(home, composition, open);
  } catch (failure) {
    await closeAll(open);
    throw failure;
  }
}

/** Sends traces where a collector is set; the code of it is loaded then only. */
async function traceIfAsked({ settings, log }: Composition, open: Closable[]): Promise<void> {
  if (collectorOf(settings) === undefined) return;
  const { openTracing } = await import('./tracing/otlp-exporter.js');
  const tracing = openTracing({ settings, version: engineVersion(), log });
  if (tracing !== undefined) open.push(tracing);
}

/** Begins to run jobs, and to send word of those that have ended. */
async function startJobs({ documents, home, jobs, settings, deliveries, activations }: Rooms, kinds: JobHandlers) {
  const isShared = settings.artifacts !== undefined;
  const own = ofTheService(kinds);
  jobs.register(isShared ? following(own, activations) : own);
  if (settings.readOnly) return;
  // Stores of several machines lie in the homes of those that imported them.
  if (!isShared) await relocateDatasets(documents, home.stores);
  await jobs.start();
  await deliveries.start();
}

/** Attempts belong to no request, whichever has started them. */
function ofTheService(kinds: JobHandlers): JobHandlers {
  const own = <P>(kind: JobKind<P>): JobKind<P> => ({
    ...kind,
    run: (payload, attempt) => beyondReach(() => kind.run(payload, attempt)),
  });
  const handlers = Object.entries(kinds as unknown as Record<string, JobKind<never>>).map(([name, kind]) => [
    name,
    own(kind),
  ]);
  return Object.fromEntries(handlers) as unknown as JobHandlers; // each under its own name
}

/** What the pipeline takes from the rooms. */
function answersOf({ settings, version, log, markets, metrics, deliveries, activations }: Rooms) {
  return {
    version,
    log,
    isSecure: tlsOf(settings) !== undefined,
    isTrustedProxy: addressesOf(settings.trustedProxies),
    dataSettled: () => markets.settled(),
    dataWaitMs: settings.dataWaitMs,
    ...(settings.artifacts === undefined ? {} : { follow: async () => void (await activations.follow()) }),
    assertCallback: deliveries.assertAccepted,
    isReadOnly: settings.readOnly,
    observe: metrics.observe,
  };
}

/** Routes of a role with their handlers. */
function apiOf(
  role: Role,
  { console, oidcClientId }: Settings,
  handlers: Handlers<typeof API>,
  signIn: Handlers<typeof signInRoutes>,
) {
  if (role === 'worker') return { api: WORKER_API, handlers: workerHandlers(handlers) };
  const pages = console ? { ...consoleRoutes, ...verifyRoutes } : {};
  const signing = console || oidcClientId !== undefined ? signInRoutes : {};
  return {
    api: { ...API, ...pages, ...signing },
    handlers: {
      ...handlers,
      ...(console && { ...consoleHandlers(consoleFiles()), ...verifyHandlers(verifyFiles()) }),
      ...signIn,
    },
  };
}

/** Closes in reverse order of opening. */
async function closeAll(open: readonly Closable[]): Promise<void> {
  for (const room of open.toReversed()) await room.close();
}

/** Builds the rooms inside-out, the features on them, and the application around all. */
async function composeOn(
  home: Home,
  { role, settings, log, onDefect, keepsServed = false }: Composition,
  open: Closable[],
): Promise<Service> {
  const stopping = new AbortController();
  const rooms = openRoomsOfJobs(await openRooms({ role, home, settings, log, onDefect, open }), open);
  const { documents, jobs } = rooms;
  const keys = await createKeys({ documents, environment: settings.apiKeys, now: Date.now });
  if (role !== 'worker') open.push(await openKeyDoor(home.path, keys));

  const history = composeHistory(rooms);
  const datasets = composeDatasets(rooms, history.removals);
  const indices = composeIndices(rooms, history.removals);
  const runs = composeRuns(rooms, { ...indices, open });
  const reports = composeReports(rooms, history.removals);
  const accountability = await composeAccountability(rooms, keys, open);
  const { notes, authenticate, reachOf } = accountability;
  const operations = composeOperations(rooms, {
    onCancelled: notes.cancelled,
    stopping: stopping.signal,
    startedAt: new Date(),
    results: { risk: riskResults(indices.riskModels), backtest: runs.backtestResults },
    answerFor: (request, client) => app.answerFor(request, client),
  });

  // Every kind of job has its handler, and every route: one that is forgotten does not compile.
  const kinds: JobHandlers = { ...datasets.kinds, ...indices.kinds, ...runs.kinds, ...reports.kinds };
  const handlers: Handlers<typeof API> = {
    ...operations.handlers,
    ...accountability.handlers,
    ...datasets.handlers,
    ...indices.handlers,
    ...runs.handlers,
    ...reports.handlers,
    ...composePublication(rooms, runs).handlers,
    ...history.handlers({ ...indices, ...reports, ...datasets, datasets: rooms.datasets }),
  };

  await startJobs(rooms, kinds);
  // The market served before is read again in the background; requests that need it get Retry-After.
  await rooms.datasets.announce();
  const resumed = resumedMarket(rooms, { role, keepsServed, stopping: stopping.signal });
  resumed.catch(onDefect);
  const app: App = createApp({
    ...apiOf(role, settings, handlers, accountability.signIn),
    ...answersOf(rooms),
    notes,
    authenticate,
    reachOf,
  });

  return {
    app,
    hasKeys: () => accountability.hasProvider || keys.areConfigured(),
    resumed,
    drain() {
      stopping.abort();
      jobs.drain();
      app.drain();
    },
    close: () => closeAll(open),
  };
}
