import type { TailMeasure } from '../../objectives/tail.js';
import { computeDotProduct } from '../../numbers/dot.js';
import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramResult } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { assembleProgram, type Restriction } from '../assemble.js';
import { createTangentPlanes } from '../curved-rows.js';
import { findMaximum, type MaximumPoint } from './find-maximum.js';
import type { Problem } from '../problem.js';
import { clearRoundingWeights } from '../rounding-weights.js';
import {
  computeSharpeSlope,
  findTangentPortfolio,
  type VariancePoint,
  type TangentSearchInput,
} from './tangent-portfolio.js';
import {
  createReturnProgram,
  PIVOTS,
  createPathStart,
  traceFrontier,
  type Optimum,
  type FrontierWeights,
  type Trace,
  type TracedFrontier,
} from './trace-frontier.js';

export interface FrontierPoint {
  readonly expected_return: number;
  readonly volatility: number;
  readonly tracking_error: number;
}

/** Point of a frontier with its portfolio. */
export interface FrontierPortfolio extends FrontierPoint {
  /** [N] */
  readonly weights: Float64Array;
  /**
   * Risk aversion for which this portfolio is the solution of `max_utility`. Null for the portfolio of least variance,
   * and for a portfolio that the solver did not find.
   */
  readonly risk_aversion: number | null;
}

/** Maximum risk aversion of a utility. Above it, the solution is the portfolio of least variance. */
const AVERSION_MAX = 1e9;

/** Efficient frontier within the rows of a problem. */
export interface Frontier {
  /** Portfolios from the least variance to the largest expected return, equally spaced in expected return. */
  readonly points: readonly FrontierPortfolio[];
  /**
   * Portfolio with the largest excess return per unit of volatility (tangency portfolio). Null if no excess return is
   * positive.
   */
  readonly tangency: (FrontierPortfolio & { readonly sharpe: number }) | null;
  /** Returns the frontier point of other weights, in the units of `points`. */
  pointOf(weights: Float64Array): FrontierPoint;
  /** Solution with the largest expected return, where other frontiers within the rows end too. */
  readonly most: ProgramResult;
}

export interface FrontierInput {
  readonly solver: Solver;
  readonly problem: Problem;
  /** Annualised expected returns, [N]. */
  readonly means: Float64Array;
  readonly riskFreeRate: number;
  /** Choice of held securities, if non-convex rows made one. */
  readonly restriction?: Restriction | undefined;
  readonly points?: number;
}

/** Returns the program that maximises expected return less half the risk aversion times the variance. */
function findUtilityPoint(base: Program, means: Float64Array, aversion: number): Program {
  if (aversion === 0) return createReturnProgram(base, means);
  return { ...base, centre: new Float64Array(base.n), curvature: aversion, linear: means.map((mean) => -mean) };
}

/** Returns the frontier point of weights, from the expected returns and the covariance of a problem. */
export function computeFrontierPoint(
  { metric, index }: Pick<Problem, 'metric' | 'index'>,
  means: Float64Array,
  weights: Float64Array,
): FrontierPoint {
  const activeWeights = weights.map((weight, i) => weight - index[i]!);
  return {
    expected_return: computeDotProduct(means, weights),
    volatility: Math.sqrt(Math.max(0, computeMetricSquare(metric, weights))),
    tracking_error: Math.sqrt(Math.max(0, computeMetricSquare(metric, activeWeights))),
  };
}

/** Maximum number of solves with additional cutting planes. */
const PLANES_MAX = 400;

/**
 * Decreasing risk aversions of the solves before the largest expected return (risk aversion 0). Near that return, such
 * a solve takes a millisecond and adds cutting planes, whereas a solve for the largest return takes 20 to 100 ms.
 * Drawdowns need few planes.
 */
const APPROACH_AVERSIONS: Readonly<Record<TailMeasure, readonly number[]>> = { loss: [3, 1, 0.3, 0], drawdown: [0] };

/** Result of a search, with the portfolios that must satisfy the rows. */
interface FeasibleResult<T> {
  readonly found: T;
  readonly weights: readonly Float64Array[];
}

/** Problem whose rows may limit tails. */
type TailSearch = Pick<FrontierInput, 'problem' | 'restriction'>;

/**
 * Repeats a search until its portfolios satisfy the tail limits. Each time, adds the cutting planes that the portfolios
 * violate. Returns null without a result, or if there are too many planes.
 */
