import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { NonConvexRow } from '../constraints/program-row.js';
import type { AssembledProgram, Assembly, Restriction } from './assemble.js';
import type { Problem } from './problem.js';
import { type Choice, satisfiesRow, createRestriction, markShort } from './restriction.js';
import { type ConvexSolution, solveConvex } from './solve-convex.js';
import { hasTails, meterSolver } from './work-meter.js';

/** Maximum number of restricted solves of one search. */
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
  readonly choice: Choice;
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
  finish(choice: Choice): FoundChoice | undefined;
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

  function solveFinal(choice: Choice): FoundChoice | undefined {
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

/** Returns the maximum number of multiplications of a search. */
function computeWorkMax({ problem, isAnyEnough }: SearchInput): number {
  if (!hasTails(problem)) return Infinity;
  return isAnyEnough ? FEASIBILITY_WORK_FRACTION * WORK_MAX : WORK_MAX;
}
