import type { Solver } from '#kernels/optimisation/solve-program.js';
import { findConstraintClass } from '../../constraints/catalogue.js';
import { assembleProgram } from '../assemble.js';
import { choiceMoves, type ChoiceMoves, EXACT, firstToGive, jointMoves, namesOfParity } from '../choice-relaxation.js';
import { jointRelaxation } from '../joint-relaxation.js';
import { isCurve } from '../curved-rows.js';
import { listMovableParameters } from './movable-parameters.js';
import { listNonConvexRows, type Origin, type Problem } from '../problem.js';
import { listConflictRows, findConflict, type Conflict, type ConflictRow } from '../proof.js';
import { findSingleMoves, toRelaxation, type ParameterMove, type Moved, type Relaxation } from './relaxation.js';
import { EXACT_NAMES_MAX } from '../search.js';
import { createTrials, WORK_MAX, type Trials } from '../trials.js';
import { limitWork, estimateWork } from '../work-meter.js';
import type { Solvers } from '../solvers.js';

/** Detail of the error INFEASIBLE: reasons why a problem has no solution. */
export interface Infeasibility {
  /** True if verified multipliers prove the conflict. */
  readonly proven: boolean;
  readonly conflict: readonly ConflictRow[];
  readonly relaxations: readonly Relaxation[];
  readonly all_rows_relaxation?: readonly Relaxation[];
  /**
   * False if the work limit was reached: not all rows of the conflict were tried, changes may be missing, and the
   * listed changes may not be the smallest. Absent otherwise.
   */
  readonly exhaustive?: false;
}

/** Reasons why a problem has no solution, with sentences that are not part of the detail. */
export interface Explanation {
  readonly detail: Infeasibility;
  /** Further conflicting rows that remain if a row of the conflict is removed, by that row. */
  readonly remaining: readonly Remaining[];
}

export interface Remaining {
  readonly without: RowName;
  readonly conflict: readonly RowName[];
}

/** Fields that name a row. */
type RowName = Pick<Origin, 'id' | 'index' | 'type'>;

/** Maximum number of rows of a conflict over choices of securities that are tried individually. */
const CHOICE_ROWS_MAX = 24;

/** Share of the work limit for finding the conflict. The rest is for its resolution. */
const CONFLICT_SHARE = 0.5;

/** Minimum work of an explanation, in solves of the problem's size. */
const SOLVES_MAX = 200;

/**
 * Returns the maximum number of multiplications of an explanation: the limit for all trials of a choice of securities,
 * more for a large problem.
 */
function workOf(problem: Problem): number {
  return Math.max(WORK_MAX, SOLVES_MAX * estimateWork(assembleProgram(problem).program));
}

/**
 * Explains why the rows of a problem are infeasible: an irreducible set of conflicting rows, for each parameter the
 * least change that restores feasibility, and the least joint change that respects priorities.
 * @param workMax Number of multiplications after which the search ends, once there is a proof.
 * @returns undefined if no conflict can be proven: the solver failed for another reason.
 * @cost a linear program per row of the problem, and a few per parameter of the conflict.
 */
export function explainInfeasibility(
  { solver: inner, algebra }: Solvers,
  problem: Problem,
  workMax = workOf(problem),
): Infeasibility | undefined {
  return explainRows({ solver: inner, algebra }, problem, workMax)?.detail;
}

/** Same, with the conflicts that remain without a row of the conflict. */
export function explainRows(
  { solver: inner, algebra }: Solvers,
  problem: Problem,
  workMax = workOf(problem),
): Explanation | undefined {
  const trying = limitWork(inner, CONFLICT_SHARE * workMax);
  const conflict = findConflict(limitWork(inner, workOf(problem)), problem, { trying });
  if (conflict === null) return undefined;
  const solver = limitWork(inner, (1 - CONFLICT_SHARE) * workMax);
  const solvers = { solver, algebra };
  const trials = createTrials(solvers, problem);
  const convex = findSingleMoves(solvers, problem, conflict.origins);
  const single =
    convex.length > 0 ? convex : findMovesWithChoices(solvers, problem, { trials, origins: conflict.origins });
  const joint = jointChange(solvers, problem, { trials, single });
  const remaining = remainingConflicts(solver, problem, conflict);
  const detail = {
    proven: true,
    conflict: listConflictRows(problem, conflict),
    relaxations: single.map(toRelaxation),
    ...(joint === undefined ? {} : { all_rows_relaxation: joint.map(toRelaxation) }),
    ...([trying, solver, trials].some((each) => each.hasEnded()) ? { exhaustive: false as const } : {}),
  };
  return { detail, remaining };
}

