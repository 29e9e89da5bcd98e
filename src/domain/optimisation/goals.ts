import type { PathStart } from '#kernels/optimisation/path/follow-path.js';
import { type ActiveState, createColdState } from '#kernels/optimisation/program/active-state.js';
import {
  addOuterProduct,
  computeMetricDiagonal,
  computeMetricSquare,
  type Metric,
} from '#kernels/optimisation/program/metric.js';
import { checkKkt, isOptimal, type ProgramResult } from '#kernels/optimisation/program/optimality.js';
import {
  computeNormLength,
  type Kink,
  type Norm,
  type Program,
  sumKinks,
} from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { raiseToPower } from '#kernels/power.js';
import { computeDotProduct } from '../base/numbers.js';
import {
  computeEvenness,
  computeReturnShortfall,
  computeWorstVariance,
  type EvennessNumerator,
  isPureTracking,
  type LinearNumerator,
  type QuadraticGoal,
  type Robustness,
  type TradeCosts,
} from '../definition/objectives.js';
import { computeOutcomes, computeTailAverage } from '../definition/tail-risk.js';
import {
  addLinearCost,
  applyMetric,
  computeCost,
  computeGradient,
  computePrices,
  type Problem,
  scalePrices,
} from './problem.js';
import { addSeparableTerms, createBarrierTerm, createImpactTerm, solveSeparable } from './separable-terms.js';
import { solveTailGoal, type TailSolution, type TailStart } from './tail-averages.js';
import { addPrice } from '#kernels/optimisation/solve-norms.js';

/** Portfolio at one price, as a point of the search for the largest ratio. */
interface RatioPoint {
  /** Price of the numerator: the portfolio minimises half the variance minus the price times the numerator. */
  readonly price: number;
  readonly variance: number;
  readonly numerator: number;
  /** Program with this optimum; curved parts are replaced by their tangents. */
  readonly program: Program;
  readonly answer: ProgramResult;
}

/**
 * Distance from the root, relative to the variance. If the distance is below it and no longer halves, the rest is
 * rounding of the portfolios.
 */
const STALL_TOLERANCE = 1e-9;

/** Maximum number of portfolios in a search; five to eight are usual. */
const POINTS_MAX = 60;

/** Growth factor of a price that is too low. */
const GROWTH = 4;

/** Period, in points, at which the ratio of variance to numerator is the next price instead of the secant root. */
const BISECTION_PERIOD = 8;

/** Distance from the root, relative to the variance, that counts as rounding. */
const ROUNDING = 1e-14;

/**
 * Finds the portfolio with the largest numerator per unit of volatility. At its price, the variance equals price times
 * numerator. While the active set is unchanged, the weights, and the variance less price times numerator, are linear in
 * the price. The secant method therefore finds the root exactly. The portfolio solves the homogenised program, with any
 * convex rows.
 * @param solveAtPrice returns the portfolio at a price; undefined if there is none.
 * @param guess initial price.
 * @param rounding accuracy of the distance from the root, relative to the variance.
 * @returns undefined if a price has no portfolio, or no portfolio has a positive numerator.
 * @source Dinkelbach (1967), On nonlinear fractional programming, Management Science 13(7); Schaible (1976), Fractional
 * programming I, Management Science 22(8).
 */
function solveRatio(
  solveAtPrice: (price: number, warm: ActiveState | undefined) => RatioPoint | undefined,
  guess: number,
  rounding = ROUNDING,
): RatioPoint | undefined {
  let low: RatioPoint | undefined;
  let high: RatioPoint | undefined;
  let last: RatioPoint | undefined;
  let price = guess;
  for (let k = 0; k < POINTS_MAX; k++) {
    const point = solveAtPrice(price, last?.answer.state);
    if (point === undefined || !(price < Number.MAX_VALUE)) return undefined;
    const excess = computeExcess(point);
    if (Math.abs(excess) <= rounding * (point.variance + Math.abs(price * point.numerator))) return point;
    const before = last;
    last = point;
    if (before !== undefined && isStalled(point, before)) return point;
    if (excess > 0) low = point;
    else high = point;
    const next = computeNextPrice({
      low,
      high,
      point,
      before: k % BISECTION_PERIOD === BISECTION_PERIOD - 1 ? undefined : before,
    });
    if (next === price || next === low?.price || next === high?.price) return selectNearer(low, high) ?? point;
    price = next;
  }
  return selectNearer(low, high);
}

/** Returns variance less price times numerator, which is positive below the root. */
function computeExcess({ price, variance, numerator }: RatioPoint): number {
  return variance - price * numerator;
}

