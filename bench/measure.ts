import { Bench } from 'tinybench';
import { readdirSync, readFileSync } from 'node:fs';

/** Returns the value below which the given share of the sorted sample lies. */
export function computePercentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

/** Formats the p50, p99 and maximum of a sample in milliseconds. */
export function formatSpread(milliseconds: readonly number[]): string {
  const sortedTimes = milliseconds.toSorted((a, b) => a - b);
  const show = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
  return `p50 ${show(computePercentile(sortedTimes, 0.5))} ms   p99 ${show(computePercentile(sortedTimes, 0.99))} ms   max ${show(sortedTimes.at(-1) ?? Number.NaN)} ms`;
}

/**
 * Returns the processor time of the calling thread so far in ms, without the threads of the compiler and the garbage
 * collector. Returns the time of the whole process on a system that does not report the time of a thread.
 *
 * The system updates the time of a thread at ticks of the scheduler, so it is up to 4 ms old. A request for the time of
 * the process updates it first.
 */
export function measureThreadMs(): number {
  const readProcessMs = measureProcessMs();
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
  } catch {
    return readProcessMs;
  }
}

/** Returns the processor time of the whole process so far in ms. */
export function measureProcessMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Returns the processor time of a process and its descendants in ms, in ticks of 10 ms. Processes that have ended are
 * included.
 */
export function measureTreeMs(pid: number): number {
  const TICK_MS = 10;
  const [, , , , , , , , , , , user, system, userBelow, systemBelow] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .map(Number);
  const childIds = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  );
  const time = (user! + system! + userBelow! + systemBelow!) * TICK_MS;
  return childIds.reduce((sum, child) => sum + measureTreeMs(Number(child)), time);
}

/** Functions that read processor times: of the threads by id, and of the whole process in coarse ticks. */
export interface ThreadTimes {
  /** Returns the processor time of each live thread, ms. */
  threads(): ReadonlyMap<string, number>;
  /** Returns the processor time of all threads including ended ones in ms, rounded down. */
  readProcessMs(): number;
}

/**
 * Returns a function that reads the processor time of all threads of a process in ms. For a live thread it reads the
 * nanoseconds of the scheduler. For an ended thread it uses the last reading. The coarse time of the process includes
 * the whole time of ended threads and is rounded down. If the sum of the threads is below this coarse time, the
 * function returns the coarse time, which is then more accurate.
 */
export function createClock({ threads, readProcessMs }: ThreadTimes): () => number {
  const seenMs = new Map<string, number>();
  let endedMs = 0;
  return () => {
    const now = threads();
    for (const [id, time] of seenMs)
      if (!now.has(id)) {
        endedMs += time;
        seenMs.delete(id);
      }
    let sum = endedMs;
    for (const [id, time] of now) {
      seenMs.set(id, time);
      sum += time;
    }
    return Math.max(sum, readProcessMs());
  };
}

export function createProcessClock(pid: number): () => number {
  return createClock({ threads: () => readThreadTimes(pid), readProcessMs: () => readTicks(pid) });
}

/** Returns the processor time of each thread of a process in ms, by thread id. */
export function readThreadTimes(pid: number): ReadonlyMap<string, number> {
  const NS_PER_MS = 1e6;
  const folder = `/proc/${pid}/task`;
  const times = new Map<string, number>();
  for (const id of readdirSync(folder)) {
    const nanoseconds = Number(read(`${folder}/${id}/schedstat`)?.split(' ', 1)[0]);
    if (Number.isFinite(nanoseconds)) times.set(id, nanoseconds / NS_PER_MS); // a thread that has ended meanwhile is skipped
  }
  return times;
}

/** Returns the processor time of a process in whole ticks. It includes threads that have ended. */
function readTicks(pid: number): number {
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

/** Processor time of a task, ms. */
export interface TaskTime {
  readonly median: number;
  /** Half the width of the 95% confidence interval of the mean. */
  readonly margin: number;
}

export interface TaskTerms {
  /** Runs of the task that are not measured. Default: 3. */
  readonly warmUps?: number;
  /** Minimum number of measurements. Default: 9. */
  readonly rounds?: number;
}

/** Shortest measurement, ms. Shorter tasks are repeated, because the clock of a process is coarse. */
const MEASURED_MS = 2;

/** Measures tasks by their names, one after the other, with the processor clock of the process. */
export function measureTasks(
  tasks: Readonly<Record<string, () => unknown>>,
  { warmUps = 3, rounds = 9 }: TaskTerms = {},
): ReadonlyMap<string, TaskTime> {
  const bench = new Bench({
    now: measureProcessMs,
    time: 0,
    iterations: rounds,
    warmupTime: 0,
    warmupIterations: warmUps,
    throws: true,
  });
  for (const [name, work] of Object.entries(tasks)) {
    let repeats = 1;
    bench.add(name, () => {
      const begin = measureProcessMs();
      for (let repeat = 0; repeat < repeats; repeat++) work();
      const overriddenDuration = (measureProcessMs() - begin) / repeats;
      repeats = Math.max(repeats, Math.ceil(MEASURED_MS / Math.max(0.001, overriddenDuration)));
      return { overriddenDuration };
    });
  }
  bench.runSync();
  return new Map(
    bench.tasks.map(({ name, result }) => {
      if (!('latency' in result)) throw new Error(`${name} was not measured`);
      return [name, { median: result.latency.p50, margin: result.latency.moe }];
    }),
  );
}

export const measureTask = (work: () => unknown, terms?: TaskTerms): TaskTime =>
  measureTasks({ work }, terms).get('work')!;

export const formatTime = ({ median, margin }: TaskTime): string =>
  `${median.toPrecision(3)} ms ±${margin.toPrecision(1)}`;
