import { sumMovedWeight } from '../books/moved-weight.js';
import {
  clipWeights,
  findScale,
  solveGrouping,
  CAP_TOLERANCE,
  applyGroupMultipliers,
  type CapInfeasible,
  type GroupCaps,
  type WeightLimits,
} from './solve-grouping.js';

/** Number of rounds over the group caps after which the caps count as infeasible. */
const ROUNDS_MAX = 1000;

export interface CapInput {
  /** Raw weights, positive, with sum 1, [n]. */
  readonly raw: Float64Array;
  /** Maximum weight of a constituent, raised to 1/n if it is less; null: no maximum. */
  readonly cap: number | null;
  /** Minimum weight of a constituent, reduced to 1/n if it is more; null: no minimum. */
  readonly floor: number | null;
  readonly groups: readonly GroupCaps[];
}

export interface CappedOutcome {
  readonly kind: 'capped';
  /** Weights with sum 1, [n]. */
  readonly weights: Float64Array;
  /** Returns the factor on each raw weight before clipping: w = clip(scale u, floor, cap). */
  readonly scaleOf: (position: number) => number;
  /** Effective floor; 0 without a floor. */
  readonly floor: number;
  /** Effective cap; null without a cap. */
  readonly cap: number | null;
  /** Positions reduced to the cap, ascending. */
  readonly capped: Int32Array;
  /** Total weight by which constituents were reduced; 0 if weights changed only by rounding. */
  readonly redistributed: number;
  /**
   * Rounds of redistribution under the single cap. The weights can be recomputed from them. Empty if a floor or group
   * caps apply.
   */
  readonly rounds: readonly CapRound[];
}

/**
 * Round of redistribution. Every uncapped weight is multiplied by `scale`; weights that are then above the cap are
 * capped.
 */
export interface CapRound {
  readonly scale: number;
  readonly joined: readonly number[];
}

/**
 * Applies the single cap, the floor and the group caps together: w = clip(lambda m u, floor, cap). Each group at its
 * cap has a multiplier m <= 1, and lambda is such that the sum is 1.
 * @cost O(n log n) per cap; up to 1000 rounds if groups of several fields overlap
 */
export function applyCaps(input: CapInput): CappedOutcome | CapInfeasible {
  const n = input.raw.length;
  const cap = input.cap === null ? null : Math.max(input.cap, 1 / n);
  const floor = input.floor === null ? 0 : Math.min(input.floor, 1 / n);
  if (input.groups.length > 0) return addGroups({ raw: input.raw, cap, floor, groups: input.groups });
  if (cap === null && floor === 0)
    return applyCap({
      raw: input.raw,
      weights: input.raw.slice(),
      scaleOf: () => 1,
      floor,
      cap,
      reduced: [],
      rounds: [],
    });
  if (floor === 0) return redistributeWeight(input.raw, cap!);
  const lambda = findScale(input.raw, { floor, cap: cap ?? 1, total: 1 });
  const weights = clipWeights(input.raw, lambda, { floor, cap: cap ?? 1 });
  return applyCap({
    raw: input.raw,
    weights,
    scaleOf: () => lambda,
    floor,
    cap,
    reduced: listSecuritiesAboveCap(input.raw, lambda, cap),
    rounds: [],
  });
}

/**
 * Returns the weights that result when the excess over the cap is redistributed in proportion, round by round, until no
 * weight exceeds it.
 */
function redistributeWeight(raw: Float64Array, cap: number): CappedOutcome {
  const isCapped = new Uint8Array(raw.length);
  const rounds: CapRound[] = [];
  let count = 0;
  for (;;) {
    const scale = count === raw.length ? 0 : (1 - count * cap) / sumFree(raw, isCapped);
    const newlyCapped = listFreeAbove(raw, isCapped, { scale, most: cap + CAP_TOLERANCE });
    rounds.push({ scale, joined: newlyCapped });
    if (newlyCapped.length === 0) {
      const cappedPositions = listPositions(isCapped);
      const weights = new Float64Array(raw.length);
      for (let i = 0; i < raw.length; i++) weights[i] = raw[i]! * scale;
      for (const position of cappedPositions) weights[position] = cap;
      return applyCap({ raw, weights, scaleOf: () => scale, floor: 0, cap, reduced: cappedPositions, rounds });
    }
    for (const i of newlyCapped) isCapped[i] = 1;
    count += newlyCapped.length;
  }
}

/** Sums the weights that are not capped. */
function sumFree(raw: Float64Array, isCapped: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < raw.length; i++) if (isCapped[i] === 0) sum += raw[i]!;
  return sum;
}

/** Returns the positions that are not capped and exceed `most` after scaling. */
function listFreeAbove(
  raw: Float64Array,
  isCapped: Uint8Array,
  { scale, most }: { readonly scale: number; readonly most: number },
): number[] {
  const positionsAbove: number[] = [];
  for (let i = 0; i < raw.length; i++) if (raw[i]! * scale > most && isCapped[i] === 0) positionsAbove.push(i);
  return positionsAbove;
}

