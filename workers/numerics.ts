import { Piscina } from 'piscina';
import type { Engine } from '#kernels/engines/engine.js';
import { openEngine, type EngineSetting } from '#kernels/engines/open-engine.js';

/** Arena that a thread keeps between tasks; one that grew beyond it is given back to the system. */
const ARENA_KEPT_BYTES = 256 * 2 ** 20;

let opened: Promise<Engine> | undefined;

/**
 * The engine of this thread, by the setting the pool was made with; opened when first asked for.
 * Its memory serves one task after the other: allocate inside `scope`.
 */
export function numerics(): Promise<Engine> {
  opened ??= openEngine(settingOf(Piscina.workerData)).then(({ engine }) => engine);
  return opened;
}

/** Runs synchronous work on the engine of this thread; what it allocated is given back, all of it when it was much. */
export async function onEngine<T>(work: (engine: Engine) => T): Promise<T> {
  const engine = await numerics();
  try {
    return engine.scope(() => work(engine));
  } finally {
    if (engine.bytes() > ARENA_KEPT_BYTES) opened = undefined;
  }
}

/** Threads that no pool of ours made (tests) have no data. */
function settingOf(data: unknown): EngineSetting {
  const { numerics: setting } = (data ?? {}) as { readonly numerics?: EngineSetting }; // Written by createPool alone.
  return setting ?? 'wasm';
}
