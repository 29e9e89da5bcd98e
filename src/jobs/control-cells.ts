import type { TaskProgress } from './compute-pool.js';
import type { ControlCells } from './thread-messages.js';

/** Size of a message in bytes: 200 characters of any script. */
const MESSAGE_BYTES = 800;
/**
 * Maximum number of attempts to read a message. A limit is necessary, because the version stays odd if a writer dies
 * while it writes.
 */
const READ_TRIES = 3;

/** Creates the cells of a task in separate shared memory. */
export function createControlCells(): ControlCells {
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
export function askToStop(cells: ControlCells): void {
  Atomics.store(cells.cancelled, 0, 1);
}

/** Returns the id of the thread that runs the task; 0 before the task starts. */
export function readThread(cells: ControlCells): number {
  return Atomics.load(cells.thread, 0);
}

/**
 * Returns the last reported fraction and message. The message is undefined while it is being written, and before the
 * first report.
 */
export function readProgress(cells: ControlCells): TaskProgress {
  const fraction = cells.fraction[0]!;
  for (let tries = 0; tries < READ_TRIES; tries++) {
    const version = Atomics.load(cells.messageState, 0);
    if (version === 0) break;
    const text = new TextDecoder().decode(cells.message.slice(0, Atomics.load(cells.messageState, 1)));
    if (version % 2 === 0 && Atomics.load(cells.messageState, 0) === version) return { fraction, message: text };
  }
  return { fraction, message: undefined };
}
