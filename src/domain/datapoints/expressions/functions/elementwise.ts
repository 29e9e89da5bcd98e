import { computeExponential, computeLogarithm } from '#kernels/power.js';
import type { Constant, FunctionNode } from '../tree.js';
import { findCommonUnit, DIMENSIONLESS, raiseUnit } from '../units.js';
import { TRUE, UNKNOWN } from '../truth-values.js';
import type { ElementwiseFunction } from './function-entry.js';

type ElementwiseEntry = Omit<ElementwiseFunction, 'form' | 'options' | 'values'>;

/** Creates a function of one number. */
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
const toFinite = (x: number): number => (x - x === 0 ? x : NaN);

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

/** Returns the number of edges below x. */
function countEdgesBelow(edges: readonly number[], x: number): number {
  let [low, high] = [0, edges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x <= edges[middle]!) high = middle;
    else low = middle + 1;
  }
  return low;
}

export const ELEMENTWISE_FUNCTIONS: readonly ElementwiseFunction[] = [
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
  clipFunction,
  chooseFunction,
  coalesceFunction,
  ladder,
];
