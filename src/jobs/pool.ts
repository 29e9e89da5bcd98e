import { setFlagsFromString } from 'node:v8';
import { Piscina } from 'piscina';
import { findBundlePath } from '#bundle';
import { openSpan, type OpenSpan, reportObjectRequests, reportTiming } from '#base/tracing/tracing.js';
import { Refusal } from '#domain/base/refusals.js';
import {
  type Lane,
  type TaskProgress,
  type TaskRun,
  TaskStopped,
  type ThreadLoss,
  type ThreadPool,
  WorkerLost,
} from './port/compute-pool.js';
import type { ControlCells, PanelMemory, TaskMessage, TaskOutcome, ThreadData } from './tasks/messages.js';

/** Size of a message in bytes: 200 characters of any script. */
const MESSAGE_BYTES = 800;
/**
 * Maximum number of attempts to read a message. A limit is necessary, because the version stays odd if a writer dies
 * while it writes.
 */
const READ_TRIES = 3;

/** Creates the cells of a task in separate shared memory. */
function createControlCells(): ControlCells {
  const sharedBuffer = new SharedArrayBuffer(24 + MESSAGE_BYTES);
  return {
    fraction: new Float64Array(sharedBuffer, 0, 1),
    cancelled: new Int32Array(sharedBuffer, 8, 1),
    thread: new Int32Array(sharedBuffer, 12, 1),
    messageState: new Int32Array(sharedBuffer, 16, 2),
    message: new Uint8Array(sharedBuffer, 24, MESSAGE_BYTES),
  };
}

/** Requests cancellation: the task stops at its next report of progress. */
function askToStop(cells: ControlCells): void {
  Atomics.store(cells.cancelled, 0, 1);
}

/** Returns the id of the thread that runs the task; 0 before the task starts. */
function readThread(cells: ControlCells): number {
  return Atomics.load(cells.thread, 0);
}

/**
 * Returns the last reported fraction and message. The message is undefined while it is being written, and before the
 * first report.
 */
function readProgress(cells: ControlCells): TaskProgress {
  const fraction = cells.fraction[0]!;
  for (let tries = 0; tries < READ_TRIES; tries++) {
    const version = Atomics.load(cells.messageState, 0);
    if (version === 0) break;
    const text = new TextDecoder().decode(cells.message.slice(0, Atomics.load(cells.messageState, 1)));
    if (version % 2 === 0 && Atomics.load(cells.messageState, 0) === version) return { fraction, message: text };
  }
  return { fraction, message: undefined };
}

/** Lets the threads of one lane (light or heavy tasks) free memory after a time without tasks. */
interface LaneRest {
  /** Records the start of a task. */
  begin(): void;
  /** Records that the last running or waiting task has ended. */
  end(): void;
  close(): void;
}

/** @param rest called once after each pause of at least `restMs` */
function createLaneRest(restMs: number, rest: () => void): LaneRest {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  return {
    begin: stop,
    end() {
      stop();
      timer = setTimeout(rest, restMs).unref();
    },
    close: stop,
  };
}

/**
 * Niceness of threads for heavy and for light tasks. Heavy tasks yield the processor to HTTP requests, to light tasks
 * and to the processes that read data. A greater niceness starves tasks and queries when other programs occupy the
 * processors.
 */
const NICENESS: Record<Lane, number> = { heavy: 10, light: 2 };
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
const TASKS = new URL('../../workers/tasks.js', import.meta.url);
const THREAD_ENTRY = new URL('./thread-entry.cjs', import.meta.url);

export interface LaneThreadsOptions {
  readonly lane: Lane;
  readonly threads: number;
  readonly numerics: string;
  /** True if a thread starts before the first task. */
  readonly startsAhead: boolean;
  readonly heapMegabytes: number;
  /** Module that exports `runTask` to the threads. Default: the module of the program. */
  readonly entry?: URL | undefined;
  readonly onFault: (fault: Error) => void;
}

