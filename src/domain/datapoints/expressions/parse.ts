import { createLatestRequest } from '../field-request.js';
import { LIMITS } from '../../refusals/limits.js';
import { createFunctionCall, combineConditions, createFieldNode, joinOperands, createNegation } from './canonical.js';
import { createCursor, describeToken, type Cursor } from './cursor.js';
import { FUNCTION_NAMES } from './functions/catalogue.js';
import { SyntaxFault, tokenise, type CharacterSpan, type Token } from './lexer.js';
import { parseArguments, createFieldWithOptions } from './parse-arguments.js';
import type { Comparison, Constant, ExpressionNode, Operator } from './tree.js';
import { KEYWORDS, MIRRORED, SYMBOLS } from './words.js';

/** Parsed expression. */
export interface ParsedExpression {
  readonly tree: ExpressionNode;
  /** Positions of the nodes in the text. */
  readonly spans: ReadonlyMap<ExpressionNode, CharacterSpan>;
}

const COMPARISONS_BY_SYMBOL: ReadonlyMap<string, Comparison> = new Map(
  (Object.entries(SYMBOLS) as [Comparison, string][]).map(([comparison, symbol]) => [symbol, comparison]),
);

/**
 * Parses an expression into its canonical tree. Spaces and redundant brackets have no effect.
 * @throws SyntaxFault
 * @cost O(length)
 */
export function parseExpression(text: string): ParsedExpression {
  const lengthMax = LIMITS.MAX_EXPRESSION_LENGTH;
  if (text.length > lengthMax)
    throw new SyntaxFault(`the text has ${text.length} characters; the maximum is ${lengthMax}`, {
      start: lengthMax,
      end: text.length,
    });
  const cursor = createCursor(tokenise(text));
  const tree = readExpression(cursor);
  if (cursor.peek().kind !== 'end') cursor.fail(`expected an operator${describeToken(cursor.peek())}`);
  return { tree, spans: cursor.spans };
}

type NodeParser = (cursor: Cursor) => ExpressionNode;

const readExpression: NodeParser = (cursor) => cursor.nested(() => parseAny(cursor));
const parseAny: NodeParser = (cursor) => parseConnection(cursor, { word: 'or', kind: 'any', operand: parseAll });
const parseAll: NodeParser = (cursor) => parseConnection(cursor, { word: 'and', kind: 'all', operand: parseNegation });

interface Connection {
  readonly word: string;
  readonly kind: 'all' | 'any';
  readonly operand: NodeParser;
}

function parseConnection(cursor: Cursor, { word, kind, operand }: Connection): ExpressionNode {
  const { start } = cursor.peek();
  const operands = [operand(cursor)];
  while (cursor.isWord(word)) {
    cursor.next();
    operands.push(operand(cursor));
  }
  return operands.length === 1 ? operands[0]! : cursor.placed(combineConditions(kind, operands), start);
}

function parseNegation(cursor: Cursor): ExpressionNode {
  if (!cursor.isWord('not')) return parseComparison(cursor);
  const { start } = cursor.next();
  return cursor.placed({ node: 'not', operand: cursor.nested(() => parseNegation(cursor)) }, start);
}

function parseComparison(cursor: Cursor): ExpressionNode {
  const { start } = cursor.peek();
  const leftOperand = parseSum(cursor);
  const { kind, text } = cursor.peek();
  const symbol = kind === 'symbol' || kind === 'name' ? COMPARISONS_BY_SYMBOL.get(text) : undefined;
  if (symbol === undefined) return leftOperand;
  cursor.next();
  const right = parseSum(cursor);
  return cursor.placed(createComparison(cursor, { left: leftOperand, symbol, right }), start);
}

interface ComparisonSides {
  readonly left: ExpressionNode;
  readonly symbol: Comparison;
  readonly right: ExpressionNode;
}

function createComparison(cursor: Cursor, { left, symbol, right }: ComparisonSides): ExpressionNode {
  if (left.node !== 'value')
    return { node: 'comparison', field: left, comparison: symbol, value: right.node === 'value' ? right.value : right };
  const mirroredComparison = MIRRORED[symbol];
  if (right.node === 'value' || mirroredComparison === undefined)
    return cursor.fail('a comparison needs a datapoint on its left', cursor.spans.get(left));
  return { node: 'comparison', field: right, comparison: mirroredComparison, value: left.value };
}

