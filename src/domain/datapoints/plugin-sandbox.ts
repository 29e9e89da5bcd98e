import { loadSandbox } from '#base/sandbox/quickjs-sandbox.js';
import type { NativeFunction } from '#base/sandbox/sandbox.js';
import { raiseToPower } from '#kernels/power.js';
import { LIMITS } from '../base/limits.js';
import { computeBetaSlope } from './windows.js';
import { CROSS_SECTIONAL_FUNCTIONS, OVER_TIME_FUNCTIONS } from './functions.js';

/**
 * Functions that plug-ins call as members of `rows`. They work on lists of numbers in rows of `length` values: the
 * windows of securities or, after `transpose`, the securities of each session. Functions that also exist in expressions
 * share their code and are bit-identical. All others use only basic arithmetic, square roots and `raiseToPower`, which
 * are bit-identical on every machine.
 */
export interface RowFunction extends NativeFunction {
  /** Parameters in order, lists first; the name of an optional parameter ends with `?`. */
  readonly parameters: readonly string[];
  readonly help: string;
}

const SORTING_STEPS = 10;

/** Returns the length of a row; if omitted, all values form one row. */
const readLength = (length: number | undefined, all: number): number =>
  length === undefined || Number.isNaN(length) ? Math.max(1, all) : length;

/** Returns the minimum number of values of a statistic. Default: 1. */
const readLeast = (least: number | undefined): number => (least === undefined || Number.isNaN(least) ? 1 : least);

/** Returns the reason why a number is not a whole number within a range. Returns undefined if it is one. */
function describeNumberFault(
  name: string,
  value: number | undefined,
  least: number,
  most = Infinity,
): string | undefined {
  if (Number.isInteger(value) && value! >= least && value! <= most) return undefined;
  const rangeText = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  return `${name} is ${value}; a whole number ${rangeText} is needed`;
}

/** Returns the reason why a list cannot be divided into rows of a length. Returns undefined if it can. */
function describeRowsFault(all: number, length: number): string | undefined {
  const fault = describeNumberFault('length', length, 1);
  return fault ?? (all % length === 0 ? undefined : `${all} values are not rows of ${length}`);
}

/**
 * Returns the reason why a list has the wrong length. It must be as long as another list or as one of its rows. Returns
 * undefined if the length is right.
 */
function describePairFault(all: number, other: number, length: number): string | undefined {
  if (other === all || other === length) return undefined;
  return `the second list has ${other} values; ${all} are needed, or one row of ${length}`;
}

const listStarts = (rowCount: number, length: number): Int32Array =>
  Int32Array.from({ length: rowCount }, (_, k) => k * length);

function createStatistics(): RowFunction[] {
  const helps: Readonly<Record<string, string>> = {
    mean: 'Mean.',
    median: 'Median.',
    std: 'Sample standard deviation; missing for fewer than two values.',
    sum: 'Sum.',
    min: 'Smallest value.',
    max: 'Largest value.',
    count: 'Number of values.',
    first: 'First value.',
    last: 'Last value.',
    slope: 'Slope of the least-squares line by position; missing for fewer than two values.',
  };
  return OVER_TIME_FUNCTIONS.map(({ name, statistic }) => ({
    name,
    help: helps[name]!,
    parameters: ['values', 'length?', 'least?'],
    lists: 1,
    stepsPerValue: name === 'median' ? SORTING_STEPS : 1,
    size([all], [given, least]) {
      const length = readLength(given, all!);
      return describeNumberFault('least', readLeast(least), 1) ?? describeRowsFault(all!, length) ?? all! / length;
    },
    compute([cells], [given, least], out) {
      const length = readLength(given, cells!.length);
      statistic({ cells: cells!, starts: listStarts(out.length, length), length, enough: readLeast(least) }, out);
    },
  }));
}

/** Function that computes a number from a row and a row of another list. */
type PairFunction = (row: Float64Array, other: Float64Array, least: number) => number;

