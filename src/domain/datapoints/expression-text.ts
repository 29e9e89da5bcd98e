import { suggestName } from '#base/nearest-name.js';
import { LIMITS } from '../base/limits.js';
import {
  type ArithmeticNode,
  combineConditions,
  type Comparison,
  type ComparisonNode,
  type Constant,
  createFieldNode,
  createFunctionCall,
  createNegation,
  type DatapointExpression,
  type ExpressionNode,
  type FieldLeaf,
  findValueType,
  type FunctionNode,
  isExpressionNode,
  isField,
  joinOperands,
  type Operator,
  toCanonical,
  toFieldRequest,
} from './expression-tree.js';
import { createLatestRequest, type Dataset, DATASETS, describeRequest, isWindowed } from './fields.js';
import { FUNCTION_NAMES, OPTION_NAMES } from './functions.js';

/** Range of characters in a text; `end` is exclusive. */
export interface CharacterSpan {
  readonly start: number;
  readonly end: number;
}

export type TokenKind = 'number' | 'string' | 'name' | 'quoted' | 'symbol' | 'end';

interface Token extends CharacterSpan {
  readonly kind: TokenKind;
  /** Text of the token. A name or symbol is as written; a string or quoted name has no quotes. */
  readonly text: string;
}

export class SyntaxFault extends Error {
  readonly span: CharacterSpan;

  constructor(message: string, span: CharacterSpan) {
    super(message);
    this.span = span;
  }
}

const SPACE = /\s+/y;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const SYMBOL = /==|!=|<=|>=|[-+*/^()[\],=<>]/y;
const QUOTED = /`((?:[^`]|``)*)`/y;
const STRING = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/suy;

/** Splits a text into tokens, including an end token. @throws SyntaxFault @cost O(length) */
function tokenise(text: string): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  const matchPattern = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = position;
    return pattern.exec(text);
  };
  const addToken = (kind: TokenKind, length: number, content: string): void => {
    tokens.push({ kind, text: content, start: position, end: position + length });
    position += length;
  };
  while (position < text.length) {
    const space = matchPattern(SPACE);
    if (space !== null) {
      position += space[0].length;
      continue;
    }
    const number = matchPattern(NUMBER);
    const name = number === null ? matchPattern(NAME) : null;
    const quotedName = matchPattern(QUOTED);
    const string = matchPattern(STRING);
    const symbol = matchPattern(SYMBOL);
    if (number !== null) addToken('number', number[0].length, number[0]);
    else if (name !== null) addToken('name', name[0].length, name[0]);
    else if (quotedName !== null) addToken('quoted', quotedName[0].length, quotedName[1]!.replaceAll('``', '`'));
    else if (string !== null) addToken('string', string[0].length, unescapeText(string[0], position));
    else if (symbol !== null) addToken('symbol', symbol[0].length, symbol[0]);
    else throw createLexicalFault(text, position);
  }
  tokens.push({ kind: 'end', text: '', start: text.length, end: text.length });
  return tokens;
}

function createLexicalFault(text: string, position: number): SyntaxFault {
  const character = String.fromCodePoint(text.codePointAt(position)!);
  const opens = { '"': 'string', "'": 'string', '`': 'quoted name' }[character];
  if (opens !== undefined) return new SyntaxFault(`the ${opens} is not closed`, { start: position, end: text.length });
  return new SyntaxFault(`the character ${JSON.stringify(character)} has no meaning here`, {
    start: position,
    end: position + character.length,
  });
}

