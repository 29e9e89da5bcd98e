import { threadId } from 'node:worker_threads';
import { MissingSandboxError } from '#base/sandbox/sandbox.js';
import { collectObjectRequests, readEpochMs } from '#base/tracing/tracing.js';
import { type ErrorDetail, Refusal } from '#domain/base/refusals.js';
import type { ControlCells, TaskControl, TaskMessage, TaskOutcome } from '#jobs/tasks/messages.js';
import { limitMemory } from '#kernels/memory/paged-memory.js';
import { isFull } from '#market/panels/shared-market.js';
import { transferFile } from './output/hand-over.js';

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
function openControl(cells: ControlCells): TaskControl {
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

/** Type of a task with any input and output, for the entry point. */
type AnyTask = (input: never, control: TaskControl) => unknown;

/**
 * Creates the entry function of a pool's threads. It loads the task, gives the task its control and converts errors to
 * data. Tasks are loaded on demand, so that a thread starts in milliseconds.
 */
export function createEntryPoint(
  tasks: Readonly<Record<string, () => Promise<AnyTask>>>,
): (message: TaskMessage) => Promise<TaskOutcome> {
  const takeRequests = collectObjectRequests();
  return async ({ task, input, cells, memory, isTimed }) => {
    const startMs = isTimed === true ? readEpochMs() : 0;
    const getFigures = () => {
      const requests = takeRequests();
      return {
        ...(isTimed === true && { timing: { startMs, endMs: readEpochMs() } }),
        ...(requests !== undefined && { requests }),
      };
    };
    try {
      if (memory !== undefined) limitMemory(memory);
      const load = tasks[task];
      if (load === undefined) throw new Error(`no task ${task}`);
      const control = openControl(cells);
      const run = await load();
      control.report(0);
      // The types of the pool ensure that the input belongs to the task with this name.
      const output = await runWithSandbox(async () => run(input as never, control));
      return transferFile<TaskOutcome>({ kind: 'output', output, ...getFigures() });
    } catch (thrown) {
      if (thrown instanceof CancelledError) return { kind: 'cancelled', ...getFigures() };
      if (thrown instanceof Refusal) return { kind: 'refused', error: thrown.toDetail(), ...getFigures() };
      if (isOutOfMemory(thrown)) return { kind: 'refused', error: createMemoryError(thrown), ...getFigures() };
      if (isFull(thrown)) return { kind: 'refused', error: createDiskFullError(thrown as Error), ...getFigures() };
      const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      return { kind: 'threw', stack, ...getFigures() };
    }
  };
}

/**
 * Runs a task. If the sandbox for plug-ins was not loaded, loads it and runs the task again. This is safe, because the
 * first call of a plug-in in a thread happens before any effect.
 */
async function runWithSandbox(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof MissingSandboxError)) throw thrown;
    const { loadPluginSandbox } = await import('#domain/datapoints/plugin-sandbox.js');
    await loadPluginSandbox();
    return run();
  }
}

/** Returns true for an allocation failure outside the heap. V8 and WebAssembly report it as a RangeError. */
function isOutOfMemory(thrown: unknown): thrown is RangeError {
  return (
    thrown instanceof RangeError &&
    /allocation failed|could not allocate|maximum memory size|out of memory/i.test(thrown.message)
  );
}

function createDiskFullError({ message }: Error): ErrorDetail {
  return { code: 'STORAGE_FULL', message, detail: null };
}

function createMemoryError(error: RangeError): ErrorDetail {
  return { code: 'WORKER_OUT_OF_MEMORY', message: `The worker ran out of memory: ${error.message}.`, detail: null };
}
