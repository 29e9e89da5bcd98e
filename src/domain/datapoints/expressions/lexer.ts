/** Range of characters in a text; `end` is exclusive. */
export interface CharacterSpan {
  readonly start: number;
  readonly end: number;
}

export type TokenKind = 'number' | 'string' | 'name' | 'quoted' | 'symbol' | 'end';

export interface Token extends CharacterSpan {
  readonly kind: TokenKind;
  /** Text of the token. A name or symbol is as written; a string or quoted name has no quotes. */
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
