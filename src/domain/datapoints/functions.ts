import { computeExponential, computeLogarithm } from '#kernels/power.js';
import { computeMedian as medianOf, computeQuantile } from '../base/numbers.js';
import {
  type Constant,
  DIMENSIONLESS,
  type ExpressionNode,
  findCommonUnit,
  type FunctionNode,
  multiplyUnits,
  raiseUnit,
  TRUE,
  type Unit,
  type UnitClash,
  UNKNOWN,
  YEARS,
} from './expression-tree.js';
import type { Aggregate } from './fields.js';
import {
  computeCumulativeShares,
  computeSpread,
  type Statistic,
  STATISTICS,
  subtractMean,
  transformValues,
} from './statistics.js';

/** Kinds of operands: `numbers` is a list of constants, `index` the id of an index, `date` a column of dates. */
export type OperandKind = 'number' | 'condition' | 'constant' | 'numbers' | 'index' | 'dividends' | 'date';

export const OPTION_NAMES = ['by', 'over', 'window', 'lag', 'low', 'high'] as const;
export type OptionName = (typeof OPTION_NAMES)[number];

/** Evaluator of nodes for the requested securities. */
export interface Evaluator {
  readonly count: number;
  /** Returns values, NaN if missing, [count]; callers must not write to them. */
  numbers(node: ExpressionNode): Float64Array;
  /** Returns FALSE, TRUE or UNKNOWN, [count]. */
  truths(node: ExpressionNode): Uint8Array;
}

/** Facts about indices and dividends known at a decision, each [count]. */
export interface DecisionFacts {
  /** Returns, by security, 1 for a constituent of the index under decision, as it is before the decision. */
  constituents(): Float64Array;
  /** Returns, by security, 1 for a constituent of an index given by its id, otherwise 0. */
  membersOf(indexId: string): Float64Array;
  /** Returns the weight of each security in an index given by its id. A security outside that index has weight 0. */
  weightsIn(indexId: string, basis: 'decided' | 'drifted'): Float64Array;
  yearsOfGrowth(): Float64Array;
  /** Returns, by security, the days or sessions from the decision to a date. Negative for an earlier date. */
  timeUntil(column: ExpressionNode, unit: 'days' | 'sessions'): Float64Array;
  /** Returns, by security, 1 for a security of the universe, otherwise 0. */
  inUniverse(): Float64Array;
}

interface FunctionDescription {
  readonly name: string;
  /** Notation of a call for documentation. */
  readonly signature: string;
  readonly help: string;
  /** Complete expression as an example. */
  readonly example: string;
  /** Kinds of the operands by position. The last kind repeats up to `most` operands. */
  readonly operands: readonly OperandKind[];
  readonly least: number;
  readonly most: number;
  readonly options: readonly OptionName[];
  readonly required?: OptionName;
  unit(operands: readonly Unit[]): Unit | UnitClash;
  /** Returns a problem of the constants among the operands. Default: no check. */
  problem?(node: FunctionNode): string | undefined;
}

/** Function of the values of one security. */
interface ElementwiseFunction extends FunctionDescription {
  readonly form: 'elementwise';
  values(node: FunctionNode, evaluator: Evaluator): Float64Array;
}

/** Function of the values of all securities of a set or of a group. */
export interface SectionFunction extends FunctionDescription {
  readonly form: 'cross_section';
  /** Computes the values of a set or group. @param values NaN if missing, [n] @returns [n] */
  across(values: Float64Array, node: FunctionNode): Float64Array;
}

/** Function of the values of one security over trailing sessions. */
export interface OverTimeFunction extends FunctionDescription {
  readonly form: 'over_time';
  readonly statistic: Statistic;
  /** Equivalent aggregate of a datapoint request. */
  readonly aggregate?: Exclude<Aggregate, 'last'>;
  /** True if a single value suffices. Otherwise half of the sessions in the window must have values. */
  readonly needsOne?: true;
}

/** Function of data known at the decision in addition to the columns of the market. */
interface DecisionFunction extends FunctionDescription {
  readonly form: 'decision';
  values(node: FunctionNode, facts: DecisionFacts): Float64Array;
}

/** Values of expressions at one review, [count]. */
export type ReviewEvaluator = Pick<Evaluator, 'numbers' | 'truths'>;

