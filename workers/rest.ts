import { collectGarbage } from '#kernels/memory/collect-garbage.js';
import type { Task } from '#jobs/tasks.js';
import { forgetModel } from './risk/last-model.js';

/** Heap size below which a collection is not worthwhile: a warm thread has 25 MB alive. */
const HEAP_BYTES_MIN = 48 * 2 ** 20;

/** Returns the garbage of an idle thread to the system, and what it kept for a next part. */
export const releaseMemory: Task<'rest'> = async () => {
  forgetModel();
  await collectGarbage(HEAP_BYTES_MIN);
  return null;
};
