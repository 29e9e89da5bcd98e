import { Piscina } from 'piscina';
import type { Engine } from '#kernels/engines/engine.js';
import { openEngine, type EngineChoice, type EngineSetting } from '#kernels/engines/open-engine.js';
import type { ThreadData } from '#jobs/thread-messages.js';

/** Arena that a thread keeps between tasks; one that grew beyond it is given back to the system. */
const ARENA_BYTES_MAX = 256 * 2 ** 20;

let opened: Promise<EngineChoice> | undefined;

/**
 * The engine of this thread, by the setting the pool was made with; opened when first asked for. It may be float32: for
 * results that tell their precision. Its memory serves one task after the other: allocate inside `scope`.
 */
export async function numerics(): Promise<Engine> {
  return (await choice()).engine;
}

/**
 * Runs synchronous work in float64, whatever the setting says; what it allocated is given back, all of it when it was
 * much.
 */
export async function onEngine<T>(work: (engine: Engine) => T): Promise<T> {
  return scoped((await choice()).exact, work);
}

/** The same on the engine of the setting, for a result that tells its precision. */
export async function onProductEngine<T>(work: (engine: Engine) => T): Promise<T> {
  return scoped(await numerics(), work);
}

function choice(): Promise<EngineChoice> {
  const data = dataOf(Piscina.workerData);
  return (opened ??= openEngine(data.numerics as EngineSetting, () => sharedThreads(data))); // The settings know no other names.
}

function scoped<T>(engine: Engine, work: (engine: Engine) => T): T {
  try {
    return engine.scope(() => work(engine));
  } finally {
    if (engine.bytes() > ARENA_BYTES_MAX) opened = undefined;
  }
}

/** Threads that no pool of ours made (tests) have no data. */
function dataOf(data: unknown): ThreadData {
  return (data as ThreadData | null | undefined) ?? { numerics: 'auto', threads: 1, running: new Int32Array(1) }; // Written by createPool alone.
}

/**
 * This thread and its share of those that have no task: what a large problem may use. Tasks that begin meanwhile are
 * served all the same.
 */
export function sharedThreads({ threads, running }: Omit<ThreadData, 'numerics'>): number {
  const busy = Math.max(1, Atomics.load(running, 0));
  return Math.max(1, Math.floor(threads / busy));
}
