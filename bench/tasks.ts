import { Bench } from 'tinybench';
import { measureProcessMs } from './measure.js';

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

/** Measures one task. */
export const measureTask = (work: () => unknown, terms?: TaskTerms): TaskTime =>
  measureTasks({ work }, terms).get('work')!;

/** Formats the time of a task with its margin of error. */
export const formatTime = ({ median, margin }: TaskTime): string =>
  `${median.toPrecision(3)} ms ±${margin.toPrecision(1)}`;
