import { formatNumber } from '../catalogue/sentence-numbers.js';
import type { LadderCaps } from '../documents/weighting-spec.js';
import { applyCaps, applyCap, type CappedOutcome } from './capping.js';
import { CAP_TOLERANCE, type CapInfeasible } from './solve-grouping.js';

export interface LadderInput {
  /** Raw weights, positive, with sum 1, [n]. */
  readonly raw: Float64Array;
  /** Group of each security, [n]: the caps limit the total weights of groups; null: they limit securities. */
  readonly groupOf: Int32Array | null;
  readonly ladder: LadderCaps;
}

/**
 * Computes weights after caps in stages. First, if any weight is above `single.above`, weights are limited to
 * `single.to`. Then, if the weights above `group.each_above` exceed `group.together_above` in total, they are scaled to
 * a total of `group.to`. The remaining weight is distributed over the other securities in proportion, each at most
 * `group.each_above`.
 * @cost O(n log n)
 */
export function applyLadder({ raw, groupOf, ladder }: LadderInput): CappedOutcome | CapInfeasible {
  const before = groupOf === null ? raw : sumByGroup(raw, groupOf);
  const first = ladder.single === undefined ? before : createFirstStage(before, ladder.single);
  if ('kind' in first) return first;
  const second = ladder.group === undefined ? first : createSecondStage(first, ladder.group);
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
function getFinalCap({ single }: LadderCaps): number | null {
  return single === undefined ? null : single.above;
}

function sumByGroup(raw: Float64Array, groupOf: Int32Array): Float64Array {
  const sums = new Float64Array(groupOf.reduce((most, group) => Math.max(most, group + 1), 0));
  for (let i = 0; i < raw.length; i++) sums[groupOf[i]!]! += raw[i]!;
  return sums;
}

type LadderStage = Float64Array | CapInfeasible;

function createFirstStage(weights: Float64Array, { above, to }: NonNullable<LadderCaps['single']>): LadderStage {
  if (weights.every((weight) => weight <= above + CAP_TOLERANCE)) return weights;
  return scaleToSum(weights, { cap: to, total: 1, what: `weights of at most ${to}` });
}

function createSecondStage(
  weights: Float64Array,
  { each_above: each, together_above: together, to }: NonNullable<LadderCaps['group']>,
): LadderStage {
  const isLarge = (weight: number): boolean => weight > each + CAP_TOLERANCE;
  const large = weights.filter(isLarge).reduce((sum, weight) => sum + weight, 0);
  if (large <= together + CAP_TOLERANCE) return weights;
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

interface ScaledSum {
  readonly cap: number;
  /** Target sum of the weights. */
  readonly total: number;
  readonly what: string;
}

/** Scales weights to a sum, with none above a cap. */
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
