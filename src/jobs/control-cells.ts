import type { TaskProgress } from './compute-pool.js';
import type { ControlCells } from './thread-messages.js';

/** Bytes of a message: 200 characters of any script. */
const MESSAGE_BYTES = 800;
/**
 * A writer that died between the two steps of a message leaves an odd version for good: then the last message stays.
 */
const READ_TRIES = 3;

export function newControlCells(): ControlCells {
  const shared = new SharedArrayBuffer(24 + MESSAGE_BYTES);
  return {
    fraction: new Float64Array(shared, 0, 1),
    cancelled: new Int32Array(shared, 8, 1),
    thread: new Int32Array(shared, 12, 1),
    messageState: new Int32Array(shared, 16, 2),
    message: new Uint8Array(shared, 24, MESSAGE_BYTES),
  };
}

/** The engine's side: asks the task to stop at its next report. */
export function askToStop(cells: ControlCells): void {
  Atomics.store(cells.cancelled, 0, 1);
}

/** The thread that took the task, 0 before one did. */
export function threadOf(cells: ControlCells): number {
  return Atomics.load(cells.thread, 0);
}

/** Fraction and message as last reported. A message that is being written is left for the next reading. */
export function readProgress(cells: ControlCells): TaskProgress {
  const fraction = cells.fraction[0]!;
  for (let tried = 0; tried < READ_TRIES; tried++) {
    const version = Atomics.load(cells.messageState, 0);
    if (version === 0) break;
    const text = new TextDecoder().decode(cells.message.slice(0, Atomics.load(cells.messageState, 1)));
    if (version % 2 === 0 && Atomics.load(cells.messageState, 0) === version) return { fraction, message: text };
  }
  return { fraction, message: undefined };
}