/** Values of expressions at a decision and at the reviews before it. */
export interface ReviewMemory {
  readonly count: number;
  /** Returns the values at the decision (0), or at a review before it, 1 for the latest one. Null if there is none. */
  at(reviewsBack: number): ReviewEvaluator | null;
}

/** Function of the values at earlier reviews of the index. */
interface MemoryFunction extends FunctionDescription {
  readonly form: 'memory';
  /** Number of reviews before the decision that a call reads. */
  reviews(node: FunctionNode): number;
  values(node: FunctionNode, memory: ReviewMemory): Float64Array;
}

export type FunctionEntry =
  | ElementwiseFunction
  | SectionFunction
  | OverTimeFunction
  | DecisionFunction
  | MemoryFunction;

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

type ElementwiseEntry = Omit<ElementwiseFunction, 'form' | 'options' | 'values'>;

const defineUnary = (
  entry: Omit<ElementwiseEntry, 'operands' | 'least' | 'most'>,
  apply: (x: number) => number,
): ElementwiseFunction => ({
  ...entry,
  form: 'elementwise',
  operands: ['number'],
  least: 1,
  most: 1,
  options: [],
  values: ({ operands }, evaluator) => evaluator.numbers(operands[0]!).map((x) => toFinite(apply(x))),
});

/** Returns x, or missing if it is not finite. */
export const toFinite = (x: number): number => (x - x === 0 ? x : NaN);

/** Defines a function that combines its operands from left to right. Its value is missing if any operand is missing. */
const defineFold = (
  entry: Omit<ElementwiseEntry, 'operands' | 'least' | 'most' | 'unit'>,
  apply: (a: number, b: number) => number,
) =>
  ({
    ...entry,
    form: 'elementwise',
    operands: ['number'],
    least: 2,
    most: 64,
    options: [],
    unit: findCommonUnit,
    values({ operands }, evaluator) {
      const result = Float64Array.from(evaluator.numbers(operands[0]!));
      for (const operand of operands.slice(1)) {
        const next = evaluator.numbers(operand);
        for (let i = 0; i < result.length; i++) result[i] = apply(result[i]!, next[i]!);
      }
      return result;
    },
  }) satisfies ElementwiseFunction;

const clipFunction: ElementwiseFunction = {
  name: 'clip',
  form: 'elementwise',
  signature: 'clip(x, low, high)',
  help: 'x, limited to the range from low to high.',
  example: 'clip(zscore(DIVIDEND_YIELD), -3, 3)',
  operands: ['number'],
  least: 3,
  most: 3,
  options: [],
  unit: findCommonUnit,
  values({ operands }, evaluator) {
    const [x, low, high] = operands.map((operand) => evaluator.numbers(operand));
    return x!.map((value, i) => Math.min(Math.max(value, low![i]!), high![i]!));
  },
};

const chooseFunction: ElementwiseFunction = {
  name: 'if',
  form: 'elementwise',
  signature: 'if(condition, x, y)',
  help: 'x if the condition is true, y if it is false. The result is missing if the condition is unknown.',
  example: 'if(SECTOR == "Technology", 0.5, 1)',
  operands: ['condition', 'number'],
  least: 3,
  most: 3,
  options: [],
  unit: (units) => findCommonUnit(units.slice(1)),
  values({ operands: [condition, x, y] }, evaluator) {
    const [truths, whenTrue, whenFalse] = [evaluator.truths(condition!), evaluator.numbers(x!), evaluator.numbers(y!)];
    return Float64Array.from(truths, (truth, i) =>
      truth === UNKNOWN ? NaN : truth === TRUE ? whenTrue[i]! : whenFalse[i]!,
    );
  },
};

const coalesceFunction: ElementwiseFunction = {
  name: 'coalesce',
  form: 'elementwise',
  signature: 'coalesce(x, y, ...)',
  help: 'The first of the operands that is not missing.',
  example: 'coalesce(FREE_FLOAT, 1)',
  operands: ['number'],
  least: 2,
  most: 64,
  options: [],
  unit: findCommonUnit,
  values({ operands }, evaluator) {
    const result = Float64Array.from(evaluator.numbers(operands[0]!));
    for (const operand of operands.slice(1)) {
      if (!result.some(Number.isNaN)) break;
      const next = evaluator.numbers(operand);
      for (let i = 0; i < result.length; i++) if (Number.isNaN(result[i]!)) result[i] = next[i]!;
    }
    return result;
  },
};

