import { Refusal } from '#domain/refusals/refusal.js';
import { TaskStopped, WorkerLost, type Lane, type TaskRun, type ThreadLoss, type ThreadPool } from './compute-pool.js';
import { openSpan, reportTiming, type OpenSpan } from '#base/tracing/spans.js';
import { askToStop, newControlCells, readProgress, threadOf } from './control-cells.js';
import { createLaneRest, type LaneRest } from './lane-rest.js';
import { openLaneThreads, type LaneThreads } from './lane-threads.js';
import type { ControlCells, PanelMemory, TaskMessage, TaskOutcome } from './thread-messages.js';

export interface PoolOptions {
  /** Threads of the heavy lane: the cores. */
  readonly workers: number;
  /** Threads of the light lane. */
  readonly lightWorkers?: number;
  /** Tasks that may wait in a lane. */
  readonly queueMax?: Readonly<Record<Lane, number>>;
  /** Heap of one thread; buffers lie outside of it and are bounded by admission. */
  readonly heapMegabytes?: number;
  /** Engine of the kernels in every thread: `#kernels/engines/open-engine.js`. */
  readonly numerics?: string;
  /** What each thread may hold of panels. */
  readonly memory?: PanelMemory;
  /** True where each lane starts a thread before it has a task. */
  readonly startsAhead?: boolean;
  /** Time without a task after which the threads of a lane give memory back. */
  readonly restMs?: number;
  /** What a task has to stop by itself before its thread is ended. */
  readonly patienceMs?: number;
  /** Module of the threads' entry function. */
  readonly door?: URL;
  /** Told of faults of threads that no task hears of. */
  readonly onFault?: (fault: Error) => void;
  /** Called for every thread that ended under its task. */
  readonly onThreadLost?: (cause: ThreadLoss) => void;
}

const QUEUE_MAX: Record<Lane, number> = { heavy: 10_000, light: 256 };
const LIGHT_WORKERS = 1;
const HEAP_MEGABYTES = 2048;
/** Cooperative stops take 10 ms at most, a new thread up to 66 ms. */
const PATIENCE_MS = 250;
/** Longer than the pauses of a person who works. */
const REST_MS = 30_000;

/** Heap of one thread when all of them share the budget, within what a heap is good for. */
export function heapMegabytes(budgetBytes: number, workers: number): number {
  const share = budgetBytes / (workers + LIGHT_WORKERS) / 2 ** 20;
  return Math.floor(Math.min(Math.max(share, 256), 4096));
}

interface LaneState extends LaneThreads {
  readonly threads: number;
  readonly queueMax: number;
  readonly patienceMs: number;
  readonly waiting: Errand[];
  /** By task the thread that ran it last: what it has compiled and made of a market need not be made by another. */
  readonly latest: Map<string, number>;
  /** Tasks that run and yield to others. */
  readonly yielding: Set<ControlCells>;
  readonly onThreadLost: (cause: ThreadLoss) => void;
  readonly rest: LaneRest;
}

