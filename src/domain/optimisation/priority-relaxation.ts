import type { ActiveState } from '#kernels/optimisation/program/active-state.js';
import { type ConstraintRow, findStepParameter, type RelaxEntry } from '../definition/constraint-class.js';
import { findConstraintClass } from '../definition/constraints.js';
import { isAccepted, listMovableParameters, listRowWidths, type MovableParameter } from './assembly.js';
import { createMeasureProblem, isRuledOut, MEASURE_TOLERANCE } from './measure-problem.js';
import { computeCost, listNonConvexRows, type Origin, type Problem, type Solvers } from './problem.js';
import {
  type ExecutedMove,
  findJointRelaxation,
  findMovesByTrial,
  type ParameterMove,
  roundMovesOutward,
  toChanges,
} from './relaxation.js';
import { minimiseMeasure, type SearchOptions, type SearchOutcome, solveProblem } from './search.js';
import { meterSolver } from './work-meter.js';

/**
 * Maximum number of multiplications of all trials of one problem. They take about a minute if tails make a solve a
 * hundred times as expensive as a variance. Work is counted instead of time, so that equal requests have equal
 * explanations.
 */
export const WORK_MAX = 2e10;

/** Feasibility tests of a problem with changed rows or parameters. They share a work limit. */
export interface FeasibilityTests {
  /** Solvers that count their work towards the limit. */
  readonly solvers: Solvers;
  /** Returns true if feasible weights are found. Once the work limit is reached, returns false without a search. */
  succeeds(options: Pick<SearchOptions, 'includes' | 'changes'>): boolean;
  /** Returns the result of a search: weights are found, infeasibility is proven, or neither. */
  standingWith(options: Pick<SearchOptions, 'includes' | 'changes'>): 'solved' | 'ruled-out' | 'open';
  /** Returns feasible weights; undefined if none are found. */
  weightsWith(options: Pick<SearchOptions, 'includes' | 'changes'>): Float64Array | undefined;
  /** Returns true if less than a fraction of the work limit is used. */
  isWithin(share: number): boolean;
  /** Returns true if a test was refused because the work limit was reached. */
  hasEnded(): boolean;
}

export function createFeasibilityTests(
  { solver: inner, algebra }: Solvers,
  problem: Problem,
  workMax = WORK_MAX,
): FeasibilityTests {
  const solver = meterSolver(inner);
  let isExhausted = false;
  const isWithin = (share: number) => {
    isExhausted ||= solver.spent() >= workMax;
    return solver.spent() < share * workMax;
  };
  const solvers: Solvers = { solver, algebra };
  const solveWith = (options: SearchOptions): SearchOutcome =>
    isWithin(1)
      ? solveProblem(solvers, problem, { ...options, wanted: 'any' })
      : { kind: 'no-choice', isProven: false };
  const findFeasibleWeights: FeasibilityTests['weightsWith'] = (options) => {
    const outcome = solveWith(options);
    return outcome.kind === 'solved' ? outcome.solution.weights : undefined;
  };
  return {
    solvers,
    succeeds: (options) => findFeasibleWeights(options) !== undefined,
    standingWith(options) {
      const outcome = solveWith(options);
      if (outcome.kind === 'solved') return 'solved';
      return outcome.kind === 'no-choice' && outcome.isProven ? 'ruled-out' : 'open';
    },
    weightsWith: findFeasibleWeights,
    isWithin,
    hasEnded: () => isExhausted,
  };
}

/**
 * Returns the cheapest move of a row with the highest priority value.
 * @param moves moves each of which suffices, cheapest first.
 */
export function selectPriorityMove(moves: readonly ExecutedMove[]): ExecutedMove[] | undefined {
  const highest = moves.reduce((most, { movable }) => Math.max(most, movable.origin.priority), 0);
  const first = moves.find(({ movable }) => movable.origin.priority === highest);
  return first === undefined ? undefined : [first];
}

