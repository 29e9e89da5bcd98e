import type { CounterRandom } from '#kernels/random/counter-random.js';
import type { Bars } from './company.js';

const CENT = 100;

export function createEmptyBars(length: number): Bars {
  const allocateColumn = () => new Float64Array(length);
  return {
    open: allocateColumn(),
    high: allocateColumn(),
    low: allocateColumn(),
    close: allocateColumn(),
    volume: allocateColumn(),
    shares: allocateColumn(),
    freeFloat: allocateColumn(),
    missing: new Uint8Array(length),
  };
}

interface Move {
  readonly price: number;
  /** Previous close on the basis of the current session: after splits and without the cash paid on it. */
  readonly before: number;
  readonly volatility: number;
  readonly activity: number;
  /** Security-specific shock, in standard deviations. */
  readonly shock: number;
  readonly random: CounterRandom;
}

/**
 * Sets the bar of one session around its close. The high is at least open and close, and the low is at most open and
 * close. All prices are on the price grid.
 */
export function drawBar(bars: Bars, i: number, { price, before, volatility, activity, shock, random }: Move): void {
  const first = random.uniform();
  const second = random.uniform();
  const openPrice = before + (price - before) * takeUpperHalf(first);
  const highPrice = Math.max(openPrice, price) * (1 + 0.6 * volatility * takeLowerHalf(first));
  const lowPrice = Math.min(openPrice, price) * (1 - Math.min(0.6 * volatility, 0.9) * takeUpperHalf(second));
  bars.open[i] = toTick(openPrice);
  bars.high[i] = toTick(highPrice);
  bars.low[i] = toTick(lowPrice);
  bars.close[i] = toTick(price);
  const turnoverScale = 0.5 + takeLowerHalf(second) + 0.35 * Math.min(Math.abs(shock), 6);
  bars.volume[i] = Math.round(activity * turnoverScale);
}

/** Splits a uniform number of 52 bits into two of 26 bits, which exceeds the precision of a price. */
const HALF = 2 ** 26;
const takeUpperHalf = (uniform: number) => Math.floor(uniform * HALF) / HALF;
const takeLowerHalf = (uniform: number) => uniform * HALF - Math.floor(uniform * HALF);

/**
 * Returns the nearest price of the grid. The grid has cents for prices of at least one unit of currency, and hundredths
 * of cents below. The result is never zero.
 */
export function toTick(price: number): number {
  const ticksPerUnit = price >= 1 ? CENT : CENT * CENT;
  return Math.max(Math.round(price * ticksPerUnit), 1) / ticksPerUnit;
}
