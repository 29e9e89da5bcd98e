import type { SweepFolds } from './fold-terms.js';

/** Split into a sample and a test, as bit masks of groups. */
export interface Split {
  readonly train: number;
  readonly test: number;
}

export interface Splits {
  /** Splits in the order of their tests. */
  readonly splits: readonly Split[];
  /** Split that tests each group, for each path; -1 for a group that the path does not test. */
  readonly paths: readonly (readonly number[])[];
}

/** Returns all splits of the groups, and the paths formed by their tests. A path tests each group at most once. */
export function createSplits(folds: SweepFolds): Splits {
  return folds.method === 'combinatorial' ? createCombinatorialSplits(folds) : createWalkForwardSplits(folds);
}

/**
 * Returns all choices of test groups. The j-th test of each group belongs to the j-th path. In this way C(N - 1, k - 1)
 * paths cover all groups.
 * @source López de Prado (2018), Advances in Financial Machine Learning, section 12.4.
 */
function createCombinatorialSplits({
  groups,
  test_groups: count,
}: Extract<SweepFolds, { method: 'combinatorial' }>): Splits {
  const all = (1 << groups) - 1;
  const splits = listChoices(groups, count).map((test) => ({ train: all & ~test, test }));
  const tests = listGroupsBelow(groups).map((group) =>
    splits.flatMap(({ test }, split) => (hasGroup(test, group) ? [split] : [])),
  );
  return { splits, paths: tests[0]!.map((_, path) => tests.map((ofGroup) => ofGroup[path]!)) };
}

/** Returns the splits that test each group with earlier groups as the sample. */
function createWalkForwardSplits({
  groups,
  train_groups: first,
  window,
}: Extract<SweepFolds, { method: 'walk_forward' }>): Splits {
  const splits = listGroupsBelow(groups - first).map((i) => {
    const test = first + i;
    const before = (1 << test) - 1;
    return { train: window === 'expanding' ? before : before & ~((1 << (test - first)) - 1), test: 1 << test };
  });
  return { splits, paths: [listGroupsBelow(groups).map((group) => (group < first ? -1 : group - first))] };
}

/** Returns true if a group is in a mask. */
export function hasGroup(mask: number, group: number): boolean {
  return (mask & (1 << group)) !== 0;
}

/** Returns the groups of a mask, ascending. */
export function listGroups(mask: number, groupCount: number): number[] {
  return listGroupsBelow(groupCount).filter((group) => hasGroup(mask, group));
}

function listGroupsBelow(groupCount: number): number[] {
  return Array.from({ length: groupCount }, (_, group) => group);
}

/** Returns all choices of `count` groups as bit masks, in lexicographic order. */
export function listChoices(groupCount: number, count: number, from = 0): number[] {
  if (count === 0) return [0];
  const choices: number[] = [];
  for (let first = from; first <= groupCount - count; first++)
    for (const laterChoice of listChoices(groupCount, count - 1, first + 1)) choices.push((1 << first) | laterChoice);
  return choices;
}
