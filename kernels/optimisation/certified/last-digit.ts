/** Smallest last digit, used for numbers near zero. */
const LAST_DIGIT_MIN = 2 ** -104;

/** Returns the distance of a number from the next larger double in magnitude. @cost proportional to its exponent */
export function computeLastDigit(value: number): number {
  const size = Math.min(Math.abs(value), Number.MAX_VALUE);
  let digit = LAST_DIGIT_MIN;
  while (digit * 2 ** 52 <= size / 2) digit *= 2;
  return digit;
}
