import type { TailMeasure } from '../objectives/tail.js';
import { dot } from '../numbers/dot.js';
import { metricSquare } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { assembleProgram, type Restriction } from './assemble.js';
import { cutsAt } from './curved-rows.js';
import { largestBetween, type Place } from './largest-between.js';
import type { Problem } from './problem.js';
import { withoutDust } from './solve-convex.js';
import { riseOf, tangentBetween, type Borne, type TangentInput } from './tangent-between.js';
import {
  ofLargestReturn,
  PIVOTS,
  startAt,
  tracedFrontier,
  type Optimum,
  type Solved,
  type Trace,
  type TracedFrontier,
} from './traced-frontier.js';

export interface FrontierPoint {
  readonly expected_return: number;
  readonly volatility: number;
  readonly tracking_error: number;
}

/** A point with the portfolio that it is of. */
export interface FrontierPortfolio extends FrontierPoint {
  /** [N] */
  readonly weights: Float64Array;
  /** That of the objective max_utility whose answer it is; null for the least variance, which none has. */
  readonly risk_aversion: number | null;
}

/** Largest risk aversion that a utility takes: beyond it a point is the least variance. */
const AVERSION_MAX = 1e9;

/** The efficient frontier within the rows of a problem. */
export interface Frontier {
  /** From the least variance to the largest expected return, equally spaced in expected return. */
  readonly points: readonly FrontierPortfolio[];
  /** The portfolio of largest excess return per unit of volatility; null where none has any. */
  readonly tangency: (FrontierPortfolio & { readonly sharpe: number }) | null;
  /** Where weights lie among the points: by the same expected returns and risk. */
  pointOf(weights: Float64Array): FrontierPoint;
  /** The largest expected return as it was solved for: other frontiers within the rows end there too. */
  readonly most: ProgramAnswer;
}

export interface FrontierInput {
  readonly solver: Solver;
  readonly problem: Problem;
  /** Annualised, [N]. */
  readonly means: Float64Array;
  readonly riskFreeRate: number;
  /** Names held, where rows that are not convex chose them. */
  readonly restriction?: Restriction | undefined;
  readonly points?: number;
}

/** The largest expected return less half the variance times an aversion. */
function ofUtility(base: Program, means: Float64Array, aversion: number): Program {
  if (aversion === 0) return ofLargestReturn(base, means);
  return { ...base, centre: new Float64Array(base.n), curvature: aversion, linear: means.map((mean) => -mean) };
}

/** Where weights lie, by expected returns and the covariance of a problem. */
export function pointAt(
  { metric, index }: Pick<Problem, 'metric' | 'index'>,
  means: Float64Array,
  weights: Float64Array,
): FrontierPoint {
  const active = weights.map((weight, i) => weight - index[i]!);
  return {
    expected_return: dot(means, weights),
    volatility: Math.sqrt(Math.max(0, metricSquare(metric, weights))),
    tracking_error: Math.sqrt(Math.max(0, metricSquare(metric, active))),
  };
}

/** Solves with more and more planes below tails. */
const PLANES_MAX = 400;

/**
 * Risk aversions on the way to the largest expected return, which has none: the planes near it are found by solves of a
 * millisecond, those of the largest return itself take twenty to a hundred. Drawdowns need few planes.
 */
const APPROACH: Readonly<Record<TailMeasure, readonly number[]>> = { loss: [3, 1, 0.3, 0], drawdown: [0] };

/** What is found within rows, and the portfolios that have to keep them. */
interface Found<T> {
  readonly found: T;
  readonly weights: readonly Float64Array[];
}

/** A search whose rows may limit tails. */
type TailSearch = Pick<FrontierInput, 'problem' | 'restriction'>;

/**
 * What is found with the planes that are known below tails, and again with those that its portfolios add, until they keep
 * the limits. Null where nothing is found, or the planes are too many.
 */
