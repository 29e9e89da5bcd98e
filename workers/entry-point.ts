import { limitMemory } from '#kernels/memory/paged-memory.js';
import { collectObjectRequests } from '#base/tracing/object-requests.js';
import { epochMs } from '#base/tracing/spans.js';
import { SandboxMissing } from '#base/sandbox/sandbox.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { type ErrorDetail, Refusal } from '#domain/refusals/refusal.js';
import { isFull } from '#market/panels/shared-market.js';
import type { TaskControl, TaskMessage, TaskOutcome } from '#jobs/thread-messages.js';
import { CancelledError, openControl } from './control.js';
import { handOver } from './output/hand-over.js';

/** A task as the entry point runs it, whatever its input and output. */
type AnyTask = (input: never, control: TaskControl) => unknown;

/**
 * The entry function of a pool's threads: finds the task, gives it its control, words what it threw.
 * Tasks are loaded when first asked for, so that a thread starts in milliseconds whatever the others need.
 */
export function createEntryPoint(
  tasks: Readonly<Record<string, () => Promise<AnyTask>>>,
): (message: TaskMessage) => Promise<TaskOutcome> {
  const takeRequests = collectObjectRequests();
  return async ({ task, input, cells, memory, isTimed }) => {
    const startMs = isTimed === true ? epochMs() : 0;
    const figures = () => {
      const requests = takeRequests();
      return {
        ...(isTimed === true && { timing: { startMs, endMs: epochMs() } }),
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
      // The pool's types paired the input with the task's name before it was sent.
      const output = await withSandbox(async () => run(input as never, control));
      return handOver<TaskOutcome>({ kind: 'output', output, ...figures() });
    } catch (thrown) {
      if (thrown instanceof CancelledError) return { kind: 'cancelled', ...figures() };
      if (thrown instanceof Refusal) return { kind: 'refused', error: thrown.toDetail(), ...figures() };
      if (isOutOfMemory(thrown)) return { kind: 'refused', error: outOfMemory(thrown), ...figures() };
      if (isFull(thrown)) return { kind: 'refused', error: diskFull(thrown as Error), ...figures() };
      const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      return { kind: 'threw', stack, ...figures() };
    }
  };
}

/** Runs a task again with the sandbox that it missed: the first plug-in of a thread is called before any effect. */
async function withSandbox(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof SandboxMissing)) throw thrown;
    const { loadSandbox } = await import('#base/sandbox/load-sandbox.js');
    await loadSandbox({ steps: LIMITS.MAX_PLUGIN_STEPS, memory: LIMITS.MAX_PLUGIN_MEMORY_BYTES });
    return run();
  }
}

/** Buffers lie outside the heap that the thread's limits watch: V8 and WebAssembly tell of them by RangeError. */
function isOutOfMemory(thrown: unknown): thrown is RangeError {
  return (
    thrown instanceof RangeError &&
    /allocation failed|could not allocate|maximum memory size|out of memory/i.test(thrown.message)
  );
}

function diskFull({ message }: Error): ErrorDetail {
  return { code: 'STORAGE_FULL', message, detail: null };
}

function outOfMemory(error: RangeError): ErrorDetail {
  return { code: 'WORKER_OUT_OF_MEMORY', message: `The worker ran out of memory: ${error.message}.`, detail: null };
}
