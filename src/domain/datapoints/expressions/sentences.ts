import { describeRequest } from '../field-request.js';
import { printExpression } from './print.js';
import {
  isExpressionNode,
  isField,
  toFieldRequest,
  findValueType,
  type Comparison,
  type ComparisonNode,
  type DatapointExpression,
  type ExpressionNode,
} from './tree.js';

/** Returns true if a datapoint of this kind fits the comparison. */
export function acceptsKind(node: ComparisonNode, kind: 'number' | 'string' | 'boolean'): boolean {
  const needsNumber = ['gt', 'ge', 'lt', 'le', 'between'].includes(node.comparison);
  return needsNumber ? kind === 'number' : findValueType(node) === kind;
}

const COMPARISON_PHRASES: Readonly<Record<Comparison, string>> = {
  gt: 'above',
  ge: 'at least',
  lt: 'below',
  le: 'at most',
  eq: 'equal to',
  ne: 'different from',
  in: 'one of',
  between: 'between',
};

/** Describes an expression in words: a datapoint as a phrase, any other expression as its text. */
export function describeExpression(expression: DatapointExpression): string {
  return isField(expression) ? describeRequest(toFieldRequest(expression)) : printExpression(expression);
}

export function describeComparison({ field, comparison, value }: ComparisonNode): string {
  const name = describeExpression(field);
  if (comparison === 'between') {
    const [low, high] = value as [number, number];
    return `${name} between ${low} and ${high}`;
  }
  const right = isExpressionNode(value)
    ? describeExpression(value)
    : Array.isArray(value)
      ? value.join(', ')
      : String(value);
  return `${name} ${COMPARISON_PHRASES[comparison]} ${right}`;
}

/** Describes a condition in words, with brackets around nested conditions. */
export function describeCondition(node: ExpressionNode): string {
  if (node.node === 'comparison') return describeComparison(node);
  if (node.node === 'not') return `not (${describeCondition(node.operand)})`;
  if (node.node !== 'all' && node.node !== 'any') return printExpression(node) === 'true' ? 'always' : 'never';
  if (node.operands.length === 0) return node.node === 'all' ? 'always' : 'never';
  const word = node.node === 'all' ? ' and ' : ' or ';
  return node.operands
    .map((operand) => (operand.node === 'comparison' ? describeComparison(operand) : `(${describeCondition(operand)})`))
    .join(word);
}
