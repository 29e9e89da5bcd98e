import { STATISTICS, type Statistic } from '../../aggregates.js';
import { DIMENSIONLESS, multiplyUnits, type Unit } from '../units.js';
import type { OverTimeFunction } from './function-entry.js';

type OverTimeEntry = Pick<OverTimeFunction, 'name' | 'help' | 'example' | 'statistic'> & Partial<OverTimeFunction>;

const sessionsParameter: Unit = { money: 0, shares: 0, sessions: 1, years: 0 };
const copyUnit = ([unit]: readonly Unit[]): Unit => unit!;

const defineOverWindow = (entry: OverTimeEntry): OverTimeFunction => ({
  form: 'over_time',
  signature: `${entry.name}(x, window=60, lag=0)`,
  operands: ['number'],
  least: 1,
  most: 1,
  options: ['window', 'lag'],
  required: 'window',
  unit: copyUnit,
  ...entry,
});

/** Counts the values; missing if fewer than required. */
const fillCounts: Statistic = ({ cells, starts, length, enough }, out) => {
  for (let k = 0; k < starts.length; k++) {
    let presentCount = 0;
    for (let i = starts[k]!; i < starts[k]! + length; i++) if (!Number.isNaN(cells[i]!)) presentCount++;
    out[k] = presentCount < enough ? NaN : presentCount;
  }
};

/** Creates the statistic that returns the first or last value of each window. */
const createValueFrom =
  (end: 'first' | 'last'): Statistic =>
  ({ cells, starts, length }, out) => {
    for (let k = 0; k < starts.length; k++) {
      const [from, to, step] =
        end === 'first' ? [starts[k]!, starts[k]! + length - 1, 1] : [starts[k]! + length - 1, starts[k]!, -1];
      let position = from;
      while (position !== to && Number.isNaN(cells[position]!)) position += step;
      out[k] = cells[position]!;
    }
  };

/** Computes the slope of the least-squares line through the values by session. It is NaN for fewer than two values. */
const fillSlopes: Statistic = ({ cells, starts, length, enough }, out) => {
  for (let k = 0; k < starts.length; k++) {
    let [found, sumX, sumY] = [0, 0, 0];
    for (let i = 0; i < length; i++) {
      const value = cells[starts[k]! + i]!;
      if (Number.isNaN(value)) continue;
      found++;
      sumX += i;
      sumY += value;
    }
    const [meanX, meanY] = [sumX / found, sumY / found];
    let [products, squares] = [0, 0];
    for (let i = 0; i < length; i++) {
      const value = cells[starts[k]! + i]!;
      if (Number.isNaN(value)) continue;
      products += (i - meanX) * (value - meanY);
      squares += (i - meanX) * (i - meanX);
    }
    out[k] = found < Math.max(2, enough) ? NaN : products / squares;
  }
};

export const OVER_TIME_FUNCTIONS: readonly OverTimeFunction[] = [
  defineOverWindow({
    name: 'mean',
    help: 'Mean over trailing sessions.',
    example: 'mean(CLOSE * VOLUME, window=60)',
    aggregate: 'mean',
    statistic: STATISTICS.mean,
  }),
  defineOverWindow({
    name: 'median',
    help: 'Median over trailing sessions.',
    example: 'median(VALUE_TRADED, window=60)',
    aggregate: 'median',
    statistic: STATISTICS.median,
  }),
  defineOverWindow({
    name: 'std',
    help: 'Sample standard deviation over trailing sessions.',
    example: 'std(RETURN, window=252, lag=21)',
    aggregate: 'std',
    statistic: STATISTICS.std,
  }),
  defineOverWindow({
    name: 'sum',
    help: 'Sum over trailing sessions.',
    example: 'sum(VOLUME, window=21)',
    aggregate: 'sum',
    statistic: STATISTICS.sum,
  }),
  defineOverWindow({
    name: 'min',
    help: 'Smallest value over trailing sessions.',
    example: 'CLOSE / min(CLOSE, window=252)',
    aggregate: 'min',
    statistic: STATISTICS.min,
  }),
  defineOverWindow({
    name: 'max',
    help: 'Largest value over trailing sessions.',
    example: 'CLOSE / max(CLOSE, window=252)',
    aggregate: 'max',
    statistic: STATISTICS.max,
  }),
  defineOverWindow({
    name: 'count',
    help: 'Number of values over trailing sessions; missing if fewer than half of the sessions have a value.',
    example: 'count(CLOSE, window=252)',
    aggregate: 'count',
    statistic: fillCounts,
    unit: () => DIMENSIONLESS,
  }),
  defineOverWindow({
    name: 'first',
    help: 'First value of the trailing sessions.',
    example: 'CLOSE / first(CLOSE, window=21)',
    statistic: createValueFrom('first'),
    needsOne: true,
  }),
  {
    ...defineOverWindow({
      name: 'last',
      signature: 'last(x, lag=5) or last(x, window=60, lag=0)',
      help: 'x as known lag sessions before the decision date. With a window, the last value of the trailing sessions.',
      example: 'last(CLOSE, lag=21) / last(CLOSE, lag=252)',
      statistic: createValueFrom('last'),
      needsOne: true,
    }),
    required: 'lag',
  },
  defineOverWindow({
    name: 'slope',
    help: 'Slope per session of the least-squares line through the values of the trailing sessions.',
    example: 'slope(log(CLOSE), window=126)',
    statistic: fillSlopes,
    unit: ([unit]) => multiplyUnits(unit!, sessionsParameter, -1),
  }),
];
