/** Values at the two ends and in the middle of the colour scale. */
export interface Scale {
  readonly least: number;
  /** Median of all variants. */
  readonly middle: number;
  readonly most: number;
}

/** Strength of the colour at the ends of the scale, in percent. */
const STRONGEST_PERCENT = 55;

/**
 * Returns the colour of a value. It is blue above the median and orange below it, and stronger the further the value is
 * from the median.
 */
export function getColourAt(value: number | null, { least, middle, most }: Scale): string {
  if (value === null) return 'transparent';
  const span = value >= middle ? most - middle : middle - least;
  const strength = span === 0 ? 0 : Math.round((Math.abs(value - middle) / span) * STRONGEST_PERCENT);
  return `color-mix(in srgb, var(--series-${value >= middle ? 1 : 2}) ${strength}%, transparent)`;
}