function isStalled(point: RatioPoint, before: RatioPoint): boolean {
  const [excess, size] = [Math.abs(computeExcess(point)), point.variance + Math.abs(point.price * point.numerator)];
  return excess <= STALL_TOLERANCE * size && 2 * excess > Math.abs(computeExcess(before));
}

function selectNearer(low: RatioPoint | undefined, high: RatioPoint | undefined): RatioPoint | undefined {
  if (low === undefined || high === undefined) return undefined;
  return Math.abs(computeExcess(low)) <= Math.abs(computeExcess(high)) ? low : high;
}

interface Bracket {
  readonly low: RatioPoint | undefined;
  readonly high: RatioPoint | undefined;
  readonly point: RatioPoint;
  readonly before: RatioPoint | undefined;
}

/**
 * Returns the secant root of the last two points if it is inside the bracket. Otherwise returns a price that shrinks
 * the bracket.
 */
function computeNextPrice({ low, high, point, before }: Bracket): number {
  const ratioPrice = point.numerator > 0 ? point.variance / point.numerator : GROWTH * point.price;
  let nextPrice = ratioPrice;
  if (before !== undefined && before.price !== point.price) {
    const [here, there] = [computeExcess(point), computeExcess(before)];
    nextPrice = point.price - (here * (point.price - before.price)) / (here - there);
  }
  if (high === undefined) {
    const largestPrice = raiseToPower(GROWTH, 3) * point.price;
    return nextPrice > point.price && nextPrice < largestPrice
      ? nextPrice
      : Math.min(Math.max(ratioPrice, GROWTH * point.price), largestPrice);
  }
  const least = low?.price ?? 0;
  if (nextPrice > least && nextPrice < high.price) return nextPrice;
  return ratioPrice > least && ratioPrice < high.price
    ? ratioPrice
    : low === undefined
      ? high.price / GROWTH
      : (least + high.price) / 2;
}

/**
 * Variance, relative to its largest value over all correlations, that consists of rounding errors of the products of
 * weights and covariances.
 */
const VARIANCE_ROUNDING = 1e-14;

/**
 * Returns true if a variance of weights consists of rounding errors: their risks cancel.
 * @param variance variance of the weights, with the worst case of an uncertain covariance
 */
export function isRiskless(metric: Metric, weights: Float64Array, variance: number): boolean {
  const variances = computeMetricDiagonal(metric);
  const gross = weights.reduce((sum, weight, i) => sum + Math.abs(weight) * Math.sqrt(Math.max(0, variances[i]!)), 0);
  return variance <= VARIANCE_ROUNDING * gross * gross;
}

function computeVariance(program: Program, weights: Float64Array): number {
  return Math.max(0, computeMetricSquare(program.metric!, weights)); // the program of a ratio has a metric
}

/** Optimum of a goal within the rows of a program. */
export interface GoalSolution {
  /**
   * Program whose optimality conditions the solution satisfies. Curved parts of the objective are replaced by their
   * tangents.
   */
  readonly program: Program;
  readonly answer: ProgramResult;
  /** Change of the minimised objective per unit of the program's objective. */
  readonly priceScale: number;
  /** Factor on the penalties of soft rows in the program. */
  readonly penaltyScale: number;
  /** Remaining optimality gap of a tail; 0 for other goals. */
  readonly open?: number;
  /** Start for a search from similar weights; only for a tail. */
  readonly tail?: TailStart;
}

interface GoalOptions {
  readonly warm?: ActiveState | undefined;
  readonly effort?: 'quick' | 'thorough' | undefined;
  /** Optimum of a program with the same rows, whose norm multipliers are the initial ones. */
  readonly near?: PathStart | undefined;
  /** Optimum of a program that differs only in the bounds of a few securities. */
  readonly beside?: Pick<ProgramResult, 'point' | 'state'> | undefined;
  /** Similar weights with their worst scenarios; only for a tail. */
  readonly tail?: TailStart | undefined;
  /** Constant subtracted from a numerator: the penalty of soft norm and tail rows at their widened limits. */
  readonly charge?: number;
}

/** Accuracy of portfolios with curved costs, risk budgets or norm rows. */
const CURVED_ACCURACY = 1e-12;

function setStart({ warm, effort }: GoalOptions, start: Float64Array) {
  return { start, warm, ...(effort === undefined ? {} : { effort }) };
}

