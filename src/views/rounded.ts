import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { findRunSettings } from '#domain/backtest/run-file/settings.js';
import { roundHalfAwayFromZero } from '#domain/numbers/round-half-away.js';
import type { Day } from '#domain/time/days.js';

/** Figures that are rounded for publication, export and print. */
type RoundedFigure = 'level' | 'weights';

/**
 * Returns the number of decimals that the definition of the index sets for a figure on a day. Returns undefined if the
 * figure is not rounded.
 */
export function readDecimals(
  { header }: Pick<RunColumns, 'header'>,
  roundedFigure: RoundedFigure,
  day: Day,
): number | undefined {
  return findRunSettings(header, day).rounding[roundedFigure];
}

/** Returns a function that rounds a figure for a day. */
export function roundOnDay(
  columns: Pick<RunColumns, 'header'>,
  roundedFigure: RoundedFigure,
  day: Day,
): (value: number) => number {
  const decimals = readDecimals(columns, roundedFigure, day);
  return decimals === undefined ? (value) => value : (value) => roundHalfAwayFromZero(value, decimals);
}

/** Rounds each value for its day. If nothing is rounded, returns the same array. */
export function roundValues(
  columns: Pick<RunColumns, 'header'>,
  { of, days }: { readonly of: RoundedFigure; readonly days: Int32Array },
  values: Float64Array,
): Float64Array {
  const { rounding, amended } = columns.header;
  if (amended === undefined && rounding?.[of] === undefined) return values;
  if (amended === undefined) return values.map(roundOnDay(columns, of, 0));
  return values.map((value, t) => roundOnDay(columns, of, days[t]!)(value));
}
