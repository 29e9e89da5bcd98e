import { LIMITS } from '../../limits.js';
import { allOf } from '../ranking.js';
import { createRollingFolds, type Fold, type RollingFolds } from './rolling-folds.js';
import type { Series, SeriesTable } from './series.js';
import type { Window } from './windows.js';

export interface StatisticWindow extends Window {
  /** Names, ascending, [n]: the same array as long as they do not change. */
  readonly columns: Int32Array;
}

export interface MarketWindow extends StatisticWindow {
  /** Returns that BETA is relative to, of the sessions of the window that there are. */
  readonly market: Float64Array;
  /** Names that they are of: the same array as long as they do not change. */
  readonly universe: Int32Array;
}

/** BETA, VOLATILITY and what MOMENTUM multiplies, for sessions that follow each other; null where room is lacking. */
export interface RollingStatistics {
  volatilities(window: StatisticWindow): Float64Array | null;
  /** Products of the growth factors. */
  growth(window: StatisticWindow): Float64Array | null;
  betas(window: MarketWindow): Float64Array | null;
}

/** Numbers kept for one statistic: a year of 6,000 names. */
const CELLS_MAX = 8_000_000;

/** Variance of the market below which it counts as not having moved. */
const FLAT = 1e-18;

/**
 * Sums of squares that cancel to less than this share of themselves are noise: the returns are constant.
 */
const CONSTANT = 1e-12;

const VOLATILITY = ['sum', 'sum', 'sum'] as const;
const GROWTH = ['sum', 'product'] as const;
const BETA = ['sum', 'sum', 'sum', 'sum', 'sum'] as const;

/** Sets of names that are asked for in turns: those of a run and those of its benchmark. */
const SIDES = 2;

/**
 * Statistics of windows that roll on from session to session.
 * @source the definitions of `aggregates.ts` and `beta.ts`, which these agree with up to rounding
 */
export function createRollingStatistics(
  table: Pick<SeriesTable, 'returns' | 'growth'>,
  names: number,
): RollingStatistics {
  // Names that come and go move nothing where all are followed: each costs a session what one held costs a window.
  const all = allOf({ length: names });
  const ofVolatility = createSides(VOLATILITY);
  const ofGrowth = createSides(GROWTH);
  const ofBeta = createSides(BETA);
  const [squares, factors] = [squaresOf(table), factorsOf(table)];
  return {
    volatilities(window) {
      const sums = ofVolatility({ ...window, columns: all }, null, squares);
      const enough = Math.max(2, window.observationsMin);
      return sums && each(window, (i) => (sums[i]! < enough ? NaN : annualDeviation(sums, i, names)));
    },
    growth(window) {
      const folds = ofGrowth({ ...window, columns: all }, null, factors);
      const enough = Math.max(1, window.observationsMin);
      return folds && each(window, (i) => (folds[i]! < enough ? NaN : folds[names + i]!));
    },
    betas({ market, universe, ...window }) {
      const sums = ofBeta(window, universe, productsWith(table, market, window.end));
      const enough = Math.max(2, window.observationsMin);
      if (sums === null) return null;
      const n = window.columns.length;
      const slopes = new Float64Array(n);
      for (let i = 0; i < n; i++) slopes[i] = sums[i]! < enough ? NaN : slope(sums, i, n);
      return slopes;
    },
  };
}

function each({ columns }: StatisticWindow, of: (column: number) => number): Float64Array {
  const values = new Float64Array(columns.length);
  for (let i = 0; i < values.length; i++) values[i] = of(columns[i]!);
  return values;
}

/** Of count, sum and sum of squares. */
function annualDeviation(sums: Float64Array, i: number, n: number): number {
  const [count, sum, square] = [sums[i]!, sums[n + i]!, sums[2 * n + i]!];
  const about = square - (sum * sum) / count;
  return about <= CONSTANT * square ? 0 : Math.sqrt(about / (count - 1)) * Math.sqrt(LIMITS.PERIODS_PER_YEAR);
}

/** Of count, sum, that of the market, of their products and of the squares of the market. */
function slope(sums: Float64Array, i: number, n: number): number {
  const [count, own, market] = [sums[i]!, sums[n + i]!, sums[2 * n + i]!];
  const moved = sums[4 * n + i]! - (market * market) / count;
  return moved / (count - 1) >= FLAT ? (sums[3 * n + i]! - (own * market) / count) / moved : NaN;
}

/** Writes the values of a session, [folds x n]. */
type Fill = (session: number, row: Float64Array, columns: Int32Array) => void;
type OverSides = (window: StatisticWindow, version: unknown, fill: Fill) => Float64Array | null;

/** Windows of the sets of names that are asked for in turns; null where they are too wide to be kept. */
function createSides(folds: readonly Fold[]): OverSides {
  const sides: { columns: Int32Array; readonly rolling: RollingFolds }[] = [];
  return ({ end, length, columns }, version, fill) => {
    if (columns.length * length * folds.length > CELLS_MAX) return null;
    const at = sides.findIndex((side) => side.columns === columns);
    const [known] = at >= 0 || sides.length === SIDES ? sides.splice(Math.max(0, at), 1) : [];
    const side = known ?? { columns, rolling: createRollingFolds(folds) };
    side.columns = columns;
    sides.push(side);
    return side.rolling.over({ from: Math.max(0, end - length + 1), end, length, columns, version }, (session, row) =>
      fill(session, row, columns),
    );
  };
}

/** Count, return and square. */
function squaresOf(table: Pick<SeriesTable, 'returns'>): Fill {
  return (session, row, columns) => {
    const n = columns.length;
    countedInto(row, table.returns(), { session, columns });
    for (let i = 0; i < n; i++) row[2 * n + i] = row[n + i]! * row[n + i]!;
  };
}

/** Count and growth factor, 1 where there is none. */
function factorsOf(table: Pick<SeriesTable, 'growth'>): Fill {
  return (session, row, columns) => {
    const n = columns.length;
    countedInto(row, table.growth(), { session, columns });
    for (let i = 0; i < n; i++) if (row[i] === 0) row[n + i] = 1;
  };
}

/** Count, return, that of the market, their product and the square of the market's. */
function productsWith(table: Pick<SeriesTable, 'returns'>, market: Float64Array, end: number): Fill {
  const first = end - market.length + 1;
  return (session, row, columns) => {
    const n = columns.length;
    const move = market[session - first]!;
    if (Number.isNaN(move)) {
      row.fill(0);
      return;
    }
    countedInto(row, table.returns(), { session, columns });
    for (let i = 0; i < n; i++) {
      const moved = row[i] === 1 ? move : 0;
      row[2 * n + i] = moved;
      row[3 * n + i] = row[n + i]! * moved;
      row[4 * n + i] = moved * moved;
    }
  };
}

interface OnSession {
  readonly session: number;
  readonly columns: Int32Array;
}

/** @param row [folds x n], of which the first are 1 where there is a value, the second the values, 0 where there is none */
function countedInto(row: Float64Array, series: Series, { session, columns }: OnSession): void {
  const n = columns.length;
  series.fill(session, columns, row.subarray(n, 2 * n));
  for (let i = 0; i < n; i++) {
    const value = row[n + i]!;
    const has = value === value;
    row[i] = has ? 1 : 0;
    if (!has) row[n + i] = 0;
  }
}
