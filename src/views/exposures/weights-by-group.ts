import type { Day } from '#domain/days.js';
import { groupNumbers, type GroupOfDay } from '#domain/market/groups-by-day.js';
import { withFigureText, type DatedFigures, type FiguresMaker } from './dated-figures.js';
import type { SideName } from './field-series.js';
import type { Side } from './sides.js';

/** Groups of a side's names over the days of a run. */
export interface SideGroups {
  readonly groups: readonly string[];
  /** Begins with the first day: sums of the weights by group into a row, NaN where none of its names has one. */
  summing(): (day: Day, weights: Float64Array, row: Float64Array) => void;
}

/** @param days all that the groups are numbered by, so that the numbers are the same whichever of them are shown */
export function sideGroups(names: readonly string[], days: Iterable<Day>, groupOf: GroupOfDay): SideGroups {
  const numbers = groupNumbers();
  const numbersOn = numbers.byDay(names, groupOf);
  for (const day of days) numbersOn(day);
  return {
    groups: numbers.groups,
    summing() {
      const on = numbers.byDay(names, groupOf);
      return (day, weights, row) => sumInto(row, weights, on(day));
    },
  };
}

function sumInto(row: Float64Array, weights: Float64Array, groups: Int32Array): void {
  row.fill(NaN);
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!;
    if (weight === 0) continue;
    const group = groups[i]!;
    const sum = row[group]!;
    row[group] = sum === sum ? sum + weight : weight;
  }
}

/** Weights by group on dates. */
export interface GroupRows {
  readonly groups: readonly string[];
  /** Begins a pass over the dates: their sums, [groups], to be asked for in order, each valid until the next one. */
  pass(): (k: number) => Float64Array;
  /** The sums of a group as they are to be written, whose text may be kept; 0 where none of its names has a weight. */
  written(sums: Float64Array, group: number): Float64Array;
}

/** The sums, worked out at each pass. */
export function summedRows({ groups, summing }: SideGroups, side: Side, days: ArrayLike<Day>): GroupRows {
  return {
    groups,
    pass() {
      const row = new Float64Array(groups.length);
      const weightsAt = side.pass();
      const sum = summing();
      return (k) => {
        sum(days[k]!, weightsAt(k), row);
        return row;
      };
    },
    written: (sums) => sums,
  };
}

/** The sums as figures of the dates. */
export function groupsMaker(figures: DatedFigures, { groups, summing }: SideGroups, name: SideName): FiguresMaker {
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

/** The same where they are figures already. @param positions of the dates in those of the run */
export function keptRows(groups: readonly string[], figures: DatedFigures, positions: Int32Array): GroupRows {
  const row = new Float64Array(groups.length);
  const { values, known } = figures;
  return {
    groups,
    pass: () => (k) => {
      for (let g = 0; g < row.length; g++) row[g] = values[g * known.length + positions[k]!]!;
      return row;
    },
    written: (sums, group) => withFigureText(sums, figures, group, positions),
  };
}

export interface GroupWeights {
  readonly group: string;
  /** Sum of the weights on each date. */
  readonly weights: Float64Array;
  /** The same of the benchmark, null without one. */
  readonly benchmark: Float64Array | null;
}

/** The groups that are not listed one by one. */
const OTHERS = 'OTHERS';

/**
 * Weights of the groups that weigh most on average, and of the others together.
 * @cost reads the rows twice: for the averages that order the groups, and for those that are reported
 */
export function weightsByGroup(
  own: GroupRows,
  benchmark: GroupRows | null,
  { dates, groups: most }: { readonly dates: number; readonly groups: number },
): GroupWeights[] {
  const totals = totalsOf(own, dates);
  const others = benchmark && totalsOf(benchmark, dates);
  const held = [...new Set([...totals.keys(), ...(others?.keys() ?? [])])];
  const ordered = held.toSorted((a, b) => (totals.get(b) ?? 0) - (totals.get(a) ?? 0) || (a < b ? -1 : 1));
  const listed = ordered.slice(0, most);
  const labels = ordered.length > listed.length ? [...listed, OTHERS] : listed;
  const sums = sumsOf(own, { dates, listed, places: labels.length });
  const other = benchmark && sumsOf(benchmark, { dates, listed, places: labels.length });
  return labels.map((group, place) => ({ group, weights: sums[place]!, benchmark: other && other[place]! }));
}

/** Sums over the dates of the groups of which a name has a weight on one. */
function totalsOf({ groups, pass }: GroupRows, dates: number): Map<string, number> {
  const sums = new Float64Array(groups.length).fill(NaN);
  const rowAt = pass();
  for (let k = 0; k < dates; k++) addRow(sums, rowAt(k));
  return new Map(groups.map((group, g) => [group, sums[g]!] as const).filter(([, sum]) => !Number.isNaN(sum)));
}

function addRow(sums: Float64Array, row: Float64Array): void {
  for (let g = 0; g < row.length; g++) {
    const value = row[g]!;
    if (value === value) sums[g] = sums[g] === sums[g] ? sums[g]! + value : value;
  }
}

interface Placed {
  readonly dates: number;
  readonly listed: readonly string[];
  /** With that of the others, where there are some. */
  readonly places: number;
}

/** Sums by place, [places][dates]. */
function sumsOf({ groups, pass, written }: GroupRows, { dates, listed, places }: Placed): Float64Array[] {
  const placeOfGroup = new Map(listed.map((group, place) => [group, place]));
  const placeOf = Int32Array.from(groups, (group) => placeOfGroup.get(group) ?? places - 1);
  const groupAt = new Map(groups.map((group, g) => [placeOfGroup.get(group), g]));
  const sums = Array.from({ length: places }, () => new Float64Array(dates));
  const rowAt = pass();
  for (let k = 0; k < dates; k++) {
    const row = rowAt(k);
    for (let g = 0; g < row.length; g++) {
      const value = row[g]!;
      if (value === value) sums[placeOf[g]!]![k]! += value;
    }
  }
  return sums.map((own, place) => {
    const group = groupAt.get(place);
    return group === undefined ? own : written(own, group);
  });
}
