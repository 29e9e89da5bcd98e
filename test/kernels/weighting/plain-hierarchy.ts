import type { HierarchyTerms } from '#kernels/weighting/hierarchical-risk-parity.js';

/** Hierarchical risk parity by its definitions. It works on sets of points; each row of a matrix is a point. */
export type Matrix = readonly (readonly number[])[];

export const sumValues = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);

/**
 * Returns points whose Euclidean distances are the distances of the tree. They are columns of correlation distances, or
 * half of the unit returns.
 */
export function createPoints(
  rows: Matrix | null,
  covariance: Matrix,
  distance: HierarchyTerms['distance'],
): number[][] {
  const n = covariance.length;
  if (distance === 'columns' || rows === null)
    return Array.from({ length: n }, (_, i) =>
      Array.from({ length: n }, (_, j) => {
        const correlation = covariance[i]![j]! / Math.sqrt(covariance[i]![i]! * covariance[j]![j]!);
        return Math.sqrt(Math.max(0, 1 - correlation) / 2);
      }),
    );
  return Array.from({ length: n }, (_, i) => {
    const columnValues = rows.map((row) => row[i]!);
    const length = Math.sqrt(sumValues(columnValues.map((value) => value * value)));
    return columnValues.map((value) => value / length / 2);
  });
}

const computeEuclidean = (a: readonly number[], b: readonly number[]) =>
  Math.hypot(...a.map((value, k) => value - b[k]!));

const computeMeanPoint = (points: Matrix): number[] =>
  points[0]!.map((_, k) => sumValues(points.map((point) => point[k]!)) / points.length);

/** Returns the distance of two clusters. It is computed only from their members, not from earlier distances. */
function computeClusterDistance(a: Matrix, b: Matrix, linkage: HierarchyTerms['linkage']): number {
  if (linkage === 'ward')
    return (
      Math.sqrt((2 * a.length * b.length) / (a.length + b.length)) *
      computeEuclidean(computeMeanPoint(a), computeMeanPoint(b))
    );
  const pairs = a.flatMap((one) => b.map((other) => computeEuclidean(one, other)));
  if (linkage === 'single') return Math.min(...pairs);
  return linkage === 'complete' ? Math.max(...pairs) : sumValues(pairs) / pairs.length;
}

interface Tree {
  readonly leaves: readonly number[];
  readonly made: number;
}

/**
 * Returns the leaves from left to right. It merges sets of points; the cluster that was formed first is on the left.
 */
export function computePlainOrder(points: Matrix, linkage: HierarchyTerms['linkage']): readonly number[] {
  let trees: Tree[] = points.map((_, i) => ({ leaves: [i], made: i }));
  for (let result = points.length; trees.length > 1; result++) {
    let best: { distance: number; left: Tree; right: Tree } | undefined;
    for (const [i, left] of trees.entries()) {
      for (const right of trees.slice(i + 1)) {
        const members = [left, right].map(({ leaves }) => leaves.map((leaf) => points[leaf]!));
        const distance = computeClusterDistance(members[0]!, members[1]!, linkage);
        if (best === undefined || distance < best.distance) best = { distance, left, right };
      }
    }
    const { left, right } = best!;
    trees = [
      ...trees.filter((tree) => tree !== left && tree !== right),
      { leaves: [...left.leaves, ...right.leaves], made: result },
    ];
  }
  return trees[0]!.leaves;
}

/** Computes recursive bisection as published: getIVP, getClusterVar and getRecBipart. */
export function computePlainWeights(covariance: Matrix, order: readonly number[]): number[] {
  const weights = covariance.map(() => 1);
  const computeVariance = (items: readonly number[]) => {
    const inverse = items.map((i) => 1 / covariance[i]![i]!);
    const portfolio = inverse.map((value) => value / sumValues(inverse));
    return sumValues(items.flatMap((i, a) => items.map((j, b) => portfolio[a]! * covariance[i]![j]! * portfolio[b]!)));
  };
  let parts = [order];
  while (parts.length > 0) {
    parts = parts
      .filter(({ length }) => length > 1)
      .flatMap((part) => {
        const half = Math.floor(part.length / 2);
        return [part.slice(0, half), part.slice(half)];
      });
    for (let i = 0; i < parts.length; i += 2) {
      const [a, b] = [computeVariance(parts[i]!), computeVariance(parts[i + 1]!)];
      const share = 1 - a / (a + b);
      for (const item of parts[i]!) weights[item]! *= share;
      for (const item of parts[i + 1]!) weights[item]! *= 1 - share;
    }
  }
  return weights;
}
