import { raiseToPower } from '#kernels/power.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { createTrackingGoal } from '../../objectives/goal.js';
import { assembleProgram } from '../assemble.js';
import type { RowParameterChange } from './parameter-change.js';
import { searchWithExactAverages, type LinearisedAverages } from '../averages.js';
import { isAccepted, listMovableParameters, type MovableParameter } from './movable-parameters.js';
import type { Origin, Problem } from '../problem.js';
import { minimiseTail } from '../tails/tail-limits.js';
import { computeGap, proveInfeasibility, checkFeasibility, type Proof } from '../proof.js';
import { solveProblem } from '../search.js';
import type { Solvers } from '../solvers.js';
import { solveConvex } from '../solve-convex.js';

/** Change of a single parameter that makes the rows feasible. */
export interface Relaxation {
  readonly id: string;
  readonly index: number | null;
  readonly type: string;
  readonly parameter: string;
  readonly from: number;
  readonly to: number;
  readonly change: number;
  /**
   * Value up to which changes are proven not to suffice. Present if the change is not proven to be the least, which
   * happens for choices of securities and for limits on tails.
   */
  readonly bound?: number;
  /** Fraction of the change that is not proven to be necessary. */
  readonly gap?: number;
}

/** Move that was verified by a solve. */
export interface ExecutedMove extends ParameterMove {
  readonly change: number;
  /** Value up to which no value suffices. Absent if `to` is proven to be the least. */
  readonly bound?: number;
}

/** Maximum number of decimals of a relaxed parameter, and of significant digits. */
const DECIMALS = 9;
const DIGITS = 15;

/** Returns the number of reporting steps per unit for a relaxed parameter. */
function computeStepsPerUnit(value: number): number {
  const integerDigits = Math.max(0, Math.floor(Math.log10(Math.max(Math.abs(value), 1))) + 1);
  return raiseToPower(10, Math.min(DECIMALS, Math.max(DIGITS - integerDigits, 0)));
}

/** Maximum number of proofs of infeasibility for one relaxation. Each excludes an interval of the parameter. */
const CERTIFICATES_MAX = 40;

/** Numbers of additional outward steps to try if rounding makes the least value infeasible. */
const OUTWARD_STEPS = [0, 1, 2, 10, 100, 1000, 10_000];

/** Infeasibility gap that counts as rounding. */
const ROUNDING = 1e-15;

/** Maximum number of doublings in the search for a value at which a proof becomes invalid. */
const DOUBLINGS_MAX = 60;

/**
 * Finds, for each parameter of the given rows, the least single change that makes the rows feasible. The smallest
 * change comes first. Each change is verified by solving the problem again. Rows of priority 0 never move.
 */
export function findSingleMoves(solvers: Solvers, problem: Problem, origins: readonly Origin[]): ExecutedMove[] {
  const tails = new Set(problem.rows.flatMap(({ origin, row }) => (row.form === 'tail' ? [origin] : [])));
  // Tails come first. Their minimum is a single program, whereas searches for other parameters may use up the work
  // limit.
  const movables = listMovableParameters(problem, origins).toSorted(
    (a, b) => Number(tails.has(b.origin)) - Number(tails.has(a.origin)),
  );
  return movables
    .flatMap((movable) => {
      const least = findLeastValue(solvers.solver, problem, movable);
      const roundedMoves =
        least === undefined ? undefined : roundMovesOutward(solvers, problem, [{ movable, to: least.to }]);
      return roundedMoves?.map((move) => addBound(move, least?.bound)) ?? [];
    })
    .toSorted((a, b) => Math.abs(a.change) - Math.abs(b.change) || readPosition(a) - readPosition(b));
}

function readPosition({ movable: { origin } }: ExecutedMove): number {
  return origin.index ?? Infinity;
}

/** Distance of a move from its proven bound that counts as rounding, relative to 1 + the magnitude of the bound. */
const BOUND_GAP_MIN = 2e-9;

function addBound(move: ExecutedMove, bound: number | undefined): ExecutedMove {
  return bound === undefined || Math.abs(move.to - bound) <= BOUND_GAP_MIN * (1 + Math.abs(bound))
    ? move
    : { ...move, bound };
}

