/**
 * Characters that start a formula in a spreadsheet, including full-width forms.
 * @source OWASP ASVS 1.2.10
 */
const FORMULA_STARTS: ReadonlySet<string> = new Set([
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

/** Returns a text for a sheet, with a leading apostrophe if a spreadsheet would read it as a formula. */
export function protectText(text: string): string {
  return FORMULA_STARTS.has(text[0] ?? '') ? `'${text}` : text;
}

/** Returns the original text of `protectText`. */
export function removeProtection(text: string): string {
  return text[0] === "'" && FORMULA_STARTS.has(text[1] ?? '') ? text.slice(1) : text;
}