export interface JointMoves {
  readonly trials: FeasibilityTests;
  /** Moves that make the convex rows feasible. */
  readonly moves: readonly ParameterMove[];
  /** Rows that may be relaxed. */
  readonly origins: readonly Origin[];
}

/**
 * Rounds moves outward. Adds moves of non-convex rows that are still violated, highest priority value first. Moves a
 * single parameter if that suffices, otherwise several parameters, none of which could move less.
 */
export function findJointMoves(
  solvers: Solvers,
  problem: Problem,
  { trials, moves, origins }: JointMoves,
): ExecutedMove[] | undefined {
  const plainMoves = moves.length === 0 ? undefined : roundMovesOutward(solvers, problem, moves);
  if (plainMoves !== undefined) return plainMoves;
  const wider = moves.map(({ movable, to }): ParameterMove => ({
    movable,
    to: movable.from + (to - movable.from) * (1 + 1e-6),
  }));
  const leastMoves = findLeastMoves(listWays(problem, origins), (chosen) => {
    const changes = [...wider, ...chosen].map(({ movable: { origin, parameter }, to }) => ({ origin, parameter, to }));
    return trials.succeeds({ changes });
  });
  return leastMoves === undefined ? undefined : roundMovesOutward(solvers, problem, [...wider, ...leastMoves]);
}

interface RangeMove extends ParameterMove {
  readonly movable: RelaxationRange;
}

/** Returns the smallest moves of several parameters that together suffice, highest priority value first. */
function findLeastMoves(
  ways: readonly RelaxationRange[],
  isEnough: (moves: readonly RangeMove[]) => boolean,
): readonly RangeMove[] | undefined {
  const toEnd = (way: RelaxationRange): RangeMove => ({ movable: way, to: way.end });
  const shortenMove = (way: RelaxationRange, others: readonly RangeMove[]): RangeMove => ({
    movable: way,
    to: bisect({ ...way, within: EXACT_TOLERANCE }, (to) => isEnough([...others, { movable: way, to }])),
  });
  /**
   * Shortens moves that suffice, last move first. Moves that are not needed are dropped before any is shortened. Each of
   * the others is shortened as far as the others allow.
   */
  const shortenMoves = (moved: readonly RangeMove[]): readonly RangeMove[] => {
    const neededMoves = moved.reduceRight<readonly RangeMove[]>((moves, each) => {
      const otherMoves = moves.filter((move) => move !== each);
      return isEnough(otherMoves) ? otherMoves : moves;
    }, moved);
    return neededMoves.reduceRight<readonly RangeMove[]>((moves, each) => {
      const otherMoves = moves.filter((move) => move !== each);
      return moves.map((move) => (move === each ? shortenMove(each.movable, otherMoves) : move));
    }, neededMoves);
  };
  let steps: readonly RangeMove[] = [];
  for (const priority of [...new Set(ways.map(({ origin }) => origin.priority))].toSorted((a, b) => b - a)) {
    const level = ways.filter(({ origin }) => origin.priority === priority);
    const singleMoves = level.filter((way) => isEnough([...steps, toEnd(way)])).map((way) => shortenMove(way, steps));
    const [first] = singleMoves.toSorted((a, b) => Math.abs(a.to - a.movable.from) - Math.abs(b.to - b.movable.from));
    if (first !== undefined) return shortenMoves([...steps, first]);
    steps = [...steps, ...level.map(toEnd)];
    if (level.length > 1 && isEnough(steps)) return shortenMoves(steps);
  }
  return undefined;
}

/** Limit up to which each parameter of a non-convex row can be relaxed. */
const RELAXATION_RANGES: Readonly<
  Record<string, { readonly end: (names: number, params: Origin['params']) => number; readonly isWhole: boolean }>
> = {
  minimum: { end: () => 0, isWhole: true },
  maximum: { end: (names) => names, isWhole: true },
  threshold: { end: () => 1e-9, isWhole: false },
  single: { end: () => 1, isWhole: false },
  // the class requires a trigger of at most the single limit
  trigger: { end: (_, { single }) => single as number, isWhole: false },
  aggregate: { end: () => 1, isWhole: false },
};

