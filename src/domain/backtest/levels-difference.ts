import { formatDay } from '../time/days.js';

/** Levels of a run: dates and values, [T]. */
export interface DatedLevels {
  readonly days: Int32Array;
  readonly level: Float64Array;
}

export interface LevelsDifference {
  /** First date that only one of the runs has, or on which the levels differ. Null if the levels are equal. */
  readonly firstDifference: string | null;
  /**
   * Common date with the largest relative difference, and both levels. Null if the levels of all common dates are
   * equal.
   */
  readonly largest: { readonly date: string; readonly from: number; readonly to: number } | null;
}

/** Compares the levels of two runs bit for bit. */
export function findLevelsDifference(from: DatedLevels, to: DatedLevels): LevelsDifference {
  let first: number | null = null;
  let largest: { readonly day: number; readonly from: number; readonly to: number; readonly by: number } | null = null;
  const recordDifference = (day: number): void => {
    first ??= day;
  };
  for (let i = 0, k = 0; i < from.days.length || k < to.days.length;) {
    const day = Math.min(from.days[i] ?? Infinity, to.days[k] ?? Infinity);
    const isCommon = from.days[i] === day && to.days[k] === day;
    if (!isCommon) recordDifference(day);
    else if (!Object.is(from.level[i], to.level[k])) {
      recordDifference(day);
      const relativeDifference = Math.abs(to.level[k]! / from.level[i]! - 1);
      if (largest === null || relativeDifference > largest.by)
        largest = { day, from: from.level[i]!, to: to.level[k]!, by: relativeDifference };
    }
    if (from.days[i] === day) i++;
    if (to.days[k] === day) k++;
  }
  return {
    firstDifference: first === null ? null : formatDay(first),
    largest: largest === null ? null : { date: formatDay(largest.day), from: largest.from, to: largest.to },
  };
}