/** Returns the content of a string after decoding JSON escapes. @throws SyntaxFault */
function unescapeText(written: string, start: number): string {
  const quote = written[0]!;
  const body = written.slice(1, -1);
  const asJson = quote === '"' ? body : body.replaceAll("\\'", "'").replace(/(?<!\\)"/g, '\\"');
  try {
    return JSON.parse(`"${asJson}"`) as string;
  } catch {
    throw new SyntaxFault('the string contains an escape or a control character that JSON does not have', {
      start,
      end: start + written.length,
    });
  }
}

/** Maximum nesting of brackets, signs and negations. No tree within the limits of depth and size needs more. */
const NESTING_MAX = 64;

interface Cursor {
  peek(ahead?: number): Token;
  next(): Token;
  isSymbol(text: string, ahead?: number): boolean;
  isWord(text: string): boolean;
  /** Skips a symbol if it is the next token. Returns true if it is. */
  skips(symbol: string): boolean;
  /** Skips a symbol. @throws SyntaxFault if the next token is a different one */
  expect(symbol: string, after: string): void;
  /** Throws a fault at the next token. @throws SyntaxFault */
  fail(message: string, span?: CharacterSpan): never;
  /** Records that a node spans from a character to the last token read. */
  placed<N extends ExpressionNode>(node: N, start: number): N;
  /** Returns the span from a character to the end of the last token read. */
  since(start: number): CharacterSpan;
  /** Calls `read` one nesting level deeper. @throws SyntaxFault beyond the maximum */
  nested<T>(read: () => T): T;
  readonly spans: ReadonlyMap<ExpressionNode, CharacterSpan>;
}

/** Creates a cursor at the first token. @param tokens the last token must be the end */
function createCursor(tokens: readonly Token[]): Cursor {
  const spans = new Map<ExpressionNode, CharacterSpan>();
  let position = 0;
  let nesting = 0;
  const cursor: Cursor = {
    spans,
    peek: (ahead = 0) => tokens[Math.min(position + ahead, tokens.length - 1)]!,
    next: () => tokens[position < tokens.length - 1 ? position++ : position]!,
    isSymbol: (text, ahead = 0) => cursor.peek(ahead).kind === 'symbol' && cursor.peek(ahead).text === text,
    isWord: (text) => cursor.peek().kind === 'name' && cursor.peek().text === text,
    skips(symbol) {
      const isNext = cursor.isSymbol(symbol);
      if (isNext) cursor.next();
      return isNext;
    },
    expect(symbol, after) {
      if (!cursor.skips(symbol)) cursor.fail(`expected ${symbol} after ${after}${describeToken(cursor.peek())}`);
    },
    fail(message, span = cursor.peek()) {
      throw new SyntaxFault(message, span);
    },
    placed(node, start) {
      spans.set(node, cursor.since(start));
      return node;
    },
    since: (start) => ({ start, end: tokens[Math.max(0, position - 1)]!.end }),
    nested(read) {
      if (++nesting > NESTING_MAX) cursor.fail(`the text nests deeper than ${NESTING_MAX} levels`);
      const result = read();
      nesting--;
      return result;
    },
  };
  return cursor;
}

/** Describes the token found in place of the expected one. */
const describeToken = ({ kind, text }: Token): string =>
  kind === 'end' ? ', found the end of the text' : `, found ${text}`;

/** Options of a call, written as name `=` value. */
export interface Options {
  by?: string;
  over?: 'selection' | 'universe';
  dataset?: Dataset;
  window?: number;
  lag?: number;
  low?: number;
  high?: number;
}

export interface Arguments {
  readonly operands: readonly ExpressionNode[];
  readonly options: Options;
  /** Position of each option in the text. */
  readonly spans: ReadonlyMap<string, CharacterSpan>;
}

/** Parses the operands and options of a call, after the opening bracket. @throws SyntaxFault */
function parseArguments(cursor: Cursor, expression: (cursor: Cursor) => ExpressionNode): Arguments {
  const operands: ExpressionNode[] = [];
  const options: Options = {};
  const spans = new Map<string, CharacterSpan>();
  if (cursor.isSymbol(')')) return { operands, options, spans };
  do {
    if (cursor.peek().kind === 'name' && cursor.isSymbol('=', 1)) {
      const name = cursor.next();
      cursor.next();
      if (spans.has(name.text)) cursor.fail(`${name.text}= occurs twice`, name);
      readOption(cursor, name, options);
      spans.set(name.text, cursor.since(name.start));
    } else {
      if (spans.size > 0) cursor.fail('operands must come before the options');
      operands.push(expression(cursor));
    }
  } while (cursor.skips(','));
  return { operands, options, spans };
}

const ACCEPTED_OPTIONS: readonly string[] = [...OPTION_NAMES, 'dataset'];

function readOption(cursor: Cursor, name: Token, options: Options): void {
  const token = cursor.next();
  switch (name.text) {
    case 'by':
      if (token.kind !== 'name' && token.kind !== 'quoted' && token.kind !== 'string')
        cursor.fail('by= needs the name of a column', token);
      options.by = token.text;
      break;
    case 'over':
      options.over = readChoice(cursor, token, ['selection', 'universe']);
      break;
    case 'dataset':
      options.dataset = readChoice(cursor, token, DATASETS);
      break;
    case 'window':
    case 'lag':
    case 'low':
    case 'high':
      if (token.kind !== 'number') cursor.fail(`${name.text}= needs a number`, token);
      options[name.text] = Number(token.text);
      break;
    default:
      cursor.fail(
        `${name.text}= is not an option; the options are ${ACCEPTED_OPTIONS.join(', ')}.${suggestName(name.text, ACCEPTED_OPTIONS)}`,
        name,
      );
  }
}

function readChoice<T extends string>(cursor: Cursor, token: Token, choices: readonly T[]): T {
  const choiceRead = choices.find((choice) => choice === token.text);
  const acceptedChoices = choices.map((choice) => JSON.stringify(choice)).join(', ');
  return choiceRead ?? cursor.fail(`the accepted values are ${acceptedChoices}`, token);
}

/** Parses a datapoint with its options. @throws SyntaxFault for an option that the datapoint does not accept */
function createFieldWithOptions(
  cursor: Cursor,
  { text: name }: Token,
  { options, spans }: Pick<Arguments, 'options' | 'spans'>,
): ExpressionNode {
  const { dataset = null, window = null, lag = 0 } = options;
  const isUsedOption = (option: string): boolean =>
    option === 'lag' || option === 'dataset' || (option === 'window' && isWindowed({ name, dataset }));
  for (const [option, span] of spans)
    if (!isUsedOption(option))
      cursor.fail(
        `the datapoint ${name} does not accept ${option}=; a datapoint accepts lag= and dataset=, and VOLATILITY, MOMENTUM and BETA also window=`,
        span,
      );
  return createFieldNode(createLatestRequest(name, { dataset, window, lag }));
}

/** Keywords: as column names they must be quoted. */
const KEYWORDS: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'between', 'true', 'false']);

const SYMBOLS = {
  gt: '>',
  ge: '>=',
  lt: '<',
  le: '<=',
  eq: '==',
  ne: '!=',
  in: 'in',
  between: 'between',
} as const satisfies Readonly<Record<Comparison, string>>;

/** Comparison with exchanged sides. */
const MIRRORED: Partial<Record<Comparison, Comparison>> = {
  gt: 'lt',
  ge: 'le',
  lt: 'gt',
  le: 'ge',
  eq: 'eq',
  ne: 'ne',
};

export interface ParsedExpression {
  readonly tree: ExpressionNode;
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

function parseConnection(
  cursor: Cursor,
  { word, kind, operand }: { readonly word: string; readonly kind: 'all' | 'any'; readonly operand: NodeParser },
): ExpressionNode {
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

function createComparison(
  cursor: Cursor,
  {
    left,
    symbol,
    right,
  }: { readonly left: ExpressionNode; readonly symbol: Comparison; readonly right: ExpressionNode },
): ExpressionNode {
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

export function createLabel(expression: DatapointExpression): string {
  return isField(expression) ? expression.name : printExpression(expression);
}

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