/** Scales a portfolio to a larger investment; the ratio is unchanged. */
function scaleSolution(scale: number, { program, answer }: RatioPoint): Pick<GoalSolution, 'program' | 'answer'> {
  const scaleValues = (values: Float64Array) => values.map((value) => value * scale);
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = answer.point;
  const point = {
    x: scaleValues(x),
    rowMultipliers: scaleValues(rowMultipliers),
    kinkMultipliers: kinkMultipliers.map((value, k) => (program.kinks[k]!.limit === null ? value : value * scale)),
    normMultipliers,
  };
  const scaledProgram = { ...scalePrices(program, scale), linear: scaleValues(program.linear) };
  return { program: scaledProgram, answer: { ...answer, point, kkt: checkKkt(scaledProgram, point) } };
}

/**
 * Returns the minimised objective at some weights, including costs and the worst case of uncertain estimates. It is a
 * variance, a negative utility, a negative ratio, or a tail average. For risk budgets, it is the logarithm of
 * volatility over evenness, less its value at parity; it is Infinity if a security with a budget has no weight.
 * @param priced penalty of violated soft rows.
 * @cost a pass over the metric, or over the scenarios
 */
export function computeGoalValue(problem: Problem, weights: Float64Array, priced = 0): number {
  const { goal, metric, costs, robustness } = problem;
  const totalCost = computeCost(costs, weights) + computeReturnShortfall(robustness?.returns ?? null, weights) + priced;
  if (goal.form === 'quadratic') {
    const { curvature, centre, linear } = goal;
    const offset = weights.map((weight, i) => weight - centre[i]!);
    const square = curvature === 0 ? 0 : computeWorstVariance(metric, robustness, offset);
    return (curvature / 2) * Math.max(0, square) + computeDotProduct(linear, weights) + totalCost;
  }
  if (goal.form === 'tail') return computeTailAverage(goal, computeOutcomes(goal, weights)) + totalCost;
  const volatility = Math.sqrt(computeWorstVariance(metric, robustness, weights));
  if (goal.numerator.kind === 'linear')
    return -(computeDotProduct(goal.numerator.slopes, weights) - totalCost) / volatility;
  const { budgets, least } = goal.numerator;
  return Math.log(volatility) - Math.log(Math.max(computeEvenness(budgets, weights) - totalCost, 0)) - least;
}

/** Maximum distance from one at which a scale counts as one. */
const SCALE_TOLERANCE = 1e-12;

/** Number of bisection steps towards the scale at which a limit on trades or a norm begins to bind. */
const BISECTION_STEPS = 60;

/** Scale above which the weights count as unbounded. */
const SCALE_MAX = 1e6;

/** Returns the largest multiple of a portfolio, at least one, that the rows of a program allow. */
function findLargestScale(program: Program, { point: { x } }: Pick<ProgramResult, 'point'>): number {
  const { n, lower, upper, rows } = program;
  let scale = SCALE_MAX;
  const limitScale = (value: number, least: number, most: number) => {
    if (value > 0 && Number.isFinite(most)) scale = Math.min(scale, Math.max(most / value, 1));
    if (value < 0 && Number.isFinite(least)) scale = Math.min(scale, Math.max(least / value, 1));
  };
  for (let i = 0; i < n; i++) limitScale(x[i]!, lower[i]!, upper[i]!);
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    limitScale(value, rows.lower[r]!, rows.upper[r]!);
  }
  if (scale <= 1 + SCALE_TOLERANCE || scale === SCALE_MAX) return 1;
  return findScaleWithinLimits(program, x, scale);
}

/** Returns the largest scale, at most `most`, that satisfies the limits on trades and norms. */
function findScaleWithinLimits(program: Program, x: Float64Array, most: number): number {
  const isWithinLimits = (scale: number) => {
    const scaledPoint = x.map((value) => value * scale);
    return (
      program.kinks.every((kink) => kink.limit === null || sumKinks(kink, scaledPoint) <= kink.limit) &&
      program.norms.every((norm) => computeNormLength(program, norm, scaledPoint) <= norm.radius)
    );
  };
  if (isWithinLimits(most)) return most;
  let [near, far] = [1, most];
  for (let step = 0; step < BISECTION_STEPS; step++) {
    const middle = (near + far) / 2;
    if (isWithinLimits(middle)) near = middle;
    else far = middle;
  }
  return near <= 1 + SCALE_TOLERANCE ? 1 : near;
}

/**
 * Maximum number of barrier prices that are tried until the price agrees with the resulting portfolio. Without costs,
 * one suffices.
 */
const ROUNDS_MAX = 40;

/** Relative change of a price below which it counts as converged. */
const PRICE_TOLERANCE = 1e-11;

/**
 * Solves risk budgets within rows. The portfolio with the largest evenness over volatility minimises half the variance
 * less a barrier. The barrier is the budget-weighted sum of the log weights times that portfolio's variance. Costs are
 * subtracted from the evenness, so the weights of barrier and costs depend on the solution and are iterated.
 */