interface Errand {
  readonly message: TaskMessage;
  readonly yields: boolean;
  /** Ends the thread. */
  readonly end: AbortController;
  /** Span of a task that is traced. */
  readonly span: OpenSpan | undefined;
  readonly resolve: (output: never) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The pool of threads: one Piscina a lane. Tasks wait here and not in Piscina, so that each lane has its bound,
 * a waiting task costs nothing to take out, and a thread that dies never leaves a queue behind it.
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
  } = options;

  const openLane = (lane: Lane, threads: number): LaneState => {
    const { numerics = 'wasm', startsAhead = true, door } = options;
    const opened = openLaneThreads({ lane, threads, numerics, startsAhead, heapMegabytes, door, onFault });
    const tasks = { waiting: [], yielding: new Set<ControlCells>(), latest: new Map<string, number>() };
    const rest = createLaneRest(restMs, () => restAll(opened));
    return { ...opened, ...tasks, threads, queueMax: queueMax[lane], patienceMs, onThreadLost, rest };
  };
  const lanes: Record<Lane, LaneState> = { heavy: openLane('heavy', workers), light: openLane('light', lightWorkers) };

  return {
    run({ lane, task, input, signal, yields = false }) {
      const state = lanes[lane];
      const cells = newControlCells();
      let settled = false;
      let unhook = (): void => {};
      const span = openSpan(`task ${task}`, { attributes: { 'divisor.lane': lane } });
      const output = new Promise<never>((resolve, reject) => {
        if (state.waiting.length >= state.queueMax) throw overloaded(state);
        const message = { task, input, cells, memory, ...(span !== undefined && { isTimed: true as const }) };
        const errand: Errand = { message, yields, end: new AbortController(), span, resolve, reject };
        if (signal !== undefined) unhook = stopOn(signal, errand, state);
        state.waiting.push(errand);
        dispatch(state);
      }).finally(() => {
        settled = true;
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
        isAlive: () => settled || isThreadAlive(state, cells),
      } satisfies TaskRun<never>;
    },
    load: (lane) => lanes[lane].waiting.length + lanes[lane].running[0]!,
    async close() {
      await Promise.all(
        Object.values(lanes).map(async (state) => {
          for (const errand of state.waiting.splice(0)) errand.reject(new TaskStopped('The pool is closed.'));
          state.rest.close();
          await state.close();
        }),
      );
    },
  };
}

function overloaded(state: LaneState): Refusal {
  const message = `${state.waiting.length} computations wait already; ${state.queueMax} may.`;
  return new Refusal('OVERLOADED', message, { waiting: state.waiting.length, limit: state.queueMax });
}

function dispatch(state: LaneState): void {
  while (state.running[0]! < state.threads) {
    const errand = state.waiting.shift();
    if (errand === undefined) return;
    const { cells } = errand.message;
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

/** Each idle thread takes one rest: it is done in less than a tenth of a second, and a task may come next. */
function restAll({ piscina }: LaneThreads): void {
  for (let i = 0; i < piscina.threads.length; i++)
    void piscina.run({ task: 'rest', input: null, cells: newControlCells() }).catch(() => {}); // A thread that has just ended.
}

async function perform(state: LaneState, errand: Errand): Promise<void> {
  const { task, cells } = errand.message;
  try {
    state.preferred.thread = state.latest.get(task) ?? 0;
    const outcome = await state.piscina.run(errand.message, { signal: errand.end.signal });
    state.latest.set(task, threadOf(cells));
    if (errand.span !== undefined && outcome.timing !== undefined)
      reportTiming(`thread ${task}`, errand.span.context, outcome.timing, { 'thread.id': threadOf(cells) });
    if (outcome.kind === 'output') errand.resolve(outcome.output as never); // The door ran the task of this very name.
    else errand.reject(reasonOf(outcome));
  } catch (thrown) {
    const loss = lossOf(thrown);
    const cause = causeOf(loss);
    if (cause !== undefined) state.onThreadLost(cause);
    errand.reject(loss);
  }
}

function reasonOf(outcome: Exclude<TaskOutcome, { kind: 'output' }>): Error {
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

/** Meaning of a rejection by Piscina, which has a code only for the heap limit. */
function lossOf(thrown: unknown): Error {
  // What the thread could not send back comes as a plain object: the task gave a function or the like.
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

/** Cause of a lost thread; undefined if it is still alive. */
function causeOf(loss: Error): ThreadLoss | undefined {
  if (loss instanceof WorkerLost) return 'crashed';
  if (loss instanceof TaskStopped) return 'cancelled';
  return loss instanceof Refusal ? 'out_of_memory' : undefined;
}

/**
 * First asks, then ends the thread. A task that still waits is taken out of the queue. Returns how to forget the
 * signal.
 */
function stopOn(signal: AbortSignal, errand: Errand, state: LaneState): () => void {
  const stop = (): void => {
    const place = state.waiting.indexOf(errand);
    if (place >= 0) {
      state.waiting.splice(place, 1);
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
  const thread = threadOf(cells);
  return thread === 0 || state.piscina.threads.some((worker) => worker.threadId === thread);
}
