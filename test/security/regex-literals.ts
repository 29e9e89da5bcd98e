/** A regular expression literal in a source file. */
export interface RegexLiteral {
  readonly pattern: RegExp;
  readonly line: number;
}

/**
 * Matches code after which a slash begins a regular expression rather than a division. An exclamation mark after a
 * value is a non-null assertion.
 */
const BEFORE_REGEX =
  /(?:^|[(,=:[&|?{};+\-*%~^<>\n]|(?:^|[^\w\])])!|\b(?:return|typeof|case|in|of|void|yield|await|throw|new|else|do))\s*$/;

/** Returns the regular expression literals of a TypeScript source; skips strings, templates and comments. */
export function listRegexLiterals(text: string): RegexLiteral[] {
  const source = text.replace(/^#!.*/, '');
  const results: RegexLiteral[] = [];
  let at = 0;
  let line = 1;
  /** Code before `at`, without comments. */
  let before = '';
  /** Depths of braces at which open templates continue. */
  const templates: number[] = [];
  let depth = 0;

  const passQuoted = (quote: string): void => {
    at++;
    while (at < source.length && source[at] !== quote) at += source[at] === '\\' ? 2 : 1;
    at++;
    before = '"';
  };
  const passTemplate = (): void => {
    while (at < source.length && source[at] !== '`') {
      if (source.startsWith('${', at)) {
        templates.push(depth++);
        at += 2;
        before = '{';
        return;
      }
      if (source[at] === '\n') line++;
      at += source[at] === '\\' ? 2 : 1;
    }
    at++;
    before = '"';
  };

  while (at < source.length) {
    const character = source[at]!;
    if (character === '\n') line++;
    if (source.startsWith('//', at))
      at = Math.max(at, source.indexOf('\n', at) < 0 ? source.length : source.indexOf('\n', at));
    else if (source.startsWith('/*', at)) {
      const end = source.indexOf('*/', at) + 2;
      line += source.slice(at, end).split('\n').length - 1;
      at = end;
    } else if (character === "'" || character === '"') passQuoted(character);
    else if (character === '`') {
      at++;
      passTemplate();
    } else if (character === '}' && templates.at(-1) === depth - 1) {
      depth = templates.pop()!;
      at++;
      passTemplate();
    } else if (character === '/' && BEFORE_REGEX.test(before)) {
      const literal = readLiteral(source, at);
      results.push({ pattern: new RegExp(literal.body, literal.flags), line });
      at = literal.end;
      before = '"';
    } else {
      if (character === '{') depth++;
      if (character === '}') depth--;
      before = (before + character).slice(-16);
      at++;
    }
  }
  return results;
}

function readLiteral(
  source: string,
  start: number,
): { readonly body: string; readonly flags: string; readonly end: number } {
  let at = start + 1;
  let isClass = false;
  while (isClass || source[at] !== '/') {
    if (source[at] === '\\') at++;
    else if (source[at] === '[') isClass = true;
    else if (source[at] === ']') isClass = false;
    if (++at > source.length || source[at] === '\n')
      throw new Error(`no end of the pattern at ${source.slice(start, start + 40)}`);
  }
  const flags = /^[a-z]*/.exec(source.slice(at + 1))![0];
  return { body: source.slice(start + 1, at), flags, end: at + 1 + flags.length };
}
