/** Range of characters in a text; `end` is exclusive. */
export interface CharacterSpan {
  readonly start: number;
  readonly end: number;
}

export type TokenKind = 'number' | 'string' | 'name' | 'quoted' | 'symbol' | 'end';

export interface Token extends CharacterSpan {
  readonly kind: TokenKind;
  /** Name or symbol as written; string or quoted name without quotes. */
  readonly text: string;
}

/** Syntax error in a text, with its position. */
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
export function tokenise(text: string): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = position;
    return pattern.exec(text);
  };
  const add = (kind: TokenKind, length: number, content: string): void => {
    tokens.push({ kind, text: content, start: position, end: position + length });
    position += length;
  };
  while (position < text.length) {
    const space = match(SPACE);
    if (space !== null) {
      position += space[0].length;
      continue;
    }
    const number = match(NUMBER);
    const name = number === null ? match(NAME) : null;
    const quoted = match(QUOTED);
    const string = match(STRING);
    const symbol = match(SYMBOL);
    if (number !== null) add('number', number[0].length, number[0]);
    else if (name !== null) add('name', name[0].length, name[0]);
    else if (quoted !== null) add('quoted', quoted[0].length, quoted[1]!.replaceAll('``', '`'));
    else if (string !== null) add('string', string[0].length, unescape(string[0], position));
    else if (symbol !== null) add('symbol', symbol[0].length, symbol[0]);
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
function unescape(written: string, start: number): string {
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
