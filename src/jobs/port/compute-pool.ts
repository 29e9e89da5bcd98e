import type { TaskInput, TaskName, TaskOutput, ThreadInput } from '../tasks/catalogue.js';

export type Lane = 'heavy' | 'light';

/** Threads that run tasks. This is the interface that the job engine uses. */
export interface ComputePool {
  /**
   * Runs one task as soon as its lane (light or heavy tasks) has a free thread. If the signal is aborted, a waiting
   * task leaves the queue at once, and a running task is asked to stop. If the task does not stop in time, its thread
   * is ended.
   */
  run<N extends TaskName>(order: TaskOrder<N>): TaskRun<TaskOutput<N>>;
  /** Counts the tasks that wait or run in a lane. */
  load(lane: Lane): number;
  /** Ends every thread. */
  close(): Promise<void>;
}

/** Threads that work on files and memory of this process. */
export interface ThreadPool extends Omit<ComputePool, 'run'> {
  /** See `ComputePool.run`. */
  run<N extends TaskName>(order: ThreadOrder<N>): TaskRun<TaskOutput<N>>;
  /** Lets threads that have not run a task yet free the memory of their start. */
  restUnused(): Promise<void>;
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
  /**
   * Asks the task to stop as soon as another task waits for its thread or its lane. In the light lane, it also stops as
   * soon as any lane receives a task that does not yield. The thread is not ended if the task continues.
   */
  readonly yields?: boolean;
  /** Client for which the task runs. Default: the client of the current request, or the service itself. */
  readonly owner?: string | null;
}

export interface TaskRun<T> {
  /**
   * Resolves with the output of the task.
   * @throws Refusal of the task, WORKER_OUT_OF_MEMORY if the heap of its thread was full, OVERLOADED if its lane is
   * full
   * @throws TaskStopped after an abort
   * @throws WorkerLost if the thread died
   */
  readonly output: Promise<T>;
  progress(): TaskProgress;
  /** Returns false if the task neither waits nor has a live thread. This happens only if its messages were lost. */
  isAlive(): boolean;
}

export interface TaskProgress {
  readonly fraction: number;
  readonly message: string | undefined;
}

/** Thrown for a task that ended early, because its signal was aborted or it yielded to another task. */
export class TaskStopped extends Error {
  override readonly name = 'TaskStopped';
}

/** Thrown for a task whose thread ended; the task may be retried. */
export class WorkerLost extends Error {
  override readonly name = 'WorkerLost';
}
