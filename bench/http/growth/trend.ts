/** What one size costs. */
export interface Cost {
  readonly x: number;
  /** Least processor time, ms. */
  readonly ms: number;
  /** Least, middle and largest of the turns, in yardsticks. */
  readonly yardsticks: Spread;
}

export interface Spread {
  readonly low: number;
  readonly middle: number;
  readonly high: number;
}

/** What spreads of a few turns do not show. */
const ROOM = 1.05;

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { low: sorted[0]!, middle: sorted[sorted.length >> 1]!, high: sorted.at(-1)! };
}

/** Exponent of the power law nearest to costs: least squares of their logarithms. @returns NaN for fewer than two sizes */
export function slope(costs: readonly Pick<Cost, 'x' | 'ms'>[]): number {
  const points = costs.map(({ x, ms }) => [Math.log(x), Math.log(ms)] as const);
  const mean = (of: 0 | 1): number => points.reduce((sum, point) => sum + point[of], 0) / points.length;
  const [mx, my] = [mean(0), mean(1)];
  const across = points.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0);
  return across / points.reduce((sum, [x]) => sum + (x - mx) ** 2, 0);
}

/** Whether every turn now took longer than every turn then, and by more than noise. */
export function isSlower(now: Spread, then: Spread): boolean {
  return now.low > ROOM * then.high;
}
