import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { onObjectRequest, runInSpan } from '#base/tracing/tracing.js';
import { Refusal } from '#domain/base/refusals.js';
import { createLiveCalendars } from '#domain/calendars/exchange-calendars.js';
import type { MarketHandle, MarketIdentity } from '#domain/market/market-data.js';
import { createMetrics, type Metrics } from '#services/shared/metrics.js';
import { claimNode, isLiveNode } from '#jobs/distributed/nodes.js';
import { createPostgresQueue } from '#jobs/distributed/queue.js';
import { createJobSystem, createNodePool, createPatientDocuments } from '#jobs/job-system.js';
import { createLocalQueue } from '#jobs/local/queue.js';
import { computeMemoryBudget, deriveNodeLimits } from '#jobs/node-limits.js';
import { computeHeapMegabytes, createPool } from '#jobs/pool.js';
import { systemClock } from '#jobs/port/clock.js';
import type { ComputePool, ThreadLoss } from '#jobs/port/compute-pool.js';
import { createPausedKinds, type JobSystem, type PausedKinds } from '#jobs/port/job-kind.js';
import { createRetainedPartsStore, type EndedJob } from '#jobs/port/queue.js';
import type { ArtifactReference } from '#jobs/tasks/catalogue.js';
import { collectGrownHeap } from '#kernels/memory/collect-garbage.js';
import { findMemoryLimit, isPaged, limitMemory, trimMemory } from '#kernels/memory/paged-memory.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { endIdleProcesses, limitReaders } from '#market/serve/market-process.js';
import type { ReaderLimit } from '#market/serve/process-pool.js';
import {
  type CallbackDestinations,
  type CallbackMessages,
  createCallbackDestinations,
  createDeliveries,
  createPost,
  createSend,
  type SignedPostSender,
} from '#services/delivery/callbacks.js';
import { followClosures } from '#services/indices/calendars.js';
import { createRunStates } from '#services/runs/plans.js';
import { createWarmUp, type WarmUp } from '#services/runs/warm-up.js';
import { createApprovals } from '#services/shared/approvals.js';
import type { Context, FollowingCalendars } from '#services/shared/context.js';
import type { PartCheck } from '#services/shared/service.js';
import { addStoreOfCall } from '#services/stores/serving.js';
import { type ArtifactStore, type DocumentStore, formatTimestamp } from '#store/port.js';
import { findBackupAge } from '#store/home/backup.js';
import { type Home, watchSizes } from '#store/home/home.js';
import { readProcessIdentity } from '#store/home/process-identity.js';
import type { Store } from '#store/open-store.js';
import { CLOCK_REFUSED_MS, CLOCK_REPORTED_MS, describeClockFault } from '#store/postgres/database-clock.js';
import { measureSharedSizes, watchSharedSizes } from '#store/postgres/shared-sizes.js';
import { findCurrentClient, guardDocuments } from '#store/reach.js';
import {
  findCollector,
  listFolders,
  readQueuePolicy,
  type Settings,
  type TraceSettings,
} from '../settings/settings.js';
import { getBuildVersion, readBuildInfo, readEngineVersion } from '../version.js';
import { composeMarket, type MarketComponents } from './market.js';
import { openSecrets, openServiceStore, type Role } from './storage.js';
import type { Health } from '#contract/service.js';
import { formatCount } from '#domain/base/numbers.js';
import { describeChoice, type EngineSetting, openNumericEngine } from '#kernels/engines/open-engine.js';
import { computePanelBytes } from '#market/panels/panels.js';
import { describeFailure, type ServedMarket } from '#market/serve/served-markets.js';
import type { FreeSpace } from '#store/artifacts/free-space.js';
import type { DatabaseDocuments } from '#store/postgres/open-documents.js';

/** Notifications of ended jobs, and signed requests. Both go only to receivers that the operator permits. */
interface CallbackDeliveries {
  readonly deliveries: CallbackMessages;
  readonly callbacks: { readonly destinations: CallbackDestinations; readonly post: SignedPostSender };
}

interface DeliveriesInput {
  readonly settings: Settings;
  readonly documents: DocumentStore;
  readonly log: Logger;
  /** Current time for records, in ms since 1970. */
  readonly now: () => number;
}