const ladder: ElementwiseFunction = {
  name: 'ladder',
  form: 'elementwise',
  signature: 'ladder(x, [edges], [values])',
  help: 'Value of the step that contains x. There are n ascending edges and n + 1 values. Each step includes its upper edge.',
  example: 'ladder(FREE_FLOAT, [0.15, 0.2, 0.3], [0, 0.2, 0.3, 1])',
  operands: ['number', 'numbers'],
  least: 3,
  most: 3,
  options: [],
  unit: () => DIMENSIONLESS,
  problem(node) {
    const [edges, values] = readLists(node);
    if (values.length !== edges.length + 1)
      return `has ${edges.length} edges and ${values.length} values; the number of values must be the number of edges plus 1`;
    return edges.every((edge, i) => i === 0 || edge > edges[i - 1]!) ? undefined : 'has edges that are not ascending';
  },
  values(node, evaluator) {
    const [edges, values] = readLists(node);
    return evaluator
      .numbers(node.operands[0]!)
      .map((x) => (Number.isNaN(x) ? NaN : values[countEdgesBelow(edges, x)]!));
  },
};

function readLists({ operands }: FunctionNode): [edges: readonly number[], values: readonly number[]] {
  const readList = (place: number) => {
    const node = operands[place];
    const value: Constant = node?.node === 'value' ? node.value : [];
    return (Array.isArray(value) ? value : []) as readonly number[]; // the kinds of the operands have been checked
  };
  return [readList(1), readList(2)];
}

