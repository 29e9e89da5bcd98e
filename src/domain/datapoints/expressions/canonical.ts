import { isWindowed, type FieldRequest } from '../field-request.js';
import {
  isExpressionNode,
  toFieldRequest,
  type ArithmeticNode,
  type DatapointExpression,
  type ExpressionNode,
  type FieldLeaf,
  type FunctionNode,
  type Operator,
} from './tree.js';

type FunctionOptions = Omit<FunctionNode, 'node' | 'name' | 'operands' | 'text'>;

/**
 * Returns the canonical tree of an expression. Redundant members are dropped, aggregates and transforms of fields
 * become functions, and chains of one operator become one node. The values of the tree are bit-identical to those of
 * the expression.
 */
export function toCanonical(expression: DatapointExpression): ExpressionNode {
  if (!('node' in expression)) return toCanonicalField(expression);
  const node = expression;
  switch (node.node) {
    case 'field':
      return toCanonicalField(toFieldRequest(node));
    case 'value':
      return { node: 'value', value: node.value === 0 ? 0 : node.value };
    case 'arithmetic': {
      const operands = node.operands.map(toCanonical);
      if (operands.length === 1) return node.operator === '-' ? createNegation(operands[0]!) : operands[0]!;
      if (node.operator === '^')
        return operands.slice(0, -1).reduceRight((power, base) => joinOperands('^', base, power), operands.at(-1)!);
      return operands
        .slice(1)
        .reduce((leftExpressionNode, right) => joinOperands(node.operator, leftExpressionNode, right), operands[0]!);
    }
    case 'function':
      return createFunctionCall(node.name, node.operands.map(toCanonical), node);
    case 'not':
      return { node: 'not', operand: toCanonical(node.operand) };
    case 'all':
    case 'any':
      return combineConditions(node.node, node.operands.map(toCanonical));
    case 'comparison': {
      const { comparison } = node;
      const value = isExpressionNode(node.value) ? toCanonical(node.value) : node.value;
      const constant = isExpressionNode(value) && value.node === 'value' ? value.value : value;
      return { node: 'comparison', field: toCanonical(node.field), comparison, value: constant };
    }
  }
}

function toCanonicalField(field: FieldRequest): ExpressionNode {
  const { aggregate, transform, window, lag } = field;
  const fieldNode = aggregate === 'last' ? createFieldNode(field) : createFieldNode({ ...field, lag: 0 });
  const aggregateNode =
    aggregate === 'last' ? fieldNode : createFunctionCall(aggregate, [fieldNode], { window: window ?? undefined, lag });
  return transform === 'none' ? aggregateNode : createFunctionCall(transform, [aggregateNode], {});
}

/** Returns a datapoint with only the members that differ from its defaults. */
export function createFieldNode(field: FieldRequest): FieldLeaf {
  const { name, dataset, lag, window } = field;
  return {
    node: 'field',
    name,
    ...(dataset === null ? {} : { dataset }),
    ...(lag === 0 ? {} : { lag }),
    ...(window !== null && isWindowed(field) ? { window } : {}),
  };
}

/**
 * Joins two operands by an operator. If the left operand has the same operator, its operands are added to the new node.
 */
export function joinOperands(
  operator: Operator,
  leftExpressionNode: ExpressionNode,
  right: ExpressionNode,
): ArithmeticNode {
  const isChain =
    operator !== '^' &&
    leftExpressionNode.node === 'arithmetic' &&
    leftExpressionNode.operator === operator &&
    leftExpressionNode.operands.length > 1;
  return {
    node: 'arithmetic',
    operator,
    operands: isChain ? [...leftExpressionNode.operands, right] : [leftExpressionNode, right],
  };
}

export function createNegation(operand: ExpressionNode): ExpressionNode {
  if (operand.node === 'value' && typeof operand.value === 'number')
    return { node: 'value', value: operand.value === 0 ? 0 : -operand.value };
  return { node: 'arithmetic', operator: '-', operands: [operand] };
}

/** Combines conditions of which all or any must be true. */
export function combineConditions(kind: 'all' | 'any', operands: readonly ExpressionNode[]): ExpressionNode {
  const flatOperands = operands.flatMap((operand) => (operand.node === kind ? operand.operands : [operand]));
  if (flatOperands.length === 0) return { node: 'value', value: kind === 'all' };
  return flatOperands.length === 1 ? flatOperands[0]! : { node: kind, operands: flatOperands };
}

/** Creates a function call; `last` without a window only shifts a field. */
export function createFunctionCall(
  name: string,
  operands: readonly ExpressionNode[],
  { by, over, window, lag, low, high }: FunctionOptions,
): ExpressionNode {
  const [only, ...otherExpressionNodes] = operands;
  if (
    name === 'last' &&
    window === undefined &&
    lag !== undefined &&
    only !== undefined &&
    otherExpressionNodes.length === 0
  ) {
    if (lag === 0) return only;
    if (only.node === 'field') return { ...only, lag: (only.lag ?? 0) + lag };
  }
  return {
    node: 'function',
    name,
    operands,
    ...(by === undefined ? {} : { by }),
    ...(over === undefined || over === 'selection' ? {} : { over }),
    ...(low === undefined ? {} : { low }),
    ...(high === undefined ? {} : { high }),
    ...(window === undefined ? {} : { window }),
    ...(lag === undefined || (lag === 0 && window !== undefined) ? {} : { lag }),
  };
}
