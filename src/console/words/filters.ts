/** Filters as typed: words, or for numbers a comparison such as `> 5`, `2..4` or `<= 3%`. */

type Value = number | string | null;

/** Parses a condition on the values of a column; returns undefined for other text. */
export function parseFilter(
  typed: string,
  ofNumbers: boolean,
  isPercent: boolean,
): ((value: Value) => boolean) | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  return ofNumbers ? numeric(text, isPercent) : words(text);
}

/** Returns a filter for texts that contain every word, and none of the words after a minus. */
function words(text: string): (value: Value) => boolean {
  const all = text.toLowerCase().split(/\s+/);
  const unwanted = all.filter((word) => word.length > 1 && word.startsWith('-')).map((word) => word.slice(1));
  const wanted = all.filter((word) => !(word.length > 1 && word.startsWith('-')));
  return (value) => {
    const found = String(value ?? '').toLowerCase();
    return wanted.every((word) => found.includes(word)) && !unwanted.some((word) => found.includes(word));
  };
}

const COMPARED = /^(>=|<=|>|<|=)(.+)$/;

function numeric(text: string, isPercent: boolean): ((value: Value) => boolean) | undefined {
  const [least, most, ...more] = text.split('..');
  if (least !== undefined && most !== undefined && more.length === 0) {
    const [low, high] = [numberOf(least, isPercent), numberOf(most, isPercent)];
    return low === undefined || high === undefined
      ? undefined
      : (value) => typeof value === 'number' && value >= low && value <= high;
  }
  const match = COMPARED.exec(text);
  const limit = numberOf(match === null ? text : match[2]!, isPercent);
  if (limit === undefined) return undefined;
  const test = TESTS[match?.[1] ?? '='];
  return (value) => typeof value === 'number' && test!(value, limit); // The expression names the tests.
}

/** Maximum relative difference between a displayed value and its number, caused by rounding. */
const ROUNDING = 5e-5;

const TESTS: Readonly<Record<string, (value: number, limit: number) => boolean>> = {
  '>': (value, limit) => value > limit,
  '>=': (value, limit) => value >= limit,
  '<': (value, limit) => value < limit,
  '<=': (value, limit) => value <= limit,
  '=': (value, limit) => Math.abs(value - limit) <= ROUNDING * Math.max(1, Math.abs(limit)),
};

function numberOf(text: string, isPercent: boolean): number | undefined {
  const written = text.trim().replace('\u2212', '-').replaceAll(',', '');
  const hasSign = written.endsWith('%');
  const value = Number(hasSign ? written.slice(0, -1) : written);
  if (written === '' || written === '%' || !Number.isFinite(value)) return undefined;
  return hasSign || isPercent ? value / 100 : value;
}
