import type { ObjectRequest, Timing } from '#base/tracing/tracing.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import type { Day } from '#domain/base/time.js';
import type { ArtifactDestination, ArtifactRef } from '#store/port.js';

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
  /** Int32[files]: 0 until a thread claims the file, see `workers/run-files.ts`. */
  readonly states: Int32Array<SharedArrayBuffer>;
  /** SHA-256 of each file, 32 bytes. */
  readonly digests: Uint8Array<SharedArrayBuffer>;
}

/** Size of a SHA-256 in bytes. */
const DIGEST_BYTES = 32;

/** Creates cells for the hashes of files; no cell has been claimed yet. */
export function createHashCells(files: number): HashCells {
  const sharedBuffer = new SharedArrayBuffer(files * (Int32Array.BYTES_PER_ELEMENT + DIGEST_BYTES));
  const digestsAt = files * Int32Array.BYTES_PER_ELEMENT;
  return {
    states: new Int32Array(sharedBuffer, 0, files),
    digests: new Uint8Array(sharedBuffer, digestsAt, files * DIGEST_BYTES),
  };
}

/** Rows of a result as JSON text, in consecutive blocks. */
export interface RowsInBlocks {
  readonly artifact: ArtifactRef;
  readonly count: number;
  readonly blocks: readonly RowBlock[];
}

/** Rows of a block, separated by commas. */
export interface RowBlock {
  readonly bytes: number;
  /** SHA-256 of the block's bytes, hex. */
  readonly sha256: string;
}

/** Bytes of a response. They are moved out of the worker and not stored. */
export interface ResponseBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Response bytes with their hash, computed by the worker. */
export interface HashedBytes extends ResponseBytes {
  /** SHA-256, hex. */
  readonly sha256: string;
}

/** Names of the artifacts that a task writes, by content. */
export type OutputNames<K extends string> = Readonly<Record<K, string>>;

/** Names of the artifacts that a task writes, with their destination. */
export interface TaskOutputs<K extends string> {
  readonly destination: ArtifactDestination;
  readonly names: OutputNames<K>;
}

/** Input that names its outputs; the node that runs the task adds their destination. */
export type WithOutputNames<I> = {
  readonly [K in keyof I]: I[K] extends TaskOutputs<infer F> ? OutputNames<F> : I[K];
};

export interface HashedFile {
  readonly path: string;
  readonly sha256: string;
}

/** Files that a process wrote or hashed, in memory that its threads share. See `workers/run-files.ts`. */
export type CheckedFiles = BigUint64Array<SharedArrayBuffer>;

/**
 * Changes from which earlier contents of a market are restored. Decisions then use the data that was known at their
 * time.
 */
export interface EarlierContentFiles {
  /** Day at whose end the content of the market itself was known. */
  readonly knownOn: Day;
  /**
   * Changes that restore earlier contents, the latest first. Each is the difference from the next content, with the day
   * at whose end the content was known.
   */
  readonly earlier: readonly (HashedFile & { readonly knownOn: Day })[];
}

/** File that a task wrote. */
export interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** Files that several threads hash. The first thread that claims a file hashes it. */
export interface SharedHashes {
  readonly paths: readonly string[];
  readonly cells: HashCells;
}

/** Body of a request to an operation. */
export interface BodyToCheck {
  readonly operation: string;
  readonly bytes: Uint8Array;
}

/**
 * Value of a body, or the refusal that its handler receives. A value of many parts is JSON, because text is received
 * faster than an object. `lines` contains the entries of one member as lines of JSON.
 */
export type BodyCheck =
  | { readonly value: unknown }
  | { readonly json: string; readonly lines?: ResponseBytes }
  | { readonly error: ErrorDetail };
