import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeSaliencies } from '#kernels/optimisation/factors/saliency.js';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { CountRow, NonConvexRow } from '../definition/constraint-class.js';
import type { AssembledProgram, Assembly, Restriction } from './assembly.js';
import { type ConvexSolution, solveConvex } from './convex-solve.js';
import type { Problem } from './problem.js';
import { hasTails, meterSolver } from './work-meter.js';

/**
 * Choice of securities. It states which securities may be held, and which may exceed the trigger of each concentration
 * row.
 */
export interface HeldChoice {
  /** [N] */
  readonly held: Uint8Array;
  /** 1 for securities that may exceed the trigger, [N] for each concentration row, in row order. */
  readonly large: readonly Uint8Array[];
  /** 1 for securities that are short if held, [N]. Minimum weights apply to all other securities. */
  readonly short: Uint8Array;
  /** True if every held security must reach the minimum weight. False while securities are still being dropped. */
  readonly isFinal: boolean;
}

/** Magnitude of a weight above which a security counts as held. */
export const HELD_MIN = 1e-9;

/** Minimum weight of a security that is held only so that enough securities are held. It is well above `HELD_MIN`. */
const PRESENCE_WEIGHT = 1e-6;

/** Returns the bounds and sums with which the non-convex rows become linear for a choice of securities. */
export function createRestriction(
  rows: readonly NonConvexRow[],
  { held, large, short, isFinal }: HeldChoice,
): Restriction {
  const n = held.length;
  const least = new Float64Array(n).fill(-Infinity);
  const upperBounds = new Float64Array(n).fill(Infinity);
  const sums: { coefficients: Float64Array; upper: number }[] = [];
  const raiseMinimum = (i: number, bound: number) => {
    least[i] = Math.max(least[i]!, bound);
  };
  const lowerMaximum = (i: number, bound: number) => {
    upperBounds[i] = Math.min(upperBounds[i]!, bound);
  };
  let concentrations = 0;
  for (const row of rows) {
    if (row.form === 'threshold' && isFinal)
      held.forEach((isHeld, i) => isHeld === 1 && short[i] === 0 && raiseMinimum(i, row.threshold));
    if (row.form === 'count' && isFinal && row.minimum > 0 && countHoldings(row, held) <= row.minimum) {
      for (const i of row.members) {
        if (held[i] === 0) continue;
        if (short[i] === 1) lowerMaximum(i, -PRESENCE_WEIGHT);
        else raiseMinimum(i, PRESENCE_WEIGHT);
      }
    }
    if (row.form === 'concentration') {
      const isLarge = large[concentrations++] ?? new Uint8Array(n);
      const coefficients = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        lowerMaximum(i, isLarge[i] === 1 ? row.single : row.trigger);
        coefficients[i] = isLarge[i]!;
      }
      if (isLarge.includes(1)) sums.push({ coefficients, upper: row.aggregate });
    }
  }
  for (let i = 0; i < n; i++) {
    if (held[i] === 1) continue;
    raiseMinimum(i, 0);
    lowerMaximum(i, 0);
  }
  return { least, most: upperBounds, sums };
}

/** Tolerance for comparisons of weights. */
const ROUNDING = 1e-10;

export function satisfiesRow(row: NonConvexRow, weights: Float64Array): boolean {
  switch (row.form) {
    case 'count': {
      let count = 0;
      for (const i of row.members) if (Math.abs(weights[i]!) > HELD_MIN) count++;
      return count >= row.minimum && count <= row.maximum;
    }
    case 'threshold':
      return weights.every((weight) => weight <= HELD_MIN || weight >= row.threshold - ROUNDING);
    case 'concentration': {
      let sumAbove = 0;
      for (const weight of weights) {
        if (weight > row.single + ROUNDING) return false;
        if (weight > row.trigger + ROUNDING) sumAbove += weight;
      }
      return sumAbove <= row.aggregate + ROUNDING;
    }
  }
}

/** Returns the largest minimum weight of held securities in the rows. Returns 0 without a minimum. */
export function findThreshold(rows: readonly NonConvexRow[]): number {
  return rows.reduce((most, row) => (row.form === 'threshold' ? Math.max(most, row.threshold) : most), 0);
}

/** Returns 1 for securities with a weight, long or short, [N]. */
export function markHoldings(weights: Float64Array): Uint8Array {
  return Uint8Array.from(weights, (weight) => (Math.abs(weight) > HELD_MIN ? 1 : 0));
}

/** Returns 1 for securities with a negative weight, [N]. */
export function markShort(weights: Float64Array): Uint8Array {
  return Uint8Array.from(weights, (weight) => (weight < -HELD_MIN ? 1 : 0));
}

/** Returns the securities of a set, ascending. */
export function listHeldPositions(flags: Uint8Array): Int32Array {
  return Int32Array.from(flags.keys()).filter((i) => flags[i] === 1);
}

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
  const names = listHeldPositions(heldFlags);
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