function addTailPlanesUntilFeasible<T>(
  { problem, restriction }: TailSearch,
  solve: (program: Program) => FeasibleResult<T> | null,
): T | null {
  const assembly = { withTracking: true, restriction };
  for (let round = 0; round < PLANES_MAX; round++) {
    const solveResult = solve(assembleProgram(problem, assembly).program);
    if (solveResult === null) return null;
    if (solveResult.weights.flatMap((each) => createTangentPlanes(problem, assembly, each)).length === 0)
      return solveResult.found;
  }
  return null;
}

/** Frontier search in a problem whose rows may limit tails. */
export interface TailFrontier<T> extends Pick<FrontierInput, 'solver' | 'problem' | 'means' | 'restriction'> {
  /** Solution with the largest expected return within the rows. Present if another frontier found it and its planes. */
  readonly most?: ProgramResult | undefined;
  /** Traces the frontier of a program. Returns null without a result. */
  readonly trace: (program: Program) => FeasibleResult<T> | null;
}

/**
 * Traces a frontier under tail limits. The solution with the largest expected return is approached first. It needs the
 * most planes, and a trace consists of many solves.
 */
export function traceWithinTails<T>({ solver, means, most, trace, ...search }: TailFrontier<T>): T | null {
  let before: Optimum | undefined;
  for (const { row } of most === undefined ? search.problem.rows : []) {
    for (const aversion of row.form === 'tail' ? APPROACH_AVERSIONS[row.goal.measure] : [])
      addTailPlanesUntilFeasible(search, (base) => {
        const program = findUtilityPoint(base, means, aversion);
        const follow = before === undefined || aversion === 0 ? undefined : createPathStart(program, before);
        const answer = solver.solve(program, { follow, pivots: PIVOTS });
        if (answer.status !== 'solved') return null;
        before = aversion === 0 ? before : { program, answer };
        return { found: answer.point, weights: [clearRoundingWeights(answer.point.x)] };
      });
  }
  return addTailPlanesUntilFeasible(search, trace);
}

/**
 * Computes the frontier. Returns null if the solver finds no portfolio of least variance or of largest expected return.
 * @cost about 30 warm solves
 */
export function computeFrontier(input: FrontierInput): Frontier | null {
  const { solver, problem, means, points: count } = input;
  const createPoint = (weights: Float64Array) => computeFrontierPoint(problem, means, weights);
  const createPortfolio = ({ x, slope }: FrontierWeights): FrontierPortfolio => {
    const weights = clearRoundingWeights(x);
    return { ...createPoint(weights), weights, risk_aversion: computeRiskAversion(slope) };
  };
  let before: Trace | undefined;
  const tailFrontier = traceWithinTails({
    ...input,
    trace(base) {
      const tracedFrontier = traceFrontier(solver, base, means, { points: count, before });
      if (tracedFrontier === null) return null;
      before = tracedFrontier.trace;
      const points = tracedFrontier.solved.map(createPortfolio);
      return { found: { base, traced: tracedFrontier, points }, weights: points.map(({ weights }) => weights) };
    },
  });
  if (tailFrontier === null) return null;
  const { base, points } = tailFrontier;
  const hasTailLimits = problem.rows.some(({ row }) => row.form === 'tail');
  const frontierTrace = hasTailLimits
    ? { ...tailFrontier.traced, at: listTargetsWithinTails(input, tailFrontier.traced.trace) }
    : tailFrontier.traced;
  const tangency = findTangentPoint({
    base,
    traced: frontierTrace,
    points,
    portfolioOf: createPortfolio,
    riskFreeRate: input.riskFreeRate,
  });
  return { points, tangency, pointOf: createPoint, most: frontierTrace.trace.most };
}

/**
 * Returns a solver for successive expected returns. It repeats each solve until the portfolio satisfies the tail
 * limits.
 */
function listTargetsWithinTails(input: FrontierInput, trace: Trace): (target: number) => FrontierWeights | undefined {
  const { solver, means } = input;
  let before = trace;
  return (target) =>
    addTailPlanesUntilFeasible(input, (base) => {
      const tracedFrontier = traceFrontier(solver, base, means, { points: 0, before });
      const frontierWeights = tracedFrontier?.at(target);
      if (tracedFrontier === null || frontierWeights === undefined) return null;
      before = { ...tracedFrontier.trace, known: [...tracedFrontier.trace.known, ...before.known] };
      return { found: frontierWeights, weights: [clearRoundingWeights(frontierWeights.x)] };
    }) ?? undefined;
}

/**
 * Returns the risk aversion a at which expected return less a/2 times the variance is stationary along the frontier.
 */