interface LaneThreads {
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
      entry: entry?.href ?? findBundlePath('tasks') ?? TASKS.href,
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

export interface PoolOptions {
  /** Number of threads of the heavy lane: one per core. */
  readonly workers: number;
  /** Number of threads of the light lane. */
  readonly lightWorkers?: number;
  /** Maximum number of waiting tasks by lane. */
  readonly queueMax?: Readonly<Record<Lane, number>>;
  /** Heap size of one thread. Buffers are outside of the heap; the limits of submissions bound them. */
  readonly heapMegabytes?: number;
  /** Engine of the kernels in every thread: `#kernels/engines/open-engine.js`. */
  readonly numerics?: string;
  readonly memory?: PanelMemory;
  /** True if each lane starts a thread before its first task. */
  readonly startsAhead?: boolean;
  /** Time without a task after which the threads free memory. */
  readonly restMs?: number;
  /** Called when the threads of a lane have rested and no task waits or runs. */
  readonly onRest?: () => void;
  /** Time that a task has to stop by itself. Afterwards, the pool ends its thread. */
  readonly patienceMs?: number;
  /** Returns the client of the current request: undefined outside requests. Default: always undefined. */
  readonly findClient?: () => string | null | undefined;
  /** Module that exports `runTask` to the threads. Default: the module of the program. */
  readonly entry?: URL;
  /** Receives faults of threads outside of tasks. */
  readonly onFault?: (fault: Error) => void;
  /** Called for every thread that ended during a task. */
  readonly onThreadLost?: (cause: ThreadLoss) => void;
}

/** Turns of the clients in one lane. */
interface Turns {
  /** Clients with a running task. */
  readonly running: Set<string>;
  /** Number of the latest turn by client. A client without tasks has none. */
  readonly latest: Map<string, number>;
  count: number;
}

/**
 * Returns the position of the next task: the first task of the client whose latest turn is the longest ago. A client
 * runs one task at a time. Returns -1 if no task may start.
 */
function findNext({ waiting, turns }: Pick<LaneState, 'waiting' | 'turns'>): number {
  let next = -1;
  let nextTurn = Number.POSITIVE_INFINITY;
  for (const [position, { owner }] of waiting.entries()) {
    if (owner !== undefined && turns.running.has(owner)) continue;
    const turn = owner === undefined ? -1 : (turns.latest.get(owner) ?? 0);
    if (turn < nextTurn) [next, nextTurn] = [position, turn];
  }
  return next;
}

function beginTurn(turns: Turns, owner: string): void {
  turns.running.add(owner);
  turns.latest.set(owner, ++turns.count);
}

function endTurn({ waiting, turns }: LaneState, owner: string): void {
  turns.running.delete(owner);
  if (!waiting.some((task) => task.owner === owner)) turns.latest.delete(owner);
}

/** Tasks that check request bodies. They are short, so they do not wait for other tasks of their client. */
const CHECKING_TASK = 'check-body';

/** Share of the queue of the light lane that one client may fill. */
const QUEUE_SHARE = 0.25;

const QUEUE_MAX: Record<Lane, number> = { heavy: 10_000, light: 256 };
/** Threads of the light lane. A client has one of them, so that the long computations of others do not hold it up. */
const LIGHT_WORKERS = 4;
/** Threads of the light lane that run at the same time in usual operation. */
const USUAL_LIGHT_WORKERS = 1;
const HEAP_MEGABYTES = 2048;
/**
 * Maximum time to wait until a task stops by itself. A task needs at most 10 ms to stop; starting a new thread takes up
 * to 66 ms.
 */
const PATIENCE_MS = 250;
/** Idle time after which the threads free memory. It is longer than the pauses of a person at work. */
const REST_MS = 20_000;

/**
 * Returns the heap size of one thread if all threads share the budget. The result is within the useful limits of a
 * heap.
 */
export function computeHeapMegabytes(budgetBytes: number, workers: number): number {
  const share = budgetBytes / (workers + USUAL_LIGHT_WORKERS) / 2 ** 20;
  return Math.floor(Math.min(Math.max(share, 256), 4096));
}

interface LaneState extends LaneThreads {
  readonly threads: number;
  readonly queueMax: number;
  readonly patienceMs: number;
  readonly waiting: QueuedTask[];
  readonly turns: Turns;
  /** Thread that last ran each task, by task name. It has compiled code and cached market data for the task. */
  readonly latest: Map<string, number>;
  /** Running tasks that yield to others. */
  readonly yielding: Set<ControlCells>;
  /** Thread that last ran a task that yields. It is prepared for tasks that no thread has run yet. */
  prepared: number;
  readonly onThreadLost: (cause: ThreadLoss) => void;
  readonly rest: LaneRest;
}

interface QueuedTask {
  readonly message: TaskMessage;
  /** Client whose turn the task takes. Undefined for a task that needs no turn. */
  readonly owner: string | undefined;
  readonly yields: boolean;
  /** Ends the thread of the task. */
  readonly end: AbortController;
  /** Span of a traced task. */
  readonly span: OpenSpan | undefined;
  readonly resolve: (output: never) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Creates the thread pool, with one Piscina for light and one for heavy tasks. Tasks wait in queues of this module and
 * not in Piscina: each queue has its limit, a waiting task is removed at no cost, and no tasks are lost when a thread
 * dies.
 */
export function createPool(options: PoolOptions): ThreadPool {
  const {
    workers,
    lightWorkers = LIGHT_WORKERS,
    queueMax = QUEUE_MAX,
    heapMegabytes = HEAP_MEGABYTES,
    patienceMs = PATIENCE_MS,
    restMs = REST_MS,
    memory,
    onFault = () => {},
    onThreadLost = () => {},
    onRest = () => {},
    findClient = () => undefined,
  } = options;

  const openLane = (lane: Lane, threads: number): LaneState => {
    const { numerics = 'auto', startsAhead = true, entry } = options;
    const laneThreads = openLaneThreads({ lane, threads, numerics, startsAhead, heapMegabytes, entry, onFault });
    const turns: Turns = { running: new Set(), latest: new Map(), count: 0 };
    const tasks = {
      waiting: [],
      turns,
      yielding: new Set<ControlCells>(),
      latest: new Map<string, number>(),
      prepared: 0,
    };
    const remainingLaneRest = createLaneRest(restMs, () => {
      const { prepared, preferred } = lanes[lane];
      void restThreads(laneThreads, prepared === 0 ? preferred.thread : prepared).then(() => {
        if (Object.values(lanes).every(({ waiting, running }) => waiting.length === 0 && running[0] === 0)) onRest();
      });
    });
    return {
      ...laneThreads,
      ...tasks,
      threads,
      queueMax: queueMax[lane],
      patienceMs,
      onThreadLost,
      rest: remainingLaneRest,
    };
  };
  const lanes: Record<Lane, LaneState> = { heavy: openLane('heavy', workers), light: openLane('light', lightWorkers) };

  return {
    run({ lane, task, input, signal, yields = false, owner: client = findClient() }) {
      const state = lanes[lane];
      const owner =
        lane === 'heavy' || yields
          ? undefined
          : `${client ?? String(client)}${task === CHECKING_TASK ? ' checks' : ''}`;
      const cells = createControlCells();
      let isSettled = false;
      let unhook = (): void => {};
      const span = openSpan(`task ${task}`, { attributes: { 'divisor.lane': lane } });
      const output = new Promise<never>((resolve, reject) => {
        if (state.waiting.length >= state.queueMax) throw createOverloadRefusal(state);
        if (owner !== undefined && typeof client === 'string') assertShare(state, owner);
        const message = { task, input, cells, memory, ...(span !== undefined && { isTimed: true as const }) };
        const queuedTask: QueuedTask = { message, owner, yields, end: new AbortController(), span, resolve, reject };
        if (signal !== undefined) unhook = stopOn(signal, queuedTask, state);
        state.waiting.push(queuedTask);
        if (!yields) lanes.light.yielding.forEach(askToStop); // Threads of the light lane have priority over those of the heavy lane.
        dispatch(state);
      }).finally(() => {
        isSettled = true;
        unhook();
      });
      if (span !== undefined)
        output.then(
          () => span.end(),
          (failure: Error) => span.end(failure.message),
        );
      return {
        output,
        progress: () => readProgress(cells),
        isAlive: () => isSettled || isThreadAlive(state, cells),
      } satisfies TaskRun<never>;
    },
    async restUnused() {
      const unusedLanes = Object.values(lanes).filter(({ latest, running }) => latest.size === 0 && running[0] === 0);
      await Promise.all(unusedLanes.map((lane) => restThreads(lane, lane.prepared)));
    },
    load: (lane) => lanes[lane].waiting.length + lanes[lane].running[0]!,
    async close() {
      await Promise.all(
        Object.values(lanes).map(async (state) => {
          for (const task of state.waiting.splice(0)) task.reject(new TaskStopped('The pool is closed.'));
          state.rest.close();
          await state.close();
        }),
      );
    },
  };
}

function createOverloadRefusal(state: LaneState): Refusal {
  const message = `${state.waiting.length} computations are waiting (limit ${state.queueMax}).`;
  return new Refusal('OVERLOADED', message, { waiting: state.waiting.length, limit: state.queueMax });
}

/** @throws Refusal RATE_LIMITED if too many tasks of the client wait */
function assertShare({ waiting, queueMax }: LaneState, owner: string): void {
  const limit = Math.ceil(QUEUE_SHARE * queueMax);
  const count = waiting.filter((task) => task.owner === owner).length;
  if (count < limit) return;
  throw new Refusal('RATE_LIMITED', `${count} computations of the key are waiting (limit ${limit}).`, {
    waiting: count,
    limit,
  });
}

function dispatch(state: LaneState): void {
  const { turns } = state;
  while (state.running[0]! < state.threads) {
    const position = findNext(state);
    const errand = state.waiting[position];
    if (errand === undefined) break;
    const { owner } = errand;
    const { cells, task } = errand.message;
    if (isTaken(state, task)) break; // The taken thread is free sooner than another thread has loaded the code.
    state.waiting.splice(position, 1);
    if (owner !== undefined) beginTurn(turns, owner);
    if (errand.yields) state.yielding.add(cells);
    Atomics.add(state.running, 0, 1);
    state.rest.begin();
    void perform(state, errand).finally(() => {
      state.yielding.delete(cells);
      Atomics.sub(state.running, 0, 1);
      if (owner !== undefined) endTurn(state, owner);
      dispatch(state);
      if (state.running[0] === 0) state.rest.end();
    });
  }
  if (state.waiting.length > 0) state.yielding.forEach(askToStop);
}

/**
 * Returns true if the thread with the code and the data of the task runs another task, which yields. For a task that no
 * thread has run yet, returns true if any thread runs a task that yields.
 */
function isTaken({ latest, yielding }: LaneState, task: string): boolean {
  const thread = latest.get(task);
  return [...yielding].some((cells) => thread === undefined || readThread(cells) === thread);
}

/**
 * Lets each idle thread free memory once. This takes less than a tenth of a second, because a task may come next.
 * @param prepared thread that keeps the markets it has opened
 */
async function restThreads({ piscina }: LaneThreads, prepared: number): Promise<void> {
  const runRest = () => piscina.run({ task: 'rest', input: { prepared }, cells: createControlCells() });
  await Promise.allSettled(piscina.threads.map(runRest)); // a thread may just have ended
}

async function perform(state: LaneState, errand: QueuedTask): Promise<void> {
  const { task, cells } = errand.message;
  try {
    state.preferred.thread = state.latest.get(task) ?? state.prepared;
    const outcome = await state.piscina.run(errand.message, { signal: errand.end.signal });
    state.latest.set(task, readThread(cells));
    if (errand.yields) state.prepared = readThread(cells);
    if (outcome.requests !== undefined) reportObjectRequests(outcome.requests);
    if (errand.span !== undefined && outcome.timing !== undefined)
      reportTiming(`thread ${task}`, errand.span.context, outcome.timing, { 'thread.id': readThread(cells) });
    if (outcome.kind === 'output') errand.resolve(outcome.output as never); // the entry function ran the task with this name
    else errand.reject(createError(outcome));
  } catch (thrown) {
    const loss = convertLoss(thrown);
    const cause = findCause(loss);
    if (cause !== undefined) state.onThreadLost(cause);
    errand.reject(loss);
  }
}

function createError(outcome: Exclude<TaskOutcome, { kind: 'output' }>): Error {
  switch (outcome.kind) {
    case 'refused':
      return new Refusal(outcome.error.code, outcome.error.message, outcome.error.detail);
    case 'cancelled':
      return new TaskStopped('The task stopped when it was asked to.');
    case 'threw': {
      const defect = new Error('The task threw.');
      defect.stack = outcome.stack;
      return defect;
    }
  }
}

/** Converts a rejection by Piscina, which has an error code only for the heap limit. */
function convertLoss(thrown: unknown): Error {
  // Piscina reports a failed transfer of the output as a plain object. A transfer fails, for example, if the task
  // returned a function.
  if (!(thrown instanceof Error))
    return new Error('The output of the task cannot leave its thread.', { cause: thrown });
  if (thrown.name === 'AbortError')
    return new TaskStopped('The task did not stop when asked to; its thread was ended.');
  if (thrown.name === 'DataCloneError') return thrown;
  if ('code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new Refusal('WORKER_OUT_OF_MEMORY', 'The worker ran out of memory.', null, { cause: thrown });
  }
  return new WorkerLost(thrown.message, { cause: thrown });
}

/** Returns the cause of a lost thread; undefined if it is still alive. */
function findCause(loss: Error): ThreadLoss | undefined {
  if (loss instanceof WorkerLost) return 'crashed';
  if (loss instanceof TaskStopped) return 'cancelled';
  return loss instanceof Refusal ? 'out_of_memory' : undefined;
}

/**
 * Asks a running task to stop, and then ends its thread. Removes a waiting task from the queue. Returns a function that
 * detaches the signal.
 */
function stopOn(signal: AbortSignal, errand: QueuedTask, state: LaneState): () => void {
  const stop = (): void => {
    const position = state.waiting.indexOf(errand);
    if (position >= 0) {
      state.waiting.splice(position, 1);
      errand.reject(new TaskStopped('The task was stopped before it started.'));
      return;
    }
    askToStop(errand.message.cells);
    setTimeout(() => errand.end.abort(), state.patienceMs).unref();
  };
  if (signal.aborted) queueMicrotask(stop);
  else signal.addEventListener('abort', stop, { once: true });
  return () => signal.removeEventListener('abort', stop);
}

function isThreadAlive(state: LaneState, cells: ControlCells): boolean {
  const thread = readThread(cells);
  return thread === 0 || state.piscina.threads.some((worker) => worker.threadId === thread);
}