const SOLVES_MAX = 2000;

/**
 * Maximum number of multiplications in the search for a better choice, about half a minute. Tails of thousands of
 * scenarios are a hundred times as expensive as a variance. Work is counted instead of time, so that equal requests
 * have equal results.
 */
const WORK_MAX = 1e10;

/** Fraction of the work limit that applies if any choice suffices. */
const FEASIBILITY_WORK_FRACTION = 0.1;

/**
 * Fraction of the work limit after which all excess securities are dropped at once, and multiple of the work limit at
 * which the search fails.
 */
const SINGLE_STEP_DROP_FRACTION = 0.5;
const ABANDON_FACTOR = 4;

export interface SearchInput {
  readonly problem: Problem;
  readonly rows: readonly NonConvexRow[];
  readonly options: Pick<Assembly, 'includes' | 'changes'> & { readonly base: AssembledProgram };
  /** Optimum without the non-convex rows. */
  readonly relaxation: ConvexSolution;
  /** True to end at the first choice that satisfies every row. The work limit is then smaller. */
  readonly isAnyEnough: boolean;
  /** Lower bound of the minimised measure over all choices. Absent if the objective is not a measure. */
  readonly floor?: number | undefined;
}

/** Choice of securities that satisfies every row, with its solution. */
export interface FoundChoice {
  readonly choice: HeldChoice;
  readonly solution: ConvexSolution;
}

/** Solves of one search with restricted securities, within a shared work limit. */
export interface RestrictedSolves {
  /** 1 for a security that is sold short, [N]. */
  readonly short: Uint8Array;
  /**
   * Solves under a restriction. Returns undefined if there is no solution, or if the search has used too much work. The
   * same applies to `solveLoose` and `finish`.
   */
  solveWithin(restriction: Restriction): ConvexSolution | undefined;
  /**
   * Solves without concentration sums. Before large securities are chosen, these sums would bind for every held
   * security.
   */
  solveLoose(heldFlags: Uint8Array): ConvexSolution | undefined;
  /** Solves a final choice. Returns undefined if the solution violates a row. */
  finish(choice: HeldChoice): FoundChoice | undefined;
  /** Returns the restriction to held securities. Each of them may reach the single limit. */
  restrictLoosely(heldFlags: Uint8Array, isFinal: boolean): Restriction;
  /** Returns true if no more solves are allowed. */
  isExhausted(): boolean;
  /** Returns true if the work limit for a better choice is reached. */
  isSpent(): boolean;
  /** Returns true if excess securities should be dropped all at once. */
  isHurried(): boolean;
  iterations(): number;
}

export function createRestrictedSolves(inner: Solver, input: SearchInput): RestrictedSolves {
  const { problem, rows, options, relaxation } = input;
  const shortFlags = markShort(relaxation.weights);
  const concentrations = rows.filter((row) => row.form === 'concentration');
  const workMax = computeWorkMax(input);
  const solver = meterSolver(inner);
  let nearSolution: Pick<ConvexSolution, 'tail' | 'planes' | 'answer'> = relaxation;
  let solves = 0;
  let iterations = 0;

  function solveWithin(restriction: Restriction): ConvexSolution | undefined {
    if (solves >= SOLVES_MAX || solver.spent() > ABANDON_FACTOR * workMax) return undefined;
    solves++;
    const { tail, planes, answer: beside } = nearSolution;
    const solution = solveConvex(solver, problem, { ...options, restriction, effort: 'quick', tail, planes, beside });
    iterations += solution?.iterations ?? 0;
    nearSolution = solution ?? nearSolution;
    return solution;
  }

  function restrictLoosely(heldFlags: Uint8Array, isFinal: boolean): Restriction {
    const large = concentrations.map(() => new Uint8Array(problem.index.length).fill(1));
    return { ...createRestriction(rows, { held: heldFlags, short: shortFlags, large, isFinal }), sums: [] };
  }

  function solveFinal(choice: HeldChoice): FoundChoice | undefined {
    const solution = solveWithin(createRestriction(rows, choice));
    if (solution === undefined || !rows.every((row) => satisfiesRow(row, solution.weights))) return undefined;
    return { choice, solution };
  }

  return {
    short: shortFlags,
    solveWithin,
    solveLoose: (held) => solveWithin(restrictLoosely(held, false)),
    finish: solveFinal,
    restrictLoosely,
    isExhausted: () => solves >= SOLVES_MAX,
    isSpent: () => solves >= SOLVES_MAX || solver.spent() > workMax,
    isHurried: () => solver.spent() > SINGLE_STEP_DROP_FRACTION * workMax,
    iterations: () => iterations,
  };
}

function computeWorkMax({ problem, isAnyEnough }: SearchInput): number {
  if (!hasTails(problem)) return Infinity;
  return isAnyEnough ? FEASIBILITY_WORK_FRACTION * WORK_MAX : WORK_MAX;
}
