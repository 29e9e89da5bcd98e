import type { Solver } from '#kernels/optimisation/solve-program.js';
import { isFraction } from '../definition/constraint-class.js';
import { findConstraintClass } from '../definition/constraints.js';
import { assembleProgram, isCurve, listMovableParameters } from './assembly.js';
import { type Conflict, type ConflictRow, findConflict, listConflictRows } from './conflicts.js';
import {
  type ChoiceMoves,
  countParitySecurities,
  createFeasibilityTests,
  EXACT_TOLERANCE,
  type FeasibilityTests,
  findChoiceMoves,
  findJointMoves,
  selectPriorityMove,
} from './priority-relaxation.js';
import { listNonConvexRows, type Origin, type Problem, type Solvers } from './problem.js';
import {
  type ExecutedMove,
  findJointRelaxation,
  findSingleMoves,
  type ParameterMove,
  type Relaxation,
  toRelaxation,
} from './relaxation.js';
import { EXACT_SECURITIES_MAX } from './search.js';
import { createLimitedSolver, estimateWork } from './work-meter.js';

/** Detail of the error INFEASIBLE: the conflicting rows, and changes that end the conflict. */
export interface Infeasibility {
  /** True if verified multipliers prove the conflict, or every choice of securities was excluded. */
  readonly proven: boolean;
  readonly conflict: readonly ConflictRow[];
  readonly relaxations: readonly Relaxation[];
  readonly all_rows_relaxation?: readonly Relaxation[];
  /** False if the work limit was reached. Otherwise absent. */
  readonly exhaustive?: false;
  /**
   * Members that the work limit left incomplete: rows of the conflict that were not tested, changes that were not tried,
   * or a joint change that was not reduced to the least. Present if `exhaustive` is.
   */
  readonly incomplete?: readonly IncompleteMember[];
}

type IncompleteMember = 'conflict' | 'relaxations' | 'all_rows_relaxation';

/**
 * Explanation of an infeasible problem. Its further conflicts appear only in the message of the error, not in the
 * detail.
 */
export interface InfeasibilityExplanation {
  readonly detail: Infeasibility;
  /** Conflicts that remain if a row of the first conflict is removed, for each such row. */
  readonly remaining: readonly UnresolvedConflict[];
}

interface UnresolvedConflict {
  readonly without: RowName;
  readonly conflict: readonly RowName[];
}

/** Fields that identify a row. */
type RowName = Pick<Origin, 'id' | 'index' | 'type'>;

/** Maximum number of rows of a choice problem that are tested one by one. */
const CHOICE_ROWS_MAX = 24;

/** Maximum fraction of the work limit for finding the conflict; the rest is for its resolution. */
const CONFLICT_SHARE = 0.5;

/** Fraction of the work for a resolution that searches for choices of securities may use; the rest verifies changes. */
const TRIALS_SHARE = 0.7;

/**
 * Maximum number of multiplications of an explanation, times the number of securities: about three seconds. A
 * multiplication of a small program costs more than one of a large program (0.6 ns of 6 securities, 4 ns of 45), because
 * vectors, which are not counted, take most of the time of an iteration. Work is counted instead of time, so that equal
 * requests have equal explanations. The message names what was not tried by then.
 */
const WORK_MAX = 3e10;

/** Minimum work of an explanation, in solves of a problem of this size. */
const SOLVES_MAX = 20;

/** Work of the proof of a conflict, without which there is no explanation, relative to the work of an explanation. */
const PROOF_FACTOR = 10;

/** Returns the maximum number of multiplications of an explanation. */
function computeWorkLimit(problem: Problem): number {
  const { program } = assembleProgram(problem);
  return Math.max(WORK_MAX / program.n, SOLVES_MAX * estimateWork(program));
}

/**
 * Explains why the rows of a problem are infeasible. Finds a set of conflicting rows of which none can be removed, the
 * least change of each single parameter that makes the rows feasible, and the least joint change that respects
 * priorities.
 * @param workMax number of multiplications after which the search ends, once there is a proof.
 * @returns undefined if no conflict can be proven: the solver failed for another reason.
 * @cost a linear program per row of the problem, and a few per parameter of the conflict.
 */
export function explainInfeasibility(
  { solver: inner, algebra }: Solvers,
  problem: Problem,
  workMax = computeWorkLimit(problem),
): Infeasibility | undefined {
  return explainRows({ solver: inner, algebra }, problem, workMax)?.detail;
}

/**
 * Explains infeasible rows as `explainInfeasibility` does. Also returns the conflicts that remain after a row of the
 * conflict is removed.
 */