/** Tolerance of a reported least move, relative to the larger of 1 and the parameter. */
export const EXACT_TOLERANCE = 1e-9;

/** Maximum number of bisection steps in the search for the least move of a fraction. */
const BISECTION_STEPS = 34;

interface RelaxationRange {
  readonly origin: Origin;
  readonly parameter: string | null;
  readonly from: number;
  /** Value at which the parameter no longer excludes anything. */
  readonly end: number;
  readonly isWhole: boolean;
}

/** Returns the parameters of non-convex rows that may be relaxed, with their ranges. */
function listWays(problem: Problem, among: readonly Origin[]): RelaxationRange[] {
  const origins = new Set(listNonConvexRows(problem).map(({ origin }) => origin));
  return [...origins].flatMap((origin) =>
    origin.priority === 0 || !among.includes(origin)
      ? []
      : Object.entries(RELAXATION_RANGES).flatMap(([parameter, { end, isWhole }]) => {
          const from = origin.params[parameter];
          const limit = end(problem.index.length, origin.params);
          // Some classes require a minimum of at least 1.
          const to = parameter === 'minimum' && !isAccepted(origin, parameter, limit) ? limit + 1 : limit;
          return typeof from === 'number' && from !== to ? [{ origin, parameter, from, end: to, isWhole }] : [];
        }),
  );
}

/** Returns the parameters of non-convex rows in the form of movable parameters. */
function listChoiceMovables(problem: Problem, among: readonly Origin[]): MovableParameter[] {
  return listWays(problem, among).map(({ origin, parameter, from, end }) => ({
    origin,
    parameter,
    from,
    direction: end > from ? 1 : -1,
    room: Math.abs(end - from),
    size: 1,
    isLinear: false,
    average: null,
  }));
}

function isSecurityCount({ kind, unit, type }: Origin, parameter: string): boolean {
  const isWhole =
    findConstraintClass(type)?.isFractionalCount !== true && RELAXATION_RANGES[parameter]?.isWhole === true;
  return kind === 'ineq' && unit === 'count' && isWhole;
}

export interface ChoiceMoves {
  readonly trials: FeasibilityTests;
  /** Rows that may be relaxed. */
  readonly origins: readonly Origin[];
  /** Tolerance of the least move, relative to the larger of 1 and the parameter. */
  readonly within: number;
  /**
   * Convex rows that may move as well: all, only limits on distances, or (`sought`) limits on distances and tails,
   * which need no bisection, and maximum weights, which need few bisection steps.
   */
  readonly convex: 'all' | 'sought' | 'distances';
}

/**
 * Returns the least moves of single parameters that each suffice, cheapest first. If the work limit is reached, the
 * moves may not be the least.
 */
export function findChoiceMoves(
  solvers: Solvers,
  problem: Problem,
  { trials, origins, within, convex: which }: ChoiceMoves,
): ExecutedMove[] {
  const distances = new Set(problem.rows.filter(({ row }) => row.form === 'distance').map(({ origin }) => origin));
  const convexMoves = listMovableParameters(problem, origins)
    .filter(
      (movable) =>
        which === 'all' || distances.has(movable.origin) || (which === 'sought' && isSought(problem, movable)),
    )
    .map(({ origin, parameter, from, direction, room, size }): RelaxationRange => ({
      origin,
      parameter,
      from,
      end: from + direction * Math.min(room, CONVEX_MOVE_MAX * size),
      isWhole: false,
    }));
  // Distances come first. Their nearest choice needs one search, whereas bisections of other parameters may use up the
  // work limit.
  const [near, others] = [true, false].map((isNear) =>
    convexMoves.filter(({ origin }) => distances.has(origin) === isNear),
  );
  return [...near!, ...listWays(problem, origins), ...others!]
    .flatMap((way) => findLeastMove(solvers, problem, { ...way, trials, within }) ?? [])
    .toSorted((a, b) => Math.abs(a.change) - Math.abs(b.change));
}

