import { assert } from '../assert.js';

/** Linkage rules: distance between a merged cluster and another cluster, given the distances of its members. */
export const LINKAGES = ['single', 'complete', 'average', 'ward'] as const;
export type Linkage = (typeof LINKAGES)[number];

/**
 * Distances of two assets. `columns` is the Euclidean distance between their columns of correlation distances;
 * `correlation` is the correlation distance itself.
 */
export const TREE_DISTANCES = ['columns', 'correlation'] as const;
export type TreeDistance = (typeof TREE_DISTANCES)[number];

export interface HierarchyTerms {
  readonly linkage: Linkage;
  readonly distance: TreeDistance;
}

/** Merge of two clusters. Leaves are 0 to n - 1; the k-th merge creates cluster n + k. */
export interface Merge {
  /** Cluster that was created earlier. */
  readonly left: number;
  readonly right: number;
  readonly distance: number;
}

/**
 * Computes hierarchical risk parity weights. Orders the assets by the leaves of their cluster tree and assigns weights
 * by recursive bisection of this order. Weights are long-only and sum to 1.
 * @param covariance [n x n] row-major, symmetric, positive variances; any unit.
 * @param out        [n], overwritten with the weights.
 * @throws           KernelFault on a shape mismatch or a variance that is not positive.
 * @cost             n^3 / 2 multiply-adds for the distance between columns, n^2 for the correlation distance; n^2 to
 *                   n^3 comparisons for the tree; n^2 log n for the bisection. Scratch of 2 n^2.
 * @source           Lopez de Prado (2016), Building diversified portfolios that outperform out of sample, Journal of
 *                   Portfolio Management 42(4), 59-69.
 */
export function solveHierarchicalRiskParity(
  covariance: Float64Array,
  { linkage, distance }: HierarchyTerms,
  out: Float64Array,
): void {
  const n = out.length;
  assert(covariance.length === n * n, `covariance: ${covariance.length} values for ${n} names`);
  const correlationDistance = computeCorrelationDistances(covariance, n);
  const distances = distance === 'columns' ? computeColumnDistances(correlationDistance, n) : correlationDistance;
  const order = orderLeaves(linkClusters(distances, n, linkage), n);
  bisect(covariance, order, out);
}

/** Computes the square root of (1 - correlation) / 2, [n x n]. */
export function computeCorrelationDistances(covariance: Float64Array, n: number): Float64Array {
  const deviations = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const variance = covariance[i * n + i]!;
    assert(variance > 0, `covariance: variance ${variance} of name ${i}, more than 0 needed`);
    deviations[i] = Math.sqrt(variance);
  }
  const distances = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) {
      const correlation = Math.min(1, Math.max(-1, covariance[i * n + j]! / (deviations[i]! * deviations[j]!)));
      const distance = Math.sqrt((1 - correlation) / 2);
      distances[i * n + j] = distance;
      distances[j * n + i] = distance;
    }
  }
  return distances;
}

/** Computes the Euclidean distance between the columns of a symmetric matrix, [n x n]. */
export function computeColumnDistances(matrix: Float64Array, n: number): Float64Array {
  const distances = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) {
      let sum = 0;
      for (let k = 0; k < n; k++) {
        const difference = matrix[i * n + k]! - matrix[j * n + k]!;
        sum += difference * difference;
      }
      const distance = Math.sqrt(sum);
      distances[i * n + j] = distance;
      distances[j * n + i] = distance;
    }
  }
  return distances;
}

/**
 * Merges the two nearest clusters until one is left. In a tie, the pair with the earliest first cluster is merged; if
 * that is equal, the pair with the earliest second cluster.
 * @param distances [n x n], symmetric; overwritten.
 * @returns n - 1 merges, in order.
 */
export function linkClusters(distances: Float64Array, n: number, linkage: Linkage): Merge[] {
  const clusters: Clusters = {
    n,
    distances,
    id: Int32Array.from({ length: n }, (_, slot) => slot),
    size: new Int32Array(n).fill(1),
    active: Array.from({ length: n }, (_, slot) => slot),
    nearest: new Int32Array(n).fill(-1),
  };
  for (let slot = 0; slot < n; slot++) findNearest(clusters, slot);
  const merges: Merge[] = [];
  for (let result = n; result < 2 * n - 1; result++) merges.push(mergeNearest(clusters, result, linkage));
  return merges;
}

interface Clusters {
  readonly n: number;
  readonly distances: Float64Array;
  /** Cluster in each slot, a row and column of `distances`. */
  readonly id: Int32Array;
  readonly size: Int32Array;
  /** Slots that contain a cluster. */
  active: number[];
  /** Slot of the nearest other cluster. In a tie, it is the earliest cluster; it is -1 if there is no other cluster. */
  readonly nearest: Int32Array;
}

