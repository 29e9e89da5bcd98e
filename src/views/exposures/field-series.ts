import type { Day } from '#domain/time/days.js';
import type { Engine } from '#kernels/engines/engine.js';
import { AVERAGE_COUNT } from '#kernels/sums/weighted-percentiles.js';
import { selectShownFigure, type DatedFigures, type FiguresMaker, type ShownFigures } from './dated-figures.js';

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
  /** Returns the securities of one side that have a weight. */
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

/** Weighted figures of a datapoint for both sides. If both sides hold the same securities, a date is read only once. */
export interface WeightedField {
  maker(figures: DatedFigures, side: SideName): FiguresMaker;
}

/** Position of a datapoint in the reader, and the maximum number of securities on a side. */
interface FieldOfSecurities {
  readonly field: number;
  readonly names: number;
}

/**
 * Creates the function that computes the weighted figures of a datapoint.
 * @param engine provides the memory
 */
export function computeWeightedField(
  engine: Engine,
  readOn: FieldReaderOnDate,
  { field, names }: FieldOfSecurities,
): WeightedField {
  const shares = engine.room(PERCENTILES.length);
  shares.set(PERCENTILES);
  const values = engine.room(names);
  const row = engine.room(FIELD_WIDTH);
  let knownOn: Day | undefined;
  let knownPositions: Int32Array | undefined;
  return {
    maker: (figures, side) => ({
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
