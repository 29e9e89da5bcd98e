import { LIMITS } from '../refusals/limits.js';
import { createRollingBetas, type RollingBetas } from './rolling-betas.js';
import { addSessions, createRollingFolds, type Folding } from './rolling-folds.js';
import type { Series, SeriesTable } from './series.js';
import type { Window } from './windows.js';

export interface StatisticWindow extends Window {
  /** Securities, ascending, [n]. While they do not change, the caller must pass the identical array. */
  readonly columns: Int32Array;
}

export interface MarketWindow extends StatisticWindow {
  /**
   * Equally weighted securities to which BETA is relative. While they do not change, the caller must pass the identical
   * array.
   */
  readonly universe: Int32Array;
}

/**
 * Statistics of consecutive sessions: BETA, VOLATILITY and the product behind MOMENTUM. A function returns null if
 * memory is insufficient or a security is not among those for which sums are kept.
 */
export interface RollingStatistics {
  volatilities(window: StatisticWindow): Float64Array | null;
  /** Returns the products of growth factors. */
  growth(window: StatisticWindow): Float64Array | null;
  betas(window: MarketWindow): Float64Array | null;
}

/** Maximum number of cells per statistic: a year for 6,000 securities. */
const CELLS_MAX = 8_000_000;

/** Number of cells per security and session of the BETA window: the return, two sums, and a missing session. */
const BETA_CELLS = 4;

/**
 * Ratio of a variance to the sum of squares below which the variance is a rounding error. The returns are then
 * constant.
 */
const CONSTANT_RATIO = 1e-12;

/**
 * Creates statistics of windows that roll from session to session.
 * @param followed all securities that may be requested, ascending
 * @param periodsPerYear number of sessions per year
 * @source definitions in `aggregates.ts` and `beta.ts`; results agree up to rounding
 */
export function createRollingStatistics(
  table: Pick<SeriesTable, 'returns' | 'growth'>,
  followed: Int32Array,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): RollingStatistics {
  // If sums are kept for all securities that may enter, entries and exits cause no recomputation. Each of these
  // securities then costs as much per session as a held security costs per window.
  const findPositions = createPositionFinder(followed);
  const rollVolatility = createRolling(followed);
  const rollGrowth = createRolling(followed);
  const readReturns = createRowReader(() => table.returns('RETURN'));
  let squares: Folding | undefined;
  let factors: Folding | undefined;
  const betas = new Map<number, RollingBetas>();
  return {
    volatilities({ columns, ...window }) {
      const positions = findPositions(columns);
      const sums = positions && rollVolatility(window, null, (squares ??= foldSquares(readReturns)));
      return (
        sums &&
        computeVolatilities(sums, positions, { enough: Math.max(2, window.observationsMin), periods: periodsPerYear })
      );
    },
    growth({ columns, ...window }) {
      const positions = findPositions(columns);
      const folds =
        positions && rollGrowth(window, null, (factors ??= foldFactors(createRowReader(() => table.growth()))));
      return folds && computeProducts(folds, positions, Math.max(1, window.observationsMin));
    },
    betas({ columns, universe, ...window }) {
      const { length } = window;
      const positions = findPositions(columns);
      const universePositions = findPositions(universe);
      if (positions === null || universePositions === null || BETA_CELLS * followed.length * length > CELLS_MAX)
        return null;
      const rollBetas = betas.get(length) ?? createRollingBetas(table.returns('RETURN'), followed, length);
      betas.set(length, rollBetas);
      return rollBetas({ ...window, places: positions, universe: universePositions });
    },
  };
}

/**
 * Returns a function that returns the positions of securities among the followed securities. Returns null if one is not
 * followed.
 */
function createPositionFinder(followed: Int32Array): (columns: Int32Array) => Int32Array | null {
  const positionByColumn = new Map(Array.from(followed, (column, place) => [column, place]));
  const positionsByColumns = new WeakMap<Int32Array, Int32Array | null>();
  return (columns) => {
    let positions = positionsByColumns.get(columns);
    if (positions === undefined) {
      positions = columns.map((column) => positionByColumn.get(column) ?? -1);
      if (positions.includes(-1)) positions = null;
      positionsByColumns.set(columns, positions);
    }
    return positions;
  };
}

/** Computes annualised volatilities. @param sums count, sum and sum of squares of each security */
function computeVolatilities(
  sums: Float64Array,
  places: Int32Array,
  { enough, periods }: { readonly enough: number; readonly periods: number },
): Float64Array {
  const values = new Float64Array(places.length);
  const year = Math.sqrt(periods);
  for (let i = 0; i < values.length; i++) {
    const position = 3 * places[i]!;
    const count = sums[position]!;
    const square = sums[position + 2]!;
    const about = square - (sums[position + 1]! * sums[position + 1]!) / count;
    if (count < enough) values[i] = NaN;
    else values[i] = about <= CONSTANT_RATIO * square ? 0 : Math.sqrt(about / (count - 1)) * year;
  }
  return values;
}

/** Computes products; missing with too few values. @param folds count and product of each security */
function computeProducts(folds: Float64Array, places: Int32Array, enough: number): Float64Array {
  const values = new Float64Array(places.length);
  for (let i = 0; i < values.length; i++) {
    const position = 2 * places[i]!;
    values[i] = folds[position]! < enough ? NaN : folds[position + 1]!;
  }
  return values;
}

type RollingFold = (window: Window, version: unknown, folding: Folding) => Float64Array | null;

/** Creates the results over the windows of securities. Returns null if the windows are too wide for the memory. */
function createRolling(columns: Int32Array): RollingFold {
  const rollingFolds = createRollingFolds();
  return ({ end, length }, version, folding) => {
    if (columns.length * length * folding.empty.length > CELLS_MAX) return null;
    return rollingFolds.over({ from: Math.max(0, end - length + 1), end, length, columns, version }, folding);
  };
}

/** Creates the fold of count, sum and sum of squares. */
function foldSquares(valuesOn: ValueReader): Folding {
  return {
    empty: [0, 0, 0],
    add(sums, session, columns) {
      const values = valuesOn(session, columns);
      for (let i = 0, position = 0; i < values.length; i++, position += 3) {
        const value = values[i]!;
        if (value !== value) continue;
        sums[position]! += 1;
        sums[position + 1]! += value;
        sums[position + 2]! += value * value;
      }
    },
    join: addSessions,
  };
}

/** Creates the fold that counts and multiplies the growth factors. */
function foldFactors(valuesOn: ValueReader): Folding {
  return {
    empty: [0, 1],
    add(folds, session, columns) {
      const values = valuesOn(session, columns);
      for (let i = 0, position = 0; i < values.length; i++, position += 2) {
        const value = values[i]!;
        if (value !== value) continue;
        folds[position]! += 1;
        folds[position + 1]! *= value;
      }
    },
    join(out, folds, others) {
      for (let position = 0; position < out.length; position += 2) {
        out[position] = folds[position]! + others[position]!;
        out[position + 1] = folds[position + 1]! * others[position + 1]!;
      }
    },
  };
}

type ValueReader = (session: number, columns: Int32Array) => Float64Array;

/** Creates a function that returns the values of a series on a session, [n]; valid until the next call. */
function createRowReader(seriesOf: () => Series): ValueReader {
  let series: Series | undefined;
  let row = new Float64Array(0);
  return (session, columns) => {
    if (row.length !== columns.length) row = new Float64Array(columns.length);
    (series ??= seriesOf()).fill(session, columns, row);
    return row;
  };
}
