import { findConstraintClass } from '../constraints/catalogue.js';
import { choiceMoves, EXACT, firstToGive, jointMoves, namesOfParity } from './choice-relaxation.js';
import { jointRelaxation } from './joint-relaxation.js';
import { isCurve } from './curved-rows.js';
import { movableIn } from './movables.js';
import { nonConvexRows, type Origin, type Problem } from './problem.js';
import { conflictRows, findConflict, type Conflict, type ConflictRow } from './proof.js';
import { singleRelaxations, toRelaxation, type Relaxation } from './relaxation.js';
import { EXACT_NAMES_MAX } from './search.js';
import { createTrials, type Trials } from './trials.js';
import type { Solvers } from './name-search.js';

/** Why a problem has no answer: the detail of the error INFEASIBLE. */
export interface Infeasibility {
  /** Whether it is certified: by multipliers that were checked. */
  readonly proven: boolean;
  readonly conflict: readonly ConflictRow[];
  readonly relaxations: readonly Relaxation[];
  readonly all_rows_relaxation?: readonly Relaxation[];
  /**
   * False where the work for a choice of names was spent: rows of the conflict were not all tried, and changes are enough
   * but may not be the least. Absent otherwise.
   */
  readonly exhaustive?: false;
}

/** Rows whose part in a conflict over choices of names is tried one by one. */
const CHOICE_ROWS_MAX = 24;

/** Share of the work of all trials after which the conflict stays as it is: the rest is for what resolves it. */
const CONFLICT_SHARE = 0.5;

/**
 * Explains why the rows of a problem cannot hold together: an irreducible set of them, the least change of one
 * parameter that restores feasibility, for each parameter, and the least joint change that honours priorities.
 *
 * @returns  undefined when no conflict can be proven: the solver failed for another reason.
 * @cost     a linear program per row of the problem, and a few per parameter of the conflict.
 */
export function explainInfeasibility(solvers: Solvers, problem: Problem): Infeasibility | undefined {
  const conflict = findConflict(solvers.solver, problem);
  if (conflict === null) return undefined;
  const { origins } = problem;
  const moves = jointRelaxation(solvers, problem, movableIn(problem, origins));
  const trials = createTrials(solvers, problem);
  const joint = moves === undefined ? undefined : jointMoves(solvers, problem, { trials, moves, origins });
  return {
    proven: true,
    conflict: conflictRows(problem, conflict),
    relaxations: singleRelaxations(solvers, problem, conflict.origins),
    ...(joint === undefined ? {} : { all_rows_relaxation: joint.map(toRelaxation) }),
    ...endOf(trials),
  };
}

/**
 * Explains why no choice of names satisfies the non-convex rows, while the convex ones hold together: by dropping rows
 * as long as the search still fails, and by moving the parameters of those that remain until it succeeds, within counted
 * work.
 *
 * @param proven   Whether every choice was ruled out.
 * @param workMax  Multiplications of all trials together.
 */
export function explainChoice(solvers: Solvers, problem: Problem, proven: boolean, workMax?: number): Infeasibility {
  const trials = createTrials(solvers, problem, workMax);
  const origins =
    problem.origins.length <= CHOICE_ROWS_MAX
      ? irreducibleChoice(trials, problem)
      : [...new Set(nonConvexRows(problem).map(({ origin }) => origin))];
  const conflict = origins.map((origin) => ({
    id: origin.id,
    index: origin.index,
    type: origin.type,
    label: origin.name,
    multiplier: 1 / origins.length,
  }));
  const single = choiceMoves(solvers, problem, {
    trials,
    origins,
    within: EXACT,
    convex: problem.index.length <= EXACT_NAMES_MAX ? 'all' : 'distances',
  });
  const joint = firstToGive(single) ?? jointMoves(solvers, problem, { trials, moves: [], origins: problem.origins });
  return {
    proven: proven || isBelowParity(problem),
    conflict,
    relaxations: single.map(toRelaxation),
    ...(joint === undefined ? {} : { all_rows_relaxation: joint.map(toRelaxation) }),
    ...endOf(trials),
  };
}

function endOf(trials: Trials): Pick<Infeasibility, 'exhaustive'> {
  return trials.hasEnded() ? { exhaustive: false } : {};
}

