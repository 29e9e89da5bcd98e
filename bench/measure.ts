import { readdirSync, readFileSync } from 'node:fs';

/** Returns the value below which the given share of the sorted sample lies. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

/** `p50 … p99 … max` of milliseconds. */
export function spread(milliseconds: readonly number[]): string {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const show = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
  return `p50 ${show(percentile(sorted, 0.5))} ms   p99 ${show(percentile(sorted, 0.99))} ms   max ${show(sorted.at(-1) ?? Number.NaN)} ms`;
}

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

/** Readings of the clock: the times of threads by their ids, and the time of the whole process in coarse ticks. */
export interface ThreadTimes {
  /** Milliseconds of each thread that lives. */
  threads(): ReadonlyMap<string, number>;
  /** Milliseconds of all threads, those that ended among them, rounded down. */
  whole(): number;
}

/**
 * Processor milliseconds of a process so far, all threads: nanoseconds of the scheduler for those that live, and for those
 * that ended what they had when they were last seen. Where that is behind the coarse time of the process, which knows them
 * whole and is rounded down, the coarse time is the nearer.
 */
export function createClock({ threads, whole }: ThreadTimes): () => number {
  const seen = new Map<string, number>();
  let ended = 0;
  return () => {
    const now = threads();
    for (const [id, time] of seen)
      if (!now.has(id)) {
        ended += time;
        seen.delete(id);
      }
    let sum = ended;
    for (const [id, time] of now) {
      seen.set(id, time);
      sum += time;
    }
    return Math.max(sum, whole());
  };
}

/** Returns the clock of a process of this machine. */
export function processClock(pid: number): () => number {
  return createClock({ threads: () => timesOfThreads(pid), whole: () => ticksOf(pid) });
}

/** Processor milliseconds of each thread of a process, by its id. */
export function timesOfThreads(pid: number): ReadonlyMap<string, number> {
  const NS_PER_MS = 1e6;
  const folder = `/proc/${pid}/task`;
  const times = new Map<string, number>();
  for (const id of readdirSync(folder)) {
    const nanoseconds = Number(read(`${folder}/${id}/schedstat`)?.split(' ', 1)[0]);
    if (Number.isFinite(nanoseconds)) times.set(id, nanoseconds / NS_PER_MS); // One that ended meanwhile is not there.
  }
  return times;
}

/** Of the process and those of its threads that ended, in whole ticks. */
function ticksOf(pid: number): number {
  const TICK_MS = 10;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
