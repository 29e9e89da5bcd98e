import { readdirSync, readFileSync } from 'node:fs';

/**
 * Processor milliseconds of the calling thread so far, without the threads that compile and collect. Where the system
 * does not report it, that of the whole process.
 *
 * A thread's time is as of the last tick of the scheduler, 4 ms ago at most. Requesting the time of the process first
 * updates it.
 */
export function threadMs(): number {
  const whole = processMs();
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
  } catch {
    return whole;
  }
}

/** Processor milliseconds of the whole process so far. */
export function processMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Processor milliseconds of a process and all below it, those that have ended among them; counted in ticks of 10. */
export function treeMs(pid: number): number {
  const TICK_MS = 10;
  const [, , , , , , , , , , , user, system, userBelow, systemBelow] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .map(Number);
  const below = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  );
  const time = (user! + system! + userBelow! + systemBelow!) * TICK_MS;
  return below.reduce((sum, child) => sum + treeMs(Number(child)), time);
}
