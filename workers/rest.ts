import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { once } from '#base/once.js';
import type { Task } from '#jobs/tasks.js';

/** Heap of a thread that is not worth a collection: a warm one has 25 MB alive. */
const HEAP_BYTES_MIN = 48 * 2 ** 20;

/** The collector of V8, which offers it to code only with this flag; of contexts made before, none has it. */
const collector = once((): (() => void) => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
});

/**
 * Gives the garbage of this thread's heap back to the system. V8 lets a heap grow to several times what lives in it, and
 * collects nothing in a thread that waits. Compiled code stays.
 */
export const rest: Task<'rest'> = () => {
  if (getHeapStatistics().total_heap_size > HEAP_BYTES_MIN) collector()();
  return null;
};
