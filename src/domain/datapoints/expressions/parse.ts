import { requestLatest } from '../field-request.js';
import { LIMITS } from '../../refusals/limits.js';
import { createFunctionCall, combine, createFieldNode, join, negateNode } from './canonical.js';
import { createCursor, describeToken, type Cursor } from './cursor.js';
import { FUNCTION_NAMES } from './functions/catalogue.js';
import { SyntaxFault, tokenise, type CharacterSpan, type Token } from './lexer.js';
import { parseArguments, createFieldWithOptions } from './parse-arguments.js';
import type { Comparison, Constant, ExpressionNode, Operator } from './tree.js';
import { KEYWORDS, MIRRORED, SYMBOLS } from './words.js';

/** Parsed expression. */
export interface Parsed {
  readonly tree: ExpressionNode;
  /** Positions of the nodes in the text. */
  readonly spans: ReadonlyMap<ExpressionNode, CharacterSpan>;
}

const COMPARISON_OF: ReadonlyMap<string, Comparison> = new Map(
  (Object.entries(SYMBOLS) as [Comparison, string][]).map(([comparison, symbol]) => [symbol, comparison]),
);

/**
 * Parses an expression into its canonical tree; spaces and redundant brackets are ignored.
 * @throws SyntaxFault
 * @cost O(length)
 */
export function parseExpression(text: string): Parsed {
  const most = LIMITS.MAX_EXPRESSION_LENGTH;
  if (text.length > most)
    throw new SyntaxFault(`the text has ${text.length} characters; the maximum is ${most}`, {
      start: most,
      end: text.length,
    });
  const cursor = createCursor(tokenise(text));
  const tree = expression(cursor);
  if (cursor.peek().kind !== 'end') cursor.fail(`expected an operator${describeToken(cursor.peek())}`);
  return { tree, spans: cursor.spans };
}

type Reader = (cursor: Cursor) => ExpressionNode;

const expression: Reader = (cursor) => cursor.nested(() => anyOf(cursor));
const anyOf: Reader = (cursor) => connect(cursor, { word: 'or', kind: 'any', operand: allOf });
const allOf: Reader = (cursor) => connect(cursor, { word: 'and', kind: 'all', operand: negation });

interface Connection {
  readonly word: string;
  readonly kind: 'all' | 'any';
  readonly operand: Reader;
}

function connect(cursor: Cursor, { word, kind, operand }: Connection): ExpressionNode {
  const { start } = cursor.peek();
  const operands = [operand(cursor)];
  while (cursor.isWord(word)) {
    cursor.next();
    operands.push(operand(cursor));
  }
  return operands.length === 1 ? operands[0]! : cursor.placed(combine(kind, operands), start);
}

function negation(cursor: Cursor): ExpressionNode {
  if (!cursor.isWord('not')) return comparison(cursor);
  const { start } = cursor.next();
  return cursor.placed({ node: 'not', operand: cursor.nested(() => negation(cursor)) }, start);
}

function comparison(cursor: Cursor): ExpressionNode {
  const { start } = cursor.peek();
  const left = sum(cursor);
  const { kind, text } = cursor.peek();
  const symbol = kind === 'symbol' || kind === 'name' ? COMPARISON_OF.get(text) : undefined;
  if (symbol === undefined) return left;
  cursor.next();
  const right = sum(cursor);
  return cursor.placed(compare(cursor, { left, symbol, right }), start);
}

interface Sides {
  readonly left: ExpressionNode;
  readonly symbol: Comparison;
  readonly right: ExpressionNode;
}

function compare(cursor: Cursor, { left, symbol, right }: Sides): ExpressionNode {
  if (left.node !== 'value')
    return { node: 'comparison', field: left, comparison: symbol, value: right.node === 'value' ? right.value : right };
  const mirrored = MIRRORED[symbol];
  if (right.node === 'value' || mirrored === undefined)
    return cursor.fail('a comparison needs a datapoint on its left', cursor.spans.get(left));
  return { node: 'comparison', field: right, comparison: mirrored, value: left.value };
}