/** Returns true if a parameter is a limit on a tail, or a maximum weight. */
function isSought({ rows }: Problem, { origin, parameter }: MovableParameter): boolean {
  return rows.some(
    (each) =>
      each.origin === origin &&
      (each.row.form === 'tail' || (each.row.form === 'name' && each.row.upper?.parameter === parameter)),
  );
}

/** Maximum relative move of a convex parameter when the choice of securities fails; moves of fractions are smaller. */
const CONVEX_MOVE_MAX = 10;

interface MoveSearch extends RelaxationRange {
  readonly trials: FeasibilityTests;
  readonly within: number;
}

/** Smallest sufficient value of a parameter that was found, with its proven bound. */
interface LeastSufficientValue {
  readonly to: number;
  /** Value up to which no value suffices. It equals `to` if `to` is proven to be the smallest. */
  readonly bound: number;
}

function findLeastMove(solvers: Solvers, problem: Problem, search: MoveSearch): ExecutedMove[] | undefined {
  const least =
    findLeastDistance(problem, search) ?? findLeastTail(problem, search) ?? findLeastByBisection(problem, search);
  if (least === undefined) return undefined;
  const roundedMoves = roundMovesOutward(solvers, problem, [{ movable: search, to: least.to }]);
  const isProven = Math.abs(least.to - least.bound) <= computeTolerance(search, least.to);
  return isProven ? roundedMoves : roundedMoves?.map((move) => ({ ...move, bound: least.bound }));
}

/** Finds the smallest feasible limit on a distance: the distance of the feasible weights nearest to the reference. */
function findLeastDistance(
  problem: Problem,
  { trials, origin, from, end }: MoveSearch,
): LeastSufficientValue | undefined {
  const entry = problem.rows.find((each) => each.origin === origin);
  if (entry?.row.form !== 'distance' || !trials.isWithin(1)) return undefined;
  const { limit } = entry.row;
  const measure = createMeasureProblem(problem, entry)!; // every distance row has a measure problem
  const least = minimiseMeasure(trials.solvers, measure);
  if (least === undefined) return undefined;
  const toParameter = (distance: number) => from + Math.max(distance - limit.value, 0) / limit.slope;
  const distance = computeCost(measure.problem.costs, least.weights);
  const to = toParameter(distance);
  // The tolerance holds for squared distances up to 2.
  const tolerance = MEASURE_TOLERANCE * Math.max(1, (distance * distance) / 2);
  if (to <= from || to > end) return undefined;
  return {
    to,
    bound: least.isHeuristic ? Math.min(to, toParameter(Math.max(least.bound - tolerance, measure.floor))) : to,
  };
}

/** Finds the smallest feasible limit on a tail: the smallest tail average over choices that satisfy the other rows. */
function findLeastTail(problem: Problem, { trials, origin, from, end }: MoveSearch): LeastSufficientValue | undefined {
  const row = problem.rows.find((each) => each.origin === origin)?.row;
  if (row?.form !== 'tail' || !trials.isWithin(1)) return undefined;
  const { goal } = row;
  const rows = problem.rows.filter(
    (each) => each.origin.soft === null && (each.row.form !== 'tail' || each.row.goal !== goal),
  );
  const tailProblem = { ...problem, goal, rows, costs: null, robustness: null };
  const least = minimiseMeasure(trials.solvers, { problem: tailProblem, floor: -Infinity, limit: null });
  if (least === undefined || least.objective <= from || least.objective > end) return undefined;
  const to = least.objective;
  return { to, bound: least.isHeuristic ? Math.min(to, Math.max(from, least.bound)) : to };
}

