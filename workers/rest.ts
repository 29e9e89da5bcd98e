import { collectGarbage } from '#kernels/memory/collect-garbage.js';
import type { Task } from '#jobs/tasks.js';
import { clearLastModel } from './risk/last-model.js';

/** Heap size in bytes below which a garbage collection is not worthwhile: live objects of a warm thread take 25 MB. */
const HEAP_BYTES_MIN = 48 * 2 ** 20;

/** Returns the garbage of an idle thread, and its caches for the next part, to the system. */
export const releaseMemory: Task<'rest'> = async () => {
  clearLastModel();
  await collectGarbage(HEAP_BYTES_MIN);
  return null;
};
