/** Maximum term of a split ratio, and maximum integer ratio. */
const SPLIT_TERM_MAX = 10;
const SPLIT_INTEGER_MAX = 100;
/** Minimum ratio of a split into more shares. A smaller change is more probably a cash payment. */
export const SPLIT_RATIO_MIN = 1.2;

/** Split ratios, ordered by the sum of their terms. Ratios with a large term that is not round come last. */
export const SPLIT_RATIOS = [
  ...Array.from({ length: SPLIT_TERM_MAX ** 2 }, (_, i) => [
    1 + Math.floor(i / SPLIT_TERM_MAX),
    1 + (i % SPLIT_TERM_MAX),
  ]),
  ...Array.from({ length: SPLIT_INTEGER_MAX }, (_, i) => [i + 1, 1]),
  ...Array.from({ length: SPLIT_INTEGER_MAX }, (_, i) => [1, i + 1]),
]
  .filter(([a, b]) => a !== b)
  .toSorted((one, other) => computeRatioOrder(one) - computeRatioOrder(other))
  .map(([a, b]) => a! / b!);

/**
 * Returns the sum of the terms of a ratio. The result is larger if a large term is not round, so that the ratio comes
 * last in the order.
 */
function computeRatioOrder(terms: readonly number[]): number {
  const isOdd = terms.some((term) => term > SPLIT_TERM_MAX && term % 5 !== 0);
  return terms.reduce((sum, term) => sum + term, 0) + (isOdd ? 2 * SPLIT_INTEGER_MAX : 0);
}