function untilHeld<T>({ problem, restriction }: TailSearch, solve: (program: Program) => Found<T> | null): T | null {
  const assembly = { withTracking: true, restriction };
  for (let round = 0; round < PLANES_MAX; round++) {
    const solved = solve(assembleProgram(problem, assembly).program);
    if (solved === null) return null;
    if (solved.weights.flatMap((each) => cutsAt(problem, assembly, each)).length === 0) return solved.found;
  }
  return null;
}

/** A frontier whose rows may limit tails. */
export interface TailFrontier<T> extends Pick<FrontierInput, 'solver' | 'problem' | 'means' | 'restriction'> {
  /** The largest expected return within the rows, where another frontier found it: then its planes are known. */
  readonly most?: ProgramAnswer | undefined;
  /** Null where there is nothing. */
  readonly trace: (program: Program) => Found<T> | null;
}

/**
 * What is traced within tails. The largest expected return is approached by itself before: it needs most planes, and a
 * trace is many solves.
 */
export function withinTails<T>({ solver, means, most, trace, ...search }: TailFrontier<T>): T | null {
  let before: Optimum | undefined;
  for (const { row } of most === undefined ? search.problem.rows : []) {
    for (const aversion of row.form === 'tail' ? APPROACH[row.goal.measure] : [])
      untilHeld(search, (base) => {
        const program = ofUtility(base, means, aversion);
        const follow = before === undefined || aversion === 0 ? undefined : startAt(program, before);
        const answer = solver.solve(program, { follow, pivots: PIVOTS });
        if (answer.status !== 'solved') return null;
        before = aversion === 0 ? before : { program, answer };
        return { found: answer.point, weights: [withoutDust(answer.point.x)] };
      });
  }
  return untilHeld(search, trace);
}

/** The frontier, null when the rows have no portfolio of least variance. @cost about 30 warm solves */
export function frontierOf(input: FrontierInput): Frontier | null {
  const { solver, problem, means, points: count } = input;
  const pointOf = (weights: Float64Array) => pointAt(problem, means, weights);
  const portfolioOf = ({ x, slope }: Solved): FrontierPortfolio => {
    const weights = withoutDust(x);
    return { ...pointOf(weights), weights, risk_aversion: aversionAt(slope) };
  };
  let before: Trace | undefined;
  const found = withinTails({
    ...input,
    trace(base) {
      const traced = tracedFrontier(solver, base, means, { points: count, before });
      if (traced === null) return null;
      before = traced.trace;
      const points = traced.solved.map(portfolioOf);
      return { found: { base, traced, points }, weights: points.map(({ weights }) => weights) };
    },
  });
  if (found === null) return null;
  const { base, points } = found;
  const limitsTails = problem.rows.some(({ row }) => row.form === 'tail');
  const traced = limitsTails ? { ...found.traced, at: targetsWithinTails(input, found.traced.trace) } : found.traced;
  const tangency = tangentPoint({ base, traced, points, portfolioOf, riskFreeRate: input.riskFreeRate });
  return { points, tangency, pointOf, most: traced.trace.most };
}

/** Solves for one expected return after the other, each until its portfolio keeps the limits of tails. */
function targetsWithinTails(input: FrontierInput, found: Trace): (target: number) => Solved | undefined {
  const { solver, means } = input;
  let before = found;
  return (target) =>
    untilHeld(input, (base) => {
      const traced = tracedFrontier(solver, base, means, { points: 0, before });
      const solved = traced?.at(target);
      if (traced === null || solved === undefined) return null;
      before = { ...traced.trace, known: [...traced.trace.known, ...before.known] };
      return { found: solved, weights: [withoutDust(solved.x)] };
    }) ?? undefined;
}

/** Risk aversion a where the gradient of expected return less a/2 times the variance is none along the frontier. */
function aversionAt(slope: number | null): number | null {
  const aversion = slope === null ? Infinity : 2 / Math.abs(slope);
  return aversion <= AVERSION_MAX ? aversion : null;
}

