import type { ConcentrationRow } from '../constraints/program-row.js';
import { listPositions } from './restriction.js';
import type { ConvexSolution } from './solve-convex.js';

/** Input for choosing the securities above triggers. */
export interface LargeSecuritiesInput<T> {
  readonly rows: readonly ConcentrationRow[];
  /** 1 for securities that may be held, [N]. */
  readonly held: Uint8Array;
  /** Weights of the optimum without triggers. */
  readonly weights: Float64Array;
  /** True if no weight may be negative. */
  readonly isLong: boolean;
  /** Returns the optimum in which only the securities of `large` may exceed the triggers. */
  readonly solve: (large: Uint8Array) => T | undefined;
}

/** Distance from a limit above which a weight or a sum does not count as touching it. */
const CONTACT_TOLERANCE = 1e-9;

/**
 * Finds the best number of securities that may exceed the triggers, in order of weight. More large securities increase
 * the limited sum; fewer force more securities below the triggers. If no trigger binds, more cannot help. If no sum
 * binds, fewer cannot help.
 * @cost a solve for each number in between
 */
export function findBestLargeSecurities<T extends { readonly solution: ConvexSolution }>(
  input: LargeSecuritiesInput<T>,
): T | undefined {
  const { rows, held, weights, isLong, solve } = input;
  const n = weights.length;
  const order = Array.from(listPositions(held)).toSorted((a, b) => weights[b]! - weights[a]! || a - b);
  const largestCount = Math.min(
    order.length,
    ...rows.map(({ aggregate, trigger }) => (trigger > 0 ? Math.floor(aggregate / trigger) : order.length)),
  );
  const trigger = Math.min(...rows.map((row) => row.trigger));
  const aggregate = Math.min(...rows.map((row) => row.aggregate));
  const first = Math.min(largestCount, order.filter((i) => weights[i]! > trigger).length);
  let best: T | undefined;
  const solveWithLargest = (size: number) => {
    const large = new Uint8Array(n);
    for (const i of order.slice(0, size)) large[i] = 1;
    return solve(large);
  };
  const isWithin = (size: number, { solution }: T) =>
    order.slice(size).every((i) => solution.weights[i]! < trigger - CONTACT_TOLERANCE);
  const isLight = (size: number, { solution }: T) =>
    order.slice(0, size).reduce((sum, i) => sum + solution.weights[i]!, 0) < aggregate - CONTACT_TOLERANCE;
  let isDown = true;
  for (let size = first; size <= largestCount; size++) {
    const result = solveWithLargest(size);
    if (result === undefined) continue;
    if (best === undefined || result.solution.value < best.solution.value) best = result;
    if (isLight(size, result)) isDown = false;
    if (isLong && isWithin(size, result)) break;
  }
  for (let size = first - 1; size >= 0 && isDown; size--) {
    const result = solveWithLargest(size);
    if (result === undefined) continue;
    if (best === undefined || result.solution.value <= best.solution.value) best = result;
    isDown = !isLight(size, result);
  }
  return best;
}