const definePair = (name: string, help: string, pairFunction: PairFunction): RowFunction => ({
  name,
  help,
  parameters: ['values', 'others', 'length?', 'least?'],
  lists: 2,
  stepsPerValue: 1,
  size([all, others], [given, least]) {
    const length = readLength(given, all!);
    const fault = describeNumberFault('least', readLeast(least), 1) ?? describeRowsFault(all!, length);
    return fault ?? describePairFault(all!, others!, length) ?? all! / length;
  },
  compute([values, others], [given, least], out) {
    const length = readLength(given, values!.length);
    for (let k = 0; k < out.length; k++) {
      const position = k * length;
      const row = values!.subarray(position, position + length);
      const otherRow = others!.length === values!.length ? others!.subarray(position, position + length) : others!;
      out[k] = pairFunction(row, otherRow, readLeast(least));
    }
  },
});

const sumProducts: PairFunction = (row, other, least) => {
  let [sum, count] = [0, 0];
  for (let t = 0; t < row.length; t++) {
    const product = row[t]! * other[t]!;
    if (product !== product) continue;
    sum += product;
    count++;
  }
  return count < least ? NaN : sum;
};

const computeRowSlope: PairFunction = (row, other, least) =>
  computeBetaSlope(
    { cells: row, start: 0 },
    { cells: other, start: 0 },
    { length: row.length, enough: Math.max(2, least) },
  );

/** Returns the correlation. Its magnitude is the square root of the product of both slopes, and its sign is theirs. */
const computeCorrelation: PairFunction = (row, other, least) => {
  const slope = computeRowSlope(row, other, least);
  const back = computeRowSlope(other, row, least);
  return Math.sign(slope) * Math.min(1, Math.sqrt(slope * back));
};

const PAIR_FUNCTIONS: readonly RowFunction[] = [
  definePair('dot', 'Sum of the products.', sumProducts),
  definePair(
    'correlation',
    'Correlation; missing for fewer than two pairs, or if one of the rows is constant.',
    computeCorrelation,
  ),
  definePair('beta', 'Slope of the least-squares line of `values` on `others`, as for BETA.', computeRowSlope),
];

/** Creates a function that returns a list of equal length, computed row by row. */
const defineMapped = (
  name: string,
  help: string,
  ofRow: (row: Float64Array, out: Float64Array) => void,
  stepsPerValue = 1,
): RowFunction => ({
  name,
  help,
  parameters: ['values', 'length?'],
  lists: 1,
  stepsPerValue,
  size: ([all], [given]) => describeRowsFault(all!, readLength(given, all!)) ?? all!,
  compute([values], [given], out) {
    const length = readLength(given, values!.length);
    for (let position = 0; position < out.length; position += length)
      ofRow(values!.subarray(position, position + length), out.subarray(position, position + length));
  },
});

function createCrossSections(): RowFunction[] {
  const helps: readonly (readonly [string, string, number])[] = [
    ['rank', 'Rank: 1 for the largest value of a row. Equal values have the same rank.', SORTING_STEPS],
    ['percentile', 'Fraction of the other values of a row with a lower rank, from 0 to 1.', SORTING_STEPS],
    ['zscore', 'Distance from the mean of a row in standard deviations (population).', 1],
    ['demean', 'Distance from the mean of a row.', 1],
    ['share', 'Fraction of the sum of a row.', 1],
  ];
  return helps.map(([name, help, steps]) => {
    const { across } = CROSS_SECTIONAL_FUNCTIONS.find((entry) => entry.name === name)!;
    const computeRow = (row: Float64Array, out: Float64Array): void =>
      out.set(across(row, { node: 'function', name, operands: [] }));
    return defineMapped(name, help, computeRow, steps);
  });
}

/**
 * Creates a function that combines the values of a row up to each position. A missing value stays missing, and later
 * results ignore it.
 */
const createRunning =
  (empty: number, join: (total: number, value: number) => number) =>
  (row: Float64Array, out: Float64Array): void => {
    let total = empty;
    for (let t = 0; t < row.length; t++) {
      const value = row[t]!;
      out[t] = value === value ? (total = join(total, value)) : NaN;
    }
  };

const RUNNING_FUNCTIONS: readonly RowFunction[] = [
  defineMapped(
    'runningSum',
    'Sum of a row up to each position.',
    createRunning(0, (total, value) => total + value),
  ),
  defineMapped(
    'runningProduct',
    'Product of a row up to each position.',
    createRunning(1, (total, value) => total * value),
  ),
  defineMapped('runningMax', 'Largest value of a row up to each position.', createRunning(-Infinity, Math.max)),
];

