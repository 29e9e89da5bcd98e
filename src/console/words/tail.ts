/** Share of the sessions in the tail of a distribution of returns. */
const TAIL = 0.05;

/**
 * Computes the historical value at risk at 95%. It is the smallest loss among the worst 5% of the sessions, whose
 * number is rounded up. It is positive for a loss, and null without returns.
 */
export function computeValueAtRisk(returns: readonly (number | null)[]): number | null {
  const sortedReturns = returns.filter((value) => value !== null).toSorted((a, b) => a - b);
  const edge = sortedReturns[Math.ceil(sortedReturns.length * TAIL) - 1];
  return edge === undefined ? null : -edge;
}
