import { totalmem } from 'node:os';

/**
 * Share of the memory that admitted jobs may be expected to need; the rest is panels, results on their way and the
 * front end.
 */
const SHARE = 0.6;

/** Bytes that running jobs may need together: a share of the control group's limit or of the machine's memory. */
export function memoryBudget(share: number = SHARE): number {
  const limit = process.constrainedMemory(); // 0, or larger than the machine, where nothing limits the process
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.floor(memory * share);
}
