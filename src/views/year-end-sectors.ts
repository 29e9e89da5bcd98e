import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { toCivilDate, formatDay } from '#domain/time/days.js';
import { runSide } from './exposures/sides.js';
import { createSideGroups, sumGroups, computeWeightsByGroup } from './exposures/weights-by-group.js';
import { readStoredLabels } from './stored-labels.js';

export interface YearEndSectors {
  /** Last date of each listed year, YYYY-MM-DD. */
  readonly dates: readonly string[];
  /** Sectors sorted by descending average weight; null for securities without a sector. */
  readonly sectors: readonly { readonly sector: string | null; readonly weights: Float64Array }[];
}

/**
 * Returns the weight of each sector at the ends of the latest years. Sectors are those that were known on the last date
 * of the run.
 */
export function computeYearEndSectors(columns: RunColumns, years: number): YearEndSectors {
  const allDays = columns.i32('days');
  const last = allDays.length - 1;
  const yearEnds = Array.from(allDays.keys())
    .filter(
      (position) =>
        position === last || toCivilDate(allDays[position]!).year !== toCivilDate(allDays[position + 1]!).year,
    )
    .slice(-years);
  return {
    dates: yearEnds.map((position) => formatDay(allDays[position]!)),
    sectors: computeSectorWeights(columns, yearEnds),
  };
}

/**
 * Returns the weight of each sector on given dates of a run.
 * @param positions positions of the dates, ascending
 */
export function computeSectorWeights(columns: RunColumns, positions: ArrayLike<number>): YearEndSectors['sectors'] {
  const allDays = columns.i32('days');
  const days = Array.from(positions, (position) => allDays[position]!);
  const { sectors } = readStoredLabels(columns);
  const sectorByName = new Map(columns.header.names.map((name, i) => [name, sectors[i] ?? NO_SECTOR]));
  const side = runSide(columns, positions);
  const sideGroups = createSideGroups(side.names, days, (name) => ({
    group: sectorByName.get(name)!,
    until: Infinity,
  }));
  const sums = sumGroups(sideGroups, side, days);
  const groups = computeWeightsByGroup(sums, null, { dates: days.length, groups: Infinity });
  return groups.map(({ group, weights }) => ({ sector: group === NO_SECTOR ? null : group, weights }));
}

/** Group of securities without a sector. Reference data never contains an empty text, so no sector has this name. */
const NO_SECTOR = '';
