import type { Day } from '#domain/time/days.js';
import { createGroupNumbers, type GroupOfDay } from '#domain/market/groups-by-day.js';
import { addFigureText, type DatedFigures, type FiguresMaker } from './dated-figures.js';
import type { SideName } from './field-series.js';
import type { ExposureSide } from './sides.js';

/** Groups of the securities of a side over the days of a run. */
export interface SideGroups {
  readonly groups: readonly string[];
  /**
   * Starts at the first day. Returns a function that adds the weights of a day by group and writes the sums to a row. A
   * sum is NaN if no security of the group has a weight.
   */
  summing(): (day: Day, weights: Float64Array, row: Float64Array) => void;
}

/**
 * Assigns each security of one side to a group.
 * @param days all days of the run, so that the numbers of the groups do not depend on the shown dates
 */
export function createSideGroups(names: readonly string[], days: Iterable<Day>, getGroup: GroupOfDay): SideGroups {
  const numbers = createGroupNumbers();
  const getNumbers = numbers.byDay(names, getGroup);
  for (const day of days) getNumbers(day);
  return {
    groups: numbers.groups,
    summing() {
      const getDayNumbers = numbers.byDay(names, getGroup);
      return (day, weights, row) => sumByGroup(row, weights, getDayNumbers(day));
    },
  };
}

function sumByGroup(row: Float64Array, weights: Float64Array, groups: Int32Array): void {
  row.fill(NaN);
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!;
    if (weight === 0) continue;
    const group = groups[i]!;
    const sum = row[group]!;
    row[group] = sum === sum ? sum + weight : weight;
  }
}

/** Weights by group on the shown dates. */
export interface GroupSums {
  readonly groups: readonly string[];
  /**
   * Returns the sum of each group over all dates, [groups]. It is NaN if no security of the group has a weight on any
   * date.
   */
  totals(): Float64Array;
  /**
   * Adds the sums of all dates to the reported groups, [places][dates].
   * @param groupPositions reported group of each group, [groups]
   */
  addTo(sums: readonly Float64Array[], groupPositions: Int32Array): void;
  /**
   * Returns the sums of a group for output. Their text may be cached. A sum is 0 if no security of the group has a
   * weight.
   */
  written(sums: Float64Array, group: number): Float64Array;
}

/** Returns sums that are computed at each request. */
export function sumGroups({ groups, summing }: SideGroups, side: ExposureSide, days: ArrayLike<Day>): GroupSums {
  /**
   * Calls `visit` for each date.
   * @param visit receives the sums of a date, which are valid until the next call
   */
  const visitDates = (visit: (row: Float64Array, k: number) => void): void => {
    const row = new Float64Array(groups.length);
    const readWeights = side.pass();
    const sum = summing();
    for (let k = 0; k < days.length; k++) {
      sum(days[k]!, readWeights(k), row);
      visit(row, k);
    }
  };
  return {
    groups,
    totals() {
      const totals = new Float64Array(groups.length).fill(NaN);
      visitDates((row) => {
        for (let g = 0; g < row.length; g++) totals[g] = addTerm(totals[g]!, row[g]!);
      });
      return totals;
    },
    addTo(sums, groupPositions) {
      visitDates((row, k) => {
        for (let g = 0; g < row.length; g++) if (row[g] === row[g]) sums[groupPositions[g]!]![k]! += row[g]!;
      });
    },
    written: (sums) => sums,
  };
}

/** Adds a term to a sum. Either may be missing (NaN). */
function addTerm(sum: number, term: number): number {
  if (term !== term) return sum;
  return sum === sum ? sum + term : term;
}

/** Creates the function that computes the sums as figures of the dates. */
export function createGroupsMaker(
  figures: DatedFigures,
  { groups, summing }: SideGroups,
  name: SideName,
): FiguresMaker {
  const row = new Float64Array(groups.length);
  const sum = summing();
  return {
    figures,
    make(date) {
      sum(date.day, date[name], row);
      for (let g = 0; g < row.length; g++) figures.values[g * figures.known.length + date.at] = row[g]!;
    },
  };
}

