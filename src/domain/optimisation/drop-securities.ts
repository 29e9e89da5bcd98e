import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeSaliencies } from '#kernels/optimisation/factors/saliency.js';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { CountRow } from '../constraints/program-row.js';
import { listPositions } from './restriction.js';

interface RemovalInput {
  /** 1 for securities that must be kept, [n]. */
  readonly retained: Uint8Array;
  /** Held securities in the order of dropping. */
  readonly order: readonly number[];
  /** Number of securities to drop from each row. */
  readonly excess: readonly number[];
  readonly wanted: number;
}

interface RemovalOutcome {
  readonly held: Uint8Array;
  readonly dropped: readonly number[];
}

/** Returns 1 for securities whose bounds exclude zero, [n]. Every choice includes these securities. */
export function markRequiredSecurities({ lower, upper }: Pick<Program, 'lower' | 'upper'>): Uint8Array {
  return Uint8Array.from(lower, (bound, i) => (bound > 0 || upper[i]! < 0 ? 1 : 0));
}

/**
 * Returns the held securities in order of saliency, which is how much the objective rises if the security is dropped.
 * The least comes first.
 */
export function sortBySaliency(
  algebra: DenseAlgebra,
  metric: Metric,
  heldFlags: Uint8Array,
  weights: Float64Array,
): number[] {
  const names = listPositions(heldFlags);
  const cost = computeSaliencies(algebra, metric, names, weights);
  return Array.from(names.keys())
    .toSorted((a, b) => cost[a]! - cost[b]! || names[a]! - names[b]!)
    .map((p) => names[p]!);
}

/** Drops securities in the given order from each row that has too many. Returns undefined if none can be dropped. */
export function removeSecurities(
  counts: readonly CountRow[],
  heldFlags: Uint8Array,
  { retained, order, excess, wanted }: RemovalInput,
): RemovalOutcome | undefined {
  const left = excess.slice();
  const nextFlags = heldFlags.slice();
  const droppedSecurities: number[] = [];
  const memberSets = counts.map((row) => new Set(row.members));
  const heldCounts = counts.map((row) => countHoldings(row, heldFlags));
  for (const i of order) {
    if (droppedSecurities.length === wanted) break;
    if (retained[i] === 1) continue;
    const memberRows = counts.flatMap((_, c) => (memberSets[c]!.has(i) ? [c] : []));
    if (!memberRows.some((c) => left[c]! > 0) || memberRows.some((c) => heldCounts[c]! <= counts[c]!.minimum)) continue;
    for (const c of memberRows) {
      left[c]!--;
      heldCounts[c]!--;
    }
    nextFlags[i] = 0;
    droppedSecurities.push(i);
  }
  return droppedSecurities.length === 0 ? undefined : { held: nextFlags, dropped: droppedSecurities };
}

export function countHoldings({ members }: CountRow, heldFlags: Uint8Array): number {
  let count = 0;
  for (const i of members) count += heldFlags[i]!;
  return count;
}
