import { computeEffectiveAssets, computeGrossEffectiveAssets } from '#domain/analytics/concentration.js';
import type { Day } from '#domain/base/time.js';
import { createGroupNumbers, type GroupOfDay } from '#domain/market/market-data.js';
import type { Engine } from '#kernels/engines/engine.js';
import { AVERAGE_COUNT } from '#kernels/sums/weighted-percentiles.js';
import {
  addFigureText,
  type DatedFigures,
  type ExposureSide,
  type FiguresMaker,
  selectShownFigure,
  type ShownFigures,
} from './dated-figures.js';

/**
 * Positions of the concentration figures. These are the sum of squared weights, the largest weight and the effective
 * number of assets. The last two also exist for gross weights.
 */
export const CONCENTRATION = { herfindahl: 0, largest: 1, effective: 2, grossLargest: 3, grossEffective: 4 } as const;
export const CONCENTRATION_WIDTH = 5;

export function createConcentrationMaker(figures: DatedFigures): FiguresMaker {
  const { values, known } = figures;
  return {
    figures,
    make({ at, own }) {
      let sumOfSquares = 0;
      let largest = 0;
      let leastWeight = 0;
      let grossWeight = 0;
      for (let i = 0; i < own.length; i++) {
        const weight = own[i]!;
        sumOfSquares += weight * weight;
        grossWeight += Math.abs(weight);
        if (weight > largest) largest = weight;
        else if (weight < leastWeight) leastWeight = weight;
      }
      const setFigure = (figure: number, value: number): void => void (values[figure * known.length + at] = value);
      setFigure(CONCENTRATION.herfindahl, sumOfSquares);
      setFigure(CONCENTRATION.largest, largest);
      setFigure(CONCENTRATION.effective, computeEffectiveAssets(sumOfSquares));
      setFigure(CONCENTRATION.grossLargest, Math.max(largest, -leastWeight));
      setFigure(CONCENTRATION.grossEffective, computeGrossEffectiveAssets(grossWeight, sumOfSquares));
    },
  };
}

/**
 * Creates the function that computes the active share: half the sum of absolute weight differences, over the securities
 * of both sides.
 */
export function createActiveShareMaker(
  figures: DatedFigures,
  ownExposureSide: ExposureSide,
  benchmark: ExposureSide,
): FiguresMaker {
  const columnByName = new Map(ownExposureSide.names.map((name, position) => [name, position]));
  const ownPositions = Int32Array.from(benchmark.names, (name) => columnByName.get(name) ?? -1);
  const active = new Float64Array(ownExposureSide.names.length);
  const areSame = ownPositions.length === active.length && ownPositions.every((position, i) => position === i);
  return {
    figures,
    make(date) {
      if (areSame) {
        figures.values[date.at] = computeAlignedActiveShare(date.own, date.benchmark);
        return;
      }
      active.set(date.own);
      figures.values[date.at] = computeActiveShare(active, date.benchmark, ownPositions);
    },
  };
}

/** Computes the active share if both sides have the same securities in the same order. */
function computeAlignedActiveShare(ownWeights: Float64Array, benchmark: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < ownWeights.length; i++) sum += Math.abs(ownWeights[i]! - benchmark[i]!);
  return sum / 2;
}

/**
 * Computes the active share.
 * @param active weights of one side, which are overwritten
 * @param ownPositions positions of the other side's securities in `active`; -1 if absent
 */
function computeActiveShare(active: Float64Array, other: Float64Array, ownPositions: Int32Array): number {
  let sum = 0;
  for (let i = 0; i < other.length; i++) {
    const column = ownPositions[i]!;
    if (column >= 0) active[column]! -= other[i]!;
    else sum += Math.abs(other[i]!);
  }
  for (let i = 0; i < active.length; i++) sum += Math.abs(active[i]!);
  return sum / 2;
}

/** Side of a comparison: the holdings of the run or those of the benchmark. */
export type SideName = 'own' | 'benchmark';

