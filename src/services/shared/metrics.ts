import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Lane, ThreadLoss } from '#jobs/port/compute-pool.js';
import type { EndedJob, JobCounts, LaneLoad, LaneLoads } from '#jobs/port/queue.js';

/** Data about a request that was answered. */
export interface CompletedRequest {
  /** Undefined if no route was found. */
  readonly operation: string | undefined;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
  /** Id of the key that sent the request; null without a key. */
  readonly keyId: string | null;
}

/**
 * Maximum number of keys with their own series. A key has one series per kind of job and outcome. All other keys are
 * counted together.
 */
const KEYS_MAX = 256;
const NO_KEY_LABEL = 'none';
const OTHER_KEYS_LABEL = 'other';

/** Counters of requests and jobs by key. */
function createKeyMetrics(registers: Registry[]) {
  const requests = new Counter({
    name: 'divisor_key_requests_total',
    help: 'Requests by the id of their key. none: requests without a key. other: all keys after the first 256.',
    labelNames: ['key'],
    registers,
  });
  const jobs = new Counter({
    name: 'divisor_key_jobs_total',
    help: 'Ended jobs by the id of the key that submitted them, kind and outcome.',
    labelNames: ['key', 'kind', 'outcome'],
    registers,
  });
  const knownKeys = new Set<string>();

  function formatLabel(keyId: string | null): string {
    if (keyId === null || keyId === '') return NO_KEY_LABEL;
    if (!knownKeys.has(keyId) && knownKeys.size >= KEYS_MAX) return OTHER_KEYS_LABEL;
    knownKeys.add(keyId);
    return keyId;
  }

  return {
    request: (keyId: string | null): void => requests.inc({ key: formatLabel(keyId) }),
    jobEnded: ({ owner, kind, outcome }: Pick<EndedJob, 'owner' | 'kind' | 'outcome'>): void =>
      jobs.inc({ key: formatLabel(owner), kind, outcome }),
  };
}

export interface Metrics {
  /** Records an answered request. */
  observe(answer: CompletedRequest): void;
  jobEnded(job: EndedJob): void;
  /** Records a thread of the pool that ended unexpectedly and was replaced. */
  threadLost(cause: ThreadLoss): void;
  /** Records that an attempt ended after it had been abandoned. */
  staleFinish(): void;
  /** Records that an attempt was taken over from a node that no longer responds. */
  takenOver(): void;
  expose(): Promise<{ readonly text: string; readonly type: string }>;
}

export interface MetricsSources {
  /** True to measure the process as well. A process has at most one such service: its measurement never ends. */
  readonly measuresProcess: boolean;
  readonly version: string;
  /** Commit of the build; empty if unknown. */
  readonly commit: string;
  readonly jobs: () => Promise<JobCounts>;
  readonly lanes: () => Promise<LaneLoads>;
  /** Counts the tasks that wait for a thread or run on one. */
  readonly tasks: (lane: Lane) => number;
  readonly homeBytes: () => Promise<Readonly<Record<string, number>>>;
  readonly freeBytes: () => Promise<number>;
  /** Returns the age of the newest backup in seconds; undefined without a backup. */
  readonly backupAge?: (() => Promise<number | undefined>) | undefined;
  /** Calls a function for each request to the object store, with its result. */
  readonly objectRequests?: ObjectRequests | undefined;
  readonly database?: DatabaseFigures | undefined;
  /** Returns the latest sizes of the shared storage of a cluster. */
  readonly shared?: (() => SharedSizes | undefined) | undefined;
}

/** Histogram buckets for the duration of requests in seconds: from a cached response to the longest poll. */
const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Histogram buckets for the duration of jobs in seconds: from rendering a report to the longest job. */
const JOB_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const LANES: readonly Lane[] = ['heavy', 'light'];

/**
 * Creates the Prometheus metrics of the service and of its process: memory, processor, event loop and garbage
 * collection.
 */