/** Opens the notifications of ended jobs. They go only to receivers that the operator permits. */
function openDeliveries({ settings, documents, log, now }: DeliveriesInput): CallbackDeliveries {
  const { callbackHosts: hosts, callbackPrivate: isPrivateAllowed, callbackSecrets: secrets } = settings;
  const destinations = createCallbackDestinations({ hosts, isPrivateAllowed, hasSecret: secrets.length > 0 });
  const post = createPost({ destinations, secrets, now, userAgent: `divisor/${getBuildVersion()}` });
  const isShared = settings.artifacts !== undefined;
  const clock = { ...systemClock, now };
  const deliveries = createDeliveries({
    documents,
    destinations,
    send: createSend(post),
    clock,
    log,
    isShared,
  });
  return { deliveries, callbacks: { destinations, post } };
}

/** If a collector is configured, wraps documents so that each transaction is a span of the work that writes. */
function traceDocuments(documents: DocumentStore, settings: TraceSettings): DocumentStore {
  if (findCollector(settings) === undefined) return documents;
  return {
    ...documents,
    transaction: (change, options) => runInSpan('store transaction', {}, () => documents.transaction(change, options)),
  };
}

/** Opens the calendars of the service. They include changes that any process recorded. */
async function openLiveCalendars(documents: DocumentStore, log: Logger): Promise<FollowingCalendars> {
  const calendars = followClosures(documents, createLiveCalendars(openCalendars()), (err) =>
    log.error({ err }, 'the recorded changes of calendars could not be read'),
  );
  await calendars.follow();
  return calendars;
}

/** Limits the memory of panels. The limit applies while the service is open. */
function createPanelLimit({ panelMegabytes }: Settings, { scratch }: Home): { close(): Promise<void> } {
  const removeLimit = limitMemory({ panelBytes: panelMegabytes * 2 ** 20, folder: scratch });
  return { close: async () => removeLimit() };
}

/** Limits the memory of reader processes through the operating system. */
function createReadingLimit(settings: Settings, log: Logger): { close(): Promise<void> } {
  const { readerMegabytes, readerCgroup, sqlMegabytes, sqlProcessMegabytes, sqlTotalMegabytes } = settings;
  const onUnlimited = (limit: ReaderLimit, reason: string) =>
    log.warn({ limit, reason, megabytes: readerMegabytes }, 'the memory limit of reading processes is not enforced');
  const queries = {
    query: sqlMegabytes * 2 ** 20,
    process: sqlProcessMegabytes * 2 ** 20,
    all: sqlTotalMegabytes * 2 ** 20,
  };
  const removeLimit = limitReaders({ bytes: readerMegabytes * 2 ** 20, queries, group: readerCgroup, onUnlimited });
  return { close: async () => removeLimit() };
}

/** Minimum heap size of the main thread in bytes for a garbage collection. The live objects of a service take 35 to 45 MB. */
const HEAP_BYTES_MIN = 48 * 2 ** 20;

/** Component that must be closed when the service ends. */
export interface Closable {
  close(): Promise<void>;
}

/** Components that the features of the service use. */
export interface Core extends Context, MarketComponents, CallbackDeliveries {
  readonly markets: MarketComponents['markets'];
  readonly home: Home;
  readonly settings: Settings;
  readonly log: Logger;
  readonly pausedKinds: PausedKinds;
  readonly metrics: Metrics;
  /** Health checks of the service. */
  readonly checks: readonly PartCheck[];
  /** Called with the id of a run whose exposures were requested. */
  readonly onExposures: (runId: string) => void;
  /** Returns true if documents and jobs are available. */
  readonly isReachable: () => boolean;
  /** Frees the memory that the start and the preparation of this process have used. */
  readonly freeStartMemory: () => Promise<void>;
}

export interface CoreInput {
  readonly role: Role;
  readonly home: Home;
  readonly settings: Settings;
  readonly log: Logger;
  /** Receives a failure after which the process must end. */
  readonly onDefect: (cause: unknown) => void;
  /** Collects the components to close. A component is added as soon as it is open. */
  readonly resources: Closable[];
}

