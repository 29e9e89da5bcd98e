import { weightMoved } from '../books/weight-moved.js';

/** Slack of a cap: a weight this much above it is at it. */
const TOLERANCE = 1e-12;

/** Rounds over the group caps before they count as infeasible together. */
const ROUNDS_MAX = 1000;

/** Caps on one way of grouping the names. */
export interface GroupCaps {
  /** Group of each name, -1 for a name in no capped group, [n]. */
  readonly groupOf: Int32Array;
  /** Largest weight of each group. */
  readonly caps: Float64Array;
}

export interface CapInput {
  /** Raw weights, positive, summing to 1, [n]. */
  readonly raw: Float64Array;
  /** Largest single weight; null for none. Taken as 1/n when it is less. */
  readonly cap: number | null;
  /** Smallest single weight; null for none. Taken as 1/n when it is more. */
  readonly floor: number | null;
  readonly groups: readonly GroupCaps[];
}

export interface Capped {
  readonly kind: 'capped';
  /** [n], summing to 1. */
  readonly weights: Float64Array;
  /**
   * What each raw weight was multiplied by before it was clipped at the floor and the cap: w = clip(scale u, floor,
   * cap).
   */
  readonly scaleOf: (position: number) => number;
  /** Effective floor; 0 without one. */
  readonly floor: number;
  /** Effective cap; null without one. */
  readonly cap: number | null;
  /** Positions reduced to the cap, ascending. */
  readonly capped: Int32Array;
  /** Weight moved: the sum of the reductions, 0 where rounding alone moved any. */
  readonly redistributed: number;
  /**
   * How the single cap was reached, round by round; replaying them gives the weights. Empty where a floor or groups
   * take part.
   */
  readonly rounds: readonly CapRound[];
}

/**
 * One round of redistribution: every name not yet capped is multiplied by `scale`; those then above the cap join the
 * capped.
 */
export interface CapRound {
  readonly scale: number;
  readonly joined: readonly number[];
}

export interface CapInfeasible {
  readonly kind: 'infeasible';
  /** The contradiction in one sentence, with both numbers. */
  readonly message: string;
}

/**
 * Weights after the single cap, the floor and the group caps, all at once:
 * w = clip(lambda m u, floor, cap), with one multiplier m <= 1 for each group at its cap and the one lambda that gives
 * the sum 1.
 * @cost O(n log n) for each cap; up to 1000 rounds where groups of several fields overlap
 */
export function applyCaps(input: CapInput): Capped | CapInfeasible {
  const n = input.raw.length;
  const cap = input.cap === null ? null : Math.max(input.cap, 1 / n);
  const floor = input.floor === null ? 0 : Math.min(input.floor, 1 / n);
  if (input.groups.length > 0) return withGroups({ raw: input.raw, cap, floor, groups: input.groups });
  if (cap === null && floor === 0)
    return capped({
      raw: input.raw,
      weights: input.raw.slice(),
      scaleOf: () => 1,
      floor,
      cap,
      reduced: [],
      rounds: [],
    });
  if (floor === 0) return waterFill(input.raw, cap!);
  const lambda = scaleFor(input.raw, { floor, cap: cap ?? 1, total: 1 });
  const weights = clipped(input.raw, lambda, { floor, cap: cap ?? 1 });
  return capped({
    raw: input.raw,
    weights,
    scaleOf: () => lambda,
    floor,
    cap,
    reduced: reducedTo(input.raw, lambda, cap),
    rounds: [],
  });
}

/** The fixed point of iterative proportional redistribution, in the order of its rounds. */
function waterFill(raw: Float64Array, cap: number): Capped {
  const isCapped = new Uint8Array(raw.length);
  const rounds: CapRound[] = [];
  let count = 0;
  for (;;) {
    const scale = count === raw.length ? 0 : (1 - count * cap) / sumFree(raw, isCapped);
    const joined = freeAbove(raw, isCapped, { scale, most: cap + TOLERANCE });
    rounds.push({ scale, joined });
    if (joined.length === 0) {
      const reduced = positionsOf(isCapped);
      const weights = new Float64Array(raw.length);
      for (let i = 0; i < raw.length; i++) weights[i] = raw[i]! * scale;
      for (const position of reduced) weights[position] = cap;
      return capped({ raw, weights, scaleOf: () => scale, floor: 0, cap, reduced, rounds });
    }
    for (const i of joined) isCapped[i] = 1;
    count += joined.length;
  }
}

/** Sum of the weights that are not capped. */
function sumFree(raw: Float64Array, isCapped: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < raw.length; i++) if (isCapped[i] === 0) sum += raw[i]!;
  return sum;
}

/** Positions of those among them that are more than `most` once they are scaled. */
function freeAbove(
  raw: Float64Array,
  isCapped: Uint8Array,
  { scale, most }: { readonly scale: number; readonly most: number },
): number[] {
  const above: number[] = [];
  for (let i = 0; i < raw.length; i++) if (raw[i]! * scale > most && isCapped[i] === 0) above.push(i);
  return above;
}

interface Limits {
  readonly floor: number;
  readonly cap: number;
}

/**
 * The unique scale at which clipped weights have a given sum, found exactly between two breakpoints.
 * The caller has made sure that n floor <= total <= n cap.
 */