/** Returns the least joint change; if only one parameter may move, its change. */
function jointChange(
  solvers: Solvers,
  problem: Problem,
  { trials, single }: { readonly trials: Trials; readonly single: readonly Moved[] },
): readonly Moved[] | undefined {
  const { origins } = problem;
  const movables = listMovableParameters(problem, origins);
  if (movables.length === 1 && single.length === 1) return single;
  const moves = jointRelaxation(solvers, problem, movables);
  if (moves === undefined) return undefined;
  const known = moves.length === 1 ? single.find((each) => isSameMove(each, moves[0]!)) : undefined;
  return known === undefined ? jointMoves(solvers, problem, { trials, moves, origins }) : [known];
}

/** Difference of two values of a parameter that counts as rounding, relative to 1 and the value. */
const SAME = 2e-9;

function isSameMove(a: ParameterMove, b: ParameterMove): boolean {
  const { origin, parameter } = a.movable;
  const isOwn = origin === b.movable.origin && parameter === b.movable.parameter;
  return isOwn && Math.abs(a.to - b.to) <= SAME * (1 + Math.abs(b.to));
}

/** Returns moves if the moves that suffice for the convex rows leave no choice of securities. */
function findMovesWithChoices(
  solvers: Solvers,
  problem: Problem,
  among: Pick<ChoiceMoves, 'trials' | 'origins'>,
): readonly Moved[] {
  return listNonConvexRows(problem).length === 0
    ? []
    : choiceMoves(solvers, problem, { ...among, within: EXACT, convex: combineMoves(problem) });
}

/** Returns the convex rows that are moved together with choices; all of them if a search is short. */
function combineMoves({ index }: Problem): ChoiceMoves['convex'] {
  return index.length <= EXACT_NAMES_MAX ? 'all' : 'sought';
}

/**
 * Returns conflicts that remain after removing one of the client's rows of a conflict. @cost a linear program per row,
 * more for each remaining conflict
 */
function remainingConflicts(solver: Solver, problem: Problem, { origins }: Conflict): Remaining[] {
  return origins.flatMap((without) => {
    if (without.index === null) return [];
    const left = findConflict(solver, problem, { includes: (origin) => origin !== without });
    return left === null ? [] : [{ without, conflict: left.origins }];
  });
}

/**
 * Explains why no choice of securities satisfies the non-convex rows, while the convex ones are feasible: by dropping
 * rows while the search still fails, and by moving the parameters of the remaining ones until it succeeds, within
 * counted work.
 * @param proven True if every choice was excluded.
 * @param workMax Maximum number of multiplications of all trials together.
 */
export function explainChoice(solvers: Solvers, problem: Problem, proven: boolean, workMax?: number): Infeasibility {
  const trials = createTrials(solvers, problem, workMax);
  const origins =
    problem.origins.length <= CHOICE_ROWS_MAX
      ? findIrreducibleChoice(trials, problem)
      : [...new Set(listNonConvexRows(problem).map(({ origin }) => origin))];
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
    convex: combineMoves(problem),
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

function findIrreducibleChoice(trials: Trials, problem: Problem): Origin[] {
  let remaining = [...problem.origins];
  for (const origin of problem.origins) {
    if (!trials.isWithin(CONFLICT_SHARE)) break;
    const others = remaining.filter((other) => other !== origin);
    if (!trials.succeeds({ includes: (other) => others.includes(other) })) remaining = others;
  }
  return remaining;
}

/**
 * Describes the conflicting rows, the possible value of each parameter, and the conflicts that remain after removing one of
 * the rows.
 */
export function describeInfeasibility(
  problem: Problem,
  { conflict, relaxations, exhaustive }: Pick<Infeasibility, 'conflict' | 'relaxations' | 'exhaustive'>,
  remaining: readonly Remaining[] = [],
): string {
  const more = relaxations.length - REACHES_MAX;
  return [
    describeConflict(conflict),
    ...relaxations.slice(0, REACHES_MAX).map(describeReach),
    ...(more > 0 ? [`${more} more such ${more === 1 ? 'change is' : 'changes are'} in the detail.`] : []),
    ...remaining.map(describeRemaining),
    ...describeMissingSecurities(problem, conflict),
    ...describeParity(problem, conflict),
    ...(exhaustive === false ? [ENDED] : []),
  ].join(' ');
}

/** Maximum number of changes described in sentences. */
const REACHES_MAX = 5;

const ENDED =
  'The work limit of this explanation was reached: it may list rows that are not needed, and other or smaller changes may be sufficient.';

function describeRemaining({ without, conflict }: Remaining): string {
  return `Without ${nameOf(without)} there is still a conflict: ${lowerFirst(describeConflict(conflict))}`;
}

function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}