/** Opens the document store, the thread pool, the jobs and the markets, in the order in which they need each other. */
export async function openCore({ role, home, settings, log, onDefect, resources }: CoreInput): Promise<Core> {
  if (role !== 'practice') resources.push(createPanelLimit(settings, home), createReadingLimit(settings, log));
  const store = await openServiceStore({ role, home, settings, log, onDefect });
  const disk = watchDisk(store.freeSpace);
  resources.push(store, disk);
  const numerics = await checkNumerics(settings.numerics, log);

  const documents = guardDocuments(traceDocuments(store.documents, settings));
  const secrets = await openSecrets(settings, store.documents);
  /**
   * Artifacts for features that read them during requests, with short time limits. A worker has no requests, so its
   * threads and jobs can wait longer.
   */
  const artifacts = (role === 'worker' ? undefined : store.artifacts.forRequests) ?? store.artifacts;
  const engineVersion = readEngineVersion();
  const calendars = await openLiveCalendars(store.documents, log);
  const metrics = openMetrics({ role, version: engineVersion, home, settings, store, work: () => ({ ...work, pool }) });
  let warmUp: WarmUp | undefined;
  const listChecks = () => [
    disk.check,
    ...createStoreChecks(store),
    numerics,
    awaitMarket(market.markets),
    reportFailedMarket(market.markets),
  ];
  const { pool, ...work } = await openWork({
    getHandle: (identity) => market.markets.handleOf(identity),
    role,
    settings,
    log,
    store,
    onThreadLost(cause) {
      metrics.threadLost(cause);
      warmUp?.forget();
    },
    onEnded: metrics.jobEnded,
    onStale: metrics.staleFinish,
    onTakenOver: metrics.takenOver,
    market: () => market.markets.served()?.identity.contentHash ?? null,
    lacks: () => listChecks().flatMap(({ name, look }) => (look() === undefined ? [] : [name])),
  });
  const messages = openDeliveries({ settings, documents, log, now: store.now });
  const { jobs } = work;
  resources.push({ close: () => jobs.stop() }, messages.deliveries);
  const { now } = store;
  const terms = {
    documents,
    artifacts,
    jobs,
    calendars,
    secrets,
    now,
    timestamp: () => formatTimestamp(now()),
    engineVersion,
    workers: settings.workers,
  };
  const market = composeMarket({ ...terms, home, settings, log, role, onServe: () => warmUp?.wake() });
  const { active } = market;
  resources.push(market.datasets);
  const context = { ...terms, ...market, markets: active };
  if (settings.warmUp)
    warmUp = createWarmUp(
      { ...context, documents: store.documents, artifacts: store.artifacts },
      {
        pool,
        isAlone: settings.artifacts === undefined,
        answers: role !== 'worker',
        clock: systemClock,
        onFault: (fault) => log.warn({ err: fault }, 'a worker thread could not be warmed up'),
      },
    );
  documents.subscribe('run-stored', ({ run_id: runId }) => warmUp?.wake(runId));
  resources.push({ close: async () => warmUp?.close() });

  return {
    ...market,
    ...terms,
    home,
    settings,
    log,
    pausedKinds: work.pausedKinds,
    jobs: addStoreOfCall(jobs, active),
    states: createRunStates(context),
    metrics,
    ...messages,
    approvals: createApprovals(documents, { rules: settings.approvals, hours: settings.approvalHours, now }),
    checks: listChecks(),
    onExposures: (runId) => warmUp?.noteRequest(runId),
    isReachable: () => isReachable(store),
    freeStartMemory: work.freeStartMemory,
  };
}

const isReachable = ({ shared }: Store): boolean => shared?.fault() === undefined;

interface MetricsInput {
  readonly role: Role;
  readonly version: string;
  readonly home: Home;
  readonly settings: Settings;
  readonly store: Store;
  /** Called after the metrics are open. */
  readonly work: () => { readonly jobs: JobSystem; readonly pool: ComputePool };
}

function openMetrics({ role, version, home, settings, store, work }: MetricsInput): Metrics {
  /** Reads figures about jobs. Rejects while the database is unavailable; the figures are then left out. */
  const askJobs = async <T>(ask: (jobs: JobSystem) => Promise<T>): Promise<T> => {
    if (!isReachable(store)) throw new Refusal('STORE_UNAVAILABLE', 'The database does not answer.');
    return ask(work().jobs);
  };
  const { shared } = store;
  return createMetrics({
    measuresProcess: role !== 'practice',
    version,
    commit: readBuildInfo()?.commit ?? '',
    jobs: () => askJobs((jobs) => jobs.counts()),
    lanes: () => askJobs((jobs) => jobs.lanes()),
    tasks: (lane) => work().pool.load(lane),
    homeBytes: watchSizes(listFolders(home, settings)),
    freeBytes: async () => (await store.freeSpace.measure()).freeBytes,
    backupAge: () => findBackupAge(settings.backups ?? home.backups),
    objectRequests: settings.artifacts?.startsWith('s3:') === true ? onObjectRequest : undefined,
    database: shared && createDatabaseFigures(shared),
    shared:
      shared && watchSharedSizes(() => measureSharedSizes((text) => shared.database.query(text, []), shared.schema)),
  });
}

