import { raiseToPower } from '#kernels/power.js';
import { dot } from '../../numbers/dot.js';
import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { createColdState } from '#kernels/optimisation/active-set/active-state.js';
import type { PathStart } from '#kernels/optimisation/path/follow-path.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { Norm, Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import {
  isPureTracking,
  type EvennessNumerator,
  type LinearNumerator,
  type QuadraticGoal,
  type TradeCosts,
} from '../../objectives/goal.js';
import { evennessOf } from '../../objectives/parity.js';
import { returnShortfall, computeWorstVariance } from '../../objectives/robustness.js';
import type { Problem } from '../problem.js';
import { correlationOf } from './correlation.js';
import { costOf, pricesOf, withLinearCost, withPricesTimes } from './prices.js';
import { largestScale } from './largest-scale.js';
import { barrierOf, impactOf, sumOf } from './separable.js';
import { solveRatio, varianceOf, type RatioPoint } from './solve-ratio.js';
import { solveSeparable } from './solve-separable.js';
import { solveTailGoal } from './solve-tail-goal.js';
import type { TailAnswer, TailStart } from './solve-tail.js';
import { solveUncertain } from './solve-uncertain.js';

/** Optimum of a goal within the rows of a program. */
export interface GoalAnswer {
  /**
   * Program whose optimality conditions the solution satisfies. Curved parts of the objective are replaced by their
   * tangents.
   */
  readonly program: Program;
  readonly answer: ProgramAnswer;
  /** Change of the minimised objective per unit of the program's objective. */
  readonly priceScale: number;
  /** Factor on the prices of soft rows in the program. */
  readonly penaltyScale: number;
  /** Remaining gap of the proof: for a tail; 0 for others. */
  readonly open?: number;
  /** Start of the search from similar weights; only for a tail. */
  readonly tail?: TailStart;
}

export interface GoalOptions {
  readonly warm?: ActiveState | undefined;
  readonly effort?: 'quick' | 'thorough' | undefined;
  /** Optimum of a program with the same rows. Its norms give their initial prices. */
  readonly near?: PathStart | undefined;
  /** Optimum of a program that differs in the bounds of few securities. */
  readonly beside?: Pick<ProgramAnswer, 'point' | 'state'> | undefined;
  /** Similar weights with their worst scenarios; only for a tail. */
  readonly tail?: TailStart | undefined;
  /** Constant that is subtracted from a numerator: the price of soft norms at their given radii. */
  readonly charge?: number;
}

/**
 * Minimises the objective of a problem within the rows of a program.
 * @param rows The rows, with the tracking objective; prices as clients wrote them.
 * @returns undefined if no solution was found.
 * @cost one program; about ten for curved costs and budgets, five times as many for ratios.
 */
export function solveGoal(
  solver: Solver,
  problem: Problem,
  rows: Program,
  options: GoalOptions = {},
): GoalAnswer | undefined {
  const { goal, index, costs } = problem;
  if (isPureTracking(goal, index, costs)) return solvePlain(solver, rows, options);
  if (goal.form === 'quadratic') return solveQuadratic(solver, problem, goal, rows, options);
  if (goal.form === 'tail') return ofTail(solveTailGoal(solver, problem, goal, rows, options.tail));
  return goal.numerator.kind === 'linear'
    ? solveLinearRatio(solver, problem, goal.numerator, rows, options)
    : solveParity(solver, problem, goal.numerator, rows, options);
}

function ofTail(found: TailAnswer | undefined): GoalAnswer | undefined {
  if (found === undefined) return undefined;
  const { program, answer, value, bound, start } = found;
  return { program, answer, priceScale: 1, penaltyScale: 1, open: Math.max(0, value - bound), tail: start };
}

function solvePlain(
  solver: Solver,
  program: Program,
  { warm, effort, near, beside }: GoalOptions,
): GoalAnswer | undefined {
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
): GoalAnswer | undefined {
  const program = withLinearCost(
    {
      ...rows,
      ...metricsFor(goal.metric, metric, rows.norms),
      curvature: goal.curvature,
      centre: goal.centre,
      linear: goal.linear,
    },
    costs,
  );
  const inner = (own: Program, warm: ActiveState | undefined) =>
    solveCostly(solver, own, { costs, returnPrice: 1 }, { ...options, warm });
  const result = solveUncertain(inner, program, { robustness, metric, returnPrice: 1, warm: options.warm, near: {} });
  return result === undefined ? undefined : { ...result, priceScale: 1, penaltyScale: 1 };
}

interface Charged {
  readonly costs: TradeCosts | null;
  /** Price of a return in the program's objective. */
  readonly returnPrice: number;
}

