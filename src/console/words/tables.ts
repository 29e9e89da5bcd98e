/** Column filters as users type them: words, or, for numbers, comparisons such as `> 5`, `2..4` or `<= 3%`. */

type Value = number | string | null;

/** Parses the filter of a column. Returns undefined if the text is not a filter. */
export function parseFilter(
  typed: string,
  ofNumbers: boolean,
  isPercent: boolean,
): ((value: Value) => boolean) | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  return ofNumbers ? parseComparison(text, isPercent) : parseWords(text);
}

/** Returns a filter for texts. A text must contain all words, and none of the words that have a minus in front. */
function parseWords(text: string): (value: Value) => boolean {
  const allWords = text.toLowerCase().split(/\s+/);
  const unwantedWords = allWords.filter((word) => word.length > 1 && word.startsWith('-')).map((word) => word.slice(1));
  const wantedWords = allWords.filter((word) => !(word.length > 1 && word.startsWith('-')));
  return (value) => {
    const valueText = String(value ?? '').toLowerCase();
    return (
      wantedWords.every((word) => valueText.includes(word)) && !unwantedWords.some((word) => valueText.includes(word))
    );
  };
}

const COMPARISON = /^(>=|<=|>|<|=)(.+)$/;

function parseComparison(text: string, isPercent: boolean): ((value: Value) => boolean) | undefined {
  const [least, most, ...more] = text.split('..');
  if (least !== undefined && most !== undefined && more.length === 0) {
    const [low, high] = [parseNumber(least, isPercent), parseNumber(most, isPercent)];
    return low === undefined || high === undefined
      ? undefined
      : (value) => typeof value === 'number' && value >= low && value <= high;
  }
  const match = COMPARISON.exec(text);
  const limit = parseNumber(match === null ? text : match[2]!, isPercent);
  if (limit === undefined) return undefined;
  const test = COMPARISON_TESTS[match?.[1] ?? '='];
  return (value) => typeof value === 'number' && test!(value, limit); // the pattern matches only operators in COMPARISON_TESTS
}

/** Maximum relative difference between a number and its rounded value on the page. */
const ROUNDING = 5e-5;

const COMPARISON_TESTS: Readonly<Record<string, (value: number, limit: number) => boolean>> = {
  '>': (value, limit) => value > limit,
  '>=': (value, limit) => value >= limit,
  '<': (value, limit) => value < limit,
  '<=': (value, limit) => value <= limit,
  '=': (value, limit) => Math.abs(value - limit) <= ROUNDING * Math.max(1, Math.abs(limit)),
};

function parseNumber(text: string, isPercent: boolean): number | undefined {
  const numberText = text.trim().replace('\u2212', '-').replaceAll(',', '');
  const hasSign = numberText.endsWith('%');
  const value = Number(hasSign ? numberText.slice(0, -1) : numberText);
  if (numberText === '' || numberText === '%' || !Number.isFinite(value)) return undefined;
  return hasSign || isPercent ? value / 100 : value;
}

/**
 * Characters with which a formula starts in a spreadsheet. Full-width forms are included.
 * @source OWASP ASVS 1.2.10
 */
const FORMULA_STARTS: ReadonlySet<string> = new Set(['=', '+', '-', '@', '\uff0b', '\uff0d', '\uff1d', '\uff20']);

export type CellValue = number | string | null;

export interface Cells {
  readonly header: readonly string[];
  readonly rows: readonly (readonly CellValue[])[];
}

/**
 * Formats rows with a header as tab-separated text for a spreadsheet. Numbers have all their digits. A text can never
 * start a formula.
 */
export const formatTabSeparated = ({ header, rows }: Cells): string =>
  [header, ...rows].map((row) => row.map(formatCell).join('\t')).join('\n');

/** Formats rows with a header as a CSV file. Numbers have all their digits. A text can never start a formula. */
export const formatCommaSeparated = ({ header, rows }: Cells): string =>
  [header, ...rows].map((row) => `${row.map(formatQuotedCell).join(',')}\r\n`).join('');

function formatQuotedCell(value: CellValue): string {
  const text = formatCell(value);
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function formatCell(value: CellValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = value.replaceAll(/\s+/g, ' ').trim();
  return FORMULA_STARTS.has(text[0] ?? '') ? `'${text}` : text;
}

/** Converts a CSV file of the service to tab-separated text for a spreadsheet. It reads each character only once. */
export async function convertCsvToTabs(csv: string): Promise<string> {
  const { parseCells } = await import('#base/level-file.js'); // only few pages read files
  return parseCells(csv)
    .map((cells) => cells.map((text) => text.replaceAll(/\s+/g, ' ')).join('\t'))
    .join('\n');
}