function findLeastByBisection(problem: Problem, search: MoveSearch): LeastSufficientValue | undefined {
  const { trials, origin, parameter, from, end, isWhole } = search;
  let bound = parameter === 'maximum' ? Math.max(from, countParitySecurities(problem, origin) - 1) : from;
  const isSufficient = (to: number) => {
    const status = trials.standingWith({ changes: [{ origin, parameter, to }] });
    if (status === 'ruled-out' && Math.abs(to - from) > Math.abs(bound - from)) bound = to;
    return status === 'solved';
  };
  const first = findLeastByCounts(problem, search);
  if (first !== undefined && isSufficient(first)) return { to: first, bound: first };
  if (!isSufficient(end)) return undefined;
  const to = first === undefined ? bisect(search, isSufficient) : bisectFrom({ ...search, from: first }, isSufficient);
  return { to, bound: isWhole && Math.abs(to - bound) === 1 ? to : bound };
}

/**
 * Returns the value of a limit nearest to its present value that weight bounds and count rows do not rule out. Returns
 * undefined if they rule out all values or none.
 */
function findLeastByCounts(problem: Problem, search: MoveSearch): number | undefined {
  const { origin, parameter, from, end, isWhole } = search;
  const isValueRuledOut = (to: number) => isRuledOut(problem, { changes: [{ origin, parameter, to }] });
  if (!isValueRuledOut(from) || isValueRuledOut(end)) return undefined;
  const least = bisect({ ...search, within: ROUNDING }, (to) => !isValueRuledOut(to));
  return isWhole ? least : least + Math.sign(end - from) * ROUNDING * Math.abs(least);
}

/** Tolerance of sums of weights. */
const ROUNDING = 2e-10;

/**
 * Returns the minimum number of securities that a count row must allow. Risk parity holds every security with a risk
 * budget.
 */
export function countParitySecurities({ goal, rows }: Problem, counted: Origin): number {
  if (goal.form !== 'ratio' || goal.numerator.kind !== 'evenness') return 0;
  const { budgets } = goal.numerator;
  const counts = rows.flatMap(({ origin, row }) =>
    origin === counted && row.form === 'count' ? [row.members.filter((i) => budgets[i]! > 0).length] : [],
  );
  return Math.max(0, ...counts);
}

/** Returns the maximum difference of two values of a parameter that count as equal. */
function computeTolerance({ isWhole, within }: Pick<MoveSearch, 'isWhole' | 'within'>, value: number): number {
  return isWhole ? 0 : 2 * within * Math.max(1, Math.abs(value));
}

/** Growth factor of the steps away from a value that is ruled out, for fractions and for numbers of securities. */
const GROWTH = { fraction: 32, whole: 2 } as const;

/**
 * Finds the value like `bisect`, but takes growing steps from the start before the bisection. This is faster if the
 * value is near the start.
 */
function bisectFrom(search: RelaxationRange & Pick<MoveSearch, 'within'>, succeeds: (to: number) => boolean): number {
  const { from, end, isWhole, within } = search;
  const side = Math.sign(end - from);
  let near = from;
  let step = isWhole ? 1 : within * Math.max(1, Math.abs(from));
  while (step < Math.abs(end - near)) {
    const trialValue = near + side * step;
    if (succeeds(trialValue)) return bisect({ ...search, from: near, end: trialValue }, succeeds);
    near = trialValue;
    step *= isWhole ? GROWTH.whole : GROWTH.fraction;
  }
  return bisect({ ...search, from: near }, succeeds);
}

/** Finds by bisection the value nearest to `from` at which the test succeeds. It must succeed at `end`. */
function bisect(
  { from, end, isWhole, within }: RelaxationRange & Pick<MoveSearch, 'within'>,
  succeeds: (to: number) => boolean,
): number {
  let near = from;
  let far = end;
  for (
    let step = 0;
    step < BISECTION_STEPS && Math.abs(far - near) > (isWhole ? 1 : within * Math.max(1, Math.abs(far)));
    step++
  ) {
    const middle = isWhole ? Math.round((near + far) / 2) : (near + far) / 2;
    if (middle === near || middle === far) break;
    if (succeeds(middle)) far = middle;
    else near = middle;
  }
  return far;
}