export function explainRows(
  { solver: inner, algebra }: Solvers,
  problem: Problem,
  workMax = computeWorkLimit(problem),
): InfeasibilityExplanation | undefined {
  const limitedSolver = createLimitedSolver(inner, CONFLICT_SHARE * workMax);
  const proofSolver = createLimitedSolver(inner, PROOF_FACTOR * computeWorkLimit(problem));
  const conflict = findConflict(proofSolver, problem, {
    trying: limitedSolver,
  });
  if (conflict === null) return undefined;
  const solver = createLimitedSolver(inner, workMax - limitedSolver.spent());
  const solvers = { solver, algebra };
  const trials = createFeasibilityTests(solvers, problem, TRIALS_SHARE * (workMax - limitedSolver.spent()));
  const hasEnded = () => solver.hasEnded() || trials.hasEnded();
  const remaining = listRemainingConflicts(solver, problem, conflict);
  const convexMoves = findSingleMoves(solvers, problem, conflict.origins);
  const singleMoves =
    convexMoves.length > 0
      ? convexMoves
      : findMovesWithChoices(solvers, problem, { trials, origins: conflict.origins });
  const areMovesIncomplete = hasEnded();
  const joint = findJointChange(solvers, problem, { trials, single: singleMoves });
  const detail = {
    proven: true,
    conflict: listConflictRows(problem, conflict),
    relaxations: singleMoves.map(toRelaxation),
    ...(joint === undefined ? {} : { all_rows_relaxation: joint.map(toRelaxation) }),
    ...listIncomplete({
      conflict: limitedSolver.hasEnded(),
      relaxations: areMovesIncomplete,
      all_rows_relaxation: hasEnded(),
    }),
  };
  return { detail, remaining };
}

function listIncomplete(
  ended: Readonly<Record<IncompleteMember, boolean>>,
): Pick<Infeasibility, 'exhaustive' | 'incomplete'> {
  const incomplete = (Object.keys(ended) as IncompleteMember[]).filter((member) => ended[member]);
  return incomplete.length === 0 ? {} : { exhaustive: false, incomplete };
}

/** Returns the least joint change. If only one parameter can move, returns the change of that parameter. */
function findJointChange(
  solvers: Solvers,
  problem: Problem,
  { trials, single }: { readonly trials: FeasibilityTests; readonly single: readonly ExecutedMove[] },
): readonly ExecutedMove[] | undefined {
  const { origins } = problem;
  const movables = listMovableParameters(problem, origins);
  if (movables.length === 1 && single.length === 1) return single;
  const moves = findJointRelaxation(solvers, problem, movables);
  if (moves === undefined) return undefined;
  const singleMove = moves.length === 1 ? single.find((each) => isSameMove(each, moves[0]!)) : undefined;
  return singleMove === undefined ? findJointMoves(solvers, problem, { trials, moves, origins }) : [singleMove];
}

/** Difference of two parameter values that counts as rounding, relative to 1 + the magnitude of the value. */
const MOVE_TOLERANCE = 2e-9;

function isSameMove(a: ParameterMove, b: ParameterMove): boolean {
  const { origin, parameter } = a.movable;
  const isOwn = origin === b.movable.origin && parameter === b.movable.parameter;
  return isOwn && Math.abs(a.to - b.to) <= MOVE_TOLERANCE * (1 + Math.abs(b.to));
}

/**
 * Returns moves that also permit a choice of securities. They are needed if moves for the convex rows do not suffice.
 * Returns an empty list without non-convex rows.
 */
function findMovesWithChoices(
  solvers: Solvers,
  problem: Problem,
  among: Pick<ChoiceMoves, 'trials' | 'origins'>,
): readonly ExecutedMove[] {
  return listNonConvexRows(problem).length === 0
    ? []
    : findChoiceMoves(solvers, problem, { ...among, within: EXACT_TOLERANCE, convex: selectConvexRows(problem) });
}

/** Selects the convex rows that may move together with choices. All may move if searches are short. */
function selectConvexRows({ index }: Problem): ChoiceMoves['convex'] {
  return index.length <= EXACT_SECURITIES_MAX ? 'all' : 'sought';
}

/**
 * Returns the conflicts that remain after removing a row of the request from a conflict.
 * @cost a linear program per row, more for each remaining conflict
 */
function listRemainingConflicts(solver: Solver, problem: Problem, { origins }: Conflict): UnresolvedConflict[] {
  return origins.flatMap((without) => {
    if (without.index === null) return [];
    const left = findConflict(solver, problem, { includes: (origin) => origin !== without });
    return left === null ? [] : [{ without, conflict: left.origins }];
  });
}