/** Reads datapoints as known at the close of a day. */
export interface FieldReader {
  readonly fields: readonly string[];
  /**
   * Returns true if the value of a security does not depend on other securities. BETA does: it depends on the universe
   * of the run's index.
   */
  standsAlone(field: number): boolean;
  /**
   * Reads the data of a day.
   * @param weights weights of the run on the day
   */
  on(day: Day, weights: Float64Array): FieldsOfDay;
}

/** Data of a day. It is valid until the next day is read. */
export interface FieldsOfDay {
  held(side: SideName, weights: Float64Array): HeldSecurities;
  /**
   * Reads the values of held securities.
   * @param field position of the datapoint in `fields`
   * @param out array of at least [n] values, of which the first n are overwritten; NaN if missing
   */
  values(field: number, securities: HeldSecurities, out: Float64Array): void;
}

export interface HeldSecurities {
  /**
   * Columns of the securities. The array is the same object as long as the securities are the same, also for the other
   * side.
   */
  readonly columns: Int32Array;
  /** Weights, at least [n]. */
  readonly weights: Float64Array;
  /** Number n of columns, including securities at the end that are not in the market. */
  readonly count: number;
}

const PERCENTILES = Float64Array.of(0.1, 0.25, 0.5, 0.75, 0.9);

/** Number of figures of a datapoint: averages and percentiles. */
export const FIELD_WIDTH = AVERAGE_COUNT + PERCENTILES.length;

/** Weighted figures of a datapoint by date. They are NaN if no holding has a value. */
export interface FieldSeries {
  readonly mean: Float64Array;
  /** Fraction of the absolute weights with a value. */
  readonly coverage: Float64Array;
  readonly percentiles: Readonly<Record<'p10' | 'p25' | 'p50' | 'p75' | 'p90', Float64Array>>;
}

/** Function that returns the data of a day. The day is read only once for all datapoints. */
type FieldReaderOnDate = (day: Day, weights: Float64Array) => FieldsOfDay;

/** Position of a datapoint in the reader, and the maximum number of securities on a side. */
interface FieldOfSecurities {
  readonly field: number;
  readonly names: number;
}

/**
 * Creates the function that computes the weighted figures of a datapoint.
 * @param engine provides the memory
 */
export function computeWeightedField(engine: Engine, readOn: FieldReaderOnDate, { field, names }: FieldOfSecurities) {
  const shares = engine.room(PERCENTILES.length);
  shares.set(PERCENTILES);
  const values = engine.room(names);
  const row = engine.room(FIELD_WIDTH);
  let knownOn: Day | undefined;
  let knownPositions: Int32Array | undefined;
  return {
    maker: (figures: DatedFigures, side: SideName): FiguresMaker => ({
      figures,
      make({ at, day, own, [side]: sideWeights }) {
        const fieldsOfDay = readOn(day, own);
        const { columns, weights, count } = fieldsOfDay.held(side, sideWeights);
        if (knownOn !== day || knownPositions !== columns) {
          fieldsOfDay.values(field, { columns, weights, count }, values);
          knownOn = day;
          knownPositions = columns;
        }
        engine.weightedPercentiles({ values, weights, count }, shares, row);
        const dates = figures.known.length;
        for (let f = 0; f < row.length; f++) figures.values[f * dates + at] = row[f]!;
      },
    }),
  };
}

export function createFieldSeries(figures: DatedFigures, shownFigures: ShownFigures): FieldSeries {
  const getFigure = (figure: number): Float64Array => selectShownFigure(figures, figure, shownFigures);
  return {
    mean: getFigure(0),
    coverage: getFigure(1),
    percentiles: { p10: getFigure(2), p25: getFigure(3), p50: getFigure(4), p75: getFigure(5), p90: getFigure(6) },
  };
}

/** Groups of the securities of a side over the days of a run. */
interface SideGroups {
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