interface WorkInput {
  readonly role: Role;
  /** Returns the memory of a market. All threads of this process share it. */
  readonly getHandle: (identity: MarketIdentity) => MarketHandle;
  readonly settings: Settings;
  readonly log: Logger;
  readonly store: Store;
  readonly onThreadLost: (cause: ThreadLoss) => void;
  readonly onEnded: (job: EndedJob) => void;
  readonly onStale: () => void;
  readonly onTakenOver: () => void;
  /** Returns the content hash of the served market; null if no market is served. */
  readonly market: () => string | null;
  /** Returns the names of the unavailable components. */
  readonly lacks: () => readonly string[];
}

/** Time in ms after a garbage collection in which V8 frees buffers in the background. */
const SWEEP_MS = 1000;

/**
 * After an idle period, ends the processes that wait for data, and returns unused memory of the main thread and of
 * `malloc` to the system.
 */
async function freeMemory(heapBytesMin = HEAP_BYTES_MIN): Promise<void> {
  endIdleProcesses();
  await collectGrownHeap(heapBytesMin);
  await sleep(SWEEP_MS, undefined, { ref: false });
  trimMemory();
}

interface Work extends Pick<Core, 'jobs' | 'pausedKinds' | 'freeStartMemory'> {
  readonly pool: ComputePool;
}

/** Opens the thread pool and the jobs that run on it. */
async function openWork(input: WorkInput): Promise<Work> {
  const { role, getHandle, settings, log, store, onThreadLost, onEnded } = input;
  const { workers } = settings;
  const memoryBytes = computeMemoryBudget();
  const threadPool = createPool({
    workers,
    numerics: settings.numerics,
    memory: findMemoryLimit(),
    startsAhead: settings.warmUp,
    heapMegabytes: computeHeapMegabytes(memoryBytes, workers),
    onFault: (fault) => log.error({ err: fault }, 'a worker thread ended'),
    onThreadLost,
    findClient: findCurrentClient,
    onRest: () => void freeMemory().catch((err: unknown) => log.error({ err }, 'memory was not freed')),
  });
  const pool = createNodePool(threadPool, {
    file: (reference) => fetchFile(store.artifacts, reference),
    market: async (identity) => getHandle(identity),
    destination: store.artifacts.destination,
    health: store.artifacts.health,
  });
  const limits = deriveNodeLimits({
    workers,
    memoryBytes,
    places: role === 'worker' ? { heavy: workers, light: 0 } : { heavy: settings.heavyPlaces },
    leaseMs: settings.database === undefined ? undefined : settings.lease * 1000,
    policy: readQueuePolicy(settings),
  });
  const { documents, shared, artifacts, now } = store;
  const clock = { ...systemClock, now };
  const pausedKinds = await createPausedKinds(documents, clock, shared !== undefined);
  const queue =
    shared === undefined
      ? createLocalQueue({
          store: documents,
          clock,
          limits,
          places: limits.runningMax,
          log,
          onEnded,
          paused: pausedKinds,
        })
      : createPostgresQueue({
          ...shared,
          documents: shared,
          node: await claimNodeName(shared, input),
          clock,
          limits,
          log,
          onEnded,
          paused: pausedKinds,
          onStale: input.onStale,
          onTakenOver: input.onTakenOver,
          describe: () => ({
            role,
            version: getBuildVersion(),
            places: limits.runningMax,
            memory_bytes: memoryBytes,
            market: input.market(),
            lacks: input.lacks(),
            clock_offset_ms: Math.round(shared.clock.offsetMs()),
            removes_orphans: store.removesOrphans(),
            process: readProcessIdentity(),
          }),
        });
  const isFit = (): boolean => shared === undefined || describeClockFault(shared.clock, CLOCK_REFUSED_MS) === undefined;
  const keeper = createRetainedPartsStore(documents, getBuildVersion());
  const jobs = createJobSystem({ queue, artifacts, pool, clock, limits, log, isFit, keeper });
  const freeStartMemory = async (): Promise<void> => {
    await threadPool.restUnused();
    await freeMemory(0);
  };
  return { pool, jobs, pausedKinds, freeStartMemory };
}

