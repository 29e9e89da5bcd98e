import type { Solver } from '#kernels/optimisation/solve-program.js';
import { assembleProgram } from '../assemble.js';
import {
  findChoiceMoves,
  type ChoiceMoves,
  EXACT_TOLERANCE,
  selectPriorityMove,
  findJointMoves,
  countParitySecurities,
} from '../choice-relaxation.js';
import { findJointRelaxation } from '../joint-relaxation.js';
import { isCurve } from '../curved-rows.js';
import { listMovableParameters } from './movable-parameters.js';
import { listNonConvexRows, type Origin, type Problem } from '../problem.js';
import { listConflictRows, findConflict, type Conflict, type ConflictRow } from '../proof.js';
import { findSingleMoves, toRelaxation, type ParameterMove, type ExecutedMove, type Relaxation } from './relaxation.js';
import { EXACT_SECURITIES_MAX } from '../search.js';
import { createFeasibilityTests, type FeasibilityTests } from '../trials.js';
import { createLimitedSolver, estimateWork } from '../work-meter.js';
import type { Solvers } from '../solvers.js';

/** Detail of the error INFEASIBLE: the conflicting rows, and changes that end the conflict. */
export interface Infeasibility {
  /** True if verified multipliers prove the conflict, or every choice of securities was excluded. */
  readonly proven: boolean;
  readonly conflict: readonly ConflictRow[];
  readonly relaxations: readonly Relaxation[];
  readonly all_rows_relaxation?: readonly Relaxation[];
  /**
   * False if the work limit was reached. Then not every row of the conflict was tested, changes may be missing, and the
   * listed changes may not be the smallest. Otherwise absent.
   */
  readonly exhaustive?: false;
}

/**
 * Explanation of an infeasible problem. Its further conflicts appear only in the message of the error, not in the
 * detail.
 */
export interface Explanation {
  readonly detail: Infeasibility;
  /** Conflicts that remain if a row of the first conflict is removed, for each such row. */
  readonly remaining: readonly UnresolvedConflict[];
}

export interface UnresolvedConflict {
  readonly without: RowName;
  readonly conflict: readonly RowName[];
}

/** Fields that identify a row. */
export type RowName = Pick<Origin, 'id' | 'index' | 'type'>;

/** Maximum number of rows of a choice problem that are tested one by one. */
const CHOICE_ROWS_MAX = 24;

/** Fraction of the work limit for finding the conflict; the rest is for its resolution. */
const CONFLICT_SHARE = 0.5;

/**
 * Maximum number of multiplications of an explanation: a few seconds. Work is counted instead of time, so that
 * equal requests have equal explanations. The message names the constraints whose changes were not found by then.
 */
const WORK_MAX = 6e9;

/** Minimum work of an explanation, in solves of a problem of this size. */
const SOLVES_MAX = 20;

/** Work of the proof of a conflict, without which there is no explanation, relative to the work of an explanation. */
const PROOF_FACTOR = 10;

/** Returns the maximum number of multiplications of an explanation. It is `WORK_MAX`, or more for a large problem. */
function computeWorkLimit(problem: Problem): number {
  return Math.max(WORK_MAX, SOLVES_MAX * estimateWork(assembleProgram(problem).program));
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
): Explanation | undefined {
  const limitedSolver = createLimitedSolver(inner, CONFLICT_SHARE * workMax);
  const proofSolver = createLimitedSolver(inner, PROOF_FACTOR * computeWorkLimit(problem));
  const conflict = findConflict(proofSolver, problem, {
    trying: limitedSolver,
  });
  if (conflict === null) return undefined;
  const solver = createLimitedSolver(inner, (1 - CONFLICT_SHARE) * workMax);
  const solvers = { solver, algebra };
  const trials = createFeasibilityTests(solvers, problem);
  const convexMoves = findSingleMoves(solvers, problem, conflict.origins);
  const singleMoves =
    convexMoves.length > 0
      ? convexMoves
      : findMovesWithChoices(solvers, problem, { trials, origins: conflict.origins });
  const joint = findJointChange(solvers, problem, { trials, single: singleMoves });
  const remainingConflicts = listRemainingConflicts(solver, problem, conflict);
  const detail = {
    proven: true,
    conflict: listConflictRows(problem, conflict),
    relaxations: singleMoves.map(toRelaxation),
    ...(joint === undefined ? {} : { all_rows_relaxation: joint.map(toRelaxation) }),
    ...([limitedSolver, solver, trials].some((each) => each.hasEnded()) ? { exhaustive: false as const } : {}),
  };
  return { detail, remaining: remainingConflicts };
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
  workMax = WORK_MAX,
): Infeasibility {
  const trials = createFeasibilityTests(solvers, problem, workMax);
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
  const singleMoves = findChoiceMoves(solvers, problem, {
    trials,
    origins,
    within: EXACT_TOLERANCE,
    convex: selectConvexRows(problem),
  });
  const joint =
    selectPriorityMove(singleMoves) ??
    findJointMoves(solvers, problem, { trials, moves: [], origins: problem.origins });
  return {
    proven: isProven || isBelowParity(problem),
    conflict,
    relaxations: singleMoves.map(toRelaxation),
    ...(joint === undefined ? {} : { all_rows_relaxation: joint.map(toRelaxation) }),
    ...readExhaustive(trials),
  };
}

function readExhaustive(trials: FeasibilityTests): Pick<Infeasibility, 'exhaustive'> {
  return trials.hasEnded() ? { exhaustive: false } : {};
}

function findIrreducibleChoice(trials: FeasibilityTests, problem: Problem): Origin[] {
  let remainingOrigins = [...problem.origins];
  for (const origin of problem.origins) {
    if (!trials.isWithin(CONFLICT_SHARE)) break;
    const otherOrigins = remainingOrigins.filter((other) => other !== origin);
    if (!trials.succeeds({ includes: (other) => otherOrigins.includes(other) })) remainingOrigins = otherOrigins;
  }
  return remainingOrigins;
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