export function createMetrics(sources: MetricsSources): Metrics {
  const { version, commit, jobs, lanes, tasks, homeBytes, freeBytes, shared, database, backupAge, objectRequests } =
    sources;
  const registry = new Registry();
  if (sources.measuresProcess) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const addGauge = createGaugeFunction(registers);
  const requests = createRequestTimes(registers);
  const keys = createKeyMetrics(registers);
  const endedAttempts = new Histogram({
    name: 'divisor_job_seconds',
    help: 'Time of the last attempt of a job, by its outcome.',
    labelNames: ['kind', 'outcome'],
    buckets: JOB_SECONDS,
    registers,
  });
  const waitTimes = new Histogram({
    name: 'divisor_job_wait_seconds',
    help: 'Time from the submission of a job to the start of its last attempt.',
    labelNames: ['kind'],
    buckets: JOB_SECONDS,
    registers,
  });
  const lostAttempts = new Counter({
    name: 'divisor_worker_restarts_total',
    help: 'Threads that ended unexpectedly and were replaced.',
    labelNames: ['cause'],
    registers,
  });
  for (const cause of ['cancelled', 'crashed', 'out_of_memory'] satisfies ThreadLoss[]) lostAttempts.inc({ cause }, 0);
  addGauge('divisor_jobs', 'Unfinished jobs by state; pending jobs are the depth of the queue.', 'state', async () => ({
    ...(await jobs()),
  }));
  const { stale, taken } = createAttemptCounters(registers);
  addLaneGauges(addGauge, lanes);
  addGauge(
    'divisor_pool_tasks',
    'Computations that are waiting for a thread or running on a thread, by lane.',
    'lane',
    () => Object.fromEntries(LANES.map((lane) => [lane, tasks(lane)])),
  );
  addGauge('divisor_store_bytes', 'Bytes of the files of the home, by part.', 'part', homeBytes);
  addGauge('divisor_volume_free_bytes', 'Free bytes on the volume of the home.', 'volume', async () => ({
    home: await freeBytes(),
  }));
  if (shared !== undefined) addSharedGauges(addGauge, shared);
  if (database !== undefined) addDatabaseMetrics(registers, addGauge, database);
  if (objectRequests !== undefined) addObjectTimes(registers, objectRequests);
  if (backupAge !== undefined) addBackupAge(addGauge, backupAge);
  addBuildInfo(registers, { version, commit });

  return {
    observe({ operation = 'none', status, seconds, keyId }) {
      requests.observe({ operation, status }, seconds);
      keys.request(keyId);
    },
    jobEnded(job) {
      const { kind, outcome, seconds, waitSeconds } = job;
      keys.jobEnded(job);
      if (seconds !== null) endedAttempts.observe({ kind, outcome }, seconds);
      if (waitSeconds !== null) waitTimes.observe({ kind }, waitSeconds);
    },
    threadLost: (cause) => lostAttempts.inc({ cause }),
    staleFinish: () => stale.inc(),
    takenOver: () => taken.inc(),
    expose: async () => ({ text: await registry.metrics(), type: registry.contentType }),
  };
}

interface DatabaseFigures {
  onStatement(call: (seconds: number, isAnswered: boolean) => void): void;
  connections(): Readonly<Record<'open' | 'idle' | 'waiting', number>>;
  /** Returns true if the database does not answer. */
  isSilent(): boolean;
  /** Returns how many seconds the clock of this machine is ahead of the clock of the database. */
  clockOffset(): number;
  /** Counts the nodes that are alive, and the nodes that were lost within the last day. */
  nodes(): Promise<Readonly<Record<'live' | 'lost', number>>>;
}

/** Histogram buckets for the duration of SQL statements in seconds: from a statement for one row to the time limit. */
const STATEMENT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 18];

function addDatabaseMetrics(
  registers: Registry[],
  gauge: ReturnType<typeof createGaugeFunction>,
  { onStatement, connections, isSilent, clockOffset, nodes }: DatabaseFigures,
): void {
  const seconds = new Histogram({
    name: 'divisor_database_seconds',
    help: 'Time of a database statement, including the wait for a connection, by outcome.',
    labelNames: ['outcome'],
    buckets: STATEMENT_SECONDS,
    registers,
  });
  onStatement((time, isAnswered) => seconds.observe({ outcome: isAnswered ? 'answered' : 'failed' }, time));
  gauge(
    'divisor_database_connections',
    'Open and idle connections of this process, and statements that wait for one.',
    'state',
    () => ({ ...connections() }),
  );
  gauge(
    'divisor_database_silent',
    '1 if requests are refused because the database does not respond, otherwise 0.',
    'database',
    () => ({
      documents: Number(isSilent()),
    }),
  );
  gauge(
    'divisor_clock_offset_seconds',
    'Seconds by which the clock of this machine is ahead of the database clock.',
    'clock',
    () => ({ system: clockOffset() }),
  );
  gauge('divisor_nodes', 'Processes that use the database, and processes lost within a day.', 'state', nodes);
}

/** Subscribes to the requests to an object store. `call` receives each request. */
type ObjectRequests = (
  call: (request: { readonly method: string; readonly seconds: number; readonly isAnswered: boolean }) => void,
) => void;

/**
 * Histogram buckets for the duration of object store requests in seconds: from a look-up in the same data centre to the
 * time limit.
 */
const OBJECT_SECONDS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