/** Returns the path of an artifact's file. First fetches the artifacts that it refers to into the same folder. */
async function fetchFile(artifacts: ArtifactStore, { artifact, beside = [] }: ArtifactReference): Promise<string> {
  const [path] = await Promise.all([artifact, ...beside].map((name) => artifacts.file({ name })));
  return path!; // At least one file, so at least one path.
}

/**
 * Returns the node name of this machine's home. It is the same after a restart. If a running copy of the home uses it,
 * returns another name.
 */
async function claimNodeName(
  shared: NonNullable<Store['shared']>,
  { role, settings, log }: Pick<WorkInput, 'role' | 'settings' | 'log'>,
): Promise<string> {
  const name = `${hostname()}:${settings.home}`;
  const node = await claimNode({ ...shared, name, role, version: getBuildVersion(), process: readProcessIdentity() });
  if (node !== name)
    log.warn(
      { name, node },
      'another process with the same host name and home is running: this process uses a separate name',
    );
  return node;
}

/** Components with the context of jobs, whose documents wait while the database is unavailable. */
export interface JobComponents extends Core {
  readonly jobContext: Context;
}

/** @param resources receives the function that stops the waiting */
export function openJobComponents(core: Core, resources: Closable[]): JobComponents {
  const { documents, settings } = core;
  // Documents in a home are always available.
  if (settings.database === undefined) return { ...core, jobContext: core };
  let isClosed = false;
  resources.push({ close: async () => void (isClosed = true) });
  const patientDocuments = createPatientDocuments({ documents, clock: systemClock, isOver: () => isClosed });
  return { ...core, jobContext: { ...core, documents: patientDocuments } };
}

/** Creates the metrics of a database. Figures that are unavailable are left out, and nobody waits for them. */
function createDatabaseFigures({ database, schema, clock, fault }: DatabaseDocuments) {
  return {
    onStatement: database.onStatement,
    connections: database.connections,
    isSilent: database.isSilent,
    clockOffset: () => clock.offsetMs() / 1000,
    async nodes() {
      const connectionFault = fault();
      if (connectionFault !== undefined) throw new Refusal('STORE_UNAVAILABLE', connectionFault);
      const [row] = await database.query<Record<'live' | 'lost', number>>(
        `SELECT count(*) FILTER (WHERE ${isLiveNode})::int AS live, count(*) FILTER (WHERE NOT ${isLiveNode})::int AS lost
          FROM ${schema}.nodes`,
        [],
      );
      return { ...row! }; // The query returns exactly one row.
    },
  };
}

/** Returns the checks of the database, its clock and the results location. */
const createStoreChecks = (store: Store): PartCheck[] => [
  ...checkDatabaseConnection(store),
  ...checkClock(store),
  ...checkResultsLocation(store.artifacts),
];

/** Fails readiness while the database does not answer. */
function checkDatabaseConnection({ shared }: Store): PartCheck[] {
  if (shared === undefined) return [];
  return [{ name: 'database', unready: 'STORE_UNAVAILABLE', look: shared.fault, note: () => 'The database answers.' }];
}

/** Returns a check that reports a node with a wrong clock. If the error is large, readiness fails. */
function checkClock({ shared }: Store): PartCheck[] {
  if (shared === undefined) return [];
  const { clock } = shared;
  const createClockCheck = (limitMs: number) => () => describeClockFault(clock, limitMs);
  return [
    {
      name: 'clock',
      look: createClockCheck(CLOCK_REPORTED_MS),
      note: () => `The clock differs by ${Math.round(Math.abs(clock.offsetMs()))} ms from that of the database.`,
    },
    { name: 'clock_limit', unready: 'STORE_UNAVAILABLE', look: createClockCheck(CLOCK_REFUSED_MS) },
  ];
}

/** Checks the results location that several machines share. */
function checkResultsLocation({ health }: Pick<ArtifactStore, 'health'>): PartCheck[] {
  if (health === undefined) return [];
  const formatNote = () => 'The results storage is available and belongs to the database.';
  return [{ name: 'artifacts', unready: 'STORE_UNAVAILABLE', look: health.fault, note: formatNote }];
}

const MIB = 2 ** 20;