/** Solves a program with the curved part of costs. */
function solveCostly(
  solver: Solver,
  program: Program,
  { costs, returnPrice }: Charged,
  options: GoalOptions,
): Pick<GoalAnswer, 'program' | 'answer'> | undefined {
  return costs !== null && costs.impact > 0
    ? solveSeparable(solver, program, impactOf(costs, returnPrice), withStart(options, costs.reference))
    : solvePlain(solver, program, options);
}

/** Returns the metric of the objective, and also keeps the metric of the norms if it differs. */
function metricsFor(
  kind: QuadraticGoal['metric'],
  metric: Metric,
  norms: readonly Norm[],
): Pick<Program, 'metric' | 'norms'> {
  if (kind === 'covariance') return { metric, norms };
  return {
    metric: correlationOf(metric),
    norms: norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric } : norm)),
  };
}

function withStart({ warm, effort }: GoalOptions, start: Float64Array) {
  return { start, warm, ...(effort === undefined ? {} : { effort }) };
}

function solveLinearRatio(
  solver: Solver,
  { costs, index, metric, robustness }: Problem,
  { slopes }: LinearNumerator,
  rows: Program,
  options: GoalOptions,
): GoalAnswer | undefined {
  const free = { ...rows, curvature: 1, centre: new Float64Array(rows.n), ridge: rows.ridge / 2 };
  const priced = withLinearCost(free, costs);
  const numeratorOf = (x: Float64Array) =>
    dot(slopes, x) -
    returnShortfall(robustness?.returns ?? null, x) -
    costOf(costs, x) -
    pricesOf(rows, x) -
    (options.charge ?? 0);
  const terms = { robustness, metric, near: {} };
  let isPositive = false;
  let iterations = 0;
  let near: PathStart | undefined;
  const at = (price: number, last: ActiveState | undefined): RatioPoint | undefined => {
    const program = { ...withPricesTimes(priced, price), linear: slopes.map((slope) => -price * slope) };
    const inner = (own: Program, warm: ActiveState | undefined) =>
      solveCostly(solver, own, { costs, returnPrice: price }, { ...options, warm, near });
    const result = solveUncertain(inner, program, { ...terms, returnPrice: price, warm: last ?? options.warm });
    if (result === undefined) return undefined;
    iterations += result.answer.iterations;
    near = { program: result.program, point: result.answer.point, state: result.answer.state };
    const { x } = result.answer.point;
    const numerator = numeratorOf(x);
    isPositive ||=
      numerator > 0 || isAttainable(solver, { ...priced, linear: slopes.map((slope) => -slope) }, terms, numeratorOf);
    return isPositive
      ? { ...result, price, variance: computeWorstVariance(metric, robustness, x), numerator }
      : undefined;
  };
  const guess = startPrice(rows, { weights: index, slopes, numerator: numeratorOf(index) });
  const isCurved = rows.norms.length > 0 || (costs !== null && costs.impact > 0);
  const point = solveRatio(at, guess, isCurved ? CURVED : undefined);
  if (point === undefined || !(point.numerator > 0)) return undefined;
  const { variance, numerator } = point;
  const isHomogeneous = costs === null && pricesOf(rows, point.answer.point.x) === 0 && (options.charge ?? 0) === 0;
  const scale = isHomogeneous ? largestScale(point.program, point.answer) : 1;
  const { program, answer } = scale > 1 ? scaledBy(scale, point) : point;
  return {
    program,
    answer: { ...answer, iterations },
    priceScale: numerator / (scale * scale * raiseToPower(variance, 1.5)),
    penaltyScale: (scale * variance) / numerator,
  };
}

/** Accuracy of portfolios with curved costs, budgets or rows. */
const CURVED = 1e-12;

/** A price is no useful start if it exceeds this factor times the mean variance over the steepest slope. */
const PRICE_RANGE = 1e3;

interface Beginning {
  readonly weights: Float64Array;
  readonly slopes: Float64Array;
  readonly numerator: number;
}

/** Returns the price at which the index would be optimal, or else a price of the scale of the problem. */
function startPrice(rows: Program, { weights, slopes, numerator }: Beginning): number {
  const steepest = slopes.reduce((most, slope) => Math.max(most, Math.abs(slope)), 0) || 1;
  const typical =
    varianceOf(
      rows,
      weights.map(() => 1 / weights.length),
    ) / steepest;
  const guess = varianceOf(rows, weights) / numerator;
  return guess > typical / PRICE_RANGE && guess < typical * PRICE_RANGE ? guess : typical;
}

