import type { Answer } from './outside-peers.js';
import { median } from '#domain/numbers/order-statistics.js';

/** Solves under this many milliseconds are repeated. */
const REPEAT_BELOW_MS = 500;

/** Processor milliseconds of quick solves before any is counted: V8 compiles them meanwhile. */
const WARM_MS = 400;

const REPEATS = 15;

/** Median processor time of warm runs, of all threads of this process, and the median by the clock; a slow one runs once. */
export function timed(work: () => Float64Array): Answer {
  const times: number[] = [];
  const clocks: number[] = [];
  let x: Float64Array = new Float64Array(0);
  const once = (): number => {
    const begin = process.cpuUsage();
    const began = performance.now();
    x = work();
    clocks.push(performance.now() - began);
    const { user, system } = process.cpuUsage(begin);
    times.push((user + system) / 1000);
    return times.at(-1)!;
  };
  for (let spent = 0; spent < WARM_MS;) {
    const ms = once();
    if (ms > REPEAT_BELOW_MS) return { ms, clockMs: clocks.at(-1)!, x };
    spent += ms;
  }
  times.length = clocks.length = 0;
  for (let run = 0; run < REPEATS; run++) once();
  return { ms: median(times), clockMs: median(clocks), x };
}
