/** Values at the two ends of the colour scale. */
export interface Scale {
  readonly worst: number;
  readonly best: number;
}

/** Strength of the colour at the ends of the scale, in percent. */
const WEAKEST_PERCENT = 4;
const STRONGEST_PERCENT = 55;

/** Creates the scale of a metric. @param values known values, at least one */
export const createScale = (values: readonly number[], isLowBetter: boolean): Scale => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return isLowBetter ? { worst: most, best: least } : { worst: least, best: most };
};

/**
 * Returns the colour of a value. It is stronger the better the value is, in the colour that the first variant by rank
 * has in the chart of levels.
 */
export function getColourAt(value: number | null, { worst, best }: Scale): string {
  if (value === null) return 'transparent';
  const share = best === worst ? 0 : (value - worst) / (best - worst);
  const strength = Math.round(WEAKEST_PERCENT + share * (STRONGEST_PERCENT - WEAKEST_PERCENT));
  return `color-mix(in srgb, var(--series-${FIRST_COLOUR}) ${strength}%, transparent)`;
}

/** Number of the series colour of the first variant by rank. */
export const FIRST_COLOUR = 1;