function listSecuritiesAboveCap(raw: Float64Array, scale: number, cap: number | null): number[] {
  const positionsAboveCap: number[] = [];
  if (cap !== null)
    for (let i = 0; i < raw.length; i++) if (raw[i]! * scale > cap + CAP_TOLERANCE) positionsAboveCap.push(i);
  return positionsAboveCap;
}

interface GroupedInput {
  readonly raw: Float64Array;
  readonly cap: number | null;
  readonly floor: number;
  readonly groups: readonly GroupCaps[];
}

/**
 * Solves one grouping after the other, with the multipliers of the other groupings, until every cap holds. This is
 * coordinate ascent on the dual of the closest weights in relative entropy. The result therefore does not depend on the
 * order of securities or groupings.
 */
function addGroups({ raw, cap, floor, groups }: GroupedInput): CappedOutcome | CapInfeasible {
  const limits: WeightLimits = { floor, cap: cap ?? 1 };
  const multipliers = groups.map(({ caps }) => new Float64Array(caps.length).fill(1));
  for (let round = 0; round < ROUNDS_MAX; round++) {
    let lambda = 1;
    for (let k = 0; k < groups.length; k++) {
      const solvedGrouping = solveGrouping(applyGroupMultipliers(raw, groups, multipliers, k), groups[k]!, limits);
      if (solvedGrouping.kind === 'infeasible') return solvedGrouping;
      multipliers[k]!.set(solvedGrouping.multipliers);
      lambda = solvedGrouping.lambda;
    }
    const scaledWeights = applyGroupMultipliers(raw, groups, multipliers, -1);
    const weights = clipWeights(scaledWeights, lambda, limits);
    if (satisfiesCaps(weights, groups))
      return applyCap({
        raw,
        weights,
        scaleOf: (position) => (scaledWeights[position]! / raw[position]!) * lambda,
        floor,
        cap,
        reduced: listSecuritiesAboveCap(scaledWeights, lambda, cap)
          .concat(listHeldToCaps({ raw, scaled: scaledWeights, weights }, groups))
          .toSorted(compareNumbers),
        rounds: [],
      });
  }
  return {
    kind: 'infeasible',
    message: `The group caps are infeasible: after ${ROUNDS_MAX} rounds of redistribution one is still exceeded.`,
    stated: groups.at(-1)!.stated ?? 'group_caps',
  };
}

const compareNumbers = (a: number, b: number): number => a - b;

/**
 * Returns the positions of weights in groups that `cap` limits and that are at their cap. Returns an empty list if
 * `cap` limits no groups.
 */
function listHeldToCaps(
  { raw, scaled, weights }: Readonly<Record<'raw' | 'scaled' | 'weights', Float64Array>>,
  groups: readonly GroupCaps[],
): number[] {
  const singleCaps = groups.find(({ stated }) => stated === 'cap');
  if (singleCaps === undefined) return [];
  const sums = computeGroupSums(weights, singleCaps);
  const positions: number[] = [];
  for (let i = 0; i < raw.length; i++) {
    const group = singleCaps.groupOf[i]!;
    if (group >= 0 && scaled[i]! < raw[i]! && sums[group]! >= singleCaps.caps[group]! - CAP_TOLERANCE)
      positions.push(i);
  }
  return positions;
}

function satisfiesCaps(weights: Float64Array, groups: readonly GroupCaps[]): boolean {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (Math.abs(total - 1) > CAP_TOLERANCE * 10) return false;
  return groups.every((group) =>
    computeGroupSums(weights, group).every((sum, k) => sum <= group.caps[k]! + CAP_TOLERANCE),
  );
}

/** Returns the sum of the weights in each group, [groups]. */
function computeGroupSums(weights: Float64Array, { groupOf, caps }: GroupCaps): Float64Array {
  const sums = new Float64Array(caps.length);
  for (let i = 0; i < weights.length; i++) if (groupOf[i]! >= 0) sums[groupOf[i]!]! += weights[i]!;
  return sums;
}

export interface CappedWeights {
  readonly raw: Float64Array;
  readonly weights: Float64Array;
  readonly scaleOf: (position: number) => number;
  readonly floor: number;
  readonly cap: number | null;
  readonly reduced: readonly number[];
  readonly rounds: readonly CapRound[];
}

export function applyCap({ raw, weights, scaleOf, floor, cap, reduced, rounds }: CappedWeights): CappedOutcome {
  const redistributedWeight = sumMovedWeight(raw, weights);
  return {
    kind: 'capped',
    weights,
    scaleOf,
    floor,
    cap,
    capped: Int32Array.from(reduced),
    redistributed: redistributedWeight,
    rounds,
  };
}

function listPositions(flags: Uint8Array): number[] {
  const positions: number[] = [];
  for (let i = 0; i < flags.length; i++) if (flags[i] === 1) positions.push(i);
  return positions;
}
