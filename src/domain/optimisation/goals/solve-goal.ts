import type { PathStart } from '#kernels/optimisation/path/follow-path.js';
import { raiseToPower } from '#kernels/power.js';
import { computeDotProduct } from '../../numbers/dot.js';
import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { Norm, Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { isPureTracking, type LinearNumerator, type QuadraticGoal, type TradeCosts } from '../../objectives/goal.js';
import { computeReturnShortfall, computeWorstVariance } from '../../objectives/robustness.js';
import type { Problem } from '../problem.js';
import { computeCorrelation } from './correlation.js';
import { computeCost, computePrices, addLinearCost, scalePrices } from './prices.js';
import { findLargestScale } from './largest-scale.js';
import { createImpactTerm } from './separable.js';
import { setStart, scaleSolution, CURVED_ACCURACY, type GoalSolution, type GoalOptions } from './goal-answer.js';
import { solveParity } from './solve-parity.js';
import { solveRatio, computeVariance, isRiskless, type RatioPoint } from './solve-ratio.js';
import { solveSeparable } from './solve-separable.js';
import { solveTailGoal } from './solve-tail-goal.js';
import type { TailSolution } from './solve-tail.js';
import { solveUncertain } from './solve-uncertain.js';

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
      ...selectMetrics(goal.metric, metric, rows.norms),
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

/** Solves a program, with the curved part of the costs added to its objective. */
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

/** Returns the metric of the objective. Norms keep their metric if it differs. */
function selectMetrics(
  kind: QuadraticGoal['metric'],
  metric: Metric,
  norms: readonly Norm[],
): Pick<Program, 'metric' | 'norms'> {
  if (kind === 'covariance') return { metric, norms };
  return {
    metric: computeCorrelation(metric),
    norms: norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric } : norm)),
  };
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

interface PriceStart {
  readonly weights: Float64Array;
  readonly slopes: Float64Array;
  readonly numerator: number;
}

/**
 * Returns the price at which the index would be optimal. If that price is not usable, returns one of the problem's
 * order of magnitude.
 */
function computeStartPrice(rows: Program, { weights, slopes, numerator }: PriceStart): number {
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
