import { Refusal } from '#domain/refusals/refusal.js';
import { TaskStopped, WorkerLost, type Lane, type TaskRun, type ThreadLoss, type ThreadPool } from './compute-pool.js';
import { reportObjectRequests } from '#base/tracing/object-requests.js';
import { openSpan, reportTiming, type OpenSpan } from '#base/tracing/spans.js';
import { askToStop, createControlCells, readProgress, readThread } from './control-cells.js';
import { createLaneRest, type LaneRest } from './lane-rest.js';
import { openLaneThreads, type LaneThreads } from './lane-threads.js';
import type { ControlCells, PanelMemory, TaskMessage, TaskOutcome } from './thread-messages.js';

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
  /** Memory for panels in each thread. */
  readonly memory?: PanelMemory;
  /** True if each lane starts a thread before its first task. */
  readonly startsAhead?: boolean;
  /** Time without a task after which the threads free memory. */
  readonly restMs?: number;
  /** Called when the threads of a lane have rested and no task waits or runs. */
  readonly onRest?: () => void;
  /** Time that a task has to stop by itself. Afterwards, the pool ends its thread. */
  readonly patienceMs?: number;
  /** Module of the threads' entry function. */
  readonly entry?: URL;
  /** Receives faults of threads outside of tasks. */
  readonly onFault?: (fault: Error) => void;
  /** Called for every thread that ended during a task. */
  readonly onThreadLost?: (cause: ThreadLoss) => void;
}

const QUEUE_MAX: Record<Lane, number> = { heavy: 10_000, light: 256 };
const LIGHT_WORKERS = 1;
const HEAP_MEGABYTES = 2048;
/**
 * Maximum time to wait until a task stops by itself. A task needs at most 10 ms to stop; starting a new thread takes up
 * to 66 ms.
 */
const PATIENCE_MS = 250;
/** Idle time after which the threads free memory. It is longer than the pauses of a person at work. */
const REST_MS = 30_000;

/**
 * Returns the heap size of one thread if all threads share the budget. The result is within the useful limits of a
 * heap.
 */
export function computeHeapMegabytes(budgetBytes: number, workers: number): number {
  const share = budgetBytes / (workers + LIGHT_WORKERS) / 2 ** 20;
  return Math.floor(Math.min(Math.max(share, 256), 4096));
}

interface LaneState extends LaneThreads {
  readonly threads: number;
  readonly queueMax: number;
  readonly patienceMs: number;
  readonly waiting: QueuedTask[];
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
  } = options;

  const openLane = (lane: Lane, threads: number): LaneState => {
    const { numerics = 'auto', startsAhead = true, entry } = options;
    const laneThreads = openLaneThreads({ lane, threads, numerics, startsAhead, heapMegabytes, entry, onFault });
    const tasks = { waiting: [], yielding: new Set<ControlCells>(), latest: new Map<string, number>(), prepared: 0 };
    const remainingLaneRest = createLaneRest(restMs, () => {
      void restThreads(laneThreads).then(() => {
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
    run({ lane, task, input, signal, yields = false }) {
      const state = lanes[lane];
      const cells = createControlCells();
      let isSettled = false;
      let unhook = (): void => {};
      const span = openSpan(`task ${task}`, { attributes: { 'divisor.lane': lane } });
      const output = new Promise<never>((resolve, reject) => {
        if (state.waiting.length >= state.queueMax) throw createOverloadRefusal(state);
        const message = { task, input, cells, memory, ...(span !== undefined && { isTimed: true as const }) };
        const queuedTask: QueuedTask = { message, yields, end: new AbortController(), span, resolve, reject };
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

function dispatch(state: LaneState): void {
  while (state.running[0]! < state.threads) {
    const [errand] = state.waiting;
    if (errand === undefined) return;
    const { cells, task } = errand.message;
    if (isTaken(state, task)) break; // The taken thread is free sooner than another thread has loaded the code.
    state.waiting.shift();
    if (errand.yields) state.yielding.add(cells);
    Atomics.add(state.running, 0, 1);
    state.rest.begin();
    void perform(state, errand).finally(() => {
      state.yielding.delete(cells);
      Atomics.sub(state.running, 0, 1);
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

/** Lets each idle thread free memory once. This takes less than a tenth of a second, because a task may come next. */
async function restThreads({ piscina }: LaneThreads): Promise<void> {
  const runRest = () => piscina.run({ task: 'rest', input: null, cells: createControlCells() });
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
