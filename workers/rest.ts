import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { once } from '#base/once.js';
import type { Task } from '#jobs/tasks.js';

/** Heap size below which a collection is not worthwhile: a warm thread has 25 MB alive. */
const HEAP_BYTES_MIN = 48 * 2 ** 20;

/** Returns the garbage collector of V8, which only contexts created after this flag can call. */
const collector = once((): (() => void) => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
});

/**
 * Returns the garbage of this thread's heap to the system. V8 lets a heap grow to several times its live data, and
 * collects nothing in a waiting thread. Compiled code stays.
 */
export const rest: Task<'rest'> = () => {
  if (getHeapStatistics().total_heap_size > HEAP_BYTES_MIN) collector()();
  return null;
};
