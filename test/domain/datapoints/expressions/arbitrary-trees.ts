import type { ExpressionNode } from '#domain/datapoints/expression-tree.js';
import { fc } from '../../../fast-check.js';

/** Numeric columns of the markets in these tests. */
export const NUMBERS = ['CLOSE', 'A', 'B', 'C'] as const;
export const TEXTS = ['SECTOR', 'COUNTRY'] as const;

type Tree = fc.Arbitrary<ExpressionNode>;

const constant = fc.integer({ min: -40, max: 40 }).map((tenths) => tenths / 8);
const value: Tree = constant.map((number) => ({ node: 'value', value: number }));
const lag = fc.constantFrom(0, 0, 0, 1, 3);
const field: Tree = fc
  .tuple(fc.constantFrom(...NUMBERS), lag)
  .map(([name, back]) => ({ node: 'field', name, ...(back === 0 ? {} : { lag: back }) }));

/** Returns random expressions over the values of one security. The same expressions may occur inside windows. */
function createElementwise(depth: number): Tree {
  if (depth === 0) return fc.oneof({ weight: 3, arbitrary: field }, value);
  const operand = createElementwise(depth - 1);
  const call = (name: string, ...operands: Tree[]): Tree =>
    fc.tuple(...operands).map((nodes) => ({ node: 'function', name, operands: nodes }));
  return fc.oneof(
    { weight: 3, arbitrary: operand },
    createArithmetic(operand),
    call('min', operand, operand),
    call('max', operand, operand, operand),
    call('abs', operand),
    call('exp', operand),
    call('log', operand),
    call('sqrt', operand),
    fc
      .tuple(fc.constantFrom('ceil', 'floor', 'round'), operand, fc.constantFrom(null, 0.05, 0.5, 3))
      .map(([name, x, step]): ExpressionNode => ({
        node: 'function',
        name,
        operands: step === null ? [x] : [x, { node: 'value', value: step }],
      })),
    call('clip', operand, value, operand),
    call('coalesce', operand, operand),
    call('if', createCondition(operand, Math.min(2, depth)), operand, operand),
    operand.map((x): ExpressionNode => ({
      node: 'function',
      name: 'ladder',
      operands: [x, { node: 'value', value: [-1, 0.5, 2] }, { node: 'value', value: [1, -2, 3, 4.5] }],
    })),
  );
}

function createArithmetic(operand: Tree): Tree {
  const operator = fc.constantFrom('+', '-', '*', '/' as const);
  return fc.oneof(
    fc
      .tuple(operator, fc.array(operand, { minLength: 2, maxLength: 3 }))
      .map(([symbol, operands]): ExpressionNode => ({ node: 'arithmetic', operator: symbol, operands })),
    operand.map((x): ExpressionNode => ({ node: 'arithmetic', operator: '-', operands: [x] })),
    fc.tuple(operand, fc.constantFrom(-1, 0.5, 2, 3)).map(([x, power]): ExpressionNode => ({
      node: 'arithmetic',
      operator: '^',
      operands: [x, { node: 'value', value: power }],
    })),
  );
}

/** Returns random conditions on numbers and strings. */
export function createCondition(below: Tree, depth: number): Tree {
  const comparisonNode = fc.oneof(
    fc
      .tuple(
        below.filter(({ node }) => node !== 'value'),
        fc.constantFrom('gt', 'ge', 'lt', 'le', 'eq', 'ne' as const),
        constant,
      )
      .map(([x, comparison, bound]): ExpressionNode => ({ node: 'comparison', field: x, comparison, value: bound })),
    fc
      .tuple(field, fc.constantFrom('gt', 'le' as const), field)
      .map(([x, comparison, y]): ExpressionNode => ({ node: 'comparison', field: x, comparison, value: y })),
    fc.tuple(fc.constantFrom(...TEXTS), fc.constantFrom('x', 'y', 'z')).map(([name, text]): ExpressionNode => ({
      node: 'comparison',
      field: { node: 'field', name },
      comparison: 'eq',
      value: text,
    })),
    field.map((x): ExpressionNode => ({ node: 'comparison', field: x, comparison: 'between', value: [-1, 2.5] })),
    fc.constantFrom(...TEXTS).map((name): ExpressionNode => ({
      node: 'comparison',
      field: { node: 'field', name },
      comparison: 'in',
      value: ['x', 'z'],
    })),
  );
  if (depth === 0) return comparisonNode;
  const inner = createCondition(below, depth - 1);
  const conditions = fc.array(inner, { minLength: 2, maxLength: 3 });
  return fc.oneof(
    comparisonNode,
    conditions.map((operands): ExpressionNode => ({ node: 'all', operands })),
    conditions.map((operands): ExpressionNode => ({ node: 'any', operands })),
    inner.map((operand): ExpressionNode => ({ node: 'not', operand })),
  );
}

const TIME = ['mean', 'median', 'std', 'sum', 'min', 'max', 'count', 'first', 'last', 'slope'] as const;
const CROSS = ['zscore', 'percentile', 'rank', 'demean', 'share', 'coverage', 'sum', 'mean', 'median'] as const;

/** Returns random valid expressions of numbers. */
export function createExpressions(depth = 2): Tree {
  const simple = createElementwise(2);
  const overTime = fc
    .tuple(fc.constantFrom(...TIME), simple, fc.constantFrom(3, 5, 8), lag)
    .map(([name, x, window, back]): ExpressionNode => ({
      node: 'function',
      name,
      operands: [x],
      window,
      ...(back === 0 ? {} : { lag: back }),
    }));
  const set = fc.record(
    { by: fc.constantFrom(...TEXTS), over: fc.constant('universe' as const) },
    { requiredKeys: [] },
  );
  const operand = fc.oneof(simple, overTime);
  const crossSection = fc
    .tuple(fc.constantFrom(...CROSS), operand, set)
    .map(([name, x, options]): ExpressionNode => ({ node: 'function', name, operands: [x], ...options }));
  const winsorisation = fc
    .tuple(operand, set, fc.constantFrom({ k: 1.5 }, { low: 0.1, high: 0.8 }))
    .map(([x, options, { k, ...percentiles }]: [ExpressionNode, object, { k?: number }]): ExpressionNode => ({
      node: 'function',
      name: 'winsorise',
      operands: k === undefined ? [x] : [x, { node: 'value', value: k }],
      ...percentiles,
      ...options,
    }));
  const leaf = fc.oneof(simple, overTime, crossSection, winsorisation);
  return depth === 0 ? leaf : fc.oneof(leaf, createArithmetic(fc.oneof(leaf, field)));
}