/**
 * Returns sums from cached figures. They equal the results of `sumGroups`.
 * @param positions positions of the dates in the run
 */
export function findListedGroups(groups: readonly string[], figures: DatedFigures, positions: Int32Array): GroupSums {
  const getColumn = (group: number): Float64Array =>
    figures.values.subarray(group * figures.known.length, (group + 1) * figures.known.length);
  return {
    groups,
    totals: () => Float64Array.from(groups, (_, g) => sumAt(getColumn(g), positions)),
    addTo(sums, groupPositions) {
      groups.forEach((_, g) => addAt(getColumn(g), positions, sums[groupPositions[g]!]));
    },
    written: (sums, group) => addFigureText(sums, figures, group, positions),
  };
}

function sumAt(column: Float64Array, positions: Int32Array): number {
  let total = NaN;
  for (let k = 0; k < positions.length; k++) total = addTerm(total, column[positions[k]!]!);
  return total;
}

/**
 * Adds the sums of a group.
 * @param sums destination; undefined if the group is not reported because it has no weight
 */
function addAt(column: Float64Array, positions: Int32Array, sums: Float64Array | undefined): void {
  if (sums === undefined) return;
  for (let k = 0; k < positions.length; k++) {
    const value = column[positions[k]!]!;
    if (value === value) sums[k]! += value;
  }
}

export interface GroupWeights {
  readonly group: string;
  /** Total weight of the group on each date. */
  readonly weights: Float64Array;
  /** Weights of the group in the benchmark; null without a benchmark. */
  readonly benchmark: Float64Array | null;
}

/** Name of the group that combines all groups which are not listed. */
const OTHERS_NAME = 'OTHERS';

/**
 * Returns the weights of the groups with the largest average weights, and the combined weight of the other groups.
 * @cost reads the sums twice: for the averages that sort the groups, and for the reported values
 */
export function computeWeightsByGroup(
  ownGroupSums: GroupSums,
  benchmark: GroupSums | null,
  { dates, groups: groupsMax }: { readonly dates: number; readonly groups: number },
): GroupWeights[] {
  const totals = getTotals(ownGroupSums);
  const benchmarkTotals = benchmark && getTotals(benchmark);
  const groups = [...new Set([...totals.keys(), ...(benchmarkTotals?.keys() ?? [])])];
  const rankedGroups = groups.toSorted((a, b) => (totals.get(b) ?? 0) - (totals.get(a) ?? 0) || (a < b ? -1 : 1));
  const list = rankedGroups.slice(0, groupsMax);
  const labels = rankedGroups.length > list.length ? [...list, OTHERS_NAME] : list;
  const sums = computeSums(ownGroupSums, { dates, listed: list, places: labels.length });
  const other = benchmark && computeSums(benchmark, { dates, listed: list, places: labels.length });
  return labels.map((group, position) => ({ group, weights: sums[position]!, benchmark: other && other[position]! }));
}

/** Returns the sum of each group over all dates. Groups without a weight on any date are left out. */
function getTotals(groupSums: GroupSums): Map<string, number> {
  const totals = groupSums.totals();
  return new Map(
    groupSums.groups.map((group, g) => [group, totals[g]!] as const).filter(([, sum]) => !Number.isNaN(sum)),
  );
}

interface ReportedGroups {
  readonly dates: number;
  readonly listed: readonly string[];
  /** Number of reported groups, including the combined group if there is one. */
  readonly places: number;
}

/** Returns the sums by reported group, [places][dates]. */
function computeSums(groupSums: GroupSums, { dates, listed, places }: ReportedGroups): Float64Array[] {
  const placeOfGroup = new Map(listed.map((group, position) => [group, position]));
  const groupAt = new Map(groupSums.groups.map((group, g) => [placeOfGroup.get(group), g]));
  const sums = Array.from({ length: places }, () => new Float64Array(dates));
  groupSums.addTo(
    sums,
    Int32Array.from(groupSums.groups, (group) => placeOfGroup.get(group) ?? places - 1),
  );
  return sums.map((ownSum, position) => {
    const group = groupAt.get(position);
    return group === undefined ? ownSum : groupSums.written(ownSum, group);
  });
}
