import { NO_ROWS } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { raiseToPower } from '#kernels/power.js';
import { createTrackingGoal } from '../definition/objectives.js';
import {
  assembleProgram,
  isAccepted,
  type LinearisedAverages,
  listMovableParameters,
  measureRow,
  type MovableParameter,
  searchWithExactAverages,
} from './assembly.js';
import {
  checkFeasibility,
  computeGap,
  computeRowGap,
  groupProofsBySecurity,
  type ConflictProof,
  proveInfeasibility,
} from './conflicts.js';
import { minimiseTail, solveConvex } from './convex-solve.js';
import type { Origin, Problem, RowParameterChange, Solvers } from './problem.js';
import { solveProblem } from './search.js';

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
  | { readonly kind: 'impossible'; readonly nudge: number; readonly proof: ConflictProof }
  | { readonly kind: 'undecided'; readonly nudge: number };

/** Returns the problem with an objective that is fast to solve, for tests of feasibility. */
function listSeparateRows(problem: Problem): Problem {
  return { ...problem, goal: createTrackingGoal(problem.index), costs: null, robustness: null };
}

/**
 * Determines if the convex rows are feasible after changes, or proven infeasible. If neither is certain, tests slightly
 * larger changes.
 */
function checkMoves(
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

/**
 * Maximum number of rounds of the joint relaxation. Each round adds proofs of infeasibility, which the next moves must
 * invalidate.
 */
const ROUNDS_MAX = 100;

/** Maximum number of bisection steps towards the least sufficient moves, if the rounds end before they are found. */
const BISECTION_STEPS = 100;

/** Distance below which two moves count as equal, relative to the larger of 1 and the move. */
const MOVE_TOLERANCE = 1e-12;

/**
 * Finds the least total change of parameters that makes the rows feasible. Rows with low priority values are spared:
 * the sum of the moves at the lowest priority value is minimised first, then the sum at the next. Moves must invalidate
 * every proof of infeasibility found so far, until none is left.
 * @param among parameters that may move.
 * @returns undefined if no moves of these parameters suffice.
 */
export function findJointRelaxation(
  { solver }: Solvers,
  problem: Problem,
  among: readonly MovableParameter[],
): ParameterMove[] | undefined {
  const movables = removeOpposites(among);
  if (movables.length === 0) return undefined;
  const computeValue = ({ moved }: JointMove, movable: MovableParameter) =>
    movable.from + movable.direction * moved[movables.indexOf(movable)]!;
  const joint = searchWithExactAverages(
    movables,
    problem.index,
    (views) => findLeastJoint(solver, { problem, movables, views }),
    computeValue,
  );
  return joint === undefined ? undefined : toMoves(movables, measureMoves(problem, movables, joint));
}

interface JointSearch {
  readonly problem: Problem;
  readonly movables: readonly MovableParameter[];
  readonly views: LinearisedAverages;
}

interface JointMove {
  /** Move of each movable parameter. */
  readonly moved: Float64Array;
  readonly weights: Float64Array;
}

function findLeastJoint(solver: Solver, search: JointSearch): JointMove | undefined {
  const { problem, movables, views } = search;
  const fullMoves = Float64Array.from(movables, ({ room }) => room);
  if (proveInfeasibility(solver, problem, { changes: toChanges(movables, fullMoves), views }) !== null)
    return undefined;
  const nudgeMoves = (moved: Float64Array, nudge: number) =>
    moved.map((value, k) => (value > 0 ? Math.min(value + nudge, fullMoves[k]!) : 0));
  const rows = listSeparateRows(problem);
  const solveWeights = (tried: Float64Array) =>
    solveConvex(solver, rows, { changes: toChanges(movables, tried), views })?.weights;
  const cuts: MoveCondition[] = [];
  let currentMoves: Float64Array = new Float64Array(movables.length);
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const start = currentMoves;
    const moveCheck = checkMoves(solver, problem, (step) => toChanges(movables, nudgeMoves(start, step)), views);
    const trialMoves = nudgeMoves(start, moveCheck.nudge);
    if (moveCheck.kind === 'feasible') {
      // A condition overestimates a move if the effect is not proportional to the move.
      const isLeast = movables.every(({ isLinear }, k) => isLinear || trialMoves[k] === 0);
      return isLeast
        ? { moved: trialMoves, weights: moveCheck.weights }
        : shrinkMoves(movables, { wanted: trialMoves, whole: fullMoves, close: MOVE_TOLERANCE }, solveWeights);
    }
    const result =
      moveCheck.kind === 'undecided'
        ? []
        : groupProofsBySecurity(moveCheck.proof).flatMap((proof) => createCut(search, proof, trialMoves) ?? []);
    cuts.push(...result);
    const next = result.length === 0 ? undefined : findLeastMoves(solver, movables, cuts);
    if (next === undefined) break;
    currentMoves = next;
  }
  return solveWeights(fullMoves) === undefined
    ? undefined
    : shrinkMoves(movables, { wanted: currentMoves, whole: fullMoves, close: MOVE_TOLERANCE }, solveWeights);
}