/**
 * Explains why no choice of securities satisfies the non-convex rows although the convex rows are feasible. Removes
 * rows while the search still fails. Then moves the parameters of the remaining rows until it succeeds, within a work
 * limit.
 * @param isProven true if every choice was excluded.
 * @param workMax maximum number of multiplications of all trials together.
 */
export function explainChoice(
  solvers: Solvers,
  problem: Problem,
  isProven: boolean,
  workMax = computeWorkLimit(problem),
): Infeasibility {
  const trials = createFeasibilityTests(solvers, problem, workMax);
  const { origins, isComplete } =
    problem.origins.length <= CHOICE_ROWS_MAX
      ? findIrreducibleChoice(trials, problem)
      : { origins: [...new Set(listNonConvexRows(problem).map(({ origin }) => origin))], isComplete: true };
  const conflict = origins.map((origin) => ({
    id: origin.id,
    index: origin.index,
    type: origin.type,
    label: origin.name,
    multiplier: 1 / origins.length,
  }));
  const singleMoves = findChoiceMoves(solvers, problem, {
    trials,
    origins,
    within: EXACT_TOLERANCE,
    convex: selectConvexRows(problem),
  });
  const areMovesIncomplete = trials.hasEnded();
  const joint =
    selectPriorityMove(singleMoves) ??
    findJointMoves(solvers, problem, { trials, moves: [], origins: problem.origins });
  return {
    proven: isProven || isBelowParity(problem),
    conflict,
    relaxations: singleMoves.map(toRelaxation),
    ...(joint === undefined ? {} : { all_rows_relaxation: joint.map(toRelaxation) }),
    ...listIncomplete({
      conflict: !isComplete,
      relaxations: areMovesIncomplete,
      all_rows_relaxation: trials.hasEnded(),
    }),
  };
}

function findIrreducibleChoice(
  trials: FeasibilityTests,
  problem: Problem,
): { readonly origins: readonly Origin[]; readonly isComplete: boolean } {
  let origins = [...problem.origins];
  for (const origin of problem.origins) {
    if (!trials.isWithin(CONFLICT_SHARE)) return { origins, isComplete: false };
    const otherOrigins = origins.filter((other) => other !== origin);
    if (!trials.succeeds({ includes: (other) => otherOrigins.includes(other) })) origins = otherOrigins;
  }
  return { origins, isComplete: !trials.hasEnded() };
}

/** Returns true if a count row allows fewer securities than the risk parity portfolio holds. */
function isBelowParity(problem: Problem): boolean {
  return listNonConvexRows(problem).some(
    ({ origin, row }) =>
      row.form === 'count' && origin.soft === null && row.maximum < countParitySecurities(problem, origin),
  );
}

/** Returns relaxations of the curved rows of a conflict. Each relaxes a row to the best value that can be reached. */
export function relaxCurvedRows(solvers: Solvers, problem: Problem, { origins }: Conflict): readonly Relaxation[] {
  const curvedOrigins = new Set(problem.rows.filter(isCurve).map(({ origin }) => origin));
  const moves = findSingleMoves(
    solvers,
    problem,
    origins.filter((origin) => curvedOrigins.has(origin)),
  );
  return moves.map(toRelaxation);
}

/**
 * Describes the conflicting rows, the attainable value of each parameter, and the conflicts that remain after removing
 * a row.
 */
export function describeInfeasibility(
  problem: Problem,
  explanation: Omit<Infeasibility, 'proven'>,
  remaining: readonly UnresolvedConflict[] = [],
): string {
  const { conflict, relaxations } = explanation;
  const moreCount = relaxations.length - DESCRIBED_CHANGES_MAX;
  return [
    describeConflict(conflict),
    ...relaxations.slice(0, DESCRIBED_CHANGES_MAX).map(describeReach),
    ...(moreCount > 0
      ? [`${moreCount} more such ${moreCount === 1 ? 'change is' : 'changes are'} in the detail.`]
      : []),
    ...remaining.map(describeRemaining),
    ...describeMissingSecurities(problem, conflict),
    ...describeParity(problem, conflict),
    ...describeWorkLimit(explanation),
  ].join(' ');
}

/** Maximum number of parameter changes described in sentences. */
const DESCRIBED_CHANGES_MAX = 5;

