import { threadId } from 'node:worker_threads';
import type { ControlCells, TaskControl } from '#jobs/thread-messages.js';

/** Thrown by `report` when the task was asked to stop. Only the entry point catches it. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError';
}

/**
 * Maximum number of characters of a message. The shared memory of a message holds this many characters of any script.
 */
const MESSAGE_CHARACTERS_MAX = 200;

/**
 * Opens the shared cells of a task in the thread that runs it. The thread writes progress and reads a cancellation; no
 * message is sent.
 */
export function openControl(cells: ControlCells): TaskControl {
  Atomics.store(cells.thread, 0, threadId);
  const encoder = new TextEncoder();
  let last = '';
  return {
    report(fraction, message) {
      if (Atomics.load(cells.cancelled, 0) !== 0) throw new CancelledError('The task was cancelled.');
      const currentFraction = Math.min(fraction, 1);
      if (currentFraction > cells.fraction[0]!) cells.fraction[0] = currentFraction;
      if (message === undefined || message === last) return;
      last = message;
      writeMessage(cells, encoder.encode(message.slice(0, MESSAGE_CHARACTERS_MAX)));
    },
  };
}

/** Writes a message. The version is odd during the write, so that a reader never combines parts of two messages. */
function writeMessage(cells: ControlCells, bytes: Uint8Array): void {
  const fittingBytes = bytes.subarray(0, cells.message.length);
  Atomics.add(cells.messageState, 0, 1);
  cells.message.set(fittingBytes);
  Atomics.store(cells.messageState, 1, fittingBytes.length);
  Atomics.add(cells.messageState, 0, 1);
}
