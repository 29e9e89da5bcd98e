import type { TaskInput, TaskName, TaskOutput, ThreadInput } from './tasks.js';

export type Lane = 'heavy' | 'light';

/** Threads that run tasks, as the engine sees them. */
export interface ComputePool {
  /**
   * Runs one task as soon as its lane has a thread.
   *
   * An aborted signal takes a waiting task out of the queue at once; a running one is asked to stop and its thread is
   * ended when it does not within the pool's patience, whatever it is doing.
   */
  run<N extends TaskName>(order: TaskOrder<N>): TaskRun<TaskOutput<N>>;
  /** Tasks that wait or run in a lane. */
  load(lane: Lane): number;
  /** Ends every thread. */
  close(): Promise<void>;
}

/** Threads that work on files and memory of this process. */
export interface ThreadPool extends Omit<ComputePool, 'run'> {
  /** As `ComputePool.run`. */
  run<N extends TaskName>(order: ThreadOrder<N>): TaskRun<TaskOutput<N>>;
}

export interface ThreadOrder<N extends TaskName> extends Omit<TaskOrder<N>, 'input'> {
  readonly input: ThreadInput<N>;
}

/** Reasons for the early end of a thread. */
export type ThreadLoss = 'cancelled' | 'crashed' | 'out_of_memory';

export interface TaskOrder<N extends TaskName> {
  readonly lane: Lane;
  readonly task: N;
  readonly input: TaskInput<N>;
  readonly signal?: AbortSignal;
  /** Asked to stop as soon as another task waits for its lane; its thread is not ended for going on. */
  readonly yields?: boolean;
}

export interface TaskRun<T> {
  /**
   * @throws Refusal as the task refused, WORKER_OUT_OF_MEMORY when its heap was full, OVERLOADED when its lane is
   * @throws TaskStopped after an abort
   * @throws WorkerLost when the thread died
   */
  readonly output: Promise<T>;
  progress(): TaskProgress;
  /** Whether the task waits or a live thread runs it: false only when its messages were lost. */
  isAlive(): boolean;
}

export interface TaskProgress {
  readonly fraction: number;
  readonly message: string | undefined;
}

/** The task was stopped by its signal, or for another one that it yields to. */
export class TaskStopped extends Error {
  override readonly name = 'TaskStopped';
}

/** The thread ended under the task: the task may be tried again. */
export class WorkerLost extends Error {
  override readonly name = 'WorkerLost';
}
