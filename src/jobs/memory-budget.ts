import { totalmem } from 'node:os';

/** Share of the memory that running jobs may use. The rest is for market data, pending results and HTTP requests. */
const MEMORY_SHARE = 0.6;

/**
 * Returns the number of bytes that running jobs may use in total. It is a share of the memory of the control group or
 * the machine.
 */
export function computeMemoryBudget(share: number = MEMORY_SHARE): number {
  const limit = process.constrainedMemory(); // the limit is 0, or larger than the machine, if nothing limits the process
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.floor(memory * share);
}
