import { INCLUDED, UNDECIDED, EXCLUDED } from '#kernels/optimisation/choices/decisions.js';
import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { CountRow, NonConvexRow } from '../constraints/program-row.js';
import { HELD_MIN, satisfiesRow } from './restriction.js';
import type { Restriction } from './assemble.js';
import type { ConvexSolution } from './solve-convex.js';

/**
 * Node of the search tree. It decides for some securities if they are held or dropped, and for some held securities if
 * they exceed a trigger.
 */
export interface Node {
  /** [N] */
  readonly names: Uint8Array;
  /**
   * Choice of each security in the certified bound of the parent node, from 0 to 1, [N]. The bound of this node starts
   * from it.
   */
  readonly shares: Float64Array | undefined;
  /** Decisions on exceeding the trigger, [N] for each concentration row, in order. */
  readonly large: readonly Uint8Array[];
  readonly bound: number;
  /** Active set, worst scenarios and cutting planes of the parent node. */
  readonly warm: ActiveState;
  readonly tail: ConvexSolution['tail'];
  readonly planes: ConvexSolution['planes'];
}

/** Node with lower bounds on the objective for holding and for dropping each security, [N] each. */
export interface NarrowedNode extends Node {
  readonly held: Float64Array;
  readonly dropped: Float64Array;
}

/** Inputs of a search that all nodes share. */
export interface SearchRows {
  readonly rows: readonly NonConvexRow[];
  /** 1 for a security that is sold short, [N]. */
  readonly short: Uint8Array;
  /** [N] */
  readonly variances: Float64Array;
}

export const selectConcentrations = (rows: readonly NonConvexRow[]) =>
  rows.filter((row) => row.form === 'concentration');

/**
 * Applies the decisions that count rows force.
 * @returns undefined if a count row cannot be satisfied
 */
export function closeNode(node: Node, rows: readonly NonConvexRow[]): Node | undefined {
  const names = excludeSecurities(
    node.names,
    rows.filter((row) => row.form === 'count'),
  );
  return names && { ...node, names };
}

/**
 * Applies the decisions that count rows force to a copy of the decisions. Returns undefined if a count row cannot
 * be satisfied.
 */
export function excludeSecurities(decided: Uint8Array, counts: readonly CountRow[]): Uint8Array | undefined {
  const names = decided.slice();
  for (const { members, minimum, maximum } of counts) {
    let heldCount = 0;
    let possibleCount = 0;
    for (const i of members) {
      if (names[i] === INCLUDED) heldCount++;
      if (names[i] !== EXCLUDED) possibleCount++;
    }
    if (heldCount > maximum || possibleCount < minimum) return undefined;
    if (heldCount === maximum) for (const i of members) if (names[i] === UNDECIDED) names[i] = EXCLUDED;
    if (possibleCount === minimum) for (const i of members) if (names[i] === UNDECIDED) names[i] = INCLUDED;
  }
  return names;
}

/** Removes the branch with the lowest bound from a list and returns it. */
export function takeLowestNode<Branch extends { readonly bound: number }>(open: Branch[]): Branch {
  let least = 0;
  for (let k = 1; k < open.length; k++) if (open[k]!.bound < open[least]!.bound) least = k;
  const branch = open[least]!;
  open[least] = open.at(-1)!;
  open.pop();
  return branch;
}

/** Returns the weight bounds that hold for every choice below a node. */
export function restrictNode({ names, large }: Node, { rows, short }: SearchRows): Restriction {
  const n = names.length;
  const concentrations = selectConcentrations(rows);
  const least = new Float64Array(n).fill(-Infinity);
  const upperBounds = new Float64Array(n).fill(Infinity);
  const sums: { coefficients: Float64Array; upper: number }[] = [];
  for (const row of rows) {
    if (row.form === 'threshold')
      names.forEach(
        (decided, i) => decided === INCLUDED && short[i] === 0 && (least[i] = Math.max(least[i]!, row.threshold)),
      );
    if (row.form !== 'concentration') continue;
    const largeSet = large[concentrations.indexOf(row)]!;
    const coefficients = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      upperBounds[i] = Math.min(upperBounds[i]!, largeSet[i] === EXCLUDED ? row.trigger : row.single);
      coefficients[i] = largeSet[i] === INCLUDED ? 1 : 0;
    }
    if (largeSet.includes(INCLUDED)) sums.push({ coefficients, upper: row.aggregate });
  }
  names.forEach((decided, i) => {
    if (decided !== EXCLUDED) return;
    least[i] = Math.max(least[i]!, 0);
    upperBounds[i] = Math.min(upperBounds[i]!, 0);
  });
  return { least, most: upperBounds, sums };
}

