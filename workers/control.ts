import { threadId } from 'node:worker_threads';
import type { ControlCells, TaskControl } from '#jobs/thread-messages.js';

/** The task was asked to stop. Thrown by `report` only; only the entry point catches it. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError';
}

/** A message is kept to so many characters, so that it fits its cell in any script. */
const MESSAGE_CHARACTERS_MAX = 200;

/** A worker's side of the shared cells: progress goes out, the wish to cancel comes in, nothing is sent. */
export function openControl(cells: ControlCells): TaskControl {
  Atomics.store(cells.thread, 0, threadId);
  const encoder = new TextEncoder();
  let last = '';
  return {
    report(fraction, message) {
      if (Atomics.load(cells.cancelled, 0) !== 0) throw new CancelledError('The task was cancelled.');
      const done = Math.min(fraction, 1);
      if (done > cells.fraction[0]!) cells.fraction[0] = done;
      if (message === undefined || message === last) return;
      last = message;
      writeMessage(cells, encoder.encode(message.slice(0, MESSAGE_CHARACTERS_MAX)));
    },
  };
}

/** The version is odd while bytes change, so a reader never shows half of one message and half of another. */
function writeMessage(cells: ControlCells, bytes: Uint8Array): void {
  const fitting = bytes.subarray(0, cells.message.length);
  Atomics.add(cells.messageState, 0, 1);
  cells.message.set(fitting);
  Atomics.store(cells.messageState, 1, fitting.length);
  Atomics.add(cells.messageState, 0, 1);
}
