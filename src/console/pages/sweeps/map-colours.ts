import { computeMedian } from '../../words/median.js';

/** Values at the two ends and in the middle of the colour scale. */
export interface Scale {
  readonly worst: number;
  /** Median of all variants. */
  readonly median: number;
  readonly best: number;
}

/** Strength of the colour at the ends of the scale, in percent. */
const STRONGEST_PERCENT = 55;

/** Creates the scale of a metric. @param values known values, at least one */
export const createScale = (values: readonly number[], isLowBetter: boolean): Scale => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const ends = isLowBetter ? { worst: most, best: least } : { worst: least, best: most };
  return { ...ends, median: computeMedian(values) };
};

/**
 * Returns the colour of a value. Values better than the median have the colour of the first variant by rank in the chart
 * of levels, and worse ones the colour of the index. The colour is stronger the further the value is from the median.
 */
export function getColourAt(value: number | null, { worst, median, best }: Scale): string {
  if (value === null) return 'transparent';
  const isBetter = value === median || value > median === best > median;
  const span = Math.abs((isBetter ? best : worst) - median);
  const strength = span === 0 ? 0 : Math.round((Math.abs(value - median) / span) * STRONGEST_PERCENT);
  return `color-mix(in srgb, var(--series-${isBetter ? FIRST_COLOUR : WORSE_COLOUR}) ${strength}%, transparent)`;
}

/** Number of the series colour of the first variant by rank. */
export const FIRST_COLOUR = 1;
/** Number of the series colour of variants that are worse than the median. */
const WORSE_COLOUR = 2;
