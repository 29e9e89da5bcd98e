/** Tolerance of a cap: a weight that exceeds the cap by less counts as capped. */
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
 * Returns the unique scale at which clipped weights have a given sum, computed exactly between two breakpoints. The
 * caller must ensure that n floor <= total <= n cap.
 */
export function findScale(raw: Float64Array, { floor, cap, total }: WeightLimits & { readonly total: number }): number {
  const breakpoints = new Float64Array(raw.length * 2);
  for (let i = 0; i < raw.length; i++) {
    breakpoints[2 * i] = floor / raw[i]!;
    breakpoints[2 * i + 1] = cap / raw[i]!;
  }
  breakpoints.sort();
  const sumAt = (scale: number): number => {
    let sum = 0;
    for (let i = 0; i < raw.length; i++) sum += Math.min(cap, Math.max(floor, raw[i]! * scale));
    return sum;
  };
  let low = 0;
  let high = breakpoints.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sumAt(breakpoints[middle]!) < total) low = middle + 1;
    else high = middle;
  }
  const above = breakpoints[low]!;
  const below = low === 0 ? 0 : breakpoints[low - 1]!;
  const inside = (below + above) / 2; // securities that move between the two breakpoints
  let fixed = 0;
  let moving = 0;
  for (let i = 0; i < raw.length; i++) {
    const weight = raw[i]! * inside;
    if (weight <= floor) fixed += floor;
    else if (weight >= cap) fixed += cap;
    else moving += raw[i]!;
  }
  return moving === 0 ? above : (total - fixed) / moving;
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
  const scaled = raw.slice();
  groups.forEach(({ groupOf }, k) => {
    if (k === except) return;
    for (let i = 0; i < scaled.length; i++) if (groupOf[i]! >= 0) scaled[i]! *= multipliers[k]![groupOf[i]!]!;
  });
  return scaled;
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
  const reach = (group: number): number => Math.min(caps[group]!, members[group]!.length * limits.cap);
  const free = raw.filter((_, i) => groupOf[i]! < 0);
  const reachable = members.reduce((sum, _, group) => sum + reach(group), 0) + free.length * limits.cap;
  if (reachable < 1 - CAP_TOLERANCE)
    return {
      kind: 'infeasible',
      message: `The ${stated === 'cap' ? 'caps' : 'group caps'} reach only ${reachable} of the required weight 1.`,
      stated,
    };
  const parts = members.map((positions) => Float64Array.from(positions, (i) => raw[i]!));
  const starved = parts.findIndex((part, group) => part.length * limits.floor > caps[group]! + CAP_TOLERANCE);
  if (starved >= 0)
    return {
      kind: 'infeasible',
      message: `${parts[starved]!.length} securities of at least ${limits.floor} exceed their group's cap of ${caps[starved]!}.`,
      stated,
    };
  // Groups at their cap are found one at a time: fixing a group raises lambda, so no fixed group is ever released.
  const fixed = new Uint8Array(caps.length);
  for (;;) {
    const open = raw.filter((_, i) => groupOf[i]! < 0 || fixed[groupOf[i]!] === 0);
    const rest = 1 - members.reduce((sum, _, group) => sum + (fixed[group] === 1 ? caps[group]! : 0), 0);
    const scales = parts.map((part, group) =>
      fixed[group] === 1 ? findScale(part, { ...limits, total: caps[group]! }) : 0,
    );
    const lambda =
      open.length === 0
        ? Math.max(...scales)
        : findScale(open, {
            ...limits,
            total: Math.min(Math.max(rest, open.length * limits.floor), open.length * limits.cap),
          });
    const over = parts.flatMap((part, group) =>
      fixed[group] === 0 && part.length > 0 && computeWeightAt(part, lambda, limits) > caps[group]! + CAP_TOLERANCE / 10
        ? [group]
        : [],
    );
    if (over.length === 0)
      return {
        kind: 'solved',
        lambda,
        multipliers: Float64Array.from(scales, (scale, group) => (fixed[group] === 1 ? scale / lambda : 1)),
      };
    for (const group of over) fixed[group] = 1;
  }
}

function listMembers(groupOf: Int32Array, groups: number): number[][] {
  const members = Array.from({ length: groups }, (): number[] => []);
  groupOf.forEach((group, i) => {
    if (group >= 0) members[group]!.push(i);
  });
  return members;
}

function computeWeightAt(part: Float64Array, lambda: number, limits: WeightLimits): number {
  return clipWeights(part, lambda, limits).reduce((sum, weight) => sum + weight, 0);
}
