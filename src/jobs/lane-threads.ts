import { setFlagsFromString } from 'node:v8';
import { Piscina } from 'piscina';
import type { Lane } from './compute-pool.js';
import type { TaskMessage, TaskOutcome, ThreadData } from './thread-messages.js';

/**
 * Niceness of threads for heavy and for light tasks. Heavy tasks yield the processor to HTTP requests and to light
 * tasks.
 */
const NICENESS: Record<Lane, number> = { heavy: 19, light: 5 };
/** Idle time after which a thread ends. It is long enough to keep the thread between the requests of a person. */
const IDLE_MS = 300_000;
/**
 * Maximum number of kept thread groups with equal options. A service that was restarted a few times needs this many.
 */
const KEPT_LANES_MAX = 3;
/**
 * Growth of a heap before V8 marks it, in percent of its live data, up to the limit of the thread. By default, V8 marks
 * the heap of a warm thread once per job (25 MB alive, 12 MB of garbage per backtest).
 */
const HEAP_HEADROOM_PERCENT = 300;
const TASK_ENTRY = new URL('../../workers/main.js', import.meta.url);
const THREAD_ENTRY = new URL('./thread-entry.cjs', import.meta.url);

export interface LaneThreadsOptions {
  readonly lane: Lane;
  readonly threads: number;
  readonly numerics: string;
  /** True if a thread starts before the first task. */
  readonly startsAhead: boolean;
  readonly heapMegabytes: number;
  /** Module of the threads' entry function. Default: the program's module. */
  readonly entry?: URL | undefined;
  readonly onFault: (fault: Error) => void;
}

/** Threads of a lane. */
export interface LaneThreads {
  readonly piscina: Piscina<TaskMessage, TaskOutcome>;
  /** Number of running tasks, as an array of one element that the threads share. */
  readonly running: Int32Array;
  /** Thread that receives the next task if it is idle. */
  readonly preferred: { thread: number };
  close(): Promise<void>;
}

type Threads = Pick<LaneThreads, 'piscina' | 'running' | 'preferred'>;

/**
 * Thread groups by their options. Some groups wait for the next pool; the others belong to pools that have closed
 * since.
 */
interface ReusableLanes {
  readonly handedOn: Map<string, Threads[]>;
  readonly left: Map<string, Threads[]>;
}

let keptLanes: ReusableLanes | undefined;

/**
 * Keeps the idle threads of closing pools, with their loaded and compiled code. The next call passes them to pools with
 * the same options. This is for a process that opens one service after another, such as tests. Between two calls, no
 * pool receives the threads of another.
 */
export function keepThreads(): void {
  const { handedOn, left } = keptLanes ?? {
    handedOn: new Map<string, Threads[]>(),
    left: new Map<string, Threads[]>(),
  };
  for (const [key, threads] of left) handedOn.set(key, [...(handedOn.get(key) ?? []), ...threads]);
  keptLanes = { handedOn, left: new Map() };
}

/** Starts the threads for light or heavy tasks, or reuses threads of a closed pool. */
export function openLaneThreads(options: LaneThreadsOptions): LaneThreads {
  const { lane, threads, numerics, heapMegabytes, entry, onFault } = options;
  const key = JSON.stringify([lane, threads, numerics, heapMegabytes]);
  const { piscina, running, preferred } =
    (entry === undefined ? keptLanes?.handedOn.get(key)?.pop() : undefined) ?? start(options);
  piscina.removeAllListeners('error').on('error', onFault);
  return {
    piscina,
    running,
    preferred,
    async close() {
      const leftThreads = keptLanes?.left.get(key) ?? [];
      const waitingCount = leftThreads.length + (keptLanes?.handedOn.get(key)?.length ?? 0);
      if (keptLanes === undefined || entry !== undefined || running[0] !== 0 || waitingCount >= KEPT_LANES_MAX)
        await piscina.destroy();
      else keptLanes.left.set(key, [...leftThreads, { piscina, running, preferred }]);
    },
  };
}

function start(options: LaneThreadsOptions): Threads {
  const { lane, threads, numerics, startsAhead, heapMegabytes, entry } = options;
  const runningCell = new Int32Array(new SharedArrayBuffer(4));
  const preferredThread = { thread: 0 };
  setFlagsFromString(`--heap-growing-percent=${HEAP_HEADROOM_PERCENT}`); // V8 has this flag only per process, not per thread.
  const piscina = new Piscina<TaskMessage, TaskOutcome>({
    filename: THREAD_ENTRY.href,
    minThreads: startsAhead ? 1 : 0,
    maxThreads: threads,
    concurrentTasksPerWorker: 1, // Ending a thread must end only one task.
    idleTimeout: IDLE_MS,
    niceIncrement: NICENESS[lane],
    workerData: {
      entry: (entry ?? TASK_ENTRY).href,
      numerics,
      threads: lane === 'heavy' ? threads : 1,
      running: runningCell,
    } satisfies ThreadData & { readonly entry: string },
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
    recordTiming: false,
    loadBalancer: createIdleBalancer(preferredThread, (thread) => startedThreads.has(thread)),
  });
  const startedThreads = listStartedThreads(piscina);
  return { piscina, running: runningCell, preferred: preferredThread };
}

/** Returns the threads that have loaded their entry module. The events of the pool update this set. */
function listStartedThreads(piscina: Threads['piscina']): ReadonlySet<number> {
  const startedThreads = new Set(piscina.threads.map(({ threadId }) => threadId));
  piscina.on('workerCreate', ({ id }: { readonly id: number }) => startedThreads.add(id)); // a thread that has started
  piscina.on('workerDestroy', () => {
    const liveThreadIds = new Set(piscina.threads.map(({ threadId }) => threadId));
    for (const id of startedThreads) if (!liveThreadIds.has(id)) startedThreads.delete(id);
  });
  return startedThreads;
}

type Balancer = NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['loadBalancer']>;

/**
 * Creates a balancer that chooses the preferred thread if it is idle, otherwise any idle thread. Piscina also offers
 * threads that are still starting, and offers them first. A task given to such a thread would wait while another thread
 * is idle.
 */
export function createIdleBalancer(preferred: Threads['preferred'], hasStarted: (thread: number) => boolean): Balancer {
  return (_, workers) => {
    const idleWorkers = workers.filter(({ id, currentUsage }) => currentUsage === 0 && hasStarted(id));
    return idleWorkers.find(({ id }) => id === preferred.thread) ?? idleWorkers[0] ?? null;
  };
}