const parseSum: NodeParser = (cursor) => parseChain(cursor, ['+', '-'], parseProduct);
const parseProduct: NodeParser = (cursor) => parseChain(cursor, ['*', '/'], parseSign);

function parseChain(cursor: Cursor, operators: readonly Operator[], operand: NodeParser): ExpressionNode {
  const { start } = cursor.peek();
  let leftOperand = operand(cursor);
  for (;;) {
    const operator = operators.find((symbol) => cursor.skips(symbol));
    if (operator === undefined) return leftOperand;
    leftOperand = cursor.placed(joinOperands(operator, leftOperand, operand(cursor)), start);
  }
}

function parseSign(cursor: Cursor): ExpressionNode {
  const { start } = cursor.peek();
  if (cursor.skips('+')) return cursor.nested(() => parseSign(cursor));
  if (!cursor.skips('-')) return parsePower(cursor);
  return cursor.placed(createNegation(cursor.nested(() => parseSign(cursor))), start);
}

function parsePower(cursor: Cursor): ExpressionNode {
  const { start } = cursor.peek();
  const base = parsePrimary(cursor);
  if (!cursor.skips('^')) return base;
  return cursor.placed(
    joinOperands(
      '^',
      base,
      cursor.nested(() => parseSign(cursor)),
    ),
    start,
  );
}

function parsePrimary(cursor: Cursor): ExpressionNode {
  const token = cursor.next();
  const { kind, text, start } = token;
  const isName = kind === 'name' && !KEYWORDS.has(text);
  if (isName || kind === 'quoted') return parseFieldOrCall(cursor, token);
  if (kind === 'number') return cursor.placed({ node: 'value', value: parseNumber(cursor, token) }, start);
  if (kind === 'string') return cursor.placed({ node: 'value', value: text }, start);
  if (kind === 'name' && (text === 'true' || text === 'false'))
    return cursor.placed({ node: 'value', value: text === 'true' }, start);
  if (kind === 'symbol' && text === '(') {
    const innerNode = readExpression(cursor);
    cursor.expect(')', 'the expression in brackets');
    return innerNode;
  }
  if (kind === 'symbol' && text === '[') {
    const value = parseList(cursor);
    return cursor.placed({ node: 'value', value }, start);
  }
  return cursor.fail(`expected a datapoint, a number, a function or a bracket${describeToken(token)}`, token);
}

/** Parses the entries of a list, after the opening bracket. */
function parseList(cursor: Cursor): Constant {
  const items: (number | string | boolean)[] = [];
  do {
    const { start } = cursor.peek();
    const item = parseSign(cursor);
    if (item.node !== 'value' || typeof item.value === 'object')
      cursor.fail('a list can contain only constants', cursor.since(start));
    else items.push(item.value);
  } while (cursor.skips(','));
  cursor.expect(']', 'the last entry of the list');
  return items;
}

function parseFieldOrCall(cursor: Cursor, token: Token): ExpressionNode {
  const { kind, text: name, start } = token;
  if (name === '' || name.length > 64) cursor.fail('a name has 1 to 64 characters', token);
  if (!cursor.skips('(')) return cursor.placed(createFieldNode(createLatestRequest(name)), start);
  const { operands, options, spans } = parseArguments(cursor, readExpression);
  cursor.expect(')', `the operands of ${name}`);
  if (kind === 'quoted' || (!FUNCTION_NAMES.includes(name) && operands.length === 0 && spans.size > 0))
    return cursor.placed(createFieldWithOptions(cursor, token, { options, spans }), start);
  const { dataset, ...own } = options;
  if (dataset !== undefined) cursor.fail(`${name} does not accept dataset=`, spans.get('dataset'));
  return cursor.placed(createFunctionCall(name, operands, own), start);
}

function parseNumber(cursor: Cursor, token: Token): number {
  const value = Number(token.text);
  return Number.isFinite(value) ? value : cursor.fail('the number is too large', token);
}
