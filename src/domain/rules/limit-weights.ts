import type { WeightingSpec } from '../documents/weighting-spec.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import type { BoundGroupCap, BoundPipeline } from './bound-pipeline.js';
import { applyCaps, type CappedOutcome } from './capping.js';
import type { CapInfeasible, GroupCaps } from './solve-grouping.js';
import type { Choice } from './choose.js';
import { applyLadder } from './ladder-caps.js';

export interface LimitInput {
  readonly weighting: WeightingSpec;
  readonly pipeline: Pick<BoundPipeline, 'groupCaps' | 'capBy'>;
  readonly cross: CrossSection;
  /** Columns of the constituents, ascending, [n]. */
  readonly columns: Int32Array;
  /** Raw weights, with sum 1, [n]. */
  readonly raw: Float64Array;
  /** Cap of each constituent by expression, [n]. Null if the weighting states a number or no cap. */
  readonly capOf: Float64Array | null;
}

/** Applies the caps, the floor and the laddered caps of a weighting. */
export function limitWeights({
  weighting,
  pipeline,
  cross,
  columns,
  raw,
  capOf,
}: LimitInput): CappedOutcome | CapInfeasible {
  const { cap, floor, ladder_caps: ladder } = weighting;
  const groupByPosition = pipeline.capBy === null ? null : computeOwnGroups(cross, pipeline.capBy.field, columns);
  if (ladder !== undefined) return applyLadder({ raw, groupOf: groupByPosition, ladder });
  const groups = computeGroupCaps(pipeline.groupCaps, cross, columns);
  const singleCap = typeof cap === 'number' ? cap : null;
  if (groupByPosition === null && capOf === null) return applyCaps({ raw, cap: singleCap, floor, groups });
  if (groupByPosition === null) {
    const securityCaps: GroupCaps = { groupOf: Int32Array.from(raw.keys()), caps: capOf!, stated: 'cap' };
    return setEffectiveCap(applyCaps({ raw, cap: null, floor, groups: [securityCaps, ...groups] }), securityCaps.caps);
  }
  if (singleCap === null && capOf === null) return applyCaps({ raw, cap: null, floor, groups });
  const groupedCaps: GroupCaps = {
    groupOf: groupByPosition,
    caps: computeCapsByGroup(groupByPosition, capOf, singleCap),
    stated: 'cap',
  };
  return setEffectiveCap(applyCaps({ raw, cap: null, floor, groups: [groupedCaps, ...groups] }), groupedCaps.caps);
}

/** Returns an outcome with the largest of the individual caps as its effective cap. */
function setEffectiveCap(outcome: CappedOutcome | CapInfeasible, caps: Float64Array): CappedOutcome | CapInfeasible {
  if (outcome.kind === 'infeasible') return outcome;
  return { ...outcome, cap: caps.reduce((most, cap) => Math.max(most, cap), 0) };
}

/**
 * Returns the cap of each group. It is the stated number, but at least one over the number of groups. Without a stated
 * number, it is the lowest cap of the group's members.
 */
function computeCapsByGroup(groupOf: Int32Array, capOf: Float64Array | null, single: number | null): Float64Array {
  const count = groupOf.reduce((most, group) => Math.max(most, group + 1), 0);
  if (capOf === null) return new Float64Array(count).fill(Math.max(single!, 1 / count));
  const caps = new Float64Array(count).fill(1);
  groupOf.forEach((group, i) => (caps[group] = Math.min(caps[group]!, capOf[i]!)));
  return caps;
}

type Field = NonNullable<BoundPipeline['capBy']>['field'];

/**
 * Returns the group of each security, numbered in order of occurrence, [n]. A security without a value forms a separate
 * group.
 */
function computeOwnGroups(cross: CrossSection, field: Field, columns: Int32Array): Int32Array {
  const { of, names } = cross.groups(field, columns);
  const positions = new Map<number, number>();
  let count = 0;
  return Int32Array.from(of, (group) => {
    if (names[group] === null) return count++;
    const groupPosition = positions.get(group) ?? count++;
    positions.set(group, groupPosition);
    return groupPosition;
  });
}

/** Returns the caps of each grouping of the constituents. Constituents without a value form one group. */
function computeGroupCaps(groupCaps: readonly BoundGroupCap[], cross: CrossSection, columns: Int32Array): GroupCaps[] {
  return groupCaps.map(({ use, cap, groups }) => {
    const groupSet = groups === null ? null : new Set<string | null>(groups);
    const { of, names } = cross.groups(use.field, columns);
    const positions = new Map<number, number>();
    const groupOfName = of.map((group) => {
      if (groupSet !== null && !groupSet.has(names[group]!)) return -1;
      const groupPosition = positions.get(group) ?? positions.size;
      positions.set(group, groupPosition);
      return groupPosition;
    });
    return { groupOf: groupOfName, caps: new Float64Array(positions.size).fill(cap), stated: 'group_caps' };
  });
}

interface CapsToApply extends Pick<Choice, 'columns' | 'unweighted' | 'uncapped'> {
  /** Caps by expression, as in `LimitInput`. */
  readonly capOf: Float64Array | null;
  /** Constituents whose cap expression has no value. */
  readonly uncappedNames: Int32Array;
}

/**
 * Returns the constituents of a choice with their caps by expression. Constituents with a cap of 0 or less are
 * excluded.
 */
export function removeZeroCaps(
  { cross, columns, unweighted, uncapped }: Choice,
  { cap }: Pick<BoundPipeline, 'cap'>,
): CapsToApply {
  if (cap === null) return { columns, unweighted, uncapped, capOf: null, uncappedNames: new Int32Array(0) };
  const values = cross.numbers(cap.field, columns);
  const isHeld = (_: unknown, i: number): boolean => !(values[i]! <= 0);
  const heldCaps = values.filter(isHeld).map((value) => (Number.isNaN(value) ? 1 : Math.min(value, 1)));
  const uncappedNames = columns.filter((_, i) => Number.isNaN(values[i]!));
  if (heldCaps.length === columns.length) return { columns, unweighted, uncapped, capOf: heldCaps, uncappedNames };
  const raw = uncapped.filter(isHeld);
  const sum = raw.reduce((total, weight) => total + weight, 0);
  const left = columns.filter((column, i) => !isHeld(column, i));
  return {
    columns: columns.filter(isHeld),
    unweighted: Int32Array.from([...unweighted, ...left]).sort(),
    uncapped: raw.map((weight) => weight / sum),
    capOf: heldCaps,
    uncappedNames,
  };
}
