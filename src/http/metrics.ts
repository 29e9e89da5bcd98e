import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { EndedJob, JobCounts, LaneLoad, LaneLoads } from '#jobs/queue.js';
import type { Lane, ThreadLoss } from '#jobs/compute-pool.js';
import type { Answered } from './app.js';

export interface Metrics {
  /** An answered request. */
  observe(answer: Answered): void;
  /** A job came to its end. */
  jobEnded(job: EndedJob): void;
  /** A thread of the pool ended before its time; another takes its place. */
  threadLost(cause: ThreadLoss): void;
  /** An attempt ended that had been given up. */
  staleFinish(): void;
  /** The attempt of a silent node was given up. */
  takenOver(): void;
  /** Everything measured, in the exposition format. */
  expose(): Promise<{ readonly text: string; readonly type: string }>;
}

/** Sources of the metrics, read on request. */
export interface MetricsSources {
  readonly version: string;
  /** Empty when unknown. */
  readonly commit: string;
  /** Jobs that are not finished. */
  readonly jobs: () => Promise<JobCounts>;
  readonly lanes: () => Promise<LaneLoads>;
  /** Tasks that wait for a thread or have one. */
  readonly tasks: (lane: Lane) => number;
  /** Bytes of the home by part. */
  readonly homeBytes: () => Promise<Readonly<Record<string, number>>>;
  /** Bytes left on its volume. */
  readonly freeBytes: () => Promise<number>;
  /** Of a database. */
  readonly database?: DatabaseFigures | undefined;
  /** Of a cluster, as they were found last. */
  readonly shared?: (() => SharedSizes | undefined) | undefined;
}

/** From an answer out of memory to the longest poll. */
const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From a render to the longest job. */
const JOB_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const LANES: readonly Lane[] = ['heavy', 'light'];

/**
 * What Prometheus can ask of the service: its own figures, and those of the process (memory, processor, event loop,
 * collector).
 */
export function createMetrics(sources: MetricsSources): Metrics {
  const { version, commit, jobs, lanes, tasks, homeBytes, freeBytes, shared, database } = sources;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const gauge = gaugesOf(registers);
  const requests = requestTimes(registers);
  const ended = new Histogram({
    name: 'divisor_job_seconds',
    help: 'Time of the last attempt of a job, by its outcome.',
    labelNames: ['kind', 'outcome'],
    buckets: JOB_SECONDS,
    registers,
  });
  const waited = new Histogram({
    name: 'divisor_job_wait_seconds',
    help: 'Time from the submission of a job to the start of its last attempt.',
    labelNames: ['kind'],
    buckets: JOB_SECONDS,
    registers,
  });
  const lost = new Counter({
    name: 'divisor_worker_restarts_total',
    help: 'Threads that ended before their time and were replaced.',
    labelNames: ['cause'],
    registers,
  });
  for (const cause of ['cancelled', 'crashed', 'out_of_memory'] satisfies ThreadLoss[]) lost.inc({ cause }, 0);
  gauge(
    'divisor_jobs',
    'Jobs that are not finished, by state; those pending are the depth of the queue.',
    'state',
    async () => ({ ...(await jobs()) }),
  );
  const { stale, taken } = attemptCounters(registers);
  addLaneGauges(gauge, lanes);
  gauge('divisor_pool_tasks', 'Computations that wait for a thread or have one, by lane.', 'lane', () =>
    Object.fromEntries(LANES.map((lane) => [lane, tasks(lane)])),
  );
  gauge('divisor_store_bytes', 'Bytes of the files of the home, by part.', 'part', homeBytes);
  gauge('divisor_volume_free_bytes', 'Bytes left on the volume of the home.', 'volume', async () => ({
    home: await freeBytes(),
  }));
  if (shared !== undefined) addSharedGauges(gauge, shared);
  if (database !== undefined) addDatabaseMetrics(registers, gauge, database);
  addBuildInfo(registers, { version, commit });

  return {
    observe: ({ operation = 'none', status, seconds }) => requests.observe({ operation, status }, seconds),
    jobEnded({ kind, outcome, seconds, waitSeconds }) {
      if (seconds !== null) ended.observe({ kind, outcome }, seconds);
      if (waitSeconds !== null) waited.observe({ kind }, waitSeconds);
    },
    threadLost: (cause) => lost.inc({ cause }),
    staleFinish: () => stale.inc(),
    takenOver: () => taken.inc(),
    expose: async () => ({ text: await registry.metrics(), type: registry.contentType }),
  };
}

