import type { TailMeasure } from '../../objectives/tail.js';
import { dot } from '../../numbers/dot.js';
import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';
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
  startAt,
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

/** Point with its portfolio. */
export interface FrontierPortfolio extends FrontierPoint {
  /** [N] */
  readonly weights: Float64Array;
  /** Risk aversion of the objective max_utility with this solution; null for the least variance, which has none. */
  readonly risk_aversion: number | null;
}

/** Maximum risk aversion of a utility. Beyond it, a point has the least variance. */
const AVERSION_MAX = 1e9;

/** Efficient frontier within the rows of a problem. */
export interface Frontier {
  /** Points from the least variance to the largest expected return, equally spaced in expected return. */
  readonly points: readonly FrontierPortfolio[];
  /** Portfolio with the largest excess return per unit of volatility; null if none has a positive one. */
  readonly tangency: (FrontierPortfolio & { readonly sharpe: number }) | null;
  /** Returns the point of some weights, with expected return and risk in the same units as the points. */
  pointOf(weights: Float64Array): FrontierPoint;
  /** Solution for the largest expected return, at which other frontiers within the rows also end. */
  readonly most: ProgramAnswer;
}

export interface FrontierInput {
  readonly solver: Solver;
  readonly problem: Problem;
  /** Annualised, [N]. */
  readonly means: Float64Array;
  readonly riskFreeRate: number;
  /** Held securities, if non-convex rows chose them. */
  readonly restriction?: Restriction | undefined;
  readonly points?: number;
}

/** Returns the utility program: the largest expected return less half the variance times an aversion. */
function findUtilityPoint(base: Program, means: Float64Array, aversion: number): Program {
  if (aversion === 0) return createReturnProgram(base, means);
  return { ...base, centre: new Float64Array(base.n), curvature: aversion, linear: means.map((mean) => -mean) };
}

/** Returns the point of weights, by expected returns and the covariance of a problem. */
export function computeFrontierPoint(
  { metric, index }: Pick<Problem, 'metric' | 'index'>,
  means: Float64Array,
  weights: Float64Array,
): FrontierPoint {
  const active = weights.map((weight, i) => weight - index[i]!);
  return {
    expected_return: dot(means, weights),
    volatility: Math.sqrt(Math.max(0, computeMetricSquare(metric, weights))),
    tracking_error: Math.sqrt(Math.max(0, computeMetricSquare(metric, active))),
  };
}

/** Maximum number of solves with added cutting planes. */
const PLANES_MAX = 400;

/**
 * Risk aversions on the way to the largest expected return, where the risk aversion is zero. Planes near it are found
 * by solves of a millisecond; solves for the largest return take 20 to 100 ms. Drawdowns need few planes.
 */
const APPROACH: Readonly<Record<TailMeasure, readonly number[]>> = { loss: [3, 1, 0.3, 0], drawdown: [0] };

/** Result within rows, and the portfolios that must satisfy them. */
interface Found<T> {
  readonly found: T;
  readonly weights: readonly Float64Array[];
}

/** Search whose rows may limit tails. */
type TailSearch = Pick<FrontierInput, 'problem' | 'restriction'>;

/**
 * Repeats a search, adding the planes that its portfolios violate, until they satisfy the limits. Null without a
 * result, or if there are too many planes.
 */
function addTailPlanesUntilFeasible<T>(
  { problem, restriction }: TailSearch,
  solve: (program: Program) => Found<T> | null,
): T | null {
  const assembly = { withTracking: true, restriction };
  for (let round = 0; round < PLANES_MAX; round++) {
    const solved = solve(assembleProgram(problem, assembly).program);
    if (solved === null) return null;
    if (solved.weights.flatMap((each) => createTangentPlanes(problem, assembly, each)).length === 0)
      return solved.found;
  }
  return null;
}

/** Frontier whose rows may limit tails. */
export interface TailFrontier<T> extends Pick<FrontierInput, 'solver' | 'problem' | 'means' | 'restriction'> {
  /**
   * Solution for the largest expected return within the rows, if another frontier found it: its planes are then known.
   */
  readonly most?: ProgramAnswer | undefined;
  /** Returns null without a result. */
  readonly trace: (program: Program) => Found<T> | null;
}

/**
 * Traces a frontier within tails. The largest expected return is approached separately first: it needs most planes, and
 * a trace is many solves.
 */
export function traceWithinTails<T>({ solver, means, most, trace, ...search }: TailFrontier<T>): T | null {
  let before: Optimum | undefined;
  for (const { row } of most === undefined ? search.problem.rows : []) {
    for (const aversion of row.form === 'tail' ? APPROACH[row.goal.measure] : [])
      addTailPlanesUntilFeasible(search, (base) => {
        const program = findUtilityPoint(base, means, aversion);
        const follow = before === undefined || aversion === 0 ? undefined : startAt(program, before);
        const answer = solver.solve(program, { follow, pivots: PIVOTS });
        if (answer.status !== 'solved') return null;
        before = aversion === 0 ? before : { program, answer };
        return { found: answer.point, weights: [clearRoundingWeights(answer.point.x)] };
      });
  }
  return addTailPlanesUntilFeasible(search, trace);
}

