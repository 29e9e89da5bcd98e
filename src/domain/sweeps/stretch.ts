import { CONSTANT_VARIANCE } from '../numbers/constant.js';
import { raiseToPower } from '#kernels/power.js';
import type { FoldRanking } from './rankings.js';

/** Figures of a range of consecutive returns, which can be joined with the figures of later returns. */
export interface Stretch {
  count: number;
  /** Sum of returns less a common mean. Subtracting the mean avoids cancellation in the sum of squares. */
  sum: number;
  squares: number;
  /** Level at the end, relative to 1 at the start. */
  growth: number;
  /** Highest and lowest level, including the start. */
  high: number;
  low: number;
  /** Maximum drawdown: lowest ratio of a level to the highest level before it, minus 1. */
  drawdown: number;
}

/** Returns the figures of an empty range. */
export function createEmptyStretch(): Stretch {
  return { count: 0, sum: 0, squares: 0, growth: 1, high: 1, low: 1, drawdown: 0 };
}

/** Computes the figures of returns [from, to). @param mean subtracted from the returns in sums */
export function createStretch(returns: Float64Array, { from, to, mean }: StretchRange): Stretch {
  const stretch = createEmptyStretch();
  for (let t = from; t < to; t++) {
    const deviation = returns[t]! - mean;
    stretch.sum += deviation;
    stretch.squares += deviation * deviation;
    stretch.growth *= 1 + returns[t]!;
    stretch.high = Math.max(stretch.high, stretch.growth);
    stretch.low = Math.min(stretch.low, stretch.growth);
    stretch.drawdown = Math.min(stretch.drawdown, stretch.growth / stretch.high - 1);
  }
  stretch.count = to - from;
  return stretch;
}

export interface StretchRange {
  readonly from: number;
  readonly to: number;
  readonly mean: number;
}

/** Joins later figures to a range, in place. Returns between the two ranges are excluded. */
export function joinStretch(stretch: Stretch, later: Stretch): void {
  stretch.count += later.count;
  stretch.sum += later.sum;
  stretch.squares += later.squares;
  stretch.drawdown = Math.min(stretch.drawdown, later.drawdown, (stretch.growth * later.low) / stretch.high - 1);
  stretch.high = Math.max(stretch.high, stretch.growth * later.high);
  stretch.low = Math.min(stretch.low, stretch.growth * later.low);
  stretch.growth *= later.growth;
}

/**
 * Returns a metric of a range by the conventions of a run. Ratios and volatility are annualised. @param mean mean
 * that was subtracted. @param periods sessions per year
 */
export function computeMetric(
  { count, sum, squares, growth, drawdown }: Stretch,
  { mean, metric, periods }: { readonly mean: number; readonly metric: FoldRanking; readonly periods: number },
): number {
  if (metric === 'annualised_return') return count === 0 ? 0 : raiseToPower(growth, periods / count) - 1;
  if (metric === 'max_drawdown') return drawdown;
  const variance = count < 2 ? 0 : (squares - (sum * sum) / count) / (count - 1);
  const deviation = variance > CONSTANT_VARIANCE ? Math.sqrt(variance) : 0;
  const root = Math.sqrt(periods);
  if (metric === 'volatility') return deviation * root;
  return deviation === 0 ? 0 : ((mean + sum / count) / deviation) * root;
}
