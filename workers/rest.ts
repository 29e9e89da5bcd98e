import { collectGarbage } from '#kernels/memory/collect-garbage.js';
import type { Task } from '#jobs/tasks.js';
import { clearLastModel } from './risk/last-model.js';

/** Heap size in bytes from which on a garbage collection is worthwhile. Live objects of a warm thread take 25 MB. */
const HEAP_BYTES_MIN = 48 * 2 ** 20;

/** Frees memory of an idle thread. Returns its garbage and its cached memory to the system. */
export const releaseMemory: Task<'rest'> = async () => {
  clearLastModel();
  await collectGarbage(HEAP_BYTES_MIN);
  return null;
};