function scaleFor(raw: Float64Array, { floor, cap, total }: Limits & { readonly total: number }): number {
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
  const inside = (below + above) / 2; // which names move between the two breakpoints
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

function clipped(raw: Float64Array, scale: number, { floor, cap }: Limits): Float64Array {
  return raw.map((weight) => Math.min(cap, Math.max(floor, weight * scale)));
}

function reducedTo(raw: Float64Array, scale: number, cap: number | null): number[] {
  const reduced: number[] = [];
  if (cap !== null) for (let i = 0; i < raw.length; i++) if (raw[i]! * scale > cap + TOLERANCE) reduced.push(i);
  return reduced;
}

interface Grouped {
  readonly raw: Float64Array;
  readonly cap: number | null;
  readonly floor: number;
  readonly groups: readonly GroupCaps[];
}

/**
 * Solves one grouping after the other, each against the multipliers of the others, until every cap holds: coordinate
 * ascent on the dual of the closest weights in relative entropy, so the answer does not depend on the order of names or
 * groupings.
 */
function withGroups({ raw, cap, floor, groups }: Grouped): Capped | CapInfeasible {
  const limits: Limits = { floor, cap: cap ?? 1 };
  const multipliers = groups.map(({ caps }) => new Float64Array(caps.length).fill(1));
  for (let round = 0; round < ROUNDS_MAX; round++) {
    let lambda = 1;
    for (let k = 0; k < groups.length; k++) {
      const solved = solveGrouping(underOthers(raw, groups, multipliers, k), groups[k]!, limits);
      if (solved.kind === 'infeasible') return solved;
      multipliers[k]!.set(solved.multipliers);
      lambda = solved.lambda;
    }
    const scaled = underOthers(raw, groups, multipliers, -1);
    const weights = clipped(scaled, lambda, limits);
    if (holds(weights, groups))
      return capped({
        raw,
        weights,
        scaleOf: (position) => (scaled[position]! / raw[position]!) * lambda,
        floor,
        cap,
        reduced: reducedTo(scaled, lambda, cap),
        rounds: [],
      });
  }
  return {
    kind: 'infeasible',
    message: `The group caps cannot hold together: ${ROUNDS_MAX} rounds of redistribution leave one broken.`,
  };
}

/** Raw weights times the multipliers of every grouping but one. */
function underOthers(
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

interface SolvedGrouping {
  readonly kind: 'solved';
  readonly lambda: number;
  readonly multipliers: Float64Array;
}

/**
 * The one lambda at which groups, each held to its cap, sum to 1; a group at its cap has a scale of its own below
 * lambda.
 */
function solveGrouping(
  raw: Float64Array,
  { groupOf, caps }: GroupCaps,
  limits: Limits,
): SolvedGrouping | CapInfeasible {
  const members = membersOf(groupOf, caps.length);
  const reach = (group: number): number => Math.min(caps[group]!, members[group]!.length * limits.cap);
  const free = raw.filter((_, i) => groupOf[i]! < 0);
  const reachable = members.reduce((sum, _, group) => sum + reach(group), 0) + free.length * limits.cap;
  if (reachable < 1 - TOLERANCE)
    return { kind: 'infeasible', message: `The group caps reach only ${reachable} of the weight of 1 that is needed.` };
  const parts = members.map((positions) => Float64Array.from(positions, (i) => raw[i]!));
  const starved = parts.findIndex((part, group) => part.length * limits.floor > caps[group]! + TOLERANCE);
  if (starved >= 0)
    return {
      kind: 'infeasible',
      message: `${parts[starved]!.length} names of at least ${limits.floor} exceed their group's cap of ${caps[starved]!}.`,
    };
  // Groups at their cap are found one by one: fixing one raises lambda, so none is ever released.
  const fixed = new Uint8Array(caps.length);
  for (;;) {
    const open = raw.filter((_, i) => groupOf[i]! < 0 || fixed[groupOf[i]!] === 0);
    const rest = 1 - members.reduce((sum, _, group) => sum + (fixed[group] === 1 ? caps[group]! : 0), 0);
    const scales = parts.map((part, group) =>
      fixed[group] === 1 ? scaleFor(part, { ...limits, total: caps[group]! }) : 0,
    );
    const lambda =
      open.length === 0
        ? Math.max(...scales)
        : scaleFor(open, {
            ...limits,
            total: Math.min(Math.max(rest, open.length * limits.floor), open.length * limits.cap),
          });
    const over = parts.flatMap((part, group) =>
      fixed[group] === 0 && part.length > 0 && weightAt(part, lambda, limits) > caps[group]! + TOLERANCE / 10
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

function membersOf(groupOf: Int32Array, groups: number): number[][] {
  const members = Array.from({ length: groups }, (): number[] => []);
  groupOf.forEach((group, i) => {
    if (group >= 0) members[group]!.push(i);
  });
  return members;
}

function weightAt(part: Float64Array, lambda: number, limits: Limits): number {
  return clipped(part, lambda, limits).reduce((sum, weight) => sum + weight, 0);
}

function holds(weights: Float64Array, groups: readonly GroupCaps[]): boolean {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (Math.abs(total - 1) > TOLERANCE * 10) return false;
  return groups.every(({ groupOf, caps }) => {
    const sums = new Float64Array(caps.length);
    for (let i = 0; i < weights.length; i++) if (groupOf[i]! >= 0) sums[groupOf[i]!]! += weights[i]!;
    return sums.every((sum, group) => sum <= caps[group]! + TOLERANCE);
  });
}

interface Outcome {
  readonly raw: Float64Array;
  readonly weights: Float64Array;
  readonly scaleOf: (position: number) => number;
  readonly floor: number;
  readonly cap: number | null;
  readonly reduced: readonly number[];
  readonly rounds: readonly CapRound[];
}

function capped({ raw, weights, scaleOf, floor, cap, reduced, rounds }: Outcome): Capped {
  const redistributed = weightMoved(raw, weights);
  return { kind: 'capped', weights, scaleOf, floor, cap, capped: Int32Array.from(reduced), redistributed, rounds };
}

function positionsOf(flags: Uint8Array): number[] {
  const positions: number[] = [];
  for (let i = 0; i < flags.length; i++) if (flags[i] === 1) positions.push(i);
  return positions;
}