/** Describes what the work limit left incomplete: the rows that were not tested, and the changes that were not tried. */
function describeWorkLimit({
  conflict,
  relaxations,
  all_rows_relaxation: joint,
  incomplete = [],
}: Omit<Infeasibility, 'proven'>): string[] {
  if (incomplete.length === 0) return [];
  const moved = new Set(relaxations.map(({ index }) => index));
  const names = conflict.filter(({ index }) => index !== null && !moved.has(index)).map(formatRowName);
  const sentences: Readonly<Record<IncompleteMember, readonly string[]>> = {
    conflict: ['Not every constraint of the conflict was tested, so some can be unnecessary.'],
    relaxations: [
      'Other or smaller changes of a single constraint can be sufficient.',
      ...(names.length === 0 ? [] : [`Changes of ${names.join(', ')} were not tried to the end.`]),
    ],
    all_rows_relaxation: [
      joint === undefined
        ? 'Joint changes of several constraints were not tried to the end.'
        : `The joint change of ${[...new Set(joint.map(formatRowName))].join(', ')} is sufficient, but smaller changes were not tried to the end.`,
    ],
  };
  return ['The work limit of this explanation was reached.', ...incomplete.flatMap((member) => sentences[member])];
}

function describeRemaining({ without, conflict }: UnresolvedConflict): string {
  return `Without ${formatRowName(without)} there is still a conflict: ${lowerFirstLetter(describeConflict(conflict))}`;
}

function lowerFirstLetter(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}

/** Describes why risk parity excludes a choice of securities. Returns an empty list for other objectives. */
function describeParity(problem: Problem, conflict: readonly ConflictRow[]): string[] {
  const { goal } = problem;
  if (goal.form !== 'ratio' || goal.numerator.kind !== 'evenness') return [];
  const nonConvexRows = new Set(listNonConvexRows(problem).map(({ origin }) => origin.index));
  const hasChoice = conflict.some(({ index }) => nonConvexRows.has(index));
  return hasChoice
    ? ['Risk parity holds every security with a risk budget. No selection of securities is possible.']
    : [];
}

/** Describes groups in conflicting rows that contain no candidate. */
function describeMissingSecurities({ rows }: Problem, conflict: readonly ConflictRow[]): string[] {
  const conflictRows = new Set(conflict.map(({ index }) => index));
  return rows.flatMap(({ origin, row }) => {
    const { field, groups } = origin.params as { readonly field?: string; readonly groups?: readonly string[] | null };
    if (origin.index === null || !conflictRows.has(origin.index) || !groups?.includes(row.member ?? '')) return [];
    const isNobodys =
      row.form === 'count'
        ? row.members.length === 0
        : row.form === 'linear' && row.coefficients.every((value) => value === 0);
    return isNobodys ? [`No candidate has the ${field} ${row.member}.`] : [];
  });
}

function describeReach(relaxation: Relaxation): string {
  const { type, parameter, from, to, bound } = relaxation;
  const isShare = isFraction(findConstraintClass(type)!, parameter); // rows have been validated
  const formatNumber = (value: number) =>
    isShare ? `${Number((100 * value).toPrecision(DIGITS))}%` : String(Number(value.toPrecision(DIGITS)));
  const requestText = SOLE_PARAMETERS.has(parameter) ? formatNumber(from) : `${parameter} ${formatNumber(from)}`;
  const extremeWord = to > from ? 'lowest' : 'highest';
  const reachPhrase =
    bound === undefined
      ? `the ${extremeWord} that the other constraints allow is`
      : `the ${extremeWord} that was found to be sufficient is`;
  return `${formatRowName(relaxation)} requires ${requestText}; ${reachPhrase} ${formatNumber(to)}.`;
}

/** Parameters of rows that have no other numeric parameter. */
const SOLE_PARAMETERS: ReadonlySet<string> = new Set(['limit', 'minimum', 'maximum', 'threshold']);

/** Number of significant digits of limits in sentences. */
const DIGITS = 4;

function formatRowName({ id, index, type }: RowName): string {
  if (index === null) return IMPLICIT_ROW_NAMES[type] ?? type;
  return id === '' ? `${type} (row ${index})` : id;
}

function describeConflict(conflict: readonly RowName[]): string {
  const names = conflict.map(formatRowName);
  if (names.length === 0) return 'The constraints are infeasible.';
  if (names.length === 1) return `Constraint ${names[0]} is infeasible on its own.`;
  const constraintCount = conflict.filter(({ index }) => index !== null).length;
  const word = constraintCount === 0 ? '' : constraintCount === 1 ? 'Constraint ' : 'Constraints ';
  return `${word}${names.slice(0, -1).join(', ')} and ${names.at(-1)} are jointly infeasible.`;
}

const IMPLICIT_ROW_NAMES: Readonly<Record<string, string>> = {
  FullInvestment: 'the full-investment budget',
  LongOnly: 'the long-only default',
  Exclude: 'the exclusion of securities without a risk estimate or without variance',
};