function solveParity(
  solver: Solver,
  problem: Problem,
  numerator: EvennessNumerator,
  rows: Program,
  options: GoalOptions,
): GoalSolution | undefined {
  const { costs } = problem;
  const { budgets, parity } = numerator;
  for (let i = 0; i < rows.n; i++) if (budgets[i]! > 0 && !(rows.upper[i]! > 0)) return undefined;
  const freeProgram = {
    ...rows,
    curvature: 1,
    centre: new Float64Array(rows.n),
    ridge: 0,
    linear: new Float64Array(rows.n),
  };
  const isFree = costs === null && computePrices(rows, parity) === 0 && (options.charge ?? 0) === 0;
  const scaledSolution = isFree ? scaleToParity(freeProgram, numerator) : undefined;
  if (scaledSolution !== undefined) return scaledSolution;
  const computeTotalCost = (x: Float64Array) => computeCost(costs, x) + computePrices(rows, x) + (options.charge ?? 0);
  let start = parity;
  let { variance } = numerator;
  let warm = options.warm;
  let totalCost = 0;
  let evenness = 1;
  let iterations = 0;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    // The gradient of evenness less costs is the evenness times the gradient of the logarithms, less the gradient of
    // the costs.
    const net = evenness - totalCost;
    if (!(net > 0)) return undefined;
    const solveAtPrice = (price: number, last: ActiveState | undefined): RatioPoint | undefined => {
      const program = scalePrices(addLinearCost(freeProgram, costs), price / net);
      const barrier = createBarrierTerm(budgets.map((budget) => (price * budget * evenness) / net));
      const parts = costs !== null && costs.impact > 0 ? [barrier, createImpactTerm(costs, price / net)] : [barrier];
      const result = solveSeparable(
        solver,
        program,
        addSeparableTerms(parts),
        setStart({ ...options, warm: last ?? warm }, start),
      );
      if (result === undefined) return undefined;
      start = result.answer.point.x;
      iterations += result.answer.iterations;
      return { ...result, price, variance: computeVariance(program, start), numerator: 1 };
    };
    const point = solveRatio(solveAtPrice, variance, CURVED_ACCURACY);
    if (point === undefined) return undefined;
    const { x } = point.answer.point;
    const before = evenness / net;
    variance = point.variance;
    warm = point.answer.state;
    totalCost = computeTotalCost(x);
    evenness = totalCost === 0 ? 1 : computeEvenness(budgets, x);
    if (Math.abs(before - evenness / (evenness - totalCost)) <= PRICE_TOLERANCE * before)
      return {
        program: point.program,
        answer: { ...point.answer, iterations },
        priceScale: 1 / variance,
        penaltyScale: variance / (evenness - totalCost),
      };
  }
  return undefined;
}

/**
 * Returns the parity weights as the solution if they satisfy the rows. No row then exerts a force. Otherwise returns
 * undefined.
 */
function scaleToParity(free: Program, { parity, budgets, variance }: EvennessNumerator): GoalSolution | undefined {
  const linear = Float64Array.from(budgets, (budget, i) => (budget === 0 ? 0 : (-variance * budget) / parity[i]!));
  const program = { ...free, linear };
  const state = createColdState(program);
  const point = {
    x: parity,
    rowMultipliers: new Float64Array(free.rows.count),
    kinkMultipliers: Float64Array.from(free.kinks, ({ limit }) => (limit === null ? 1 : 0)),
    normMultipliers: new Float64Array(free.norms.length),
  };
  const kkt = checkKkt(program, point);
  if (!isOptimal(kkt)) return undefined;
  const scale = findLargestScale(program, { point });
  const answer: ProgramResult = { status: 'solved', point, state, kkt, iterations: 1, route: 'active-set' };
  if (scale === 1) return { program, answer, priceScale: 1 / variance, penaltyScale: variance };
  const scaledSolution = scaleSolution(scale, { program, answer, price: variance, variance, numerator: 1 });
  return { ...scaledSolution, priceScale: 1 / (scale * scale * variance), penaltyScale: scale * scale * variance };
}

/**
 * Minimises the objective of a problem within the rows of a program.
 * @param rows rows with the tracking objective, and with penalties as in the request.
 * @returns undefined if no solution was found.
 * @cost one program; about ten for curved costs and budgets, five times as many for ratios.
 */
