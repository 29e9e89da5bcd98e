import { computeQuantile, computeMedian as medianOf } from '../../../numbers/order-statistics.js';
import { computeCumulativeShares, subtractMean, computeSpread, transformValues } from '../../transforms.js';
import type { FunctionNode } from '../tree.js';
import { DIMENSIONLESS, type Unit } from '../units.js';
import type { SectionFunction } from './function-entry.js';

type CrossSectionalFunctionDefinition = Pick<SectionFunction, 'name' | 'help' | 'example' | 'across'> &
  Partial<SectionFunction>;

const copyUnit = ([unit]: readonly Unit[]): Unit => unit!;

/** Creates a function of one operand, with optional groups. */
const defineAcross = (entry: CrossSectionalFunctionDefinition): SectionFunction => ({
  form: 'cross_section',
  signature: `${entry.name}(x, by=COLUMN, over="selection")`,
  operands: ['number'],
  least: 1,
  most: 1,
  options: ['by', 'over'],
  unit: () => DIMENSIONLESS,
  ...entry,
});

/**
 * Creates a function that returns a single number for all securities of the set, including those without a value. If no
 * security has a value, the number is missing.
 */
const createSingleValue =
  (summarise: (present: Float64Array) => number): SectionFunction['across'] =>
  (values) => {
    const presentValues = values.filter((value) => !Number.isNaN(value));
    return new Float64Array(values.length).fill(presentValues.length === 0 ? NaN : summarise(presentValues));
  };

const sumValues = (present: Float64Array): number => present.reduce((total, value) => total + value, 0);

const winsoriseFunction = defineAcross({
  name: 'winsorise',
  signature: 'winsorise(x, k) or winsorise(x, low=0.05, high=0.95), both with by= and over=',
  help: 'x, limited to k standard deviations from the mean, or to the range between the percentiles low and high.',
  example: 'winsorise(zscore(DIVIDEND_YIELD), 3)',
  operands: ['number', 'constant'],
  most: 2,
  options: ['by', 'over', 'low', 'high'],
  unit: copyUnit,
  problem({ operands, low, high }) {
    const isAtDeviations = operands.length === 2;
    const isAtPercentiles = low !== undefined || high !== undefined;
    if (isAtDeviations === isAtPercentiles) return 'needs either a number of standard deviations, or low= and high=';
    if (isAtPercentiles && (low ?? 0) >= (high ?? 1)) return `has low=${low ?? 0} at or above high=${high ?? 1}`;
    return isAtDeviations && !(readDeviations(operands) > 0)
      ? 'needs a positive number of standard deviations'
      : undefined;
  },
  across(values, { operands, low = 0, high = 1 }) {
    const [least, most] =
      operands.length === 2
        ? computeBandAroundMean(values, readDeviations(operands))
        : computePercentiles(values, low, high);
    return values.map((value) => Math.min(Math.max(value, least), most));
  },
});

function readDeviations(operands: FunctionNode['operands']): number {
  const k = operands[1];
  return k?.node === 'value' && typeof k.value === 'number' ? k.value : NaN;
}

function computeBandAroundMean(values: Float64Array, k: number): [number, number] {
  const { mean, deviation } = computeSpread(values);
  return [mean - k * deviation, mean + k * deviation];
}

function computePercentiles(values: Float64Array, low: number, high: number): [number, number] {
  const sortedValues = values.filter((value) => !Number.isNaN(value)).sort();
  return [computeQuantile(sortedValues, low), computeQuantile(sortedValues, high)];
}

export const CROSS_SECTIONAL_FUNCTIONS: readonly SectionFunction[] = [
  defineAcross({
    name: 'zscore',
    help: 'Distance from the mean in standard deviations (population); 0 if all values are equal.',
    example: 'zscore(DIVIDEND_YIELD, by=SECTOR)',
    across: (values) => transformValues(values, 'zscore'),
  }),
  defineAcross({
    name: 'percentile',
    help: 'Fraction of the other securities with a lower rank, from 0 to 1; 1 for a single security.',
    example: 'percentile(VOLATILITY(window=126))',
    across: (values) => transformValues(values, 'percentile'),
  }),
  defineAcross({
    name: 'rank',
    help: 'Rank: 1 for the largest value. Equal values have the same rank.',
    example: 'rank(MARKET_CAP, by=COUNTRY, over="universe")',
    across: (values) => transformValues(values, 'rank'),
  }),
  winsoriseFunction,
  defineAcross({
    name: 'demean',
    help: 'Distance from the mean.',
    example: 'demean(DIVIDEND_YIELD, by=COUNTRY)',
    unit: copyUnit,
    across: subtractMean,
  }),
  defineAcross({
    name: 'share',
    help: 'Fraction of the sum of the values.',
    example: 'share(FREE_FLOAT_MARKET_CAP, over="universe")',
    across(values) {
      const total = sumValues(values.filter((value) => !Number.isNaN(value)));
      return values.map((value) => (total === 0 ? NaN : value / total));
    },
  }),
  defineAcross({
    name: 'coverage',
    help: 'Fraction of the sum in x and all larger values. Equal values have the same fraction.',
    example: 'coverage(FREE_FLOAT_MARKET_CAP, by=SECTOR, over="universe")',
    across: computeCumulativeShares,
  }),
  defineAcross({
    name: 'sum',
    help: 'Sum of the values. Every security of the set has the same result.',
    example: 'FREE_FLOAT_MARKET_CAP / sum(FREE_FLOAT_MARKET_CAP, by=SECTOR)',
    unit: copyUnit,
    across: createSingleValue(sumValues),
  }),
  defineAcross({
    name: 'mean',
    help: 'Mean of the values. Every security of the set has the same result.',
    example: 'coalesce(DIVIDEND_YIELD, mean(DIVIDEND_YIELD, by=SECTOR))',
    unit: copyUnit,
    across: createSingleValue((present) => sumValues(present) / present.length),
  }),
  defineAcross({
    name: 'median',
    help: 'Median of the values. Every security of the set has the same result.',
    example: 'MARKET_CAP / median(MARKET_CAP, over="universe")',
    unit: copyUnit,
    across: createSingleValue(medianOf),
  }),
];
