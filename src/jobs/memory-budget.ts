import { totalmem } from 'node:os';

/** Share of the memory for admitted jobs; the rest is for panels, pending results and the front end. */
const MEMORY_SHARE = 0.6;

/**
 * Returns the bytes that running jobs may use in total: a share of the control group's limit or of the machine's
 * memory.
 */
export function computeMemoryBudget(share: number = MEMORY_SHARE): number {
  const limit = process.constrainedMemory(); // the limit is 0, or larger than the machine, if nothing limits the process
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.floor(memory * share);
}