export function solveGoal(
  solver: Solver,
  problem: Problem,
  rows: Program,
  options: GoalOptions = {},
): GoalSolution | undefined {
  const { goal, index, costs } = problem;
  if (isPureTracking(goal, index, costs)) return solvePlain(solver, rows, options);
  if (goal.form === 'quadratic') return solveQuadratic(solver, problem, goal, rows, options);
  if (goal.form === 'tail') return toGoalSolution(solveTailGoal(solver, problem, goal, rows, options.tail));
  return goal.numerator.kind === 'linear'
    ? solveLinearRatio(solver, problem, goal.numerator, rows, options)
    : solveParity(solver, problem, goal.numerator, rows, options);
}

function toGoalSolution(tailSolution: TailSolution | undefined): GoalSolution | undefined {
  if (tailSolution === undefined) return undefined;
  const { program, answer, value, bound, start } = tailSolution;
  return { program, answer, priceScale: 1, penaltyScale: 1, open: Math.max(0, value - bound), tail: start };
}

function solvePlain(
  solver: Solver,
  program: Program,
  { warm, effort, near, beside }: GoalOptions,
): GoalSolution | undefined {
  const follow = program.norms.length > 0 && near?.program.norms.length === program.norms.length ? near : undefined;
  const answer = solver.solve(program, { warm, follow, beside, effort: effort ?? 'thorough' });
  return answer.status !== 'solved' ? undefined : { program, answer, priceScale: 1, penaltyScale: 1 };
}

function solveQuadratic(
  solver: Solver,
  { metric, costs, robustness }: Problem,
  goal: QuadraticGoal,
  rows: Program,
  options: GoalOptions,
): GoalSolution | undefined {
  const program = addLinearCost(
    {
      ...rows,
      metric,
      curvature: goal.curvature,
      centre: goal.centre,
      linear: goal.linear,
    },
    costs,
  );
  const solveInner = (ownProgram: Program, warm: ActiveState | undefined) =>
    solveCostly(solver, ownProgram, { costs, returnPrice: 1 }, { ...options, warm });
  const result = solveUncertain(solveInner, program, {
    robustness,
    metric,
    returnPrice: 1,
    warm: options.warm,
    near: {},
  });
  return result === undefined ? undefined : { ...result, priceScale: 1, penaltyScale: 1 };
}

interface CurvedCosts {
  readonly costs: TradeCosts | null;
  /** Value of a unit of return in the program's objective. */
  readonly returnPrice: number;
}

function solveCostly(
  solver: Solver,
  program: Program,
  { costs, returnPrice }: CurvedCosts,
  options: GoalOptions,
): Pick<GoalSolution, 'program' | 'answer'> | undefined {
  return costs !== null && costs.impact > 0
    ? solveSeparable(solver, program, createImpactTerm(costs, returnPrice), setStart(options, costs.reference))
    : solvePlain(solver, program, options);
}

function solveLinearRatio(
  solver: Solver,
  { costs, index, metric, robustness }: Problem,
  { slopes }: LinearNumerator,
  rows: Program,
  options: GoalOptions,
): GoalSolution | undefined {
  const unconstrainedProgram = { ...rows, curvature: 1, centre: new Float64Array(rows.n), ridge: rows.ridge / 2 };
  const pricedProgram = addLinearCost(unconstrainedProgram, costs);
  const computeNumerator = (x: Float64Array) =>
    computeDotProduct(slopes, x) -
    computeReturnShortfall(robustness?.returns ?? null, x) -
    computeCost(costs, x) -
    computePrices(rows, x) -
    (options.charge ?? 0);
  const terms = { robustness, metric, near: {} };
  let isPositive = false;
  let iterations = 0;
  let nearStart: PathStart | undefined;
  const solveAtPrice = (price: number, last: ActiveState | undefined): RatioPoint | undefined => {
    const program = { ...scalePrices(pricedProgram, price), linear: slopes.map((slope) => -price * slope) };
    const solveInner = (ownProgram: Program, warm: ActiveState | undefined) =>
      solveCostly(solver, ownProgram, { costs, returnPrice: price }, { ...options, warm, near: nearStart });
    const result = solveUncertain(solveInner, program, { ...terms, returnPrice: price, warm: last ?? options.warm });
    if (result === undefined) return undefined;
    iterations += result.answer.iterations;
    nearStart = { program: result.program, point: result.answer.point, state: result.answer.state };
    const { x } = result.answer.point;
    const numerator = computeNumerator(x);
    isPositive ||=
      numerator > 0 ||
      canNumeratorBePositive(
        solver,
        { ...pricedProgram, linear: slopes.map((slope) => -slope) },
        terms,
        computeNumerator,
      );
    return isPositive
      ? { ...result, price, variance: computeWorstVariance(metric, robustness, x), numerator }
      : undefined;
  };
  const guess = computeStartPrice(rows, { weights: index, slopes, numerator: computeNumerator(index) });
  const isCurved = rows.norms.length > 0 || (costs !== null && costs.impact > 0);
  const point = solveRatio(solveAtPrice, guess, isCurved ? CURVED_ACCURACY : undefined);
  if (point === undefined || !(point.numerator > 0)) return undefined;
  const { variance, numerator } = point;
  if (isRiskless(metric, point.answer.point.x, variance)) return undefined; // the ratio has no bound
  const isHomogeneous =
    costs === null && computePrices(rows, point.answer.point.x) === 0 && (options.charge ?? 0) === 0;
  const scale = isHomogeneous ? findLargestScale(point.program, point.answer) : 1;
  const { program, answer } = scale > 1 ? scaleSolution(scale, point) : point;
  return {
    program,
    answer: { ...answer, iterations },
    priceScale: numerator / (scale * scale * raiseToPower(variance, 1.5)),
    penaltyScale: (scale * variance) / numerator,
  };
}

