import type { MarketContent } from '../content/market-content.js';

/** Minimum number of securities with a growth on a day; the median of fewer does not represent the market. */
const NAMES_MIN = 10;

/**
 * Computes the cumulative log return of the market. The return of a day is the median log growth of CLOSE over
 * securities with a bar on the day and on the day before. Days with fewer than ten such securities add nothing.
 * @returns [T] @cost one pass over CLOSE and a sort a day
 */
export function computeMarketLevel({ identifiers, dates, fields }: MarketContent): Float64Array {
  const close = fields.get('CLOSE')!;
  const width = identifiers.length;
  const level = new Float64Array(dates.length);
  if (width < NAMES_MIN) return level;
  const growths = new Float64Array(width);
  for (let t = 1; t < dates.length; t++) {
    let count = 0;
    for (let cell = t * width; cell < (t + 1) * width; cell++) {
      const growth = close[cell]! / close[cell - width]!;
      if (growth === growth) growths[count++] = growth;
    }
    const sortedGrowths = growths.subarray(0, count).sort();
    level[t] = level[t - 1]! + (count < NAMES_MIN ? 0 : Math.log(sortedGrowths[count >> 1]!));
  }
  return level;
}
