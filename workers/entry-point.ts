import { limitMemory } from '#kernels/memory/paged-memory.js';
import { collectObjectRequests } from '#base/tracing/object-requests.js';
import { readEpochMs } from '#base/tracing/spans.js';
import { MissingSandboxError } from '#base/sandbox/sandbox.js';
import { type ErrorDetail, Refusal } from '#domain/refusals/refusal.js';
import { isFull } from '#market/panels/shared-market.js';
import type { TaskControl, TaskMessage, TaskOutcome } from '#jobs/thread-messages.js';
import { CancelledError, openControl } from './control.js';
import { transferFile } from './output/hand-over.js';

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