/**
 * Corrects moves of norm limits that rounding in the solver left too small. The corrected limits are the measured norms
 * of the weights. Without the correction, a limit on the effective number of securities could exceed the attainable
 * number, because it magnifies such differences.
 */
function measureMoves(
  problem: Problem,
  movables: readonly MovableParameter[],
  { moved, weights }: JointMove,
): Float64Array {
  return moved.map((move, k) => {
    const { origin, from, direction } = movables[k]!;
    const row = problem.rows.find((rowWithOrigin) => rowWithOrigin.origin === origin)?.row;
    if (move === 0 || row?.form !== 'norm') return move;
    return Math.max(move, direction * (row.parameterOf(measureRow(problem, row, weights)) - from));
  });
}

/** Removes parameters that an earlier entry moves in the opposite direction. */
function removeOpposites(movables: readonly MovableParameter[]): MovableParameter[] {
  const seenKeys = new Set<string>();
  return movables.filter(({ origin, parameter }) => {
    const key = `${origin.index} ${parameter}`;
    const isNew = !seenKeys.has(key);
    seenKeys.add(key);
    return isNew;
  });
}

export type WeightsAt = (moved: Float64Array) => Float64Array | undefined;

interface MoveSpan {
  readonly wanted: Float64Array;
  /** Moves by the whole available range, which suffice. */
  readonly whole: Float64Array;
  /** Distance below which two moves count as equal, relative to the larger of 1 and the move. */
  readonly close: number;
}

/**
 * Finds moves by trial only. No move can be smaller; moves at the lowest priority value are minimised first.
 * @param weightsAt returns feasible weights with given moves; undefined if the moves do not suffice.
 */
export function findMovesByTrial(
  movables: readonly MovableParameter[],
  weightsAt: WeightsAt,
  close: number,
): ParameterMove[] | undefined {
  const fullMoves = Float64Array.from(movables, ({ room }) => room);
  if (weightsAt(fullMoves) === undefined) return undefined;
  const joint = shrinkMoves(
    movables,
    { wanted: new Float64Array(movables.length), whole: fullMoves, close },
    weightsAt,
  );
  return joint === undefined ? undefined : toMoves(movables, joint.moved);
}

/**
 * Shrinks moves that suffice until no move can be smaller. First shrinks all together towards the wanted moves, then
 * one by one, lowest priority value first.
 */
function shrinkMoves(
  movables: readonly MovableParameter[],
  { wanted, whole, close }: MoveSpan,
  weightsAt: WeightsAt,
): JointMove | undefined {
  let nearestMoves = findNearest({ from: wanted, to: whole, close }, weightsAt);
  const order = Array.from(movables.keys()).toSorted(
    (a, b) => movables[a]!.origin.priority - movables[b]!.origin.priority || a - b,
  );
  for (const k of order) {
    const movesWithout = nearestMoves.slice();
    movesWithout[k] = 0;
    nearestMoves = findNearest({ from: movesWithout, to: nearestMoves, close }, weightsAt);
  }
  const weights = weightsAt(nearestMoves);
  return weights === undefined ? undefined : { moved: nearestMoves, weights };
}

/** Growth factor of the steps away from each end: about five steps from `close` to the full distance. */
const STEP_GROWTH = 1024;

/**
 * Finds the point nearest to `from` on the line to `to` at which the moves suffice; they must suffice at `to`.
 * @cost a few solves if the point is near one of the ends, which is usual; otherwise about forty
 */
function findNearest(
  { from, to, close }: { readonly from: Float64Array; readonly to: Float64Array; readonly close: number },
  weightsAt: WeightsAt,
): Float64Array {
  const interpolateMoves = (share: number) => from.map((value, k) => value + share * (to[k]! - value));
  const isSufficient = (share: number) => weightsAt(interpolateMoves(share)) !== undefined;
  if (isSufficient(0)) return from;
  const length = from.reduce((most, value, k) => Math.max(most, Math.abs(to[k]! - value)), 0);
  let near = 0;
  let far = 1;
  for (let step = close * Math.max(1, 1 / length); near + step < far - step; step *= STEP_GROWTH) {
    if (!isSufficient(1 - step)) {
      near = 1 - step;
      break;
    }
    far = isSufficient(step) ? step : 1 - step;
    if (far === step) break;
    near = step;
  }
  for (let step = 0; step < BISECTION_STEPS && (far - near) * length > close * Math.max(1, far * length); step++) {
    const middle = (near + far) / 2;
    if (isSufficient(middle)) far = middle;
    else near = middle;
  }
  return interpolateMoves(far);
}

export function toChanges(movables: readonly MovableParameter[], moved: Float64Array): RowParameterChange[] {
  return movables.flatMap(({ origin, parameter, from, direction }, k) =>
    moved[k] === 0 ? [] : [{ origin, parameter, to: from + direction * moved[k]! }],
  );
}

