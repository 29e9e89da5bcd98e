import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { roundHalfAway } from '#domain/numbers/round-half-away.js';

/** The figures that are rounded when published, exported or printed. */
type Rounded = 'level' | 'weights';

/** Decimals of the index of a run for a figure; undefined where it is shown in full. */
export function decimalsOf({ header: { rounding } }: RunColumns, of: Rounded): number | undefined {
  return rounding?.[of];
}

/** A value as it is shown. */
export function roundedBy(columns: RunColumns, of: Rounded): (value: number) => number {
  const decimals = decimalsOf(columns, of);
  return decimals === undefined ? (value) => value : (value) => roundHalfAway(value, decimals);
}

/** Values as they are shown: those given where nothing is rounded. */
export function roundedValues(columns: RunColumns, of: Rounded, values: Float64Array): Float64Array {
  const decimals = decimalsOf(columns, of);
  return decimals === undefined ? values : values.map((value) => roundHalfAway(value, decimals));
}