function computeRiskAversion(slope: number | null): number | null {
  const aversion = slope === null ? Infinity : 2 / Math.abs(slope);
  return aversion <= AVERSION_MAX ? aversion : null;
}

interface TangencyInput {
  readonly base: Program;
  readonly traced: TracedFrontier;
  readonly points: readonly FrontierPortfolio[];
  readonly portfolioOf: (solved: FrontierWeights) => FrontierPortfolio;
  readonly riskFreeRate: number;
}

/**
 * Finds the tangency portfolio. The Sharpe ratio first rises and then falls along the frontier, so its maximum is next
 * to the best point.
 */
function findTangentPoint(input: TangencyInput): Frontier['tangency'] {
  const { traced, points, portfolioOf, riskFreeRate } = input;
  const computeSharpe = ({ expected_return, volatility }: FrontierPoint) =>
    volatility > 0 ? (expected_return - riskFreeRate) / volatility : 0;
  const best = points.reduce(
    (leader, point, k) => (computeSharpe(point) > computeSharpe(points[leader]!) ? k : leader),
    0,
  );
  if (!(computeSharpe(points[best]!) > 0)) return null;
  let result = points[best]!;
  const probeTarget = (target: number): VariancePoint | undefined => {
    const answer = traced.at(target);
    if (answer === undefined) return undefined;
    const point = portfolioOf(answer);
    if (computeSharpe(point) > computeSharpe(result)) result = point;
    return createVariancePoint(target, point, answer.slope);
  };
  const [before, after] = [Math.max(best - 1, 0), Math.min(best + 1, points.length - 1)];
  const sides = findTangencyBracket(input, best);
  if (sides !== undefined) findTangentPortfolio({ ...sides, riskFreeRate, probe: probeTarget });
  else if (!isRisingAtEnd(input, best)) {
    const createMaximumPoint = (k: number): MaximumPoint => ({
      at: traced.targets[k]!,
      value: computeSharpe(points[k]!),
    });
    const computeValue = (place: VariancePoint | undefined) =>
      place === undefined ? Number.NEGATIVE_INFINITY : (place.at - riskFreeRate) / Math.sqrt(place.variance);
    findMaximum((target) => computeValue(probeTarget(target)), {
      low: createMaximumPoint(before),
      best: createMaximumPoint(best),
      high: createMaximumPoint(after),
    });
  }
  return { ...result, sharpe: computeSharpe(result) };
}

function createVariancePoint(position: number, { volatility }: FrontierPoint, slope: number | null): VariancePoint {
  return { at: position, variance: volatility ** 2, slope: slope === null ? Number.NaN : Math.abs(slope) };
}

/**
 * Returns the points between which the Sharpe ratio reaches its maximum. This requires multipliers, which show on which
 * side of the best point the maximum is.
 */
function findTangencyBracket(
  { base, traced: { targets, solved }, points, riskFreeRate }: TangencyInput,
  best: number,
): Pick<TangentSearchInput, 'low' | 'high'> | undefined {
  if (!isVarianceAlone(base)) return undefined;
  const getPoint = (k: number) => createVariancePoint(targets[k]!, points[k]!, k === 0 ? 0 : solved[k]!.slope);
  const isRising = computeSharpeSlope(getPoint(best), riskFreeRate) > 0;
  const [low, high] = isRising ? [best, best + 1] : [best - 1, best];
  if (low < 0 || high >= points.length) return undefined;
  return computeSharpeSlope(getPoint(low), riskFreeRate) > 0 && computeSharpeSlope(getPoint(high), riskFreeRate) < 0
    ? { low: getPoint(low), high: getPoint(high) }
    : undefined;
}

/**
 * Returns true if a point is the last of the frontier and the Sharpe ratio still rises there. The point is then the
 * maximum.
 */
function isRisingAtEnd({ base, traced, points, riskFreeRate }: TangencyInput, k: number): boolean {
  const slope = traced.solved[k]!.slope;
  if (k !== points.length - 1 || slope === null || !isVarianceAlone(base)) return false;
  return computeSharpeSlope(createVariancePoint(traced.targets[k]!, points[k]!, slope), riskFreeRate) >= 0;
}

/**
 * Returns true if the objective is only the variance. The multiplier of the return row is then the slope of the
 * variance.
 */
function isVarianceAlone({ rows, kinks }: Program): boolean {
  return (
    !rows.penalty.some(Number.isFinite) && kinks.every(({ limit, penalty }) => limit !== null && penalty === Infinity)
  );
}