/** Size of a move below which it is rounding. */
const ZERO_MOVE = 5e-10;

function toMoves(movables: readonly MovableParameter[], moved: Float64Array): ParameterMove[] {
  return movables.flatMap((movable, k) =>
    moved[k]! > ZERO_MOVE ? [{ movable, to: movable.from + movable.direction * moved[k]! }] : [],
  );
}

/**
 * Linear condition on the moves, slopes'moved >= least. Moves that meet it invalidate a proof of infeasibility. Slopes
 * are not negative.
 */
interface MoveCondition {
  readonly slopes: Float64Array;
  readonly least: number;
}

/** Fraction of the steepest slope of a condition below which a slope is rounding. */
const SLOPE_MIN = 1e-7;

function createCut(
  { problem, movables, views }: JointSearch,
  proof: ConflictProof,
  currentMoves: Float64Array,
): MoveCondition | undefined {
  const computeGapAt = (moves: Float64Array) =>
    computeRowGap(proof, assembleProgram(problem, { changes: toChanges(movables, moves), views, withTracking: true }));
  const gapAtMoves = computeGapAt(currentMoves);
  const slopes = Float64Array.from(movables, ({ from, room }, k) => {
    if (currentMoves[k]! >= room) return 0;
    const step = Math.min(1e-6 * Math.max(Math.abs(from), 1e-2), room - currentMoves[k]!);
    const shiftedMoves = currentMoves.slice();
    shiftedMoves[k]! += step;
    const slope = (gapAtMoves - computeGapAt(shiftedMoves)) / step;
    return Number.isFinite(slope) ? Math.max(slope, 0) : 0;
  });
  const steepest = slopes.reduce((most, slope) => Math.max(most, slope), 0);
  if (!(steepest > 0)) return undefined;
  const cleanSlopes = slopes.map((slope) => (slope < SLOPE_MIN * steepest ? 0 : slope / steepest));
  return {
    slopes: cleanSlopes,
    least: gapAtMoves / steepest + cleanSlopes.reduce((sum, slope, k) => sum + slope * currentMoves[k]!, 0),
  };
}

/**
 * Finds the least moves that satisfy every condition. The sum at the lowest priority value is minimised first. Each
 * further sum is minimised with the earlier ones fixed.
 */
function findLeastMoves(
  solver: Solver,
  movables: readonly MovableParameter[],
  cuts: readonly MoveCondition[],
): Float64Array | undefined {
  const levels = [...new Set(movables.map(({ origin }) => origin.priority))].toSorted((a, b) => a - b);
  const settledLevels: { readonly members: Float64Array; readonly most: number }[] = [];
  let cheapestMoves: Float64Array | undefined;
  for (const level of levels) {
    const members = Float64Array.from(movables, ({ origin }) => (origin.priority === level ? 1 : 0));
    cheapestMoves = findCheapestMoves(solver, movables, cuts, members, settledLevels);
    if (cheapestMoves === undefined) return undefined;
    settledLevels.push({ members, most: cheapestMoves.reduce((sum, value, k) => sum + members[k]! * value, 0) });
  }
  return cheapestMoves;
}

/** Finds the moves with the least cost under conditions and fixed sums, by a linear program. */
function findCheapestMoves(
  solver: Solver,
  movables: readonly MovableParameter[],
  cuts: readonly MoveCondition[],
  cost: Float64Array,
  settled: readonly { readonly members: Float64Array; readonly most: number }[],
): Float64Array | undefined {
  const n = movables.length;
  const count = cuts.length + settled.length;
  const coefficients = new Float64Array(count * n);
  cuts.forEach(({ slopes }, r) => coefficients.set(slopes, r * n));
  settled.forEach(({ members }, r) => coefficients.set(members, (cuts.length + r) * n));
  // The largest requirement of any condition limits the useful size of a move.
  const reach =
    2 *
    cuts.reduce(
      (most, { least, slopes }) =>
        Math.max(most, least / slopes.reduce((low, slope) => (slope > 0 ? Math.min(low, slope) : low), 1)),
      0,
    );
  const { point, status } = solver.solve({
    n,
    metric: null,
    curvature: 0,
    ridge: 0,
    centre: new Float64Array(n),
    linear: cost,
    lower: new Float64Array(n),
    upper: Float64Array.from(movables, ({ room }) => Math.min(room, Math.max(reach, 1e-6))),
    rows: {
      ...NO_ROWS,
      count,
      coefficients,
      lower: Float64Array.of(...cuts.map(({ least }) => least), ...settled.map(() => -Infinity)),
      upper: Float64Array.of(...cuts.map(() => Infinity), ...settled.map(({ most }) => most + SUM_TOLERANCE)),
      penalty: new Float64Array(count).fill(Infinity),
    },
    kinks: [],
    norms: [],
  });
  return status === 'solved' ? point.x.map((value) => Math.max(value, 0)) : undefined;
}

/** Tolerance of a fixed sum: rounding of the linear program that determined the sum. */
const SUM_TOLERANCE = 1e-11;
