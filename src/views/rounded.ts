import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { runSettingsOn } from '#domain/backtest/run-file/settings.js';
import { roundHalfAwayFromZero } from '#domain/numbers/round-half-away.js';
import type { Day } from '#domain/time/days.js';

/** Figures that are rounded when they are published, exported or printed. */
type Rounded = 'level' | 'weights';

/** Returns the decimals of a figure on a day, as set by the index of a run; undefined if it is not rounded. */
export function decimalsOn({ header }: Pick<RunColumns, 'header'>, of: Rounded, day: Day): number | undefined {
  return runSettingsOn(header, day).rounding[of];
}

/** Returns figures of a day as displayed. */
export function roundOnDay(columns: Pick<RunColumns, 'header'>, of: Rounded, day: Day): (value: number) => number {
  const decimals = decimalsOn(columns, of, day);
  return decimals === undefined ? (value) => value : (value) => roundHalfAwayFromZero(value, decimals);
}

/** Returns values as displayed on their days; the given ones if nothing is rounded. */
export function roundValues(
  columns: Pick<RunColumns, 'header'>,
  { of, days }: { readonly of: Rounded; readonly days: Int32Array },
  values: Float64Array,
): Float64Array {
  const { rounding, amended } = columns.header;
  if (amended === undefined && rounding?.[of] === undefined) return values;
  if (amended === undefined) return values.map(roundOnDay(columns, of, 0));
  return values.map((value, t) => roundOnDay(columns, of, days[t]!)(value));
}