export interface InfeasibleSolve {
  readonly problem: Problem;
  readonly outcome: Exclude<SearchOutcome, { kind: 'solved' }>;
}

/** Tolerance of the least move if each trial requires a search over choices of securities. */
const MOVE_TOLERANCE = 1e-6;

/**
 * Finds the least moves of rows with a stated priority that make a problem feasible. Rows with a higher priority number
 * move first. Rows without a numeric parameter (an exclusion, the budget) are widened. Limits that depend on no
 * parameter are widened only if nothing else suffices.
 * @param givesWay selects the rows to relax. Default: those with a stated priority.
 * @returns undefined if the other rows are infeasible, or no row can be relaxed.
 * @cost a few linear programs and a solve; bisection searches, within a work limit, if a choice of securities fails.
 */
export function relaxByPriority(
  solvers: Solvers,
  { problem, outcome }: InfeasibleSolve,
  givesWay: (origin: Origin) => boolean = (origin) => origin.givesWay,
): readonly ExecutedMove[] | undefined {
  const origins = problem.origins.filter((origin) => givesWay(origin) && origin.soft === null);
  if (origins.length === 0) return undefined;
  const movableParameters = [...listMovableParameters(problem, origins), ...listRowWidths(problem, origins, 'alone')];
  const wide = [...listMovableParameters(problem, origins), ...listRowWidths(problem, origins, 'all')];
  const relaxationContext: RelaxationContext = {
    solvers,
    trials: createFeasibilityTests(solvers, problem),
    problem,
    origins,
  };
  const hasNoChoice = outcome.kind === 'no-choice';
  const joint = hasNoChoice
    ? undefined
    : (relaxRowsJointly(relaxationContext, movableParameters) ?? relaxRowsJointly(relaxationContext, wide));
  return joint ?? relaxSingleRow(relaxationContext, hasNoChoice) ?? relaxByTrial(relaxationContext, wide);
}

/**
 * Returns the least move of a single row that permits a choice of securities. Returns undefined if there is none.
 * @param isAny true to move any row, not only distances
 */
function relaxSingleRow(
  { solvers, trials, problem, origins }: RelaxationContext,
  isAny: boolean,
): readonly ExecutedMove[] | undefined {
  if (listNonConvexRows(problem).length === 0) return undefined;
  return selectPriorityMove(
    findChoiceMoves(solvers, problem, { trials, origins, within: MOVE_TOLERANCE, convex: isAny ? 'all' : 'distances' }),
  );
}

interface RelaxationContext {
  readonly solvers: Solvers;
  readonly trials: FeasibilityTests;
  readonly problem: Problem;
  readonly origins: readonly Origin[];
}

function relaxRowsJointly(
  way: RelaxationContext,
  movables: readonly MovableParameter[],
): readonly ExecutedMove[] | undefined {
  const { solvers, problem } = way;
  const moves = findJointRelaxation(solvers, problem, movables);
  return moves === undefined ? undefined : findJointMoves(solvers, problem, { ...way, moves });
}

/**
 * Moves all rows that may be relaxed, convex or not, by trial. This is needed if moves of one kind do not suffice.
 * Returns undefined without non-convex rows.
 */
function relaxByTrial(
  { solvers, trials, problem, origins }: RelaxationContext,
  convex: readonly MovableParameter[],
): readonly ExecutedMove[] | undefined {
  if (listNonConvexRows(problem).length === 0) return undefined;
  const movables = [...convex, ...listChoiceMovables(problem, origins)];
  const solveWeights = (moved: Float64Array) => trials.weightsWith({ changes: toChanges(movables, moved) });
  const moves = findMovesByTrial(movables, solveWeights, MOVE_TOLERANCE);
  return moves === undefined ? undefined : roundMovesOutward(solvers, problem, moves.map(roundMoveToInteger));
}

/** Rounds a number of securities to an integer, because a fraction has no effect. */
function roundMoveToInteger({ movable, to }: ParameterMove): ParameterMove {
  const isWhole = movable.parameter !== null && isSecurityCount(movable.origin, movable.parameter);
  return isWhole ? { movable, to: movable.from + Math.trunc(to - movable.from) } : { movable, to };
}