function irreducibleChoice(trials: Trials, problem: Problem): Origin[] {
  let remaining = [...problem.origins];
  for (const origin of problem.origins) {
    if (!trials.isWithin(CONFLICT_SHARE)) break;
    const others = remaining.filter((other) => other !== origin);
    if (!trials.succeeds({ includes: (other) => others.includes(other) })) remaining = others;
  }
  return remaining;
}

/** For a person: which rows cannot hold together, and what curved ones could have. */
export function infeasibilitySentence(
  problem: Problem,
  { conflict, relaxations }: Pick<Infeasibility, 'conflict' | 'relaxations'>,
): string {
  const curved = new Set(problem.rows.filter(isCurve).map(({ origin }) => origin.index));
  const reaches = relaxations.filter(({ index }) => curved.has(index)).map(reachSentence);
  return [
    conflictSentence(conflict),
    ...reaches,
    ...nobodySentences(problem, conflict),
    ...paritySentences(problem, conflict),
  ].join(' ');
}

/** What parity asks of a choice of names. */
function paritySentences(problem: Problem, conflict: readonly ConflictRow[]): string[] {
  const { goal } = problem;
  if (goal.form !== 'ratio' || goal.numerator.kind !== 'evenness') return [];
  const choosing = new Set(nonConvexRows(problem).map(({ origin }) => origin.index));
  const chooses = conflict.some(({ index }) => choosing.has(index));
  return chooses ? ['Risk parity holds every name that has a budget of risk: it leaves no choice of names.'] : [];
}

/** Whether a count allows fewer names than parity holds. */
function isBelowParity(problem: Problem): boolean {
  return nonConvexRows(problem).some(
    ({ origin, row }) => row.form === 'count' && origin.soft === null && row.maximum < namesOfParity(problem, origin),
  );
}

/** Groups of the rows of a conflict that no candidate is of. */
function nobodySentences({ rows }: Problem, conflict: readonly ConflictRow[]): string[] {
  const own = new Set(conflict.map(({ index }) => index));
  return rows.flatMap(({ origin, row }) => {
    const { field, groups } = origin.params as { readonly field?: string; readonly groups?: readonly string[] | null };
    if (origin.index === null || !own.has(origin.index) || !groups?.includes(row.member ?? '')) return [];
    const isNobodys =
      row.form === 'count'
        ? row.members.length === 0
        : row.form === 'linear' && row.coefficients.every((value) => value === 0);
    return isNobodys ? [`No candidate has the ${field} ${row.member}.`] : [];
  });
}

/** The relaxations of the curved rows of a conflict: what their measures come to at best. */
export function curvedRelaxations(solvers: Solvers, problem: Problem, { origins }: Conflict): readonly Relaxation[] {
  const curved = new Set(problem.rows.filter(isCurve).map(({ origin }) => origin));
  return singleRelaxations(
    solvers,
    problem,
    origins.filter((origin) => curved.has(origin)),
  );
}

function reachSentence({ id, index, type, from, to }: Relaxation): string {
  const isShare = findConstraintClass(type)?.unit === 'fraction';
  const text = (value: number) =>
    isShare ? `${Number((100 * value).toPrecision(DIGITS))} %` : String(Number(value.toPrecision(DIGITS)));
  const name = id === '' ? `${type} (row ${index})` : id;
  return `${name} asks for ${text(from)}; the ${to > from ? 'lowest' : 'highest'} that the other rows allow is ${text(to)}.`;
}

/** Digits of limits in sentences. */
const DIGITS = 4;

function conflictSentence(conflict: readonly ConflictRow[]): string {
  const names = conflict.map(({ id, index, type }) =>
    index === null ? (IMPLICIT[type] ?? type) : id === '' ? `${type} (row ${index})` : id,
  );
  if (names.length === 0) return 'The constraints cannot hold together.';
  if (names.length === 1) return `Row ${names[0]} cannot hold by itself.`;
  const own = conflict.filter(({ index }) => index !== null).length;
  const word = own === 0 ? '' : own === 1 ? 'Row ' : 'Rows ';
  return `${word}${names.slice(0, -1).join(', ')} and ${names.at(-1)} cannot hold together.`;
}

const IMPLICIT: Readonly<Record<string, string>> = {
  FullInvestment: 'the full-investment budget',
  LongOnly: 'the long-only default',
  Exclude: 'the exclusion of names without a risk estimate',
};
