import { setFlagsFromString } from 'node:v8';
import { Piscina } from 'piscina';
import type { Lane } from './compute-pool.js';
import type { TaskMessage, TaskOutcome, ThreadData } from './thread-messages.js';

/** Heavy work leaves the processor to the front end and to light work whenever they want it. */
const NICE: Record<Lane, number> = { heavy: 19, light: 5 };
/** Threads stay warm between the requests of a person. */
const IDLE_MS = 300_000;
/** Lanes of one kind whose threads wait to be handed on: those of a service that was started again some times. */
const KEPT_MAX = 3;
/**
 * Room of a heap beyond what lives in it before V8 marks it, in per cent of that, up to the limit of the thread. By its
 * own measure V8 marks the heap of a warm thread (25 MB alive, 12 MB of garbage a backtest) once a job.
 */
const HEAP_ROOM_PERCENT = 300;
const DOOR = new URL('../../workers/main.js', import.meta.url);
const REQUIRED = new URL('./thread-door.cjs', import.meta.url);

export interface LaneThreadsOptions {
  readonly lane: Lane;
  readonly threads: number;
  readonly numerics: string;
  /** Whether a thread starts before the first task. */
  readonly startsAhead: boolean;
  readonly heapMegabytes: number;
  /** Module of the threads' entry function, where it is not that of the program. */
  readonly door?: URL | undefined;
  readonly onFault: (fault: Error) => void;
}

/** The threads of a lane. */
export interface LaneThreads {
  readonly piscina: Piscina<TaskMessage, TaskOutcome>;
  /** [tasks that run], shared with the threads. */
  readonly running: Int32Array;
  /** The thread that the next task is given to where it is idle, else any other. */
  readonly preferred: { thread: number };
  close(): Promise<void>;
}

type Threads = Pick<LaneThreads, 'piscina' | 'running' | 'preferred'>;

/** By their options: what waits for the next pool, and what the pools that closed since have left. */
interface Kept {
  readonly handedOn: Map<string, Threads[]>;
  readonly left: Map<string, Threads[]>;
}

let kept: Kept | undefined;

/**
 * From now on idle threads of pools that close are kept, with what they have loaded and compiled; the next call hands
 * them on to pools that open with the same options. For a process that opens one service after the other, as tests do:
 * between two calls no pool has the threads of another.
 */
export function handThreadsOn(): void {
  const { handedOn, left } = kept ?? { handedOn: new Map<string, Threads[]>(), left: new Map<string, Threads[]>() };
  for (const [key, threads] of left) handedOn.set(key, [...(handedOn.get(key) ?? []), ...threads]);
  kept = { handedOn, left: new Map() };
}

/** Starts the threads of a lane, or takes over those that were handed on. */
export function openLaneThreads(options: LaneThreadsOptions): LaneThreads {
  const { lane, threads, numerics, heapMegabytes, door, onFault } = options;
  const key = JSON.stringify([lane, threads, numerics, heapMegabytes]);
  const { piscina, running, preferred } =
    (door === undefined ? kept?.handedOn.get(key)?.pop() : undefined) ?? start(options);
  piscina.removeAllListeners('error').on('error', onFault);
  return {
    piscina,
    running,
    preferred,
    async close() {
      const left = kept?.left.get(key) ?? [];
      const waiting = left.length + (kept?.handedOn.get(key)?.length ?? 0);
      if (kept === undefined || door !== undefined || running[0] !== 0 || waiting >= KEPT_MAX) await piscina.destroy();
      else kept.left.set(key, [...left, { piscina, running, preferred }]);
    },
  };
}

function start(options: LaneThreadsOptions): Threads {
  const { lane, threads, numerics, startsAhead, heapMegabytes, door } = options;
  const running = new Int32Array(new SharedArrayBuffer(4));
  const preferred = { thread: 0 };
  setFlagsFromString(`--heap-growing-percent=${HEAP_ROOM_PERCENT}`); // Of the process: V8 has none of a thread.
  const piscina = new Piscina<TaskMessage, TaskOutcome>({
    filename: REQUIRED.href,
    minThreads: startsAhead ? 1 : 0,
    maxThreads: threads,
    concurrentTasksPerWorker: 1, // Ending a thread must end one task only.
    idleTimeout: IDLE_MS,
    niceIncrement: NICE[lane],
    workerData: {
      door: (door ?? DOOR).href,
      numerics,
      threads: lane === 'heavy' ? threads : 1,
      running,
    } satisfies ThreadData & { readonly door: string },
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
    recordTiming: false,
    loadBalancer: idleThread(preferred, (thread) => started.has(thread)),
  });
  const started = startedThreads(piscina);
  return { piscina, running, preferred };
}

/** Threads that have loaded their entry module, or were there at the beginning, kept up to date by the pool's events. */
function startedThreads(piscina: Threads['piscina']): ReadonlySet<number> {
  const started = new Set(piscina.threads.map(({ threadId }) => threadId));
  piscina.on('workerCreate', ({ id }: { readonly id: number }) => started.add(id)); // Of a thread that has started.
  piscina.on('workerDestroy', () => {
    const alive = new Set(piscina.threads.map(({ threadId }) => threadId));
    for (const id of started) if (!alive.has(id)) started.delete(id);
  });
  return started;
}

type Balancer = NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['loadBalancer']>;

/**
 * The preferred thread where it is idle, else any idle one. Piscina offers threads that are still starting as well, and
 * first: a task given to one would wait while another is idle.
 */
export function idleThread(preferred: Threads['preferred'], hasStarted: (thread: number) => boolean): Balancer {
  return (_, workers) => {
    const idle = workers.filter(({ id, currentUsage }) => currentUsage === 0 && hasStarted(id));
    return idle.find(({ id }) => id === preferred.thread) ?? idle[0] ?? null;
  };
}