/** Computes the frontier; null if the rows have no portfolio of least variance. @cost about 30 warm solves */
export function computeFrontier(input: FrontierInput): Frontier | null {
  const { solver, problem, means, points: count } = input;
  const pointOf = (weights: Float64Array) => computeFrontierPoint(problem, means, weights);
  const portfolioOf = ({ x, slope }: FrontierWeights): FrontierPortfolio => {
    const weights = clearRoundingWeights(x);
    return { ...pointOf(weights), weights, risk_aversion: computeRiskAversion(slope) };
  };
  let before: Trace | undefined;
  const found = traceWithinTails({
    ...input,
    trace(base) {
      const traced = traceFrontier(solver, base, means, { points: count, before });
      if (traced === null) return null;
      before = traced.trace;
      const points = traced.solved.map(portfolioOf);
      return { found: { base, traced, points }, weights: points.map(({ weights }) => weights) };
    },
  });
  if (found === null) return null;
  const { base, points } = found;
  const limitsTails = problem.rows.some(({ row }) => row.form === 'tail');
  const traced = limitsTails
    ? { ...found.traced, at: listTargetsWithinTails(input, found.traced.trace) }
    : found.traced;
  const tangency = findTangentPoint({ base, traced, points, portfolioOf, riskFreeRate: input.riskFreeRate });
  return { points, tangency, pointOf, most: traced.trace.most };
}

/** Solves for successive expected returns, each until its portfolio satisfies the limits of tails. */
function listTargetsWithinTails(input: FrontierInput, found: Trace): (target: number) => FrontierWeights | undefined {
  const { solver, means } = input;
  let before = found;
  return (target) =>
    addTailPlanesUntilFeasible(input, (base) => {
      const traced = traceFrontier(solver, base, means, { points: 0, before });
      const solved = traced?.at(target);
      if (traced === null || solved === undefined) return null;
      before = { ...traced.trace, known: [...traced.trace.known, ...before.known] };
      return { found: solved, weights: [clearRoundingWeights(solved.x)] };
    }) ?? undefined;
}

/**
 * Returns the risk aversion a at which expected return less a/2 times the variance has gradient zero along the
 * frontier.
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
 * Finds the tangency point: the Sharpe ratio rises and then falls along the frontier, so its maximum is next to the
 * best point.
 */
function findTangentPoint(input: TangencyInput): Frontier['tangency'] {
  const { traced, points, portfolioOf, riskFreeRate } = input;
  const sharpeOf = ({ expected_return, volatility }: FrontierPoint) =>
    volatility > 0 ? (expected_return - riskFreeRate) / volatility : 0;
  const best = points.reduce((leader, point, k) => (sharpeOf(point) > sharpeOf(points[leader]!) ? k : leader), 0);
  if (!(sharpeOf(points[best]!) > 0)) return null;
  let result = points[best]!;
  const probe = (target: number): VariancePoint | undefined => {
    const answer = traced.at(target);
    if (answer === undefined) return undefined;
    const point = portfolioOf(answer);
    if (sharpeOf(point) > sharpeOf(result)) result = point;
    return borneBy(target, point, answer.slope);
  };
  const [before, after] = [Math.max(best - 1, 0), Math.min(best + 1, points.length - 1)];
  const sides = sidesOf(input, best);
  if (sides !== undefined) findTangentPortfolio({ ...sides, riskFreeRate, probe });
  else if (!isRisingAtEnd(input, best)) {
    const placeOf = (k: number): MaximumPoint => ({ at: traced.targets[k]!, value: sharpeOf(points[k]!) });
    const valueOf = (place: VariancePoint | undefined) =>
      place === undefined ? Number.NEGATIVE_INFINITY : (place.at - riskFreeRate) / Math.sqrt(place.variance);
    findMaximum((target) => valueOf(probe(target)), {
      low: placeOf(before),
      best: placeOf(best),
      high: placeOf(after),
    });
  }
  return { ...result, sharpe: sharpeOf(result) };
}

function borneBy(at: number, { volatility }: FrontierPoint, slope: number | null): VariancePoint {
  return { at, variance: volatility ** 2, slope: slope === null ? Number.NaN : Math.abs(slope) };
}

/** Returns the points between which the Sharpe ratio turns, if multipliers show on which side a point is. */
function sidesOf(
  { base, traced: { targets, solved }, points, riskFreeRate }: TangencyInput,
  best: number,
): Pick<TangentSearchInput, 'low' | 'high'> | undefined {
  if (!isVarianceAlone(base)) return undefined;
  const at = (k: number) => borneBy(targets[k]!, points[k]!, k === 0 ? 0 : solved[k]!.slope);
  const isRising = computeSharpeSlope(at(best), riskFreeRate) > 0;
  const [low, high] = isRising ? [best, best + 1] : [best - 1, best];
  if (low < 0 || high >= points.length) return undefined;
  return computeSharpeSlope(at(low), riskFreeRate) > 0 && computeSharpeSlope(at(high), riskFreeRate) < 0
    ? { low: at(low), high: at(high) }
    : undefined;
}

/** Returns true if a point is the last and the Sharpe ratio still rises there, so that no larger ratio exists. */
function isRisingAtEnd({ base, traced, points, riskFreeRate }: TangencyInput, k: number): boolean {
  const slope = traced.solved[k]!.slope;
  if (k !== points.length - 1 || slope === null || !isVarianceAlone(base)) return false;
  return computeSharpeSlope(borneBy(traced.targets[k]!, points[k]!, slope), riskFreeRate) >= 0;
}

/**
 * Returns true if the objective is only the variance. The multiplier of the return is then the slope of the variance.
 */
function isVarianceAlone({ rows, kinks }: Program): boolean {
  return (
    !rows.penalty.some(Number.isFinite) && kinks.every(({ limit, penalty }) => limit !== null && penalty === Infinity)
  );
}
