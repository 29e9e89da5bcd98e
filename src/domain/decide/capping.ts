import { formatNumber, listPositions } from '../base/numbers.js';
import { sumMovedWeight } from '../books/compositions.js';
import { findRankedCap, type LadderCaps } from '../definition/weighting.js';

/** Tolerance of a cap. A weight that exceeds the cap by less counts as capped. */
const CAP_TOLERANCE = 1e-12;

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

interface WeightLimits {
  readonly floor: number;
  readonly cap: number;
}

/**
 * Returns the unique scale at which clipped weights have a given sum. It is computed exactly between two breakpoints.
 * The caller must ensure that n floor <= total <= n cap.
 */
function findScale(raw: Float64Array, { floor, cap, total }: WeightLimits & { readonly total: number }): number {
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

function clipWeights(raw: Float64Array, scale: number, { floor, cap }: WeightLimits): Float64Array {
  return raw.map((weight) => Math.min(cap, Math.max(floor, weight * scale)));
}

/** Returns the raw weights times the multipliers of all groupings except one. */
function applyGroupMultipliers(
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
function solveGrouping(
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
      message: `The ${stated === 'group_caps' ? 'group caps' : 'caps'} reach only ${formatNumber(reachableSum)} of the required weight 1.`,
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

function applyCap({ raw, weights, scaleOf, floor, cap, reduced, rounds }: CappedWeights): CappedOutcome {
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

export interface LadderInput {
  /** Raw weights, positive, with sum 1, [n]. */
  readonly raw: Float64Array;
  /** Group of each security, [n]: the caps limit the total weights of groups; null: they limit securities. */
  readonly groupOf: Int32Array | null;
  readonly ladder: LadderCaps;
}

/**
 * Computes weights after caps in stages. First, if any weight is above its limit in `single` or `ranked`, weights are
 * limited to `to`. Then, if the weights above `group.each_above` exceed `group.together_above` in total, they are
 * reduced to a total of `group.to`: all of them in proportion, or the smallest one after the other.
 * @cost O(n log n); O(n^2) if the smallest weights are reduced first
 */
export function applyLadder({ raw, groupOf, ladder }: LadderInput): CappedOutcome | CapInfeasible {
  const before = groupOf === null ? raw : sumByGroup(raw, groupOf);
  const first = createFirstStage(before, ladder);
  if ('kind' in first) return first;
  const second = ladder.group === undefined ? first : createSecondStage(first, { before, ladder, group: ladder.group });
  if ('kind' in second) return second;
  const scales = second.map((weight, unit) => weight / before[unit]!);
  const getScale = (position: number): number => scales[groupOf === null ? position : groupOf[position]!]!;
  const isUnmoved = second === before;
  const weights = isUnmoved ? raw.slice() : raw.map((weight, position) => weight * getScale(position));
  const reducedPositions = isUnmoved
    ? []
    : Array.from(raw.keys()).filter((position) => weights[position]! < raw[position]! - CAP_TOLERANCE);
  return applyCap({
    raw,
    weights,
    scaleOf: getScale,
    floor: 0,
    cap: getFinalCap(ladder),
    reduced: reducedPositions,
    rounds: [],
  });
}

/** Returns the maximum weight after all stages. Returns null without a maximum. */
function getFinalCap({ single, ranked }: LadderCaps): number | null {
  return single?.above ?? ranked?.above[0] ?? null;
}

function sumByGroup(raw: Float64Array, groupOf: Int32Array): Float64Array {
  const sums = new Float64Array(groupOf.reduce((most, group) => Math.max(most, group + 1), 0));
  for (let i = 0; i < raw.length; i++) sums[groupOf[i]!]! += raw[i]!;
  return sums;
}

type LadderStage = Float64Array | CapInfeasible;

function createFirstStage(weights: Float64Array, { single, ranked }: LadderCaps): LadderStage {
  if (ranked !== undefined) return capByRank(weights, ranked);
  if (single === undefined || weights.every((weight) => weight <= single.above + CAP_TOLERANCE)) return weights;
  return scaleToSum(weights, { cap: single.to, total: 1, what: `weights of at most ${single.to}` });
}

/** Limits weights by their rank. In proportion, weights keep their order, so that the ranks do not change. */
function capByRank(weights: Float64Array, { above, to }: NonNullable<LadderCaps['ranked']>): LadderStage {
  const order = Array.from(weights.keys()).toSorted((a, b) => weights[b]! - weights[a]! || a - b);
  if (order.every((position, rank) => weights[position]! <= findRankedCap(above, rank) + CAP_TOLERANCE)) return weights;
  const caps = new Float64Array(weights.length);
  order.forEach((position, rank) => (caps[position] = findRankedCap(to, rank)));
  const groupOf = Int32Array.from(weights.keys());
  const capped = applyCaps({
    raw: weights,
    cap: null,
    floor: null,
    groups: [{ groupOf, caps, stated: 'ladder_caps' }],
  });
  return capped.kind === 'infeasible' ? capped : capped.weights;
}

interface SecondStageInput {
  /** Weights before all stages. They rank weights that the first stage made equal. */
  readonly before: Float64Array;
  readonly ladder: LadderCaps;
  readonly group: NonNullable<LadderCaps['group']>;
}

function createSecondStage(weights: Float64Array, input: SecondStageInput): LadderStage {
  const { each_above: each, together_above: together, to, reduce = 'all' } = input.group;
  const isLarge = (weight: number): boolean => weight > each + CAP_TOLERANCE;
  const large = weights.filter(isLarge).reduce((sum, weight) => sum + weight, 0);
  if (large <= together + CAP_TOLERANCE) return weights;
  if (reduce !== 'all') return reduceSmallest(weights, input);
  const smallWeights = scaleToSum(
    weights.filter((weight) => !isLarge(weight)),
    {
      cap: each,
      total: 1 - to,
      what: `weights of at most ${each} next to those that are ${to} in total`,
    },
  );
  if ('kind' in smallWeights) return smallWeights;
  let next = 0;
  return weights.map((weight) => (isLarge(weight) ? (weight * to) / large : smallWeights[next++]!));
}

/**
 * Reduces the smallest of the large weights, one after the other, until their total is at most `to`. The excess of each
 * is distributed in proportion over the weights below `each_to`, up to it. Only if these are full, the rest is
 * distributed over the other weights above it, up to the caps of the first stage.
 */
function reduceSmallest(before: Float64Array, { before: ranking, ladder, group }: SecondStageInput): LadderStage {
  const { each_above: each, to, reduce, each_to: line = each } = group;
  const weights = before.slice();
  const isReduced = new Uint8Array(weights.length);
  for (;;) {
    const large = Array.from(weights.keys()).filter((i) => weights[i]! > each + CAP_TOLERANCE);
    const excess = large.reduce((sum, i) => sum + weights[i]!, 0) - to;
    if (excess <= CAP_TOLERANCE) return weights;
    const smallest = large.reduce((least, i) =>
      weights[i]! < weights[least]! - CAP_TOLERANCE ||
      (weights[i]! <= weights[least]! + CAP_TOLERANCE && ranking[i]! <= ranking[least]!)
        ? i
        : least,
    );
    const belowLine = Array.from(weights.keys()).filter(
      (i) => weights[i]! < line - CAP_TOLERANCE && isReduced[i] === 0,
    );
    const room = belowLine.reduce((sum, i) => sum + line - weights[i]!, 0);
    const isKept =
      reduce === 'smallest_until_kept' && weights[smallest]! - excess > each + CAP_TOLERANCE && excess <= room;
    const target = isKept ? weights[smallest]! - excess : line;
    const taken = weights[smallest]! - target;
    weights[smallest] = target;
    isReduced[smallest] = 1;
    const toSmall = Math.min(taken, room);
    const added = addInProportion(weights, belowLine, { amount: toSmall, capOf: () => line });
    if (added !== null) return added;
    const aboveLine = Array.from(weights.keys()).filter(
      (i) => i !== smallest && isReduced[i] === 0 && weights[i]! > line + CAP_TOLERANCE,
    );
    const capOf = createCapOf(ladder, weights);
    const rest = addInProportion(weights, aboveLine, { amount: taken - toSmall, capOf });
    if (rest !== null) return rest;
    if (isKept) return weights;
  }
}

/** Returns the cap of each weight in the first stage; a weight that is already above it keeps its value. */
function createCapOf({ single, ranked }: LadderCaps, weights: Float64Array): (position: number) => number {
  if (ranked === undefined) return (position) => Math.max(single?.to ?? 1, weights[position]!);
  const order = Array.from(weights.keys()).toSorted((a, b) => weights[b]! - weights[a]! || a - b);
  const caps = new Float64Array(weights.length);
  order.forEach((position, rank) => (caps[position] = findRankedCap(ranked.to, rank)));
  return (position) => Math.max(caps[position]!, weights[position]!);
}

/**
 * Adds an amount to some weights in proportion to them, each up to its cap. Returns null, or why they cannot take it.
 */
function addInProportion(
  weights: Float64Array,
  positions: readonly number[],
  { amount, capOf }: { readonly amount: number; readonly capOf: (position: number) => number },
): CapInfeasible | null {
  if (amount <= CAP_TOLERANCE) return null;
  const total = positions.reduce((sum, i) => sum + weights[i]!, 0) + amount;
  const caps = positions.map(capOf);
  const largestSum = caps.reduce((sum, cap) => sum + cap, 0);
  if (largestSum < total - CAP_TOLERANCE)
    return {
      kind: 'infeasible',
      message:
        positions.length === 0
          ? `No weight below its maximum can take the remaining ${formatNumber(amount)}.`
          : `${positions.length} weights of at most ${formatNumber(Math.max(0, ...caps))} reach only ${formatNumber(largestSum)} of the required weight ${formatNumber(total)}.`,
      stated: 'ladder_caps',
    };
  let open = positions.map((_, k) => k);
  let left = total;
  for (;;) {
    const sum = open.reduce((all, k) => all + weights[positions[k]!]!, 0);
    const scale = left / sum;
    const full = open.filter((k) => weights[positions[k]!]! * scale > caps[k]! + CAP_TOLERANCE / 10);
    if (full.length === 0) {
      for (const k of open) weights[positions[k]!]! *= scale;
      return null;
    }
    for (const k of full) {
      left -= caps[k]!;
      weights[positions[k]!] = caps[k]!;
    }
    open = open.filter((k) => !full.includes(k));
    if (open.length === 0) return null;
  }
}

interface ScaledSum {
  readonly cap: number;
  /** Target sum of the weights. */
  readonly total: number;
  readonly what: string;
}

function scaleToSum(weights: Float64Array, { cap, total, what }: ScaledSum): LadderStage {
  const largestSum = weights.length * cap;
  if (largestSum < total - CAP_TOLERANCE)
    return {
      kind: 'infeasible',
      message: `${weights.length} ${what} reach only ${formatNumber(largestSum)} of the required weight ${formatNumber(total)}.`,
      stated: 'ladder_caps',
    };
  if (weights.length === 0) return weights;
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const shares = applyCaps({ raw: weights.map((weight) => weight / sum), cap: cap / total, floor: null, groups: [] });
  return shares.kind === 'infeasible' ? shares : shares.weights.map((share) => share * total);
}
