import { readFileSync } from 'node:fs';

/**
 * Processor milliseconds of the calling thread so far: what a worker's thread spends, without the threads that compile and
 * collect beside it. Where the system does not tell it, that of the whole process.
 */
export function threadMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
  } catch {
    return processMs();
  }
}

/** Processor milliseconds of the whole process so far. */
export function processMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
