/**
 * Characters by which a spreadsheet takes a text for a formula, full-width forms included.
 * @source OWASP ASVS 1.2.10
 */
const STARTERS: ReadonlySet<string> = new Set([
  '=',
  '+',
  '-',
  '@',
  '\t',
  '\r',
  '\0',
  '\uff0b',
  '\uff0d',
  '\uff1d',
  '\uff20',
]);

/** A text as it is written into a sheet: one that would be taken for a formula gets an apostrophe before it. */
export function protectedText(text: string): string {
  return STARTERS.has(text[0] ?? '') ? `'${text}` : text;
}

/** The text that `protectedText` was given. */
export function unprotectedText(text: string): string {
  return text[0] === "'" && STARTERS.has(text[1] ?? '') ? text.slice(1) : text;
}