/** Describes the effect of risk parity on a choice of securities. */
function describeParity(problem: Problem, conflict: readonly ConflictRow[]): string[] {
  const { goal } = problem;
  if (goal.form !== 'ratio' || goal.numerator.kind !== 'evenness') return [];
  const choosing = new Set(listNonConvexRows(problem).map(({ origin }) => origin.index));
  const chooses = conflict.some(({ index }) => choosing.has(index));
  return chooses ? ['Risk parity holds every security with a risk budget: there is no choice of securities.'] : [];
}

/** Returns true if a count allows fewer securities than the risk parity portfolio holds. */
function isBelowParity(problem: Problem): boolean {
  return listNonConvexRows(problem).some(
    ({ origin, row }) => row.form === 'count' && origin.soft === null && row.maximum < namesOfParity(problem, origin),
  );
}

/** Describes groups in the rows of a conflict that contain no candidate. */
function describeMissingSecurities({ rows }: Problem, conflict: readonly ConflictRow[]): string[] {
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

/** Returns relaxations of the curved rows of a conflict to the best attainable values of their measures. */
export function relaxCurvedRows(solvers: Solvers, problem: Problem, { origins }: Conflict): readonly Relaxation[] {
  const curved = new Set(problem.rows.filter(isCurve).map(({ origin }) => origin));
  const moves = findSingleMoves(
    solvers,
    problem,
    origins.filter((origin) => curved.has(origin)),
  );
  return moves.map(toRelaxation);
}

function describeReach(relaxation: Relaxation): string {
  const { type, parameter, from, to, bound } = relaxation;
  const isShare = findConstraintClass(type)?.unit === 'fraction' && !COUNTED.has(parameter);
  const text = (value: number) =>
    isShare ? `${Number((100 * value).toPrecision(DIGITS))} %` : String(Number(value.toPrecision(DIGITS)));
  const request = SOLE.has(parameter) ? text(from) : `${parameter} ${text(from)}`;
  const extreme = to > from ? 'lowest' : 'highest';
  const reach =
    bound === undefined
      ? `the ${extreme} that the other rows allow is`
      : `the ${extreme} that was found to be sufficient is`;
  return `${nameOf(relaxation)} requires ${request}; ${reach} ${text(to)}.`;
}

/** Parameters that are the only number of their rows. */
const SOLE: ReadonlySet<string> = new Set(['limit', 'minimum', 'maximum', 'threshold']);

/** Parameters that are not fractions in rows about fractions. */
const COUNTED: ReadonlySet<string> = new Set(['days', 'notional']);

/** Number of digits of limits in sentences. */
const DIGITS = 4;

/** Returns the name of a row in sentences. */
function nameOf({ id, index, type }: RowName): string {
  if (index === null) return IMPLICIT[type] ?? type;
  return id === '' ? `${type} (row ${index})` : id;
}

function describeConflict(conflict: readonly RowName[]): string {
  const names = conflict.map(nameOf);
  if (names.length === 0) return 'The constraints are infeasible.';
  if (names.length === 1) return `Row ${names[0]} is infeasible on its own.`;
  const own = conflict.filter(({ index }) => index !== null).length;
  const word = own === 0 ? '' : own === 1 ? 'Row ' : 'Rows ';
  return `${word}${names.slice(0, -1).join(', ')} and ${names.at(-1)} are jointly infeasible.`;
}

const IMPLICIT: Readonly<Record<string, string>> = {
  FullInvestment: 'the full-investment budget',
  LongOnly: 'the long-only default',
  Exclude: 'the exclusion of securities without a risk estimate',
};