/**
 * Finds the smallest value of a parameter at which the rows are feasible. Returns undefined if there is none. For a
 * limit on a tail, this is the smallest tail average within the other rows.
 */
function findLeastValue(
  solver: Solver,
  problem: Problem,
  movable: MovableParameter,
): Omit<LeastFeasibleValue, 'weights'> | undefined {
  const { origin, from } = movable;
  const row = problem.rows.find((rowWithOrigin) => rowWithOrigin.origin === origin)?.row;
  if (row?.form === 'tail') {
    const includesOrigin = (otherOrigin: Origin) => otherOrigin !== origin;
    if (proveInfeasibility(solver, problem, { includes: includesOrigin }) !== null) return undefined;
    const least = minimiseTail(solver, problem, row.goal, { includes: includesOrigin, beside: 'others' });
    if (least !== undefined && least.objective > from)
      return { to: least.objective, bound: Math.max(from, least.bound) };
  }
  return searchWithExactAverages(
    [movable],
    problem.index,
    (views) => searchLeastValue(solver, problem, movable, views),
    ({ to }) => to,
  );
}

interface LeastFeasibleValue {
  readonly to: number;
  /** Value up to which no value suffices. Absent if it equals `to` up to rounding. */
  readonly bound?: number;
  /** Feasible weights if the parameter has the value `to`. */
  readonly weights: Float64Array;
}

/**
 * Searches along proofs of infeasibility. Each proof is valid up to some value of the parameter. There the next proof
 * is computed, until the rows are feasible.
 */
function searchLeastValue(
  solver: Solver,
  problem: Problem,
  movable: MovableParameter,
  views: LinearisedAverages,
): LeastFeasibleValue | undefined {
  const { origin, parameter, from, direction, room } = movable;
  let to = from;
  for (let certificateCount = 0; certificateCount < CERTIFICATES_MAX; certificateCount++) {
    const createChanges = (nudge: number) => [
      { origin, parameter, to: to + direction * nudge * Math.max(1, Math.abs(to)) },
    ];
    const moveCheck = checkMoves(solver, problem, createChanges, views);
    const change = createChanges(moveCheck.nudge)[0]!;
    if (moveCheck.kind === 'feasible') return { to: change.to, weights: moveCheck.weights };
    if (moveCheck.kind === 'undecided') return undefined;
    const computeGapAfter = (move: number) =>
      computeGap(
        moveCheck.proof,
        assembleProgram(problem, {
          changes: [{ ...change, to: change.to + direction * move }],
          views,
          withTracking: true,
        }),
      );
    const move = findGapEnd(
      computeGapAfter,
      1e-3 * Math.max(Math.abs(change.to), 1e-2),
      room - Math.abs(change.to - from),
    );
    if (move === undefined || !isAccepted(origin, parameter, change.to + direction * move)) return undefined;
    to = change.to + direction * move;
  }
  return undefined;
}

/**
 * Relative distances beyond a value that barely suffices. Feasibility is tested there too, because rounding may hide
 * it.
 */
const NUDGES = [0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4];

type MoveCheck =
  | { readonly kind: 'feasible'; readonly nudge: number; readonly weights: Float64Array }
  | { readonly kind: 'impossible'; readonly nudge: number; readonly proof: Proof }
  | { readonly kind: 'undecided'; readonly nudge: number };

/** Returns the problem with an objective that is fast to solve, for tests of feasibility. */
export function listSeparateRows(problem: Problem): Problem {
  return { ...problem, goal: createTrackingGoal(problem.index), costs: null, robustness: null };
}

/**
 * Determines if the convex rows are feasible after changes, or proven infeasible. If neither is certain, tests slightly
 * larger changes.
 */
export function checkMoves(
  solver: Solver,
  problem: Problem,
  changesAt: (nudge: number) => readonly RowParameterChange[],
  views?: LinearisedAverages,
): MoveCheck {
  const rows = listSeparateRows(problem);
  for (const nudge of NUDGES) {
    const changes = changesAt(nudge);
    if (!changes.every(({ origin, parameter, to }) => isAccepted(origin, parameter, to))) continue;
    const { proof, weights } = checkFeasibility(solver, problem, { changes, views });
    if (proof !== null) return { kind: 'impossible', nudge, proof };
    if (weights !== null) return { kind: 'feasible', nudge, weights };
    const solution = solveConvex(solver, rows, { changes, views });
    if (solution !== undefined) return { kind: 'feasible', nudge, weights: solution.weights };
  }
  return { kind: 'undecided', nudge: 0 };
}

