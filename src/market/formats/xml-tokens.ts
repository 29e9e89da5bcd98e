/** Token of an XML text: the start or the end of an element, or text in between. */
export type XmlToken =
  | { readonly kind: 'open'; readonly name: string; readonly attributes: string; readonly isEmpty: boolean }
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string };

export class XmlFault extends Error {
  override readonly name = 'XmlFault';
}

/** Maximum length of a tag or of a text between two tags: an Excel cell may contain 32,767 characters. */
const PIECE_MAX = 1 << 20;

/**
 * Splits XML text into tokens as its bytes arrive. Namespace prefixes are removed. Document type declarations are
 * rejected, so that only the five predefined entities exist.
 * @throws XmlFault
 */
export async function* readXmlTokens(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<XmlToken> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let restText = '';
  for await (const chunk of chunks) {
    restText += decode(decoder, chunk);
    let from = 0;
    for (;;) {
      const markupStart = restText.indexOf('<', from);
      if (markupStart < 0) break;
      const end = findMarkupEnd(restText, markupStart);
      if (end < 0) break;
      if (markupStart > from) yield { kind: 'text', text: unescape(restText.slice(from, markupStart)) };
      const token = parseToken(restText.slice(markupStart, end));
      if (token !== undefined) yield token;
      from = end;
    }
    restText = restText.slice(from);
    if (restText.length > PIECE_MAX) throw new XmlFault(`A tag or text is longer than ${PIECE_MAX} characters.`);
  }
  if (restText.trim() !== '') throw new XmlFault('The text ends inside a tag.');
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true });
  } catch {
    throw new XmlFault('The text is not UTF-8.');
  }
}

/** Returns the position after the markup that begins at `open`; -1 if it is incomplete. */
function findMarkupEnd(text: string, open: number): number {
  const findEndAfter = (end: string) => {
    const offset = text.indexOf(end, open);
    return offset < 0 ? -1 : offset + end.length;
  };
  if (text.startsWith('<!--', open)) return findEndAfter('-->');
  if (text.startsWith('<![CDATA[', open)) return findEndAfter(']]>');
  if (text.length - open < 9) {
    // too short to distinguish a comment from a declaration
    if (text[open + 1] === '!') return -1;
  } else if (text[open + 1] === '!') throw new XmlFault('The text has a document type declaration.');
  let quote = '';
  for (let offset = open + 1; offset < text.length; offset++) {
    const character = text[offset]!;
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return offset + 1;
  }
  return -1;
}

function parseToken(markup: string): XmlToken | undefined {
  if (markup.startsWith('<!--') || markup.startsWith('<?')) return undefined;
  if (markup.startsWith('<![CDATA[')) return { kind: 'text', text: markup.slice(9, -3) };
  if (markup[1] === '/') return { kind: 'close', name: getLocalName(markup.slice(2, -1).trim()) };
  const isEmpty = markup.endsWith('/>');
  const inner = markup.slice(1, isEmpty ? -2 : -1);
  const space = inner.search(/\s/);
  return {
    kind: 'open',
    name: getLocalName(space < 0 ? inner : inner.slice(0, space)),
    attributes: space < 0 ? '' : inner.slice(space),
    isEmpty,
  };
}

const getLocalName = (name: string) => name.slice(name.indexOf(':') + 1);

/** Returns the value of an attribute; undefined if it is absent. */
export function findAttribute(attributes: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes);
  return match === null ? undefined : unescape(match[1] ?? match[2] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescape(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(#x[0-9a-fA-F]{1,6}|#\d{1,7}|[a-z]{2,4});/g, (_whole, name: string) => {
    if (name[0] !== '#') {
      const entity = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
      if (entity === undefined) throw new XmlFault(`The entity ${name} is not known.`);
      return entity;
    }
    const code = name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    if (code === 0 || code > 0x10ffff) throw new XmlFault('A character reference is out of range.');
    return String.fromCodePoint(code);
  });
}