/** What is measured of a database. */
interface DatabaseFigures {
  /** Calls for each statement. */
  onStatement(call: (seconds: number, isAnswered: boolean) => void): void;
  connections(): Readonly<Record<'open' | 'idle' | 'waiting', number>>;
  /** Whether it says nothing. */
  isSilent(): boolean;
  /** Seconds by which the clock of this machine is ahead of that of the database. */
  clockOffset(): number;
  /** Nodes that live, and those that fell silent within a day. */
  nodes(): Promise<Readonly<Record<'live' | 'lost', number>>>;
}

/** From a statement of one row to its deadline. */
const STATEMENT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 18];

function addDatabaseMetrics(
  registers: Registry[],
  gauge: ReturnType<typeof gaugesOf>,
  { onStatement, connections, isSilent, clockOffset, nodes }: DatabaseFigures,
): void {
  const seconds = new Histogram({
    name: 'divisor_database_seconds',
    help: 'Time of a statement on the database, the wait for a connection included, by its outcome.',
    labelNames: ['outcome'],
    buckets: STATEMENT_SECONDS,
    registers,
  });
  onStatement((time, isAnswered) => seconds.observe({ outcome: isAnswered ? 'answered' : 'failed' }, time));
  gauge(
    'divisor_database_connections',
    'Connections of this process that are open, idle ones of them, and statements that wait for one.',
    'state',
    () => ({ ...connections() }),
  );
  gauge(
    'divisor_database_silent',
    'Whether requests are refused because the database says nothing.',
    'database',
    () => ({
      documents: Number(isSilent()),
    }),
  );
  gauge(
    'divisor_clock_offset_seconds',
    'Time by which the clock of this machine is ahead of that of the database.',
    'clock',
    () => ({ system: clockOffset() }),
  );
  gauge(
    'divisor_nodes',
    'Processes that work on the database, and those that fell silent within a day.',
    'state',
    nodes,
  );
}

const requestTimes = (registers: Registry[]) =>
  new Histogram({
    name: 'divisor_http_request_seconds',
    help: 'Time from the headers of a request to the head of its answer.',
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

/** Attempts that came apart from their nodes. */
function attemptCounters(registers: Registry[]) {
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  return {
    stale: counter('divisor_stale_finishes_total', 'Ends of attempts that had been given up; they changed nothing.'),
    taken: counter(
      'divisor_taken_over_attempts_total',
      'Attempts of silent nodes that this process has given up; their jobs were queued again, or failed.',
    ),
  };
}

type Values = () => Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>;

/** What adds a gauge whose values are asked for when it is read; one that cannot be had is left out. */
function gaugesOf(registers: Registry[]) {
  return (name: string, help: string, label: string, values: Values): void => {
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

/** What grows on a cluster, beside the volumes of its machines. */
interface SharedSizes {
  readonly databaseBytes: number;
  readonly results: number;
  readonly resultBytes: number;
}

function addSharedGauges(gauge: ReturnType<typeof gaugesOf>, shared: () => SharedSizes | undefined): void {
  gauge(
    'divisor_shared_bytes',
    'Bytes of the database, and of the results that documents name, of the last ten minutes.',
    'part',
    (): Readonly<Record<string, number>> => {
      const sizes = shared();
      return sizes === undefined ? {} : { database: sizes.databaseBytes, results: sizes.resultBytes };
    },
  );
  gauge('divisor_shared_objects', 'Results that documents name, of the last ten minutes.', 'part', () => {
    const sizes = shared();
    return sizes === undefined ? {} : { results: sizes.results };
  });
}

/** What an autoscaler goes by. */
function addLaneGauges(gauge: ReturnType<typeof gaugesOf>, lanes: MetricsSources['lanes']): void {
  const perLane = (of: (load: LaneLoad) => number) => async () => {
    const { heavy, huge, light } = await lanes();
    return { heavy: of(heavy), huge: of(huge), light: of(light) };
  };
  gauge(
    'divisor_lane_oldest_wait_seconds',
    'Time that the oldest waiting job of a lane, huge ones apart, has waited on any node; 0 where none waits.',
    'lane',
    perLane(({ oldestSeconds }) => oldestSeconds ?? 0),
  );
  gauge(
    'divisor_lane_busy_ratio',
    'Places that jobs and parts of sweeps take, over those of all nodes, by lane; heavy and huge jobs share theirs.',
    'lane',
    async () => {
      const { heavy, huge, light } = await lanes();
      return {
        heavy: busyRatio(heavy, huge.running + (huge.helping ?? 0)),
        huge: busyRatio(huge),
        light: busyRatio(light),
      };
    },
  );
}

/** @param others jobs of another class on the same places */
const busyRatio = ({ running, helping = 0, places }: LaneLoad, others = 0): number =>
  places === 0 ? 0 : (running + helping + others) / places;
