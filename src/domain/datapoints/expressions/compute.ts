import { raiseToPower } from '#kernels/power.js';
import type { ReferenceValue } from '../../market/market-data.js';
import type { FieldRequest } from '../field-request.js';
import { findFunction } from './functions/catalogue.js';
import type { Evaluator } from './functions/function-entry.js';
import {
  isExpressionNode,
  isField,
  toFieldRequest,
  type ArithmeticNode,
  type Comparison,
  type ComparisonNode,
  type ExpressionNode,
  type FieldLeaf,
  type FunctionNode,
  type Operator,
} from './tree.js';
import { FALSE, TRUE, UNKNOWN } from './truth-values.js';

/** Source of the datapoint values of an expression, for the requested securities. */
export interface ValueSource {
  readonly count: number;
  /** Returns values, NaN if missing, [count]; callers must not write to them. */
  numbers(field: FieldRequest): Float64Array;
  /** Returns values as stored, null if missing, [count]. */
  values(field: FieldRequest): readonly ReferenceValue[];
  isNumber(field: FieldRequest): boolean;
  /** Evaluates a function that needs more than the values of one security. */
  call(node: FunctionNode, evaluator: Evaluator): Float64Array;
}

/**
 * Creates an evaluator of expressions. It evaluates node by node, each node over all securities.
 * @cost one pass over the securities per node, in addition to the cost of the source
 */
export function createEvaluator(source: ValueSource): Evaluator {
  const { count } = source;
  const evaluator: Evaluator = {
    count,
    numbers(node) {
      switch (node.node) {
        case 'field':
          return source.numbers(toFieldRequest(node));
        case 'value':
          return new Float64Array(count).fill(typeof node.value === 'number' ? node.value : NaN);
        case 'arithmetic':
          return computeArithmetic(node, evaluator);
        case 'function': {
          const entry = findFunction(node);
          return entry?.form === 'elementwise' ? entry.values(node, evaluator) : source.call(node, evaluator);
        }
        case 'all':
        case 'any':
        case 'not':
        case 'comparison':
          throw new Error('a condition is not a number: trees are checked before they are evaluated');
      }
    },
    truths(node) {
      switch (node.node) {
        case 'value':
          return new Uint8Array(count).fill(node.value === true ? TRUE : FALSE);
        case 'not':
          return evaluator.truths(node.operand).map((truth) => (truth === UNKNOWN ? UNKNOWN : 1 - truth));
        case 'all':
        case 'any':
          return combineTruths(node, evaluator);
        case 'comparison':
          return computeComparison(node, source, evaluator);
        case 'field':
        case 'arithmetic':
        case 'function':
          throw new Error('a number is not a condition: trees are checked before they are evaluated');
      }
    },
  };
  return evaluator;
}

function combineTruths(
  { node, operands }: Extract<ExpressionNode, { node: 'all' | 'any' }>,
  evaluator: Evaluator,
): Uint8Array {
  const decisiveTruth = node === 'all' ? FALSE : TRUE;
  const result = new Uint8Array(evaluator.count).fill(1 - decisiveTruth);
  for (const operand of operands.map((below) => evaluator.truths(below))) {
    for (let i = 0; i < result.length; i++) {
      if (result[i] === decisiveTruth || operand[i] === decisiveTruth) result[i] = decisiveTruth;
      else if (operand[i] === UNKNOWN) result[i] = UNKNOWN;
    }
  }
  return result;
}

function computeArithmetic({ operator, operands }: ArithmeticNode, evaluator: Evaluator): Float64Array {
  const [first, ...others] = operands.map((operand) => evaluator.numbers(operand));
  if (others.length === 0) return operator === '-' ? first!.map((value) => -value) : first!;
  const result = new Float64Array(evaluator.count);
  let left = first!;
  for (const right of others) {
    combineInto(result, { operator, left, right });
    left = result;
  }
  return result;
}

export interface Combination {
  readonly operator: Operator;
  readonly left: Float64Array;
  readonly right: Float64Array;
}

/**
 * Combines two operands position by position. A result that is not finite is missing. @param out may be one of the
 * operands
 */
export function combineInto(out: Float64Array, { operator, left, right }: Combination): void {
  const n = out.length;
  switch (operator) {
    case '+':
      for (let i = 0; i < n; i++) out[i] = toFinite(left[i]! + right[i]!);
      break;
    case '-':
      for (let i = 0; i < n; i++) out[i] = toFinite(left[i]! - right[i]!);
      break;
    case '*':
      for (let i = 0; i < n; i++) out[i] = toFinite(left[i]! * right[i]!);
      break;
    case '/':
      for (let i = 0; i < n; i++) out[i] = toFinite(left[i]! / right[i]!);
      break;
    case '^':
      // ECMAScript defines NaN to the power of 0 as 1.
      for (let i = 0; i < n; i++) out[i] = left[i] === left[i] ? toFinite(raiseToPower(left[i]!, right[i]!)) : NaN;
      break;
  }
}

/** Returns x, or missing if it is not finite. */
const toFinite = (x: number): number => (x - x === 0 ? x : NaN);

function computeComparison(node: ComparisonNode, source: ValueSource, evaluator: Evaluator): Uint8Array {
  const { field, comparison, value } = node;
  const result = new Uint8Array(evaluator.count);
  if (isField(field) && isPlain(field) && !source.isNumber(toFieldRequest(field))) {
    const passes = createEqualityTest(comparison, value);
    const match = source.values(toFieldRequest(field));
    for (let i = 0; i < result.length; i++) result[i] = match[i] == null ? UNKNOWN : passes(match[i]!) ? TRUE : FALSE;
    return result;
  }
  const left = evaluator.numbers(field);
  if (isExpressionNode(value)) {
    const right = evaluator.numbers(value);
    for (let i = 0; i < result.length; i++) {
      const isMissing = Number.isNaN(left[i]!) || Number.isNaN(right[i]!);
      result[i] = isMissing ? UNKNOWN : createNumberTest(comparison, right[i]!)(left[i]!) ? TRUE : FALSE;
    }
    return result;
  }
  const passes = createNumberTest(comparison, value);
  for (let i = 0; i < result.length; i++)
    result[i] = Number.isNaN(left[i]!) ? UNKNOWN : passes(left[i]!) ? TRUE : FALSE;
  return result;
}

const isPlain = ({ aggregate = 'last', transform = 'none' }: FieldLeaf | FieldRequest): boolean =>
  aggregate === 'last' && transform === 'none';

/** Creates the test of a comparison with a number. The value was checked when the expression was parsed. */
function createNumberTest(comparison: Comparison, value: unknown): (found: number) => boolean {
  const bound = value as number;
  switch (comparison) {
    case 'gt':
      return (found) => found > bound;
    case 'ge':
      return (found) => found >= bound;
    case 'lt':
      return (found) => found < bound;
    case 'le':
      return (found) => found <= bound;
    case 'between': {
      const [low, high] = value as [number, number];
      return (found) => found >= low && found <= high;
    }
    case 'eq':
    case 'ne':
    case 'in':
      return createEqualityTest(comparison, value) as (found: number) => boolean;
  }
}

function createEqualityTest(comparison: Comparison, value: unknown): (found: ReferenceValue) => boolean {
  if (comparison === 'in') {
    const acceptedValues = new Set(value as readonly unknown[]);
    return (referenceValue) => acceptedValues.has(referenceValue);
  }
  return comparison === 'ne'
    ? (referenceValue) => referenceValue !== value
    : (referenceValue) => referenceValue === value;
}
