import type { Timing } from '#base/tracing/spans.js';
import type { ErrorDetail } from '#domain/refusals/refusal.js';

/** A worker's side of one running task. */
export interface TaskControl {
  /**
   * Reports progress and stops the task when it was cancelled: call it in every loop that can last.
   * @param fraction done, 0 to 1; a smaller one than before is ignored.
   * @param message what is being done now; cut at 200 characters.
   * @throws CancelledError
   */
  report(fraction: number, message?: string): void;
}

/** Shared memory between the pool and one running task. Every view lies on one SharedArrayBuffer. */
export interface ControlCells {
  /** Int32[1]: 1 once the task is to stop. */
  readonly cancelled: Int32Array<SharedArrayBuffer>;
  /** Int32[1]: thread that runs the task, 0 while none does. */
  readonly thread: Int32Array<SharedArrayBuffer>;
  /** Float64[1]: fraction done. */
  readonly fraction: Float64Array<SharedArrayBuffer>;
  /** Int32[2]: version of the message (odd while it is written) and its length in bytes. */
  readonly messageState: Int32Array<SharedArrayBuffer>;
  /** UTF-8 of the message. */
  readonly message: Uint8Array<SharedArrayBuffer>;
}

/** Start data of a pool's thread. */
export interface ThreadData {
  /** Engine of the kernels: `#kernels/engines/open-engine.js`. */
  readonly numerics: string;
  /** Threads of the lane. */
  readonly threads: number;
  /** [tasks of the lane that run now], shared with the pool. */
  readonly running: Int32Array;
}

/** A message from the pool to a worker. */
export interface TaskMessage {
  readonly task: string;
  readonly input: unknown;
  readonly cells: ControlCells;
  /** What the thread may hold of panels; as before unless given. */
  readonly memory?: PanelMemory | undefined;
  /** Asks for the times of the work in the thread, of a task that is traced. */
  readonly isTimed?: true;
}

/** As `MemoryLimit` of `#kernels/memory/paged-memory.js`. */
export interface PanelMemory {
  readonly panelBytes: number;
  readonly folder: string | null;
}

/**
 * What a worker answers. What a task threw travels as data: an error loses its code between threads, and a rejection
 * of the pool means the end of the thread and nothing else.
 */
export type TaskOutcome = { readonly timing?: Timing } & (
  | { readonly kind: 'output'; readonly output: unknown }
  | { readonly kind: 'refused'; readonly error: ErrorDetail }
  | { readonly kind: 'cancelled' }
  /** A defect of the task, with its stack. */
  | { readonly kind: 'threw'; readonly stack: string }
);

/** Shared memory between threads that hash files, by file. */
export interface HashCells {
  /** Int32[files]: 0 while no thread has taken a file, see `workers/run-files/hash-files.ts`. */
  readonly states: Int32Array<SharedArrayBuffer>;
  /** SHA-256 of each, 32 bytes. */
  readonly digests: Uint8Array<SharedArrayBuffer>;
}
