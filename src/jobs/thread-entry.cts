const { readlinkSync } = require('node:fs') as typeof import('node:fs');
const { setPriority } = require('node:os') as typeof import('node:os');
const { workerData } = require('node:worker_threads') as { workerData: EntryData };

interface EntryData {
  /** Module whose default export runs tasks. */
  readonly entry: string;
  /** Niceness of the thread until the end of its first task, for which it loads and compiles code, and afterwards. */
  readonly niceness: { readonly cold: number; readonly warm: number };
}

type RunTask = (...parameters: readonly unknown[]) => Promise<unknown>;

/** Sets the niceness of this thread. Only Linux has one for each thread. */
function setNiceness(value: number): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), value);
  } catch {
    // another system
  }
}

setNiceness(workerData.niceness.cold);

/**
 * Module that Piscina requires in each thread. It exports the entry function of the module at `workerData.entry`. It
 * imports that module dynamically: if a thread ends while Node requires an ES module, an assertion of Node aborts the
 * process.
 */
module.exports = (import(workerData.entry) as Promise<{ readonly default: RunTask }>).then(({ default: runTask }) => {
  let isCold = workerData.niceness.cold !== workerData.niceness.warm;
  const runAndWarm: RunTask = async (...parameters) => {
    try {
      return await runTask(...parameters);
    } finally {
      if (isCold) setNiceness(workerData.niceness.warm);
      isCold = false;
    }
  };
  return runAndWarm;
});
