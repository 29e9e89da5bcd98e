import { formatNumber } from '../catalogue/sentence-numbers.js';

/** Tolerance of a cap. A weight that exceeds the cap by less counts as capped. */
export const CAP_TOLERANCE = 1e-12;

/** Caps on one grouping of the securities. */
export interface GroupCaps {
  /** Group of each security, -1 for a security in no capped group, [n]. */
  readonly groupOf: Int32Array;
  /** Maximum weight of each group. */
  readonly caps: Float64Array;
  /** Member of the weighting that states the caps. Default: group_caps. */
  readonly stated?: CapMember;
}

/** Members of a weighting that limit weights. */
export type CapMember = 'cap' | 'group_caps' | 'ladder_caps';

export interface CapInfeasible {
  readonly kind: 'infeasible';
  /** Contradiction in one sentence, with both numbers. */
  readonly message: string;
  readonly stated: CapMember;
}

export interface WeightLimits {
  readonly floor: number;
  readonly cap: number;
}

/**
 * Returns the unique scale at which clipped weights have a given sum. It is computed exactly between two breakpoints.
 * The caller must ensure that n floor <= total <= n cap.
 */
export function findScale(raw: Float64Array, { floor, cap, total }: WeightLimits & { readonly total: number }): number {
  const breakpoints = new Float64Array(raw.length * 2);
  for (let i = 0; i < raw.length; i++) {
    breakpoints[2 * i] = floor / raw[i]!;
    breakpoints[2 * i + 1] = cap / raw[i]!;
  }
  breakpoints.sort();
  const sumWeights = (scale: number): number => {
    let sum = 0;
    for (let i = 0; i < raw.length; i++) sum += Math.min(cap, Math.max(floor, raw[i]! * scale));
    return sum;
  };
  let low = 0;
  let high = breakpoints.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sumWeights(breakpoints[middle]!) < total) low = middle + 1;
    else high = middle;
  }
  const upperBreakpoint = breakpoints[low]!;
  const lowerBreakpoint = low === 0 ? 0 : breakpoints[low - 1]!;
  const midpoint = (lowerBreakpoint + upperBreakpoint) / 2; // securities that move between the two breakpoints
  let fixedSum = 0;
  let movingSum = 0;
  for (let i = 0; i < raw.length; i++) {
    const weight = raw[i]! * midpoint;
    if (weight <= floor) fixedSum += floor;
    else if (weight >= cap) fixedSum += cap;
    else movingSum += raw[i]!;
  }
  return movingSum === 0 ? upperBreakpoint : (total - fixedSum) / movingSum;
}

export function clipWeights(raw: Float64Array, scale: number, { floor, cap }: WeightLimits): Float64Array {
  return raw.map((weight) => Math.min(cap, Math.max(floor, weight * scale)));
}

/** Returns the raw weights times the multipliers of all groupings except one. */
export function applyGroupMultipliers(
  raw: Float64Array,
  groups: readonly GroupCaps[],
  multipliers: readonly Float64Array[],
  except: number,
): Float64Array {
  const scaledWeights = raw.slice();
  groups.forEach(({ groupOf }, k) => {
    if (k === except) return;
    for (let i = 0; i < scaledWeights.length; i++)
      if (groupOf[i]! >= 0) scaledWeights[i]! *= multipliers[k]![groupOf[i]!]!;
  });
  return scaledWeights;
}

export interface SolvedGrouping {
  readonly kind: 'solved';
  readonly lambda: number;
  readonly multipliers: Float64Array;
}

/**
 * Returns the lambda at which the groups, each limited to its cap, sum to 1. A group at its cap has a separate scale
 * below lambda.
 */
export function solveGrouping(
  raw: Float64Array,
  { groupOf, caps, stated = 'group_caps' }: GroupCaps,
  limits: WeightLimits,
): SolvedGrouping | CapInfeasible {
  const members = listMembers(groupOf, caps.length);
  const computeReach = (group: number): number => Math.min(caps[group]!, members[group]!.length * limits.cap);
  const freeWeights = raw.filter((_, i) => groupOf[i]! < 0);
  const reachableSum =
    members.reduce((sum, _, group) => sum + computeReach(group), 0) + freeWeights.length * limits.cap;
  if (reachableSum < 1 - CAP_TOLERANCE)
    return {
      kind: 'infeasible',
      message: `The ${stated === 'cap' ? 'caps' : 'group caps'} reach only ${formatNumber(reachableSum)} of the required weight 1.`,
      stated,
    };
  const groupWeights = members.map((positions) => Float64Array.from(positions, (i) => raw[i]!));
  const starvedGroup = groupWeights.findIndex(
    (part, group) => part.length * limits.floor > caps[group]! + CAP_TOLERANCE,
  );
  if (starvedGroup >= 0)
    return {
      kind: 'infeasible',
      message: `${groupWeights[starvedGroup]!.length} securities of at least ${limits.floor} exceed their group's cap of ${caps[starvedGroup]!}.`,
      stated,
    };
  // Groups at their cap are found one at a time. Fixing a group raises lambda, so no fixed group is ever released.
  const isFixed = new Uint8Array(caps.length);
  for (;;) {
    const openWeights = raw.filter((_, i) => groupOf[i]! < 0 || isFixed[groupOf[i]!] === 0);
    const remainder = 1 - members.reduce((sum, _, group) => sum + (isFixed[group] === 1 ? caps[group]! : 0), 0);
    const scales = groupWeights.map((part, group) =>
      isFixed[group] === 1 ? findScale(part, { ...limits, total: caps[group]! }) : 0,
    );
    const lambda =
      openWeights.length === 0
        ? Math.max(...scales)
        : findScale(openWeights, {
            ...limits,
            total: Math.min(Math.max(remainder, openWeights.length * limits.floor), openWeights.length * limits.cap),
          });
    const groupsOverCap = groupWeights.flatMap((part, group) =>
      isFixed[group] === 0 &&
      part.length > 0 &&
      computeWeightAt(part, lambda, limits) > caps[group]! + CAP_TOLERANCE / 10
        ? [group]
        : [],
    );
    if (groupsOverCap.length === 0)
      return {
        kind: 'solved',
        lambda,
        multipliers: Float64Array.from(scales, (scale, group) => (isFixed[group] === 1 ? scale / lambda : 1)),
      };
    for (const group of groupsOverCap) isFixed[group] = 1;
  }
}

function listMembers(groupOf: Int32Array, groupCount: number): number[][] {
  const members = Array.from({ length: groupCount }, (): number[] => []);
  groupOf.forEach((group, i) => {
    if (group >= 0) members[group]!.push(i);
  });
  return members;
}

function computeWeightAt(part: Float64Array, lambda: number, limits: WeightLimits): number {
  return clipWeights(part, lambda, limits).reduce((sum, weight) => sum + weight, 0);
}