const smoothFunction: RowFunction = {
  name: 'smooth',
  help: 'Mean of a row up to each position. The weight of a value halves every `halfLife` positions.',
  parameters: ['values', 'halfLife', 'length?'],
  lists: 1,
  stepsPerValue: 1,
  size([all], [halfLife, given]) {
    if (!(halfLife! > 0)) return `halfLife is ${halfLife}; a positive number is needed`;
    return describeRowsFault(all!, readLength(given, all!)) ?? all!;
  },
  compute([values], [halfLife, given], out) {
    const length = readLength(given, values!.length);
    const decay = raiseToPower(0.5, 1 / halfLife!);
    for (let position = 0; position < out.length; position += length) {
      let [sum, weight] = [0, 0];
      for (let k = position; k < position + length; k++) {
        const value = values![k]!;
        sum *= decay;
        weight *= decay;
        if (value === value) {
          sum += value;
          weight += 1;
        }
        out[k] = sum / weight;
      }
    }
  },
};

const defineArithmetic = (name: string, help: string, operate: (a: number, b: number) => number): RowFunction => ({
  name,
  help,
  parameters: ['values', 'others'],
  lists: 2,
  stepsPerValue: 1,
  size([all, others]) {
    const remainder = all === 0 ? 0 : all! % others!;
    return remainder === 0 ? all! : `the second list has ${others} values, which do not divide ${all}`;
  },
  compute([values, others], _, out) {
    const period = others!.length;
    for (let i = 0, k = 0; i < out.length; i++, k++) {
      if (k === period) k = 0;
      out[i] = operate(values![i]!, others![k]!);
    }
  },
});

const ARITHMETIC_FUNCTIONS: readonly RowFunction[] = [
  defineArithmetic('add', 'Sums.', (a, b) => a + b),
  defineArithmetic('subtract', 'Differences.', (a, b) => a - b),
  defineArithmetic('multiply', 'Products.', (a, b) => a * b),
  defineArithmetic('divide', 'Quotients.', (a, b) => a / b),
];

const SHAPE_FUNCTIONS: readonly RowFunction[] = [
  {
    name: 'cut',
    help: 'Positions `from` to `to` (exclusive) of each row, for a shorter window or a lag.',
    parameters: ['values', 'length', 'from', 'to'],
    lists: 1,
    stepsPerValue: 1,
    size([all], [length, from, to]) {
      const fault =
        describeRowsFault(all!, length!) ??
        describeNumberFault('to', to, 1, length!) ??
        describeNumberFault('from', from, 0, to! - 1);
      return fault ?? (all! / length!) * (to! - from!);
    },
    compute([values], [length, from, to], out) {
      const rowLength = to! - from!;
      for (let position = 0, k = 0; position < out.length; position += rowLength, k++)
        out.set(values!.subarray(k * length! + from!, k * length! + to!), position);
    },
  },
  {
    name: 'transpose',
    help: 'Transposed rows: the values of all rows at the first position, then at the second position, and so on.',
    parameters: ['values', 'length'],
    lists: 1,
    stepsPerValue: 1,
    size: ([all], [length]) => describeRowsFault(all!, length!) ?? all!,
    compute([values], [length], out) {
      const count = values!.length / length!;
      for (let k = 0, i = 0; k < count; k++) for (let t = 0; t < length!; t++) out[t * count + k] = values![i++]!;
    },
  },
  {
    name: 'repeat',
    help: 'Each value repeated `times` times, for example to combine a value of each row with all values of the row.',
    parameters: ['values', 'times'],
    lists: 1,
    stepsPerValue: 1,
    size: ([all], [times]) => describeNumberFault('times', times, 1) ?? all! * times!,
    compute([values], [times], out) {
      values!.forEach((value, k) => out.fill(value, k * times!, (k + 1) * times!));
    },
  },
];

export const ROW_FUNCTIONS: readonly RowFunction[] = [
  ...createStatistics(),
  ...PAIR_FUNCTIONS,
  ...createCrossSections(),
  ...RUNNING_FUNCTIONS,
  smoothFunction,
  ...ARITHMETIC_FUNCTIONS,
  ...SHAPE_FUNCTIONS,
];

/** Loads the sandbox of this thread once, with the limits and the functions for plug-ins. */
export const loadPluginSandbox = (): Promise<void> =>
  loadSandbox({
    steps: LIMITS.MAX_PLUGIN_STEPS,
    memory: LIMITS.MAX_PLUGIN_MEMORY_BYTES,
    functions: ROW_FUNCTIONS,
  });
