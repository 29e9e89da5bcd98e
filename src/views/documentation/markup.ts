/** HTML text that is already escaped. Plain text is escaped when it is inserted; markup is inserted unchanged. */
export interface Markup {
  readonly html: string;
}

type Part = string | number | Markup | readonly Markup[];

/** Builds markup from a template. All inserted values that are not markup are escaped. */
export function createMarkup(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return { html: texts.map((text, i) => (i < parts.length ? text + formatHtml(parts[i]!) : text)).join('') };
}

/** Marks a text as markup without escaping it. */
export const toMarkup = (html: string): Markup => ({ html });

export const NO_MARKUP: Markup = toMarkup('');

/** Concatenates markup. */
export const joinParts = (parts: readonly Markup[], between = ''): Markup =>
  toMarkup(parts.map(({ html }) => html).join(between));

function formatHtml(part: Part): string {
  if (typeof part === 'string') return escapeHtml(part);
  if (typeof part === 'number') return String(part);
  return 'html' in part ? part.html : joinParts(part).html;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** Converts a description to markup. Empty lines separate paragraphs; words in backticks become code. */
export function renderProse(text: string): Markup {
  return joinParts(
    text
      .trim()
      .split(/\n\s*\n/)
      .map((paragraph) => createMarkup`<p>${renderPhrase(paragraph)}</p>`),
  );
}

/** Converts one paragraph to markup without the surrounding element. */
export function renderPhrase(text: string): Markup {
  return joinParts(
    text
      .split(/(`[^`]+`)/)
      .map((part) => (/^`.+`$/s.test(part) ? createMarkup`<code>${part.slice(1, -1)}</code>` : createMarkup`${part}`)),
  );
}
