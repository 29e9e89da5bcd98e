/** A regular expression literal in a source file. */
export interface RegexLiteral {
  readonly pattern: RegExp;
  readonly line: number;
}

/**
 * Matches code after which a slash begins a regular expression and not a division. An exclamation mark after a value is
 * a non-null assertion.
 */
const BEFORE_REGEX =
  /(?:^|[(,=:[&|?{};+\-*%~^<>\n]|(?:^|[^\w\])])!|(?<!\.)\b(?:return|typeof|case|in|of|void|yield|await|throw|new|else|do))\s*$/;

/** Returns the regular expression literals of a TypeScript source. It skips strings, templates and comments. */
export function listRegexLiterals(text: string): RegexLiteral[] {
  const source = text.replace(/^#!.*/, '');
  const results: RegexLiteral[] = [];
  let position = 0;
  let line = 1;
  /** Code before `position`, without comments. */
  let before = '';
  /** Depths of braces at which open templates continue. */
  const templates: number[] = [];
  let depth = 0;

  const passQuoted = (quote: string): void => {
    position++;
    while (position < source.length && source[position] !== quote) position += source[position] === '\\' ? 2 : 1;
    position++;
    before = '"';
  };
  const passTemplate = (): void => {
    while (position < source.length && source[position] !== '`') {
      if (source.startsWith('${', position)) {
        templates.push(depth++);
        position += 2;
        before = '{';
        return;
      }
      if (source[position] === '\n') line++;
      position += source[position] === '\\' ? 2 : 1;
    }
    position++;
    before = '"';
  };

  while (position < source.length) {
    const character = source[position]!;
    if (character === '\n') line++;
    if (source.startsWith('//', position))
      position = Math.max(
        position,
        source.indexOf('\n', position) < 0 ? source.length : source.indexOf('\n', position),
      );
    else if (source.startsWith('/*', position)) {
      const end = source.indexOf('*/', position) + 2;
      line += source.slice(position, end).split('\n').length - 1;
      position = end;
    } else if (character === "'" || character === '"') passQuoted(character);
    else if (character === '`') {
      position++;
      passTemplate();
    } else if (character === '}' && templates.at(-1) === depth - 1) {
      depth = templates.pop()!;
      position++;
      passTemplate();
    } else if (character === '/' && BEFORE_REGEX.test(before)) {
      const literal = readLiteral(source, position);
      results.push({ pattern: new RegExp(literal.body, literal.flags), line });
      position = literal.end;
      before = '"';
    } else {
      if (character === '{') depth++;
      if (character === '}') depth--;
      before = (before + character).slice(-16);
      position++;
    }
  }
  return results;
}

function readLiteral(
  source: string,
  start: number,
): { readonly body: string; readonly flags: string; readonly end: number } {
  let position = start + 1;
  let isClass = false;
  while (isClass || source[position] !== '/') {
    if (source[position] === '\\') position++;
    else if (source[position] === '[') isClass = true;
    else if (source[position] === ']') isClass = false;
    if (++position > source.length || source[position] === '\n')
      throw new Error(`no end of the pattern at ${source.slice(start, start + 40)}`);
  }
  const flags = /^[a-z]*/.exec(source.slice(position + 1))![0];
  return { body: source.slice(start + 1, position), flags, end: position + 1 + flags.length };
}
