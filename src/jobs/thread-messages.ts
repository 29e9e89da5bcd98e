import type { ObjectRequest } from '#base/tracing/object-requests.js';
import type { Timing } from '#base/tracing/spans.js';
import type { ErrorDetail } from '#domain/refusals/refusal.js';

/** Worker side of one running task. */
export interface TaskControl {
  /**
   * Reports progress and stops the task after a cancellation: call it in every loop that may take long.
   * @param fraction completed, 0 to 1; a smaller one than before is ignored.
   * @param message current step, truncated to 200 characters.
   * @throws CancelledError
   */
  report(fraction: number, message?: string): void;
}

/** Shared memory between the pool and one running task. All views use one SharedArrayBuffer. */
export interface ControlCells {
  /** Int32[1]: 1 once the task is to stop. */
  readonly cancelled: Int32Array<SharedArrayBuffer>;
  /** Int32[1]: thread that runs the task, 0 before it starts. */
  readonly thread: Int32Array<SharedArrayBuffer>;
  /** Float64[1]: completed fraction. */
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
  /** Memory for panels in the thread. Default: unchanged. */
  readonly memory?: PanelMemory | undefined;
  /** Requests the timing of the work, for a traced task. */
  readonly isTimed?: true;
}

/** See `MemoryLimit` of `#kernels/memory/paged-memory.js`. */
export interface PanelMemory {
  readonly panelBytes: number;
  readonly folder: string | null;
}

/**
 * Response of a worker. A thrown error is returned as data, because it loses its code between threads; a rejection of
 * the pool means only the end of the thread.
 */
export type TaskOutcome = {
  readonly timing?: Timing;
  /** Requests of the thread to the object store since its last outcome. */
  readonly requests?: readonly ObjectRequest[];
} & (
  | { readonly kind: 'output'; readonly output: unknown }
  | { readonly kind: 'refused'; readonly error: ErrorDetail }
  | { readonly kind: 'cancelled' }
  /** A defect of the task, with its stack. */
  | { readonly kind: 'threw'; readonly stack: string }
);

/** Shared memory between threads that hash files, by file. */
export interface HashCells {
  /** Int32[files]: 0 until a thread takes the file, see `workers/run-files/hash-files.ts`. */
  readonly states: Int32Array<SharedArrayBuffer>;
  /** SHA-256 of each, 32 bytes. */
  readonly digests: Uint8Array<SharedArrayBuffer>;
}
