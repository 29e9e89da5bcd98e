import { raiseToPower } from '#kernels/power.js';

/** Scale of the values of a chart with labelled ticks. */
export interface ValueAxis {
  /** Ticks within the range, ascending. */
  readonly ticks: readonly number[];
  /**
   * Distance between neighbouring ticks. It determines the number of decimals. If the distances differ, it is the
   * smallest one.
   */
  readonly step: number;
  /** Returns the position of a value: 0 at the lower end of the axis, 1 at the upper end. */
  position(value: number): number;
}

export interface Extent {
  readonly low: number;
  readonly high: number;
}

/** Factors of round steps, relative to a power of ten. */
const NICE_STEPS = [1, 2, 2.5, 5, 10] as const;

/** Padding above and below the values as a fraction of their range. There is no padding at a zero end of the axis. */
const PADDING_SHARE = 0.05;

/**
 * Returns a linear axis slightly longer than the range of its values, with ticks at round values.
 * @param ticksMax at least 2
 */
export function createLinearAxis(extent: Extent, ticksMax: number): ValueAxis {
  const { low, high } = addPadding(extent);
  let step = roundStep((high - low) / (ticksMax + 1));
  while (computeFloor(high / step) - computeCeiling(low / step) + 1 > ticksMax) step = roundStep(step * 1.01);
  const firstStep = computeCeiling(low / step);
  const ticks = Array.from({ length: computeFloor(high / step) - firstStep + 1 }, (_, i) => (firstStep + i) * step);
  return { ticks, step, position: (value) => (value - low) / (high - low) };
}

/** Range relative to the upper end below which values differ only by rounding errors. */
const FLAT_RANGE = 1e-12;

function addPadding({ low, high }: Extent): Extent {
  if (!(high - low > FLAT_RANGE * Math.abs(high))) {
    const padding = Math.abs(high) * PADDING_SHARE || 1;
    return { low: low - padding, high: high + padding };
  }
  const margin = (high - low) * PADDING_SHARE;
  return { low: low === 0 ? 0 : low - margin, high: high === 0 ? 0 : high + margin };
}

/** Tolerance that prevents rounding from adding a tick. */
const TICK_TOLERANCE = 1e-9;
const computeFloor = (value: number): number => Math.floor(value + TICK_TOLERANCE);
const computeCeiling = (value: number): number => Math.ceil(value - TICK_TOLERANCE);

/** Returns the smallest round step that is not less than a value. */
function roundStep(minimum: number): number {
  const powerOfTen = raiseToPower(10, Math.floor(Math.log10(minimum)));
  return (NICE_STEPS.find((factor) => factor * powerOfTen >= minimum * (1 - TICK_TOLERANCE)) ?? 10) * powerOfTen;
}

/**
 * Returns a logarithmic axis over positive values. Ticks are at 1, 2 and 5 times powers of ten. If these are too many,
 * ticks are at 1 and 3 times powers of ten, or only at powers of ten; if they are too few, at evenly spaced round
 * values.
 */
export function createLogAxis(extent: Extent, ticksMax: number): ValueAxis {
  const factor = raiseToPower(extent.high / extent.low, PADDING_SHARE) * 1.005;
  const low = extent.low / factor;
  const high = extent.high * factor;
  const bottom = Math.log(low);
  const span = Math.log(high) - bottom;
  const evenTicks = createLinearAxis({ low, high }, ticksMax).ticks.filter((tick) => tick >= low && tick <= high);
  const candidates = [
    listLogTicks(low, high, [1, 2, 5]),
    listLogTicks(low, high, [1, 3]),
    listLogTicks(low, high, [1]),
    evenTicks,
  ];
  const fittingTicks = candidates.filter(({ length }) => length <= ticksMax);
  const ticks =
    fittingTicks.find(({ length }) => length >= 3) ?? fittingTicks.toSorted((a, b) => b.length - a.length)[0]!;
  const step = ticks.slice(1).reduce((smallest, tick, i) => Math.min(smallest, tick - ticks[i]!), Infinity);
  return { ticks, step: Number.isFinite(step) ? step : 1, position: (value) => (Math.log(value) - bottom) / span };
}

function listLogTicks(low: number, high: number, factors: readonly number[]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const factor of factors) {
      const tick = factor * raiseToPower(10, power);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}
