import { Piscina } from 'piscina';
import type { Engine } from '#kernels/engines/engine.js';
import { openEngine, type EngineChoice, type EngineSetting } from '#kernels/engines/open-engine.js';
import type { ThreadData } from '#jobs/tasks/messages.js';

/**
 * Maximum size in bytes of an arena (memory of an engine) that a thread keeps between tasks. A larger arena is returned
 * to the system.
 */
const ARENA_BYTES_MAX = 256 * 2 ** 20;

let openedEngine: Promise<EngineChoice> | undefined;

/**
 * Returns the engine of this thread according to the setting of the pool. It is opened at the first use. It may use
 * float32, so use it only for results that state their precision. Its memory serves one task at a time: allocate inside
 * `scope`.
 */
export async function openNumerics(): Promise<Engine> {
  return (await openChoice()).engine;
}

/**
 * Returns the float64 engine of this thread, for work in several steps. Allocate inside `scope`, and only little memory
 * at once.
 */
export async function openExactNumerics(): Promise<Engine> {
  return (await openChoice()).exact;
}

/** Runs synchronous work in float64, regardless of the setting. Frees its allocations, and a large arena completely. */
export async function runOnEngine<T>(work: (engine: Engine) => T): Promise<T> {
  return runScoped((await openChoice()).exact, work);
}

/** Runs work on the configured engine, for a result that states its precision. */
export async function runOnProductEngine<T>(work: (engine: Engine) => T): Promise<T> {
  return runScoped(await openNumerics(), work);
}

function openChoice(): Promise<EngineChoice> {
  const data = getData(Piscina.workerData);
  // the settings allow no other engine names
  return (openedEngine ??= openEngine(data.numerics as EngineSetting, () => countSharedThreads(data)));
}

function runScoped<T>(engine: Engine, work: (engine: Engine) => T): T {
  try {
    return engine.scope(() => work(engine));
  } finally {
    if (engine.bytes() > ARENA_BYTES_MAX) openedEngine = undefined;
  }
}

/** Returns the data that the pool gave to the thread. Threads outside our pools (tests) have none. */
function getData(data: unknown): ThreadData {
  return (data as ThreadData | null | undefined) ?? { numerics: 'auto', threads: 1, running: new Int32Array(1) }; // only createPool writes this data
}

/**
 * Counts the threads that a large problem may use: this thread and its share of the idle threads. Tasks that start
 * meanwhile are not prevented from running.
 */
export function countSharedThreads({ threads, running }: Omit<ThreadData, 'numerics'>): number {
  const busyThreads = Math.max(1, Atomics.load(running, 0));
  return Math.max(1, Math.floor(threads / busyThreads));
}
