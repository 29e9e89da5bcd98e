/**
 * Characters at which a spreadsheet starts a formula, including full-width forms.
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

/** Returns a text for a sheet. A text that a spreadsheet would read as a formula gets a leading apostrophe. */
export function protectText(text: string): string {
  return STARTERS.has(text[0] ?? '') ? `'${text}` : text;
}

/** Returns the text that `protectText` was given. */
export function removeProtection(text: string): string {
  return text[0] === "'" && STARTERS.has(text[1] ?? '') ? text.slice(1) : text;
}