/** Returns true if any portfolio has a positive numerator. @param program program that maximises the numerator */
function isAttainable(
  solver: Solver,
  program: Program,
  { robustness, metric }: Pick<Problem, 'robustness' | 'metric'>,
  numeratorOf: (x: Float64Array) => number,
): boolean {
  const inner = (own: Program) => solvePlain(solver, own, {});
  const free = { ...program, curvature: 0, ridge: 0 };
  const largest = solveUncertain(inner, free, { robustness, metric, returnPrice: 1, warm: undefined, near: {} });
  return largest === undefined || numeratorOf(largest.answer.point.x) > 0;
}

/** Scales a portfolio to a larger investment, which has the same ratio. */
function scaledBy(scale: number, { program, answer }: RatioPoint): Pick<GoalAnswer, 'program' | 'answer'> {
  const times = (values: Float64Array) => values.map((value) => value * scale);
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = answer.point;
  const point = {
    x: times(x),
    rowMultipliers: times(rowMultipliers),
    kinkMultipliers: kinkMultipliers.map((value, k) => (program.kinks[k]!.limit === null ? value : value * scale)),
    normMultipliers,
  };
  const scaled = { ...withPricesTimes(program, scale), linear: times(program.linear) };
  return { program: scaled, answer: { ...answer, point, kkt: checkKkt(scaled, point) } };
}

/**
 * Maximum number of barrier prices tried in one search for a price that agrees with its own portfolio; one without
 * costs.
 */
const ROUNDS_MAX = 40;

/** Relative change of a price that counts as none. */
const SETTLED = 1e-11;

/**
 * Solves risk budgets within rows. The optimum of evenness over volatility minimises half the variance minus its own
 * variance times the weighted logarithms of the budgets. Costs are subtracted from the evenness, so the weights of
 * barrier and costs follow from the portfolio itself.
 */
function solveParity(
  solver: Solver,
  problem: Problem,
  numerator: EvennessNumerator,
  rows: Program,
  options: GoalOptions,
): GoalAnswer | undefined {
  const { costs } = problem;
  const { budgets, parity } = numerator;
  for (let i = 0; i < rows.n; i++) if (budgets[i]! > 0 && !(rows.upper[i]! > 0)) return undefined;
  const free = { ...rows, curvature: 1, centre: new Float64Array(rows.n), ridge: 0, linear: new Float64Array(rows.n) };
  const isFree = costs === null && pricesOf(rows, parity) === 0 && (options.charge ?? 0) === 0;
  const own = isFree ? atParity(free, numerator) : undefined;
  if (own !== undefined) return own;
  const offOf = (x: Float64Array) => costOf(costs, x) + pricesOf(rows, x) + (options.charge ?? 0);
  let start = parity;
  let { variance } = numerator;
  let warm = options.warm;
  let off = 0;
  let evenness = 1;
  let iterations = 0;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    // (evenness - off) has the gradient of the logarithms times evenness, minus the gradient of the costs.
    const net = evenness - off;
    if (!(net > 0)) return undefined;
    const at = (price: number, last: ActiveState | undefined): RatioPoint | undefined => {
      const program = withPricesTimes(withLinearCost(free, costs), price / net);
      const barrier = barrierOf(budgets.map((budget) => (price * budget * evenness) / net));
      const parts = costs !== null && costs.impact > 0 ? [barrier, impactOf(costs, price / net)] : [barrier];
      const result = solveSeparable(
        solver,
        program,
        sumOf(parts),
        withStart({ ...options, warm: last ?? warm }, start),
      );
      if (result === undefined) return undefined;
      start = result.answer.point.x;
      iterations += result.answer.iterations;
      return { ...result, price, variance: varianceOf(program, start), numerator: 1 };
    };
    const point = solveRatio(at, variance, CURVED);
    if (point === undefined) return undefined;
    const { x } = point.answer.point;
    const before = evenness / net;
    variance = point.variance;
    warm = point.answer.state;
    off = offOf(x);
    evenness = off === 0 ? 1 : evennessOf(budgets, x);
    if (Math.abs(before - evenness / (evenness - off)) <= SETTLED * before)
      return {
        program: point.program,
        answer: { ...point.answer, iterations },
        priceScale: 1 / variance,
        penaltyScale: variance / (evenness - off),
      };
  }
  return undefined;
}

/** Returns the weights at parity as the solution if they satisfy the rows: no row exerts a force. */
function atParity(free: Program, { parity, budgets, variance }: EvennessNumerator): GoalAnswer | undefined {
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
  const scale = largestScale(program, { point });
  const answer: ProgramAnswer = { status: 'solved', point, state, kkt, iterations: 1, route: 'active-set' };
  if (scale === 1) return { program, answer, priceScale: 1 / variance, penaltyScale: variance };
  const scaled = scaledBy(scale, { program, answer, price: variance, variance, numerator: 1 });
  return { ...scaled, priceScale: 1 / (scale * scale * variance), penaltyScale: scale * scale * variance };
}
