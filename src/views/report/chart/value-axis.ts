import { raiseToPower } from '#kernels/power.js';

/** Scale of values on a chart, and its labelled ticks. */
export interface ValueAxis {
  /** Ascending, all within the range. */
  readonly ticks: readonly number[];
  /** Distance of neighbouring ticks, for their decimals; the smallest one where they are not evenly spaced. */
  readonly step: number;
  /** 0 at the lower end of the axis, 1 at the upper end. */
  position(value: number): number;
}

export interface Extent {
  readonly low: number;
  readonly high: number;
}

/** Multiples of a power of ten that people count in. */
const NICE = [1, 2, 2.5, 5, 10] as const;

/** Padding above and below the values, as a share of their spread; none at a zero at which an axis begins or ends. */
const PAD = 0.05;

/**
 * Returns an axis slightly wider than its values, with ticks at round ones.
 * @param ticksMax at least 2
 */
export function linearAxis(extent: Extent, ticksMax: number): ValueAxis {
  const { low, high } = pad(extent);
  let step = niceStep((high - low) / (ticksMax + 1));
  while (floorOf(high / step) - ceilOf(low / step) + 1 > ticksMax) step = niceStep(step * 1.01);
  const first = ceilOf(low / step);
  const ticks = Array.from({ length: floorOf(high / step) - first + 1 }, (_, i) => (first + i) * step);
  return { ticks, step, position: (value) => (value - low) / (high - low) };
}

function pad({ low, high }: Extent): Extent {
  if (!(high > low)) {
    const room = Math.abs(high) * PAD || 1;
    return { low: low - room, high: high + room };
  }
  const room = (high - low) * PAD;
  return { low: low === 0 ? 0 : low - room, high: high === 0 ? 0 : high + room };
}

/** Rounding noise must not add a tick. */
const NOISE = 1e-9;
const floorOf = (value: number): number => Math.floor(value + NOISE);
const ceilOf = (value: number): number => Math.ceil(value - NOISE);

/** Returns the smallest round step that is at least so large. */
function niceStep(least: number): number {
  const ten = raiseToPower(10, Math.floor(Math.log10(least)));
  return (NICE.find((factor) => factor * ten >= least * (1 - NOISE)) ?? 10) * ten;
}

/**
 * Returns a logarithmic axis over positive values. Ticks are at 1, 2 and 5 times powers of ten, only at powers if these
 * are many, and at even round steps if they are few.
 */
export function logAxis(extent: Extent, ticksMax: number): ValueAxis {
  const room = raiseToPower(extent.high / extent.low, PAD) * 1.005;
  const low = extent.low / room;
  const high = extent.high * room;
  const bottom = Math.log(low);
  const span = Math.log(high) - bottom;
  const even = linearAxis({ low, high }, ticksMax).ticks.filter((tick) => tick >= low && tick <= high);
  const candidates = [logTicks(low, high, [1, 2, 5]), logTicks(low, high, [1, 3]), logTicks(low, high, [1]), even];
  const fitting = candidates.filter(({ length }) => length <= ticksMax);
  const ticks = fitting.find(({ length }) => length >= 3) ?? fitting.toSorted((a, b) => b.length - a.length)[0]!;
  const step = ticks.slice(1).reduce((least, tick, i) => Math.min(least, tick - ticks[i]!), Infinity);
  return { ticks, step: Number.isFinite(step) ? step : 1, position: (value) => (Math.log(value) - bottom) / span };
}

function logTicks(low: number, high: number, factors: readonly number[]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const factor of factors) {
      const tick = factor * raiseToPower(10, power);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}