function countEdgesBelow(edges: readonly number[], x: number): number {
  let [low, high] = [0, edges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x <= edges[middle]!) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Distance of a number of steps from a whole number that is a rounding error, relative to the number. */
const STEP_TOLERANCE = 1e-9;

/** Creates a function that rounds to a multiple of a step. @param toWhole rounds a number of steps */
const defineRounding = (
  entry: Pick<ElementwiseEntry, 'name' | 'help' | 'example'>,
  toWhole: (steps: number) => number,
): ElementwiseFunction => ({
  ...entry,
  form: 'elementwise',
  signature: `${entry.name}(x, step)`,
  operands: ['number', 'constant'],
  least: 1,
  most: 2,
  options: [],
  unit: copyUnit,
  problem: (node) => (readStep(node) > 0 ? undefined : 'needs a positive step'),
  values(node, evaluator) {
    const step = readStep(node);
    const perUnit = Math.round(1 / step);
    // A step such as 0.05 is the 20th part of a unit: the multiple is then divided by 20, which gives its decimal text.
    const isPart = Math.abs(step * perUnit - 1) <= STEP_TOLERANCE;
    return evaluator.numbers(node.operands[0]!).map((x) => {
      const steps = isPart ? x * perUnit : x / step;
      const nearest = Math.round(steps);
      const isWhole = Math.abs(steps - nearest) <= STEP_TOLERANCE * Math.max(1, Math.abs(steps));
      const whole = isWhole ? nearest : toWhole(steps);
      return toFinite(isPart ? whole / perUnit : whole * step);
    });
  },
});

/** Rounds halves away from zero. A half counts as such up to a rounding error. */
const roundAwayFromZero = (steps: number): number =>
  Math.sign(steps) * Math.floor(Math.abs(steps) * (1 + STEP_TOLERANCE) + 0.5);

function readStep({ operands }: FunctionNode): number {
  const step = operands[1];
  if (step === undefined) return 1;
  return step.node === 'value' && typeof step.value === 'number' ? step.value : NaN;
}

const ELEMENTWISE_FUNCTIONS: readonly ElementwiseFunction[] = [
  defineFold(
    {
      name: 'min',
      signature: 'min(x, y, ...)',
      help: 'The smallest of the operands.',
      example: 'min(DIVIDEND_YIELD, 0.1)',
    },
    Math.min,
  ),
  defineFold(
    {
      name: 'max',
      signature: 'max(x, y, ...)',
      help: 'The largest of the operands.',
      example: 'max(1 + zscore(MOMENTUM), 0)',
    },
    Math.max,
  ),
  defineUnary(
    {
      name: 'abs',
      signature: 'abs(x)',
      help: 'Absolute value of x.',
      example: 'abs(BETA - 1)',
      unit: ([unit]) => unit!,
    },
    Math.abs,
  ),
  defineUnary(
    {
      name: 'log',
      signature: 'log(x)',
      help: 'Natural logarithm; missing if x is not positive.',
      example: 'log(MARKET_CAP)',
      unit: () => DIMENSIONLESS,
    },
    computeLogarithm,
  ),
  defineUnary(
    {
      name: 'exp',
      signature: 'exp(x)',
      help: 'e to the power of x.',
      example: 'exp(-zscore(VOLATILITY))',
      unit: () => DIMENSIONLESS,
    },
    computeExponential,
  ),
  defineUnary(
    {
      name: 'sqrt',
      signature: 'sqrt(x)',
      help: 'Square root; missing if x is negative.',
      example: 'sqrt(FREE_FLOAT_MARKET_CAP)',
      unit: ([unit]) => raiseUnit(unit!, 0.5),
    },
    Math.sqrt,
  ),
  defineRounding(
    {
      name: 'ceil',
      help: 'x, rounded up to a multiple of the step. Default step: 1. A rounding error above a multiple counts as the multiple.',
      example: 'ceil(FREE_FLOAT, 0.05)',
    },
    Math.ceil,
  ),
  defineRounding(
    {
      name: 'floor',
      help: 'x, rounded down to a multiple of the step. Default step: 1. A rounding error below a multiple counts as the multiple.',
      example: 'floor(AGE, 252)',
    },
    Math.floor,
  ),
  defineRounding(
    {
      name: 'round',
      help: 'x, rounded to the nearest multiple of the step, halves away from zero. Default step: 1.',
      example: 'round(FREE_FLOAT, 0.01)',
    },
    roundAwayFromZero,
  ),
  clipFunction,
  chooseFunction,
  coalesceFunction,
  ladder,
];

export function readIndexName({ operands: [operand] }: FunctionNode): string {
  return operand?.node === 'value' ? String(operand.value) : '';
}

const DECISION_FUNCTIONS: readonly DecisionFunction[] = [
  {
    name: 'years_of_growth',
    form: 'decision',
    signature: 'years_of_growth(DIVIDEND)',
    help: 'Number of complete calendar years with rising ordinary dividends per share, adjusted for splits, counted back from the last year. A year is counted if the previous year also had dividends, and they were lower.',
    example: 'years_of_growth(DIVIDEND)',
    operands: ['dividends'],
    least: 1,
    most: 1,
    options: [],
    unit: () => YEARS,
    values: (_node, facts) => facts.yearsOfGrowth(),
  },
  {
    name: 'days_until',
    form: 'decision',
    signature: 'days_until(COLUMN)',
    help: 'Calendar days from the decision to a date of a column of the store, such as the maturity of a bond or the last trading day of a future. Negative for an earlier date. Missing if the value is not a date YYYY-MM-DD.',
    example: 'days_until(MATURITY) / 365.25',
    operands: ['date'],
    least: 1,
    most: 1,
    options: [],
    unit: () => DIMENSIONLESS,
    values: ({ operands: [column] }, facts) => facts.timeUntil(column!, 'days'),
  },
  {
    name: 'sessions_until',
    form: 'decision',
    signature: 'sessions_until(COLUMN)',
    help: 'Sessions of the calendar of the index after the decision, up to a date of a column of the store and including it. Negative for an earlier date. Missing outside the calendar, or if the value is not a date YYYY-MM-DD.',
    example: 'sessions_until(EXPIRY) / (sessions_until(EXPIRY) - sessions_until(PREVIOUS_EXPIRY))',
    operands: ['date'],
    least: 1,
    most: 1,
    options: [],
    unit: () => DIMENSIONLESS,
    values: ({ operands: [column] }, facts) => facts.timeUntil(column!, 'sessions'),
  },
  {
    name: 'is_constituent',
    form: 'decision',
    signature: 'is_constituent()',
    help: '1 for a constituent of the index before the decision, or before the earlier review that is read; otherwise 0. Missing before the first price of a security.',
    example: 'rank(MARKET_CAP) - 20 * is_constituent()',
    operands: [],
    least: 0,
    most: 0,
    options: [],
    unit: () => DIMENSIONLESS,
    values: (_node, facts) => facts.constituents(),
  },
  {
    name: 'in_universe',
    form: 'decision',
    signature: 'in_universe()',
    help: '1 for a security of the universe of the index with a price, as at the decision or at the earlier review that is read; otherwise 0. Missing before the first price of a security.',
    example: 'reviews_since(in_universe() == 0, 4)',
    operands: [],
    least: 0,
    most: 0,
    options: [],
    unit: () => DIMENSIONLESS,
    values: (_node, facts) => facts.inUniverse(),
  },
  {
    name: 'member_of',
    form: 'decision',
    signature: 'member_of("INDEX-ID")',
    help: '1 for a constituent in the last decided composition of another index; otherwise 0. Missing before the first price of a security.',
    example: 'if(member_of("CORE-40") == 1, MARKET_CAP, 0)',
    operands: ['index'],
    least: 1,
    most: 1,
    options: [],
    unit: () => DIMENSIONLESS,
    values: (node, facts) => facts.membersOf(readIndexName(node)),
  },
  {
    name: 'weight_in',
    form: 'decision',
    signature: 'weight_in("INDEX-ID")',
    help: 'Weight in the last decided composition of another index; 0 for other securities. Missing before the first price of a security.',
    example: 'min(0.09, 3 * weight_in("CORE-40"))',
    operands: ['index'],
    least: 1,
    most: 1,
    options: [],
    unit: () => DIMENSIONLESS,
    values: (node, facts) => facts.weightsIn(readIndexName(node), 'decided'),
  },
  {
    name: 'drifted_weight_in',
    form: 'decision',
    signature: 'drifted_weight_in("INDEX-ID")',
    help: 'Weight in another index after the close of the decision: its composition in force, moved by prices and corporate actions since it took effect; 0 for other securities. The index cannot be an overlay. Missing before the first price of a security.',
    example: 'min(0.05, 10 * drifted_weight_in("CORE-40"))',
    operands: ['index'],
    least: 1,
    most: 1,
    options: [],
    unit: () => DIMENSIONLESS,
    values: (node, facts) => facts.weightsIn(readIndexName(node), 'drifted'),
  },
];

/** Maximum number of reviews that `reviews_since` counts: ten years of quarterly reviews. */
const REVIEWS_MAX = 40;
const REVIEWS_DEFAULT = 12;

function readReviewsMax(most: ExpressionNode | undefined): number {
  return most?.node === 'value' && typeof most.value === 'number' ? most.value : REVIEWS_DEFAULT;
}

const reportReviewsMax = (most: number): string | undefined =>
  Number.isInteger(most) && most >= 1 && most <= REVIEWS_MAX
    ? undefined
    : `counts up to ${most} reviews, which must be an integer from 1 to ${REVIEWS_MAX}`;

const MEMORY_FUNCTIONS: readonly MemoryFunction[] = [
  {
    name: 'last_review',
    form: 'memory',
    signature: 'last_review(x)',
    help: 'x at the last review before the decision: its reference date, with the universe of that date. Missing at the first review. Two calls within each other read the review before the last one.',
    example: 'min(rank(MARKET_CAP, over="universe"), last_review(rank(MARKET_CAP, over="universe")))',
    operands: ['number'],
    least: 1,
    most: 1,
    options: [],
    unit: copyUnit,
    reviews: () => 1,
    values: ({ operands: [operand] }, { count, at }) =>
      at(1)?.numbers(operand!) ?? new Float64Array(count).fill(Number.NaN),
  },
  {
    name: 'reviews_since',
    form: 'memory',
    signature: 'reviews_since(condition, 12)',
    help: `Number of latest reviews, this one included, at which a condition was not true: 0 if it is true now, 1 if it was true at the last review. At most the second operand (default ${REVIEWS_DEFAULT}, maximum ${REVIEWS_MAX}) and the number of reviews so far.`,
    example: 'reviews_since(MARKET_CAP >= 5e9, 4)',
    operands: ['condition', 'constant'],
    least: 1,
    most: 2,
    options: [],
    unit: () => DIMENSIONLESS,
    problem: ({ operands }) => reportReviewsMax(readReviewsMax(operands[1])),
    reviews: ({ operands }) => readReviewsMax(operands[1]) - 1,
    values(node, { count, at }) {
      const most = readReviewsMax(node.operands[1]);
      const results = new Float64Array(count).fill(Number.NaN);
      let counted = 0;
      for (let review = at(0); review !== null; review = counted < most ? at(counted) : null) {
        const truths = review.truths(node.operands[0]!);
        for (let i = 0; i < count; i++) if (truths[i] === TRUE && Number.isNaN(results[i]!)) results[i] = counted;
        counted++;
      }
      return results.map((value) => (Number.isNaN(value) ? counted : value));
    },
  },
  {
    name: 'value_when',
    form: 'memory',
    signature: 'value_when(x, condition, 12)',
    help: `x at the latest review, this one included, at which a condition was true; missing if there is none among the last 12 reviews, or the number of the third operand (maximum ${REVIEWS_MAX}). A buffer keeps a value with it until a condition is true again.`,
    example: 'value_when(rank(SCORE, over="universe"), abs(SCORE) > 0.2)',
    operands: ['number', 'condition', 'constant'],
    least: 2,
    most: 3,
    options: [],
    unit: ([unit]) => unit!,
    problem: ({ operands }) => reportReviewsMax(readReviewsMax(operands[2])),
    reviews: ({ operands }) => readReviewsMax(operands[2]) - 1,
    values({ operands: [operand, condition, reviewsMax] }, { count, at }) {
      const results = new Float64Array(count).fill(Number.NaN);
      const isOpen = new Uint8Array(count).fill(1);
      for (let k = 0; k < readReviewsMax(reviewsMax) && isOpen.includes(1); k++) {
        const review = at(k);
        if (review === null) break;
        const truths = review.truths(condition!);
        if (!truths.includes(TRUE)) continue;
        const values = review.numbers(operand!);
        for (let i = 0; i < count; i++) {
          if (isOpen[i] === 0 || truths[i] !== TRUE) continue;
          results[i] = values[i]!;
          isOpen[i] = 0;
        }
      }
      return results;
    },
  },
];

type OverTimeEntry = Pick<OverTimeFunction, 'name' | 'help' | 'example' | 'statistic'> & Partial<OverTimeFunction>;

const sessionsParameter: Unit = { money: 0, shares: 0, sessions: 1, years: 0 };

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

/**
 * Functions of expressions. A name may refer to a function across securities and to a function over time, which has a
 * window.
 */
export const FUNCTIONS: readonly FunctionEntry[] = [
  ...ELEMENTWISE_FUNCTIONS,
  ...CROSS_SECTIONAL_FUNCTIONS,
  ...OVER_TIME_FUNCTIONS,
  ...DECISION_FUNCTIONS,
  ...MEMORY_FUNCTIONS,
];

const functionsByName = new Map<string, FunctionEntry[]>();
for (const functionEntry of FUNCTIONS)
  functionsByName.set(functionEntry.name, [...(functionsByName.get(functionEntry.name) ?? []), functionEntry]);

export const FUNCTION_NAMES: readonly string[] = [...functionsByName.keys()];

/**
 * Returns the function that a node calls. With a window or a lag, this is a function over time. Returns undefined for
 * an unknown name.
 */
export function findFunction(node: Pick<FunctionNode, 'name' | 'window' | 'lag'>): FunctionEntry | undefined {
  const entries = functionsByName.get(node.name) ?? [];
  const isOverTime = node.window !== undefined || node.lag !== undefined;
  return entries.find(({ form }) => (form === 'over_time') === isOverTime) ?? entries[0];
}

/** Returns true if a function has values only in the decisions of an index. */
export const isKnownAtDecisions = (node: Pick<FunctionNode, 'name' | 'window' | 'lag'>): boolean => {
  const form = findFunction(node)?.form;
  return (form === 'decision' && node.name !== 'years_of_growth') || form === 'memory';
};

export interface FunctionSpec extends Pick<FunctionEntry, 'name' | 'form' | 'signature' | 'help' | 'example'> {}

export function listFunctionSpecs(): FunctionSpec[] {
  return FUNCTIONS.map(({ name, form, signature, help, example }) => ({ name, form, signature, help, example }));
}
