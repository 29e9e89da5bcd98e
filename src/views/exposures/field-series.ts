import { weightedPercentiles } from '#domain/analytics/weighted-percentiles.js';
import type { Day } from '#domain/days.js';
import { shownFigure, type DatedFigures, type FiguresMaker, type Shown } from './dated-figures.js';
import type { Side } from './sides.js';

/** What a datapoint is weighted by: the holdings of the run, or those of the benchmark. */
export type SideName = 'own' | 'benchmark';

/** Reads datapoints as known at the close of a day. */
export interface FieldReader {
  readonly fields: readonly string[];
  /**
   * @param held Weights of the run on the day: what a datapoint is relative to, BETA for instance, are these names.
   */
  on(day: Day, held: Float64Array): FieldsOfDay;
}

export interface FieldsOfDay {
  /**
   * Values of a side's names, [names], NaN where missing or without a weight; valid until the next call.
   * @param field Position in the fields.
   */
  values(field: number, side: SideName, weights: Float64Array): Float64Array;
}

const PERCENTILES = [0.1, 0.25, 0.5, 0.75, 0.9];

/** Mean, coverage and percentiles. */
export const FIELD_WIDTH = 2 + PERCENTILES.length;

/** A datapoint on dates, weighted by what is held; NaN where nothing held has a value. */
export interface FieldSeries {
  readonly mean: Float64Array;
  /** Share of the weights, by their magnitude, that has a value. */
  readonly coverage: Float64Array;
  readonly percentiles: Readonly<Record<'p10' | 'p25' | 'p50' | 'p75' | 'p90', Float64Array>>;
}

/** Where the figures of a datapoint come from. */
export interface FieldOfSide {
  /** Position in the fields of the reader. */
  readonly field: number;
  readonly name: SideName;
  readonly side: Side;
}

/** A datapoint weighted by what a side holds. @param readOn what is read of a day, once for all datapoints */
export function fieldMaker(
  figures: DatedFigures,
  readOn: (day: Day, held: Float64Array) => FieldsOfDay,
  { field, name, side }: FieldOfSide,
): FiguresMaker {
  const { values, known } = figures;
  const ordered = weightedPercentiles(side.names.length, PERCENTILES);
  const row = new Float64Array(PERCENTILES.length);
  return {
    figures,
    make(date) {
      const weights = date[name];
      const read = readOn(date.day, date.own).values(field, name, weights);
      ordered.into(row, read, weights);
      values[date.at] = ordered.average[0]!;
      values[known.length + date.at] = ordered.average[1]!;
      for (let p = 0; p < row.length; p++) values[(2 + p) * known.length + date.at] = row[p]!;
    },
  };
}

export function fieldSeries(figures: DatedFigures, shown: Shown): FieldSeries {
  const of = (figure: number): Float64Array => shownFigure(figures, figure, shown);
  return {
    mean: of(0),
    coverage: of(1),
    percentiles: { p10: of(2), p25: of(3), p50: of(4), p75: of(5), p90: of(6) },
  };
}