/** Returns the move at which an infeasibility gap becomes zero. Returns undefined if there is none within reach. */
function findGapEnd(gap: (move: number) => number, reach: number, room: number): number | undefined {
  let near = 0;
  let far = Math.min(reach, room);
  if (!(gap(far) < gap(near))) return undefined;
  for (let doublings = 0; gap(far) > 0; doublings++) {
    if (doublings === DOUBLINGS_MAX || far >= room) return undefined;
    near = far;
    far = Math.min(2 * far, room);
  }
  // The gap is nearly linear in the parameter, so the secant is nearly exact. Bisection is used if the gap ends in a
  // plateau.
  for (let step = 0; step < 100 && far - near > 1e-15 * (reach + far); step++) {
    const low = gap(near);
    const high = gap(far);
    const secant = near + ((far - near) * low) / (low - high);
    const trialMove = step % 2 === 0 && secant > near && secant < far ? secant : (near + far) / 2;
    if (gap(trialMove) > ROUNDING) near = trialMove;
    else far = trialMove;
  }
  return far;
}

export interface ParameterMove {
  readonly movable: Pick<MovableParameter, 'origin' | 'parameter' | 'from'>;
  readonly to: number;
}

/** Rounds moves outward to reporting steps. Adds further steps until the problem with all moves can be solved. */
export function roundMovesOutward(
  solvers: Solvers,
  problem: Problem,
  moves: readonly ParameterMove[],
): ExecutedMove[] | undefined {
  for (const roundMove of [roundToFewDigits, ...OUTWARD_STEPS.map((extra) => moveOutward(extra))]) {
    const roundedMoves = moves.map(({ movable, to }) => ({ movable, to: roundMove(movable.from, to) }));
    if (!roundedMoves.every(({ movable, to }) => isAccepted(movable.origin, movable.parameter, to))) return undefined;
    const changes = roundedMoves.map(({ movable: { origin, parameter }, to }) => ({ origin, parameter, to }));
    // The test solves the problem as for a request. If the rows leave a single point, the last bit of a bound decides.
    if (solveProblem(solvers, problem.withParameters(changes), { wanted: 'any' }).kind === 'solved')
      return roundedMoves.map(createExecutedMove);
  }
  return undefined;
}

/**
 * Relative distance from a number with few digits that counts as solver rounding. A result of 7.00000005 securities
 * thus becomes seven.
 */
const SOLVER_ROUNDING = 1e-8;

function roundToFewDigits(from: number, to: number): number {
  const roundedValue = Number(to.toPrecision(6));
  return Math.abs(roundedValue - to) <= SOLVER_ROUNDING * Math.abs(to) ? roundedValue : roundUpwards(from, to, 0);
}

const moveOutward = (extra: number) => (from: number, to: number) => roundUpwards(from, to, extra);

function roundUpwards(from: number, to: number, extra: number): number {
  const side = to >= from ? 1 : -1;
  const stepsPerUnit = computeStepsPerUnit(to);
  // A tenth of a step counts as rounding of the value. The solve that follows decides if it is.
  const stepCount = Math.ceil(side * to * stepsPerUnit - 0.1) + extra;
  return stepCount === 0 ? 0 : (side * stepCount) / stepsPerUnit;
}

function createExecutedMove({ movable, to }: ParameterMove): ExecutedMove {
  const exact = to - movable.from;
  const stepsPerUnit = computeStepsPerUnit(exact);
  const change = Math.round(exact * stepsPerUnit) / stepsPerUnit;
  return { movable, to, change: Math.abs(change - exact) < 1e-12 ? change : exact };
}

export function toRelaxation({ movable: { origin, parameter, from }, to, change, bound }: ExecutedMove): Relaxation {
  const relaxedParameter = {
    id: origin.id,
    index: origin.index,
    type: origin.type,
    parameter: parameter!,
    from,
    to,
    change,
  }; // the API reports only moves of parameters, not of widths
  return bound === undefined ? relaxedParameter : { ...relaxedParameter, bound, gap: (to - bound) / (to - from) };
}
