import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startService, threadTimes, type RunningService } from './service.js';
import type { Timing } from '../kernels/measure.js';
import { storedTimings } from '../stored-results.js';
import { drawGrowths, type DrawnGrowth } from './growth/draw.js';
import { prepareGrowths, type Growth, type Point } from './growth/growths.js';
import { isSlower, slope, spreadOf, type Cost, type Spread } from './growth/trend.js';
import { yardstick } from './growth/yardstick.js';
import { VARIABLES } from '../declared-variables.js';
import { isKept, numberFrom } from '../variables.js';

/**
 * What jobs of the running service cost as sessions, names, rebalances and constraints grow: processor time of all
 * threads, from submitted to finished. The sizes take turns, in either order, and each turn stands beside one of a fixed piece of work,
 * so that a machine that other work slows changes both. Prints the exponents, marks what is slower than the stored
 * results in every turn, and draws it all: in `bench/results/growth.svg` with `--json`, else in the folder for temporary
 * files. GROWTH_TURNS=1 makes it quicker and GROWTH_SIZES=2 takes the first two sizes of each growth alone; such a picture
 * is not kept.
 */
const TURNS = numberFrom('GROWTH_TURNS');
const SIZES = numberFrom('GROWTH_SIZES');

/** Jobs of a turn: what a clock of the kernel rounds counts less. */
const JOBS = 2;

const { GROWTH_TURNS, GROWTH_SIZES } = VARIABLES;
const isWhole = TURNS >= GROWTH_TURNS.of['http/growth'] && SIZES === GROWTH_SIZES.of['http/growth'];
const PICTURE =
  isWhole && isKept()
    ? fileURLToPath(new URL('../../../bench/results/growth.svg', import.meta.url))
    : join(tmpdir(), 'growth.svg');

const stored = storedCosts();
console.log('makes the market and one run of each size');
const service = await startService(['--workers', '1']);
try {
  const growths = await prepareGrowths(service, SIZES);
  const drawn = (await timed(service, growths)).map((costs, i): DrawnGrowth => {
    const { name, axis } = growths[i]!;
    return { name, axis, costs, before: costs.flatMap(({ x }) => stored.get(keyOf(name, axis, x)) ?? []) };
  });
  drawn.forEach(report);
  writeFileSync(PICTURE, drawGrowths(drawn));
  console.log(`drawn in ${PICTURE}`);
} finally {
  await service.stop();
}

/** Costs of each growth, its sizes ascending. */
async function timed(on: RunningService, growths: readonly Growth[]): Promise<readonly (readonly Cost[])[]> {
  const turns = growths.map(({ points }) => points.map((): Turn[] => []));
  const each = growths.flatMap(({ points }, g) => points.map((point, p) => ({ point, of: turns[g]![p]! })));
  for (let turn = -1; turn < TURNS; turn++) {
    console.log(turn < 0 ? 'a turn that compiles' : `turn ${turn + 1} of ${TURNS}`);
    // Backwards every other time: a job pays for what the one before it left.
    for (const { point, of } of turn % 2 === 0 ? each : each.toReversed()) {
      const one = await turnOf(on, point);
      if (turn >= 0) of.push(one); // The first compiles.
    }
  }
  return growths.map(({ points }, g) =>
    points.map(({ x }, p) => ({
      x,
      ms: Math.min(...turns[g]![p]!.map(({ ms }) => ms)),
      yardsticks: spreadOf(turns[g]![p]!.map(({ ms, stick }) => ms / stick)),
    })),
  );
}

interface Turn {
  readonly ms: number;
  /** Of the yardstick, half of it before and half after. */
  readonly stick: number;
}

async function turnOf(on: RunningService, point: Point): Promise<Turn> {
  const before = yardstick();
  let sum = 0;
  for (let k = 0; k < JOBS; k++) {
    await point.vary?.(on);
    const start = sumOf(threadTimes(on));
    await point.run(on);
    sum += sumOf(threadTimes(on)) - start;
  }
  return { ms: sum / JOBS, stick: (before + yardstick()) / 2 };
}

function sumOf(times: ReadonlyMap<string, number>): number {
  return [...times.values()].reduce((sum, time) => sum + time, 0);
}

function report({ name, axis, costs, before }: DrawnGrowth): void {
  const last = slope(costs.slice(-2));
  const exponents =
    costs.length < 2 ? '' : `: grows as ${axis}^${slope(costs).toFixed(2)}, at the end ^${last.toFixed(2)}`;
  console.log(`\n${name}${exponents}`);
  for (const { x, ms, yardsticks } of costs) {
    const then = before.find((one) => one.x === x);
    const mark = then === undefined ? '' : comparison(yardsticks, then.yardsticks);
    console.log(`${String(x).padStart(8)} ${axis.padEnd(14)} ${ms.toFixed(1).padStart(9)} ms ${mark}`);
    process.send?.({
      kernel: `growth: ${name}`,
      size: `${x} ${axis}`,
      engine: 'service',
      minMs: ms,
      medianMs: ms,
      yardsticks,
    } satisfies Timing);
  }
}

function comparison(now: Spread, then: Spread): string {
  const ratio = `  ${(now.middle / then.middle).toFixed(2)} of the stored one`;
  return isSlower(now, then) ? `${ratio}: SLOWER` : ratio;
}

function keyOf(name: string, axis: string, x: number): string {
  return `growth: ${name} ${x} ${axis}`;
}

/** Stored costs by what was timed. */
function storedCosts(): ReadonlyMap<string, Cost> {
  return new Map(
    [...storedTimings().values()].flatMap(({ kernel, size, minMs, yardsticks }) =>
      yardsticks === undefined ? [] : [[`${kernel} ${size}`, { x: Number.parseInt(size, 10), ms: minMs, yardsticks }]],
    ),
  );
}
