import { runIndex } from './index-run.js';
import { QUARTERLY, type Rulebook } from './parents.js';
import { sum } from './plain-functions.js';
import { selectThirtyLargest } from './score-rules.js';

/**
 * Computes hierarchical risk parity as published: a single-linkage tree of the distances between columns of correlation
 * distances, then the order of its leaves, then weights by recursive bisection.
 */
export function computeHierarchicalWeights(covariance: readonly (readonly number[])[]): number[] {
  const n = covariance.length;
  const deviation = covariance.map((row, i) => Math.sqrt(row[i]!));
  const distance = covariance.map((row, i) =>
    row.map((value, j) => (i === j ? 0 : Math.sqrt((1 - value / (deviation[i]! * deviation[j]!)) / 2))),
  );
  const measureDistance = (i: number, j: number) => Math.sqrt(sum(distance.map((row) => (row[i]! - row[j]!) ** 2)));
  // Clusters in the order in which they were formed. Each has its leaves from left to right.
  let clusters = covariance.map((_, i) => ({ made: i, leaves: [i] }));
  for (let result = n; clusters.length > 1; result++) {
    let best = { a: 0, b: 1, distance: Infinity };
    for (let a = 0; a < clusters.length; a++)
      for (let b = a + 1; b < clusters.length; b++) {
        const nearest = Math.min(
          ...clusters[a]!.leaves.flatMap((i) => clusters[b]!.leaves.map((j) => measureDistance(i, j))),
        );
        if (nearest < best.distance) best = { a, b, distance: nearest };
      }
    const [left, right] = [clusters[best.a]!, clusters[best.b]!];
    clusters = [
      ...clusters.filter((cluster) => cluster !== left && cluster !== right),
      { made: result, leaves: [...left.leaves, ...right.leaves] },
    ];
  }
  const computeVariance = (leaves: readonly number[]): number => {
    const inverse = leaves.map((i) => 1 / covariance[i]![i]!);
    const weights = inverse.map((value) => value / sum(inverse));
    return sum(leaves.map((i, k) => sum(leaves.map((j, l) => weights[k]! * weights[l]! * covariance[i]![j]!))));
  };
  const weights = covariance.map(() => 1);
  const splitLeaves = (leaves: readonly number[]): void => {
    if (leaves.length < 2) return;
    const half = Math.floor(leaves.length / 2);
    const [left, right] = [leaves.slice(0, half), leaves.slice(half)];
    const [leftVariance, rightVariance] = [computeVariance(left), computeVariance(right)];
    for (const i of left) weights[i]! *= 1 - leftVariance / (leftVariance + rightVariance);
    for (const i of right) weights[i]! *= leftVariance / (leftVariance + rightVariance);
    splitLeaves(left);
    splitLeaves(right);
  };
  splitLeaves(clusters[0]!.leaves);
  return weights;
}

export const runHierarchicalRiskParity: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: QUARTERLY,
    anchor: { day: 'last' },
    decide(t) {
      // Leaves are positions in the list of securities.
      const { held: securities, covariance } = selectThirtyLargest(market, t);
      const order = securities.map((_, k) => k).toSorted((a, b) => securities[a]! - securities[b]!);
      const weights = computeHierarchicalWeights(order.map((a) => order.map((b) => covariance[a]![b]!)));
      return new Map(order.map((k, position) => [securities[k]!, weights[position]!]));
    },
  }),
});
