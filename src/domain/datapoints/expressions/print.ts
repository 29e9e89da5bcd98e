import { toCanonical } from './canonical.js';
import { FUNCTION_NAMES } from './functions/catalogue.js';
import {
  isExpressionNode,
  isField,
  type ArithmeticNode,
  type ComparisonNode,
  type DatapointExpression,
  type ExpressionNode,
  type FieldLeaf,
  type FunctionNode,
} from './tree.js';
import { KEYWORDS, SYMBOLS } from './words.js';

/** Precedence of nodes: operands of lower precedence are put in brackets. */
const LEVELS = {
  any: 1,
  all: 2,
  not: 3,
  comparison: 4,
  sum: 5,
  product: 6,
  negation: 7,
  power: 8,
  primary: 9,
} as const;

/** Returns the canonical text of an expression, which parses to the same tree. */
export function printExpression(expression: DatapointExpression): string {
  return printNode(toCanonical(expression), 0);
}

/** Returns the tree with its text at the root, for responses. */
export function addText(expression: DatapointExpression): ExpressionNode {
  const tree = toCanonical(expression);
  return { ...tree, text: printNode(tree, 0) };
}

/** Returns a label for an expression: the name of a datapoint, or otherwise the text. */
export function createLabel(expression: DatapointExpression): string {
  return isField(expression) ? expression.name : printExpression(expression);
}

/** Prints an operand of a node with precedence `level`. */
function printNode(node: ExpressionNode, level: number): string {
  const [own, text] = writeNode(node);
  return own < level ? `(${text})` : text;
}

function writeNode(node: ExpressionNode): [level: number, text: string] {
  switch (node.node) {
    case 'field':
      return [LEVELS.primary, printField(node)];
    case 'value': {
      const isNegative = typeof node.value === 'number' && node.value < 0;
      return [isNegative ? LEVELS.negation : LEVELS.primary, printConstant(node.value)];
    }
    case 'arithmetic':
      return printArithmetic(node);
    case 'function':
      return [LEVELS.primary, printCall(node)];
    case 'comparison':
      return [LEVELS.comparison, printComparison(node)];
    case 'not':
      return [LEVELS.not, `not ${printNode(node.operand, LEVELS.not)}`];
    case 'all':
      return [LEVELS.all, node.operands.map((operand) => printNode(operand, LEVELS.not)).join(' and ')];
    case 'any':
      return [LEVELS.any, node.operands.map((operand) => printNode(operand, LEVELS.all)).join(' or ')];
  }
}

function printArithmetic({ operator, operands }: ArithmeticNode): [level: number, text: string] {
  if (operands.length === 1) return [LEVELS.negation, `-${printNode(operands[0]!, LEVELS.negation)}`];
  if (operator === '^') {
    const [base, exponent] = operands;
    return [LEVELS.power, `${printNode(base!, LEVELS.primary)} ^ ${printNode(exponent!, LEVELS.negation)}`];
  }
  const level = operator === '+' || operator === '-' ? LEVELS.sum : LEVELS.product;
  const [first, ...otherExpressionNodes] = operands;
  const restTexts = otherExpressionNodes.map((operand) => ` ${operator} ${printNode(operand, level + 1)}`);
  return [level, `${printNode(first!, level)}${restTexts.join('')}`];
}

function printComparison({ field, comparison, value }: ComparisonNode): string {
  const right = isExpressionNode(value) ? printNode(value, LEVELS.sum) : printConstant(value);
  return `${printNode(field, LEVELS.sum)} ${SYMBOLS[comparison]} ${right}`;
}

function printCall({ name, operands, by, over, low, high, window, lag }: FunctionNode): string {
  return `${name}(${[
    ...operands.map((operand) => printNode(operand, 0)),
    ...printOptions({ low, high, window, lag }),
    ...(by === undefined ? [] : [`by=${printName(by)}`]),
    ...(over === undefined ? [] : [`over=${JSON.stringify(over)}`]),
  ].join(', ')})`;
}

function printField({ name, dataset, window, lag }: FieldLeaf): string {
  const options = [
    ...printOptions({ window: window ?? undefined, lag }),
    ...(dataset === undefined || dataset === null ? [] : [`dataset=${JSON.stringify(dataset)}`]),
  ];
  if (options.length === 0) return printName(name);
  const printedName = FUNCTION_NAMES.includes(name) ? quoteName(name) : printName(name);
  return `${printedName}(${options.join(', ')})`;
}

const printOptions = (options: Readonly<Record<string, number | undefined>>): string[] =>
  Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));

const UNQUOTED_NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

/** Returns a name as text. It is quoted if it would otherwise be ambiguous. */
const printName = (name: string): string => (UNQUOTED_NAME.test(name) && !KEYWORDS.has(name) ? name : quoteName(name));

const quoteName = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

function printConstant(value: unknown): string {
  return Array.isArray(value) ? `[${value.map((item) => JSON.stringify(item)).join(', ')}]` : JSON.stringify(value);
}
