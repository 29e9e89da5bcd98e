/** A decimal number within a text. */
const DECIMALS = /(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.]*\d)/g;

/** Number of significant digits that arithmetic on doubles keeps. Later digits may be noise. */
const EXACT_DIGITS = 12;
/** Minimum number of significant digits of a result with noise. */
const NOISY_DIGITS = 15;
/** Maximum number of significant digits of a decimal number that a person would write. */
const SHORT_DIGITS = 9;

/**
 * Returns a text whose decimal numbers have no noise of double arithmetic: `0.8999999999999999` becomes `0.9`. Other
 * numbers are unchanged, and so is a text in which two different numbers would become equal.
 */
export function removeNumberNoise(text: string): string {
  const numbers = text.match(DECIMALS);
  if (numbers === null || numbers.every((number) => countDigits(number) < NOISY_DIGITS)) return text;
  const distinct = new Set([...numbers, ...(text.match(/(?<![\w.])\d+(?![\w.]*\d)/g) ?? [])]);
  const shortened = new Set([...distinct].map(shorten));
  return shortened.size === distinct.size ? text.replaceAll(DECIMALS, shorten) : text;
}

function shorten(number: string): string {
  if (countDigits(number) < NOISY_DIGITS) return number;
  const rounded = String(Number(Number(number).toPrecision(EXACT_DIGITS)));
  return countDigits(rounded) <= SHORT_DIGITS ? rounded : number;
}

/** Returns the number of significant digits. */
const countDigits = (number: string): number => number.replace(/e.*$/, '').replace('.', '').replace(/^0+/, '').length;
