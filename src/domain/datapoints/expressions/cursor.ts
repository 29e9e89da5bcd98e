import { SyntaxFault, type CharacterSpan, type Token } from './lexer.js';
import type { ExpressionNode } from './tree.js';

/** Maximum nesting of brackets, signs and negations. No tree within the limits of depth and size needs more. */
const NESTING_MAX = 64;

/** Position in the tokens of an expression text. */
export interface Cursor {
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
export function createCursor(tokens: readonly Token[]): Cursor {
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
export const describeToken = ({ kind, text }: Token): string =>
  kind === 'end' ? ', found the end of the text' : `, found ${text}`;