/**
 * Largest factor by which a start price may differ from the mean variance over the steepest slope. A price outside this
 * range is no useful start.
 */
const PRICE_RANGE = 1e3;

/**
 * Returns the price at which the index would be optimal. If that price is not usable, returns one of the problem's
 * order of magnitude.
 */
function computeStartPrice(
  rows: Program,
  {
    weights,
    slopes,
    numerator,
  }: { readonly weights: Float64Array; readonly slopes: Float64Array; readonly numerator: number },
): number {
  const steepest = slopes.reduce((most, slope) => Math.max(most, Math.abs(slope)), 0) || 1;
  const typicalVariance =
    computeVariance(
      rows,
      weights.map(() => 1 / weights.length),
    ) / steepest;
  const guess = computeVariance(rows, weights) / numerator;
  return guess > typicalVariance / PRICE_RANGE && guess < typicalVariance * PRICE_RANGE ? guess : typicalVariance;
}

/**
 * Returns true if any portfolio has a positive numerator, or if the largest numerator is not found.
 * @param program program that maximises the numerator
 */
function canNumeratorBePositive(
  solver: Solver,
  program: Program,
  { robustness, metric }: Pick<Problem, 'robustness' | 'metric'>,
  numeratorOf: (x: Float64Array) => number,
): boolean {
  const solveInner = (ownProgram: Program) => solvePlain(solver, ownProgram, {});
  const linearProgram = { ...program, curvature: 0, ridge: 0 };
  const largest = solveUncertain(solveInner, linearProgram, {
    robustness,
    metric,
    returnPrice: 1,
    warm: undefined,
    near: {},
  });
  return largest === undefined || numeratorOf(largest.answer.point.x) > 0;
}

interface ProgramSolution {
  readonly program: Program;
  readonly answer: ProgramResult;
}

/** Solves a program, including curved costs. Returns undefined without a solution. */
type InnerSolve<F extends ProgramSolution> = (program: Program, warm: ActiveState | undefined) => F | undefined;

interface UncertainProblem {
  readonly robustness: Robustness | null;
  /** Covariance whose entries are uncertain by the spread. */
  readonly metric: Metric;
  /** Value of a unit of return in the program's objective. */
  readonly returnPrice: number;
  readonly warm: ActiveState | undefined;
  /** Norm and gross volatility from the previous solve; this solve updates them. */
  readonly near: SolveHints;
}

/** Norm and gross volatility of a solution. A similar solve starts from them. */
interface SolveHints {
  length?: number;
  gross?: number;
}

/**
 * Solves a program for the worst expected returns and covariances of uncertainty sets. A box of returns adds a charge
 * on the magnitude of each weight. An ellipsoid subtracts a multiple of a norm, which is replaced by half its square at
 * the price with the same gradient. A spread of covariances adds an outer product if bounds fix the signs of the
 * weights. Otherwise it adds the squared gross volatility, linearised at a price.
 * @returns undefined if a program has no solution.
 * @cost for an ellipsoid five to eight programs; as many for each of them if signs are open.
 * @source Ben-Tal & Nemirovski (1999), Robust solutions of uncertain linear programs, Operations Research Letters 25;
 * Goldfarb & Iyengar (2003), Robust portfolio selection problems, Mathematics of Operations Research 28(1).
 */