/**
 * Returns two child nodes that differ in the decision on one security of a violated row. If no decision is open,
 * returns the node itself while its weights contradict an exclusion, otherwise an empty list.
 */
export function branchNode(
  { held, dropped, ...node }: NarrowedNode,
  { weights }: ConvexSolution,
  { rows, variances }: SearchRows,
): Node[] {
  const findHeaviestPosition = (test: (i: number) => boolean) => findHeaviestSecurity(weights, variances, test);
  for (const [c, row] of selectConcentrations(rows).entries()) {
    if (satisfiesRow(row, weights)) continue;
    const i = findHeaviestPosition((name) => node.large[c]![name] === UNDECIDED && weights[name]! > row.trigger);
    if (i < 0) continue;
    return [INCLUDED, EXCLUDED].map((decided) => ({
      ...node,
      large: node.large.map((set, q) => (q === c ? setValue(set, i, decided) : set)),
    }));
  }
  const involvedFlags = new Uint8Array(weights.length);
  for (const row of rows) {
    if (satisfiesRow(row, weights)) continue;
    if (row.form === 'count') for (const i of row.members) involvedFlags[i] = 1;
    if (row.form === 'threshold')
      weights.forEach((weight, i) => weight > HELD_MIN && weight < row.threshold && (involvedFlags[i] = 1));
  }
  const isOpen = (name: number) => node.names[name] === UNDECIDED && involvedFlags[name] === 1;
  let i = node.shares === undefined ? -1 : findMostDecisive(node.bound, { held, dropped }, isOpen);
  if (i < 0) i = findHeaviestPosition((name) => isOpen(name) && Math.abs(weights[name]!) > HELD_MIN);
  if (i < 0) i = findHeaviestPosition(isOpen);
  // If no open decision affects a violated row, the program is solved again with the forced decisions.
  if (i < 0) return hasChanged(node, weights) ? [node] : [];
  return [INCLUDED, EXCLUDED].map((decided) => ({
    ...node,
    bound: Math.max(node.bound, (decided === INCLUDED ? held : dropped)[i]!),
    names: setValue(node.names, i, decided),
  }));
}

/** Returns the start for the solves below a node. */
export function createWarmStart({ answer, tail, planes }: ConvexSolution): Pick<Node, 'warm' | 'tail' | 'planes'> {
  return { warm: answer.state, tail, planes };
}

/** Returns true if a security that the node excludes has a weight. */
function hasChanged({ names }: Node, weights: Float64Array): boolean {
  return names.some((decided, i) => decided === EXCLUDED && Math.abs(weights[i]!) > HELD_MIN);
}

/**
 * Returns the security with the largest w^2 times variance among those that pass a test. Of several equal ones, returns
 * the first. Returns -1 if there is none.
 */
function findHeaviestSecurity(weights: Float64Array, variances: Float64Array, test: (i: number) => boolean): number {
  let result = -1;
  let largestPosition = -1;
  for (let i = 0; i < weights.length; i++) {
    const size = weights[i]! * weights[i]! * variances[i]!;
    if (size > largestPosition && test(i)) {
      result = i;
      largestPosition = size;
    }
  }
  return result;
}

/**
 * Returns the security with the largest product of two increases of the bound: by holding it and by dropping it.
 * Returns -1 if no security has both.
 */
function findMostDecisive(
  bound: number,
  { held, dropped }: Pick<NarrowedNode, 'held' | 'dropped'>,
  test: (i: number) => boolean,
): number {
  let result = -1;
  let largestValue = 0;
  for (let i = 0; i < held.length; i++) {
    const rise = (held[i]! - bound) * (dropped[i]! - bound);
    if (rise > largestValue && test(i)) {
      result = i;
      largestValue = rise;
    }
  }
  return result;
}

function setValue(values: Uint8Array, position: number, value: number): Uint8Array {
  const nextValues = values.slice();
  nextValues[position] = value;
  return nextValues;
}