const sum: Reader = (cursor) => chain(cursor, ['+', '-'], product);
const product: Reader = (cursor) => chain(cursor, ['*', '/'], addSign);

function chain(cursor: Cursor, operators: readonly Operator[], operand: Reader): ExpressionNode {
  const { start } = cursor.peek();
  let left = operand(cursor);
  for (;;) {
    const operator = operators.find((symbol) => cursor.skips(symbol));
    if (operator === undefined) return left;
    left = cursor.placed(join(operator, left, operand(cursor)), start);
  }
}

function addSign(cursor: Cursor): ExpressionNode {
  const { start } = cursor.peek();
  if (cursor.skips('+')) return cursor.nested(() => addSign(cursor));
  if (!cursor.skips('-')) return power(cursor);
  return cursor.placed(negateNode(cursor.nested(() => addSign(cursor))), start);
}

function power(cursor: Cursor): ExpressionNode {
  const { start } = cursor.peek();
  const base = primary(cursor);
  if (!cursor.skips('^')) return base;
  return cursor.placed(
    join(
      '^',
      base,
      cursor.nested(() => addSign(cursor)),
    ),
    start,
  );
}

function primary(cursor: Cursor): ExpressionNode {
  const token = cursor.next();
  const { kind, text, start } = token;
  const isName = kind === 'name' && !KEYWORDS.has(text);
  if (isName || kind === 'quoted') return fieldOrCall(cursor, token);
  if (kind === 'number') return cursor.placed({ node: 'value', value: numberOf(cursor, token) }, start);
  if (kind === 'string') return cursor.placed({ node: 'value', value: text }, start);
  if (kind === 'name' && (text === 'true' || text === 'false'))
    return cursor.placed({ node: 'value', value: text === 'true' }, start);
  if (kind === 'symbol' && text === '(') {
    const inner = expression(cursor);
    cursor.expect(')', 'the expression in brackets');
    return inner;
  }
  if (kind === 'symbol' && text === '[') {
    const value = list(cursor);
    return cursor.placed({ node: 'value', value }, start);
  }
  return cursor.fail(`expected a datapoint, a number, a function or a bracket${describeToken(token)}`, token);
}

/** Parses the entries of a list, after the opening bracket. */
function list(cursor: Cursor): Constant {
  const items: (number | string | boolean)[] = [];
  do {
    const { start } = cursor.peek();
    const item = addSign(cursor);
    if (item.node !== 'value' || typeof item.value === 'object')
      cursor.fail('a list can contain only constants', cursor.since(start));
    else items.push(item.value);
  } while (cursor.skips(','));
  cursor.expect(']', 'the last entry of the list');
  return items;
}

function fieldOrCall(cursor: Cursor, token: Token): ExpressionNode {
  const { kind, text: name, start } = token;
  if (name === '' || name.length > 64) cursor.fail('a name has 1 to 64 characters', token);
  if (!cursor.skips('(')) return cursor.placed(createFieldNode(requestLatest(name)), start);
  const { operands, options, spans } = parseArguments(cursor, expression);
  cursor.expect(')', `the operands of ${name}`);
  if (kind === 'quoted' || (!FUNCTION_NAMES.includes(name) && operands.length === 0 && spans.size > 0))
    return cursor.placed(createFieldWithOptions(cursor, token, { options, spans }), start);
  const { dataset, ...own } = options;
  if (dataset !== undefined) cursor.fail(`${name} does not accept dataset=`, spans.get('dataset'));
  return cursor.placed(createFunctionCall(name, operands, own), start);
}

function numberOf(cursor: Cursor, token: Token): number {
  const value = Number(token.text);
  return Number.isFinite(value) ? value : cursor.fail('the number is too large', token);
}