function solveUncertain<F extends ProgramSolution>(
  inner: InnerSolve<F>,
  program: Program,
  { robustness, metric, returnPrice, warm, near }: UncertainProblem,
): F | undefined {
  if (robustness === null) return inner(program, warm);
  const { returns, spread } = robustness;
  const chargedProgram = returns?.form === 'box' ? addCharge(program, returns.widths, returnPrice) : program;
  const signs = spread > 0 && program.curvature > 0 ? findSigns(program) : undefined;
  const worstProgram =
    signs === undefined || signs === null ? chargedProgram : addOuterMetric(chargedProgram, { metric, signs, spread });
  const strength = spread * program.curvature;
  const solveInner: InnerSolve<F> =
    signs === null ? (at, last) => addGrossRow(inner, at, { metric, strength, warm: last, near }) : inner;
  if (returns?.form !== 'ellipsoid' || returns.radius === 0) return solveInner(worstProgram, warm);
  return addLengthRow(solveInner, worstProgram, {
    metric: returns.metric,
    weight: returnPrice * returns.radius,
    warm,
    near,
  });
}

/** Adds a charge on the magnitudes of the weights to the objective. */
function addCharge(program: Program, widths: Float64Array, price: number): Program {
  const kink: Kink = {
    at: new Float64Array(program.n),
    left: widths.map((width) => -price * width),
    right: widths.map((width) => price * width),
    limit: null,
    penalty: 1,
  };
  return { ...program, kinks: [...program.kinks, kink] };
}

/** Returns the signs that bounds impose on the weights. Returns null if any weight may have either sign. */
function findSigns({ n, lower, upper }: Program): Float64Array | null {
  const signs = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    if (lower[i]! >= 0) signs[i] = 1;
    else if (upper[i]! <= 0) signs[i] = -1;
    else return null;
  }
  return signs;
}

/**
 * Worst-case covariances by covariance, spread and signs. They are cached, so that solvers receive an identical object.
 */
const worstCovarianceCache = new WeakMap<Metric, { readonly key: string; readonly metric: Metric }>();

/** Returns the program with the worst-case covariances for weights of the given signs; norms are unchanged. */
function addOuterMetric(
  program: Program,
  { metric, signs, spread }: { readonly metric: Metric; readonly signs: Float64Array; readonly spread: number },
): Program {
  const key = `${spread} ${signs.join('')}`;
  const entry = worstCovarianceCache.get(metric);
  const worstMetric =
    entry?.key === key
      ? entry.metric
      : addOuterProduct(
          metric,
          computeMetricDiagonal(metric).map((variance, i) => signs[i]! * Math.sqrt(spread * Math.max(variance, 0))),
        );
  worstCovarianceCache.set(metric, { key, metric: worstMetric });
  return { ...program, metric: worstMetric, norms: program.norms.map((norm) => setMetric(norm, program)) };
}

/** Returns a norm with an explicit metric, for use in a program with another metric. */
function setMetric(norm: Norm, { metric }: Pick<Program, 'metric'>): Norm {
  return norm.metric === 'metric' ? { ...norm, metric: metric! } : norm; // a program with such a norm has a metric
}

/** Maximum number of prices that are tried for one term; four to eight are usual. */
const PRICES_MAX = 60;

/** Relative difference between a price and the price at its solution that counts as rounding. */
const UNCERTAINTY_PRICE_TOLERANCE = 1e-13;

/** Growth factor of a price that is too low. */
const UNCERTAINTY_PRICE_GROWTH = 16;

/** Fraction of the first price below which a price counts as zero. */
const ZERO_PRICE = 1e-18;

interface PricedTrial<F> {
  readonly price: number;
  readonly found: F;
  /**
   * Relative excess of the price. It is negative if the price is too low, and between -1 and 1 near the right price.
   */
  readonly excess: number;
}

/** Finds the price that equals the price that follows from its solution. Uses the secant method within a bracket. */
function solveAtConsistentPrice<F>(
  solveAtPrice: (price: number) => PricedTrial<F> | undefined,
  guess: number,
): PricedTrial<F> | undefined {
  let low: PricedTrial<F> | undefined;
  let high: PricedTrial<F> | undefined;
  let price = guess;
  for (let k = 0; k < PRICES_MAX; k++) {
    const trial = solveAtPrice(price);
    if (trial === undefined || Number.isNaN(trial.excess)) return undefined;
    if (Math.abs(trial.excess) <= UNCERTAINTY_PRICE_TOLERANCE || price < ZERO_PRICE * guess) return trial;
    if (trial.excess < 0) low = trial;
    else high = trial;
    if (high === undefined) price *= UNCERTAINTY_PRICE_GROWTH;
    else if (low === undefined) price /= UNCERTAINTY_PRICE_GROWTH;
    else {
      const secant = low.price - ((high.price - low.price) * low.excess) / (high.excess - low.excess);
      const isInside = secant > low.price && secant < high.price;
      price = isInside && k % 6 !== 5 ? secant : (low.price + high.price) / 2;
      if (price === low.price || price === high.price) return chooseNearer(low, high);
    }
    if (!Number.isFinite(price)) return undefined;
  }
  return low !== undefined && high !== undefined ? chooseNearer(low, high) : undefined;
}