interface TangencyInput {
  readonly base: Program;
  readonly traced: TracedFrontier;
  readonly points: readonly FrontierPortfolio[];
  readonly portfolioOf: (solved: Solved) => FrontierPortfolio;
  readonly riskFreeRate: number;
}

/** Sharpe ratio rises and falls along the frontier: the largest is between the points beside the best. */
function tangentPoint(input: TangencyInput): Frontier['tangency'] {
  const { traced, points, portfolioOf, riskFreeRate } = input;
  const sharpeOf = ({ expected_return, volatility }: FrontierPoint) =>
    volatility > 0 ? (expected_return - riskFreeRate) / volatility : 0;
  const best = points.reduce((leader, point, k) => (sharpeOf(point) > sharpeOf(points[leader]!) ? k : leader), 0);
  if (!(sharpeOf(points[best]!) > 0)) return null;
  let found = points[best]!;
  const probe = (target: number): Borne | undefined => {
    const answer = traced.at(target);
    if (answer === undefined) return undefined;
    const point = portfolioOf(answer);
    if (sharpeOf(point) > sharpeOf(found)) found = point;
    return borneBy(target, point, answer.slope);
  };
  const [before, after] = [Math.max(best - 1, 0), Math.min(best + 1, points.length - 1)];
  const sides = sidesOf(input, best);
  if (sides !== undefined) tangentBetween({ ...sides, riskFreeRate, probe });
  else if (!isRisingAtEnd(input, best)) {
    const placeOf = (k: number): Place => ({ at: traced.targets[k]!, value: sharpeOf(points[k]!) });
    const valueOf = (place: Borne | undefined) =>
      place === undefined ? Number.NEGATIVE_INFINITY : (place.at - riskFreeRate) / Math.sqrt(place.variance);
    largestBetween((target) => valueOf(probe(target)), {
      low: placeOf(before),
      best: placeOf(best),
      high: placeOf(after),
    });
  }
  return { ...found, sharpe: sharpeOf(found) };
}

function borneBy(at: number, { volatility }: FrontierPoint, slope: number | null): Borne {
  return { at, variance: volatility ** 2, slope: slope === null ? Number.NaN : Math.abs(slope) };
}

/** The points between which the Sharpe ratio turns, where multipliers tell on which side of it a point is. */
function sidesOf(
  { base, traced: { targets, solved }, points, riskFreeRate }: TangencyInput,
  best: number,
): Pick<TangentInput, 'low' | 'high'> | undefined {
  if (!isVarianceAlone(base)) return undefined;
  const at = (k: number) => borneBy(targets[k]!, points[k]!, k === 0 ? 0 : solved[k]!.slope);
  const isRising = riseOf(at(best), riskFreeRate) > 0;
  const [low, high] = isRising ? [best, best + 1] : [best - 1, best];
  if (low < 0 || high >= points.length) return undefined;
  return riseOf(at(low), riskFreeRate) > 0 && riseOf(at(high), riskFreeRate) < 0
    ? { low: at(low), high: at(high) }
    : undefined;
}

/** Whether a point is the last, and the Sharpe ratio still rises there: then none is larger. */
function isRisingAtEnd({ base, traced, points, riskFreeRate }: TangencyInput, k: number): boolean {
  const slope = traced.solved[k]!.slope;
  if (k !== points.length - 1 || slope === null || !isVarianceAlone(base)) return false;
  return riseOf(borneBy(traced.targets[k]!, points[k]!, slope), riskFreeRate) >= 0;
}

/** Whether nothing is charged beside the variance: then the multiplier of the return is what the variance rises by. */
function isVarianceAlone({ rows, kinks }: Program): boolean {
  return (
    !rows.penalty.some(Number.isFinite) && kinks.every(({ limit, penalty }) => limit !== null && penalty === Infinity)
  );
}