/**
 * Describes where the panels of the served store are and how large they are. Returns undefined if no store is served.
 */
export function describePanels(servedMarket: Pick<ServedMarket, 'market'> | undefined): string | undefined {
  if (servedMarket === undefined) return undefined;
  const { datasetId, dates, identifiers, fields } = servedMarket.market;
  const bytes = computePanelBytes({ dates: dates.length, identifiers: identifiers.length, fields: fields.size });
  const limitText = `${Math.floor(findMemoryLimit().panelBytes / MIB)} MiB (--panel-memory-mb)`;
  const sizeText = `The data of ${datasetId} (${Math.ceil(bytes / MIB)} MiB)`;
  return isPaged(bytes)
    ? `${sizeText} is paged on the disk of the home, because it exceeds the limit of ${limitText}.`
    : `${sizeText} is in memory; the limit is ${limitText}.`;
}

/**
 * Returns a check that reports an active data store that failed to load. The service stays ready, because each request
 * that needs the store is refused with the reason.
 */
function reportFailedMarket(markets: Pick<MarketComponents['markets'], 'failure' | 'served'>): PartCheck {
  return {
    name: 'active_store',
    look() {
      const failure = markets.failure();
      return failure === undefined ? undefined : describeFailure(failure);
    },
    note: () => describePanels(markets.served()) ?? 'No data store failed to load.',
  };
}

/**
 * Describes the stores with data that end before the newest session of their calendar. Returns undefined if there are
 * none.
 */
export function describeLag(freshness: Health['freshness']): string | undefined {
  const late = freshness.filter(({ sessions_behind: count }) => count > 0);
  if (late.length === 0) return undefined;
  return late
    .map(
      ({ store_id: id, calendar, data_through: end, latest_session: latest, sessions_behind: count }) =>
        `${id} ends on ${end}, ${formatCount(count, 'session')} of ${calendar} behind (newest session ${latest}).`,
    )
    .join(' ');
}

/**
 * Returns a check that fails readiness while the data store that was served before a restart is loading. The check
 * warns if the data of a store end before the newest session of its calendar.
 */
function awaitMarket(markets: Pick<MarketComponents['markets'], 'awaited'>): PartCheck {
  return {
    name: 'data',
    unready: 'STORE_UNAVAILABLE',
    look() {
      const datasetId = markets.awaited();
      return datasetId === undefined ? undefined : `The data store ${datasetId} is loading after a restart.`;
    },
    note: () => 'No data store is loading.',
    warn: describeLag,
  };
}

const INTERVAL_MS = 5_000;

/** Checks the free space of the home at intervals. Health requests then need not wait for the disk. */
function watchDisk(freeSpace: FreeSpace): { readonly check: PartCheck; close(): Promise<void> } {
  let fault: string | undefined;
  let freeSpaceNote = 'The first check of the volume is pending.';
  const measureFreeSpace = async () => {
    try {
      const { freeBytes, markBytes } = await freeSpace.measure();
      const formatMebibytes = (bytes: number) => Math.floor(bytes / 2 ** 20);
      freeSpaceNote = `${formatMebibytes(freeBytes)} MiB are free; ${formatMebibytes(markBytes)} MiB are needed for writes.`;
      fault = freeBytes < markBytes ? freeSpaceNote : undefined;
    } catch (failure) {
      fault = `The volume cannot be checked: ${failure instanceof Error ? failure.message : failure}`;
    }
  };
  void measureFreeSpace();
  const timer = setInterval(() => void measureFreeSpace(), INTERVAL_MS);
  timer.unref();
  return {
    check: { name: 'disk', look: () => fault, note: () => freeSpaceNote, unready: 'STORAGE_FULL' },
    async close() {
      clearInterval(timer);
    },
  };
}

/**
 * Opens the configured engine in the same way as the threads of the pool, to find out which engine runs and why others
 * do not. The returned check fails if another engine runs: results are then correct, but slower than intended.
 */
async function checkNumerics(setting: EngineSetting, log: Logger): Promise<PartCheck> {
  const choice = await openNumericEngine(setting);
  const sentence = describeChoice(choice);
  if (choice.asAsked) log.info({ engine: choice.engine.name }, sentence);
  else log.warn({ engine: choice.engine.name, asked: setting }, sentence);
  return { name: 'numerics', look: () => (choice.asAsked ? undefined : sentence), note: () => sentence };
}