function chooseNearer<F>(low: PricedTrial<F>, high: PricedTrial<F>): PricedTrial<F> {
  return -low.excess <= high.excess ? low : high;
}

interface LengthTerm {
  readonly metric: Metric;
  readonly weight: number;
  readonly warm: ActiveState | undefined;
  readonly near: SolveHints;
}

/** Fraction of a typical norm below which the weights count as zero. */
const ZERO_LENGTH = 1e-11;

/**
 * Minimises the objective of a program plus a weighted norm. Half the squared norm has the same gradient at a price of
 * weight over norm.
 */
function addLengthRow<F extends ProgramSolution>(
  inner: InnerSolve<F>,
  program: Program,
  { metric, weight, warm, near }: LengthTerm,
): F | undefined {
  const { n } = program;
  const norm: Norm = {
    metric: program.metric === metric ? 'metric' : metric,
    centre: new Float64Array(n),
    radius: 1,
  };
  const programWithNorm = { ...program, norms: [norm, ...program.norms] };
  const typicalVolatility = Math.sqrt(computeMetricDiagonal(metric).reduce((sum, value) => sum + value, 0)) / n;
  let last = warm;
  // The search uses squares of price and force. If nothing else is curved, the squared force is linear in the squared
  // price.
  const result = solveAtConsistentPrice(
    (square) => {
      const price = Math.sqrt(square);
      const response = inner(addPrice(programWithNorm, 0, price), last);
      if (response === undefined) return undefined;
      last = response.answer.state;
      const length = computeNormLength(programWithNorm, norm, response.answer.point.x);
      const excess = length <= ZERO_LENGTH * typicalVolatility ? 0 : (price * length) ** 2 / weight ** 2 - 1;
      return { price: square, found: response, excess };
    },
    (weight / (near.length ?? typicalVolatility)) ** 2,
  );
  if (result === undefined) return undefined;
  const { x } = result.found.answer.point;
  const length = computeNormLength(programWithNorm, norm, x);
  if (length > ZERO_LENGTH * typicalVolatility) near.length = length;
  const price = Math.sqrt(result.price);
  const force = applyMetric(metric, x);
  const quadraticGradient = computeGradient({ ...program, linear: new Float64Array(n) }, x);
  const exact = length <= ZERO_LENGTH * typicalVolatility ? price : weight / length;
  const linear = computeGradient(result.found.program, x).map(
    (value, i) => value - quadraticGradient[i]! + (exact - price) * force[i]!,
  );
  const { curvature, ridge, centre, norms } = program;
  return checkSolution(result.found, {
    ...result.found.program,
    metric: program.metric,
    curvature,
    ridge,
    centre,
    norms,
    linear,
  });
}

interface GrossTerm {
  readonly metric: Metric;
  readonly strength: number;
  readonly warm: ActiveState | undefined;
  readonly near: SolveHints;
}

/** Minimises a program's objective plus strength / 2 times the squared gross volatility. */
function addGrossRow<F extends ProgramSolution>(
  inner: InnerSolve<F>,
  program: Program,
  { metric, strength, warm, near }: GrossTerm,
): F | undefined {
  const volatilities = computeMetricDiagonal(metric).map((variance) => Math.sqrt(Math.max(variance, 0)));
  let last = warm;
  const result = solveAtConsistentPrice(
    (price) => {
      const response = inner(addCharge(program, volatilities, price), last);
      if (response === undefined) return undefined;
      last = response.answer.state;
      const gross = response.answer.point.x.reduce((sum, value, i) => sum + volatilities[i]! * Math.abs(value), 0);
      return { price, found: response, excess: (price - strength * gross) / Math.max(price, strength * gross) };
    },
    strength * (near.gross ?? volatilities.reduce((sum, value) => sum + value, 0) / program.n),
  );
  if (result !== undefined && result.price > 0) near.gross = result.price / strength;
  return result?.found;
}

/**
 * Checks a solution against the optimality conditions of another program with the same optimum. Returns undefined if it
 * violates them.
 */
function checkSolution<F extends ProgramSolution>(candidate: F, program: Program): F | undefined {
  const kkt = checkKkt(program, candidate.answer.point);
  return isOptimal(kkt) ? { ...candidate, program, answer: { ...candidate.answer, kkt } } : undefined;
}
