import type { ObjectRequest } from '#base/tracing/object-requests.js';
import type { Timing } from '#base/tracing/spans.js';
import type { ErrorDetail } from '#domain/refusals/refusal.js';

/** Control of one running task, in the thread that runs it. */
export interface TaskControl {
  /**
   * Reports progress, and stops the task after a cancellation. Call it in every loop that may take long.
   * @param fraction completed fraction, 0 to 1; a value smaller than before is ignored.
   * @param message current step, truncated to 200 characters.
   * @throws CancelledError
   */
  report(fraction: number, message?: string): void;
}

/** Shared memory between the pool and one running task. All views use the same SharedArrayBuffer. */
export interface ControlCells {
  /** Int32[1]: 1 once the task must stop. */
  readonly cancelled: Int32Array<SharedArrayBuffer>;
  /** Int32[1]: id of the thread that runs the task, 0 before the task starts. */
  readonly thread: Int32Array<SharedArrayBuffer>;
  /** Float64[1]: completed fraction. */
  readonly fraction: Float64Array<SharedArrayBuffer>;
  /** Int32[2]: version of the message (odd while the message is written) and its length in bytes. */
  readonly messageState: Int32Array<SharedArrayBuffer>;
  /** UTF-8 of the message. */
  readonly message: Uint8Array<SharedArrayBuffer>;
}

/** Data with which a pool starts a thread. */
export interface ThreadData {
  /** Engine of the kernels: `#kernels/engines/open-engine.js`. */
  readonly numerics: string;
  /** Number of threads of the lane. */
  readonly threads: number;
  /** Number of running tasks of the lane, as an array of one element that is shared with the pool. */
  readonly running: Int32Array;
}

/** Message from the pool to a worker. */
export interface TaskMessage {
  readonly task: string;
  readonly input: unknown;
  readonly cells: ControlCells;
  /** Memory for panels in the thread. Default: the present setting. */
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
 * Response of a worker. A thrown error is returned as data, because an error that is thrown between threads loses its
 * code. If the promise of the pool rejects, the thread has ended.
 */
export type TaskOutcome = {
  readonly timing?: Timing;
  /** Requests of the thread to the object store since its last outcome. */
  readonly requests?: readonly ObjectRequest[];
} & (
  | { readonly kind: 'output'; readonly output: unknown }
  | { readonly kind: 'refused'; readonly error: ErrorDetail }
  | { readonly kind: 'cancelled' }
  /** Message and stack of a defect of the task. */
  | { readonly kind: 'threw'; readonly stack: string }
);

/** Shared memory of threads that hash files. Each file has one cell. */
export interface HashCells {
  /** Int32[files]: 0 until a thread claims the file, see `workers/run-files/hash-files.ts`. */
  readonly states: Int32Array<SharedArrayBuffer>;
  /** SHA-256 of each file, 32 bytes. */
  readonly digests: Uint8Array<SharedArrayBuffer>;
}