function addObjectTimes(registers: Registry[], objectRequests: ObjectRequests): void {
  const requestTimes = new Histogram({
    name: 'divisor_object_store_seconds',
    help: 'Time from a request to the object store to the head of its response, by method and outcome.',
    labelNames: ['method', 'outcome'],
    buckets: OBJECT_SECONDS,
    registers,
  });
  objectRequests(({ method, seconds, isAnswered }) =>
    requestTimes.observe({ method, outcome: isAnswered ? 'answered' : 'failed' }, seconds),
  );
}

function addBackupAge(gauge: ReturnType<typeof createGaugeFunction>, age: () => Promise<number | undefined>): void {
  gauge(
    'divisor_backup_age_seconds',
    'Age of the newest backup in the folder of backups; absent if there is none.',
    'place',
    async (): Promise<Readonly<Record<string, number>>> => {
      const seconds = await age();
      return seconds === undefined ? {} : { folder: seconds };
    },
  );
}

const createRequestTimes = (registers: Registry[]) =>
  new Histogram({
    name: 'divisor_http_request_seconds',
    help: 'Time from the headers of a request to the head of its response.',
    labelNames: ['operation', 'status'],
    buckets: REQUEST_SECONDS,
    registers,
  });

function addBuildInfo(registers: Registry[], build: Pick<MetricsSources, 'version' | 'commit'>): void {
  const instrument = new Gauge({
    name: 'divisor_build_info',
    help: 'The running engine version and the commit it was built from, as labels.',
    labelNames: ['version', 'commit'],
    registers,
  });
  instrument.set({ ...build }, 1);
}

function createAttemptCounters(registers: Registry[]) {
  const createCounter = (name: string, help: string) => new Counter({ name, help, registers });
  return {
    stale: createCounter('divisor_stale_finishes_total', 'Ends of abandoned attempts; they changed nothing.'),
    taken: createCounter(
      'divisor_taken_over_attempts_total',
      'Attempts of silent nodes that this process abandoned; their jobs were queued again, or failed.',
    ),
  };
}

type ReadValues = () => Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>;

/**
 * Returns a function that adds a gauge. Its values are computed at each read; a value that is unavailable is left out.
 */
function createGaugeFunction(registers: Registry[]) {
  return (name: string, help: string, label: string, values: ReadValues): void => {
    const instrument = new Gauge({
      name,
      help,
      labelNames: [label],
      registers,
      async collect() {
        const now = await Promise.resolve(values()).catch(() => ({}));
        this.reset();
        for (const [key, value] of Object.entries(now)) instrument.set({ [label]: key }, value);
      },
    });
  };
}

/** Sizes of storage that grows in a cluster and is not on the volumes of its machines. */
interface SharedSizes {
  readonly databaseBytes: number;
  readonly results: number;
  readonly resultBytes: number;
}

function addSharedGauges(
  gauge: ReturnType<typeof createGaugeFunction>,
  readSharedSizes: () => SharedSizes | undefined,
): void {
  gauge(
    'divisor_shared_bytes',
    'Bytes of the database, and of the results to which documents refer, measured within the last ten minutes.',
    'part',
    (): Readonly<Record<string, number>> => {
      const sizes = readSharedSizes();
      return sizes === undefined ? {} : { database: sizes.databaseBytes, results: sizes.resultBytes };
    },
  );
  gauge(
    'divisor_shared_objects',
    'Results to which documents refer, measured within the last ten minutes.',
    'part',
    () => {
      const sizes = readSharedSizes();
      return sizes === undefined ? {} : { results: sizes.results };
    },
  );
}

/** Adds the gauges of the lanes, for an autoscaler. */
function addLaneGauges(gauge: ReturnType<typeof createGaugeFunction>, lanes: MetricsSources['lanes']): void {
  const createLaneReader = (readLoad: (load: LaneLoad) => number) => async () => {
    const { heavy, huge, light } = await lanes();
    return { heavy: readLoad(heavy), huge: readLoad(huge), light: readLoad(light) };
  };
  gauge(
    'divisor_lane_oldest_wait_seconds',
    'Waiting time of the oldest pending job of a lane, with huge jobs separately, over all nodes; 0 if no job waits.',
    'lane',
    createLaneReader(({ oldestSeconds }) => oldestSeconds ?? 0),
  );
  gauge(
    'divisor_lane_busy_ratio',
    'Fraction of the slots of all nodes that jobs and parts of sweeps use, by lane. Heavy and huge jobs use the same slots.',
    'lane',
    async () => {
      const { heavy, huge, light } = await lanes();
      return {
        heavy: computeBusyRatio(heavy, huge.running + (huge.helping ?? 0)),
        huge: computeBusyRatio(huge),
        light: computeBusyRatio(light),
      };
    },
  );
}

/** @param otherThreads number of jobs of another class that use the same slots */
const computeBusyRatio = ({ running, helping = 0, places }: LaneLoad, otherThreads = 0): number =>
  places === 0 ? 0 : (running + helping + otherThreads) / places;
