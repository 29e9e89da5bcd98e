import type { ErrorDetail } from '#domain/refusal.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { BacktestPlan } from '#domain/backtest/plan.js';

/** Every task a worker can run: the one list that services, the pool and `workers/` agree on. */
export interface Tasks {
  /** A whole backtest: bytes to store, and the little that listings need. */
  backtest: { input: { readonly market: MarketHandle; readonly plan: BacktestPlan }; output: BacktestOutput };
}

export type TaskName = keyof Tasks;
export type TaskInput<N extends TaskName> = Tasks[N]['input'];
export type TaskOutput<N extends TaskName> = Tasks[N]['output'];

/** A worker's side of one running task. */
export interface TaskControl {
  /**
   * Reports progress and stops the task when it was cancelled: call it in every loop that can last.
   * @param fraction done, 0 to 1; a smaller one than before is ignored.
   * @param message what is being done now; kept to 200 characters.
   * @throws CancelledError
   */
  report(fraction: number, message?: string): void;
}

export type Task<N extends TaskName> = (input: TaskInput<N>, control: TaskControl) => TaskOutput<N> | Promise<TaskOutput<N>>;

/** Shared memory between the engine and one running task. Every view lies on one SharedArrayBuffer. */
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

/** What the pool sends a worker. */
export interface TaskMessage {
  readonly task: string;
  readonly input: unknown;
  readonly cells: ControlCells;
}

/**
 * What a worker answers. What a task threw travels as data: an error loses its code between threads, and a rejection
 * of the pool means the end of the thread and nothing else.
 */
export type TaskOutcome =
  | { readonly kind: 'output'; readonly output: unknown }
  | { readonly kind: 'refused'; readonly error: ErrorDetail }
  | { readonly kind: 'cancelled' }
  /** A defect of the task, with its stack. */
  | { readonly kind: 'threw'; readonly stack: string };

/** Bytes that leave a worker by transfer, with their hash computed there. */
export interface OutputBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** SHA-256, hex. */
  readonly sha256: string;
}

export interface BacktestOutput {
  /** BacktestRunResult as JSON. */
  readonly result: OutputBytes;
  /** BacktestResultSummary as JSON: the stored record. */
  readonly record: OutputBytes;
  /** OverviewView as JSON. */
  readonly overview: OutputBytes;
  /** Columns that the views read: see `#domain/backtest/run-columns.js`. */
  readonly columns: OutputBytes;
  /** Capture time of the run, ISO-8601 UTC with offset. */
  readonly runAt: string;
}