/** Relaxation step of a row that was applied at a rebalance. */
export interface RelaxedStep {
  /** Position of the entry in `relax`, and of the step within the entry. */
  readonly entry: number;
  readonly step: number;
  readonly row: ConstraintRow;
  /** Position of the row in the list of constraints. */
  readonly index: number;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface RelaxedProblem {
  readonly problem: Problem;
  readonly outcome: SearchOutcome;
  /** Last applied step of each entry that was reached. */
  readonly steps: readonly RelaxedStep[];
}

export interface RelaxInput {
  readonly problem: Problem;
  readonly rows: readonly ConstraintRow[];
  readonly relax: readonly RelaxEntry[];
  readonly warm: ActiveState | undefined;
}

/** Rows after a step, with all steps up to this one. */
interface AppliedStep extends Pick<RelaxedProblem, 'steps'> {
  readonly rows: readonly ConstraintRow[];
  /** True if the step excludes nothing that the rows before it allow. */
  readonly isWider: boolean;
}

/**
 * Applies relaxation steps until the problem is feasible, or to the last step. Each step is applied in addition to the
 * earlier steps. If the first step does not suffice, every step widens its row, and the convex rows have no solution
 * after the last step, no step between them is solved.
 * @cost a solve for each step; two if the last step does not suffice
 */
export function relaxBySteps(solvers: Solvers, { problem, warm, ...terms }: RelaxInput): RelaxedProblem | undefined {
  const [first, ...others] = applySteps(terms);
  const solve = ({ rows, steps }: AppliedStep): RelaxedProblem => {
    const relaxedProblem = problem.withRows(rows);
    return { problem: relaxedProblem, steps, outcome: solveProblem(solvers, relaxedProblem, { warm, proof: 'brief' }) };
  };
  if (first === undefined) return undefined;
  const firstSolve = solve(first);
  const loosest = others.pop();
  if (firstSolve.outcome.kind === 'solved' || loosest === undefined) return firstSolve;
  const isNested = [...others, loosest].every(({ isWider }) => isWider);
  const loosestSolve = isNested ? solve(loosest) : undefined;
  if (loosestSolve?.outcome.kind === 'unsolved') return loosestSolve;
  for (const step of others) {
    const stepSolve = solve(step);
    if (stepSolve.outcome.kind === 'solved') return stepSolve;
  }
  return loosestSolve ?? solve(loosest);
}

function applySteps({ rows, relax }: Pick<RelaxInput, 'rows' | 'relax'>): AppliedStep[] {
  const applied: AppliedStep[] = [];
  let changedRows = rows;
  const stepByEntry = new Map<number, RelaxedStep>();
  for (const [entry, { row: id, steps }] of relax.entries()) {
    const index = rows.findIndex((row) => row.id === id);
    const row = rows[index]!; // Validation has checked that the row exists and that its class has a main limit.
    for (const [step, limit] of steps.entries()) {
      const params = findStepParameter(findConstraintClass(row.type)!, limit)!;
      const before = changedRows[index]!.params;
      changedRows = changedRows.map((own, i) => (i === index ? { ...own, params: { ...own.params, ...params } } : own));
      stepByEntry.set(entry, { entry, step, row, index, params });
      applied.push({
        rows: changedRows,
        steps: [...stepByEntry.values()],
        isWider: Object.entries(params).every(([name, value]) => isWiderLimit(name, before[name], value)),
      });
    }
  }
  return applied;
}

/** Returns true if a value of a parameter surely allows all that the earlier value allows. */
function isWiderLimit(name: string, before: unknown, after: unknown): boolean {
  if (before === after) return true;
  if (typeof before !== 'number' || typeof after !== 'number') return false;
  if (name === 'lower' || name === 'minimum') return after <= before;
  return (name === 'upper' || name === 'maximum' || name === 'limit') && after >= before;
}
