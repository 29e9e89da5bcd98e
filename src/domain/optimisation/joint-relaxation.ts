import { NO_ROWS } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { assembleProgram } from './assemble.js';
import type { RowParameterChange } from './relaxation/parameter-change.js';
import { measureRow } from './curved-rows.js';
import { searchWithExactAverages, type LinearisedAverages } from './averages.js';
import type { MovableParameter } from './relaxation/movable-parameters.js';
import type { Problem } from './problem.js';
import { computeRowGap, proveInfeasibility, groupProofsBySecurity, type Proof } from './proof.js';
import { listSeparateRows, checkMoves, type ParameterMove } from './relaxation/relaxation.js';
import type { Solvers } from './solvers.js';
import { solveConvex } from './solve-convex.js';

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
  /** Feasible weights with these moves. */
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
  proof: Proof,
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