function findNearest({ n, distances, id, active, nearest }: Clusters, slot: number): void {
  let bestSlot = -1;
  for (const other of active) {
    if (other === slot) continue;
    const distance = distances[slot * n + other]!;
    const leastDistance = bestSlot < 0 ? Infinity : distances[slot * n + bestSlot]!;
    if (bestSlot < 0 || distance < leastDistance || (distance === leastDistance && id[other]! < id[bestSlot]!))
      bestSlot = other;
  }
  nearest[slot] = bestSlot;
}

function mergeNearest(clusters: Clusters, newId: number, linkage: Linkage): Merge {
  const { n, distances, id, size, nearest } = clusters;
  const slot = findNearestSlot(clusters);
  const otherSlot = nearest[slot]!;
  const distance = distances[slot * n + otherSlot]!;
  const [left, right] = [Math.min(id[slot]!, id[otherSlot]!), Math.max(id[slot]!, id[otherSlot]!)];
  clusters.active = clusters.active.filter((candidate) => candidate !== otherSlot);
  const sizes = { a: size[slot]!, b: size[otherSlot]! };
  for (const third of clusters.active) {
    if (third === slot) continue;
    const [toA, toB] = [distances[third * n + slot]!, distances[third * n + otherSlot]!];
    const joinedDistance = computeJoinedDistance(linkage, { toA, toB, between: distance, ...sizes, c: size[third]! });
    distances[third * n + slot] = joinedDistance;
    distances[slot * n + third] = joinedDistance;
  }
  id[slot] = newId;
  size[slot] = sizes.a + sizes.b;
  findNearest(clusters, slot);
  for (const third of clusters.active) {
    if (third === slot) continue;
    const nearestSlot = nearest[third]!;
    if (nearestSlot === slot || nearestSlot === otherSlot) findNearest(clusters, third);
    else if (distances[third * n + slot]! < distances[third * n + nearestSlot]!) nearest[third] = slot;
  }
  return { left, right, distance };
}

/** Returns the slot of the cluster with the nearest neighbour. Among equal distances, the oldest cluster precedes. */
function findNearestSlot({ n, distances, id, active, nearest }: Clusters): number {
  let bestSlot = active[0]!;
  for (const slot of active) {
    const difference = distances[slot * n + nearest[slot]!]! - distances[bestSlot * n + nearest[bestSlot]!]!;
    if (difference < 0 || (difference === 0 && id[slot]! < id[bestSlot]!)) bestSlot = slot;
  }
  return bestSlot;
}

interface JoinedClusters {
  /** Distances of a third cluster to the two clusters that merge, and between the two. */
  readonly toA: number;
  readonly toB: number;
  readonly between: number;
  /** Sizes of the two clusters and of the third. */
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** Returns the distance of a third cluster to two merged clusters, by the update formula of Lance and Williams. */
function computeJoinedDistance(linkage: Linkage, { toA, toB, between, a, b, c }: JoinedClusters): number {
  switch (linkage) {
    case 'single':
      return Math.min(toA, toB);
    case 'complete':
      return Math.max(toA, toB);
    case 'average':
      return (a * toA + b * toB) / (a + b);
    case 'ward':
      return Math.sqrt(Math.max(0, ((a + c) * toA * toA + (b + c) * toB * toB - c * between * between) / (a + b + c)));
  }
}

/** Returns the leaves of a tree from left to right: the quasi-diagonal order, [n]. */
export function orderLeaves(merges: readonly Merge[], n: number): Int32Array {
  const order = new Int32Array(n);
  const openClusters = [n + merges.length - 1];
  let count = 0;
  while (openClusters.length > 0) {
    const cluster = openClusters.pop()!;
    if (cluster < n) order[count++] = cluster;
    else openClusters.push(merges[cluster - n]!.right, merges[cluster - n]!.left);
  }
  return order;
}

/** Splits an order into halves recursively and weights each half in proportion to the variance of the other. */
function bisect(covariance: Float64Array, order: Int32Array, out: Float64Array): void {
  out.fill(1);
  const openClusters: Int32Array[] = [order];
  while (openClusters.length > 0) {
    const cluster = openClusters.pop()!;
    if (cluster.length < 2) continue;
    const middle = cluster.length >> 1;
    const [first, second] = [cluster.subarray(0, middle), cluster.subarray(middle)];
    const [a, b] = [
      computeClusterVariance(covariance, first, out.length),
      computeClusterVariance(covariance, second, out.length),
    ];
    const share = a + b > 0 ? 1 - a / (a + b) : 0.5;
    for (const asset of first) out[asset]! *= share;
    for (const asset of second) out[asset]! *= 1 - share;
    openClusters.push(second, first);
  }
}

/** Returns the variance of a cluster with weights inversely proportional to variances; at least 0. */
function computeClusterVariance(covariance: Float64Array, cluster: Int32Array, n: number): number {
  let total = 0;
  for (const asset of cluster) total += 1 / covariance[asset * n + asset]!;
  let variance = 0;
  for (const i of cluster) {
    let product = 0;
    for (const j of cluster) product += covariance[i * n + j]! / covariance[j * n + j]!;
    variance += product / covariance[i * n + i]!;
  }
  return Math.max(0, variance / (total * total));
}
