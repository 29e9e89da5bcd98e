import type { PathStart } from '#kernels/optimisation/path/follow-path.js';
import { EQUAL, IDLE } from '#kernels/optimisation/program/active-state.js';
import { computeMetricSquare, createDenseMetric, type Metric } from '#kernels/optimisation/program/metric.js';
import type { ProgramResult } from '#kernels/optimisation/program/optimality.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import { computeCornerSlope } from '#kernels/optimisation/simplex.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { computeDotProduct } from '../base/numbers.js';
import { computeOutcomes, computeTailAverage, type TailGoal, type TailMeasure } from '../definition/tail-risk.js';
import { assembleProgram, createTangentPlanes, type Restriction } from './assembly.js';
import { clearRoundingWeights } from './convex-solve.js';
import { listNonConvexRows, type Problem } from './problem.js';
import { shrinkGram } from '#kernels/moments/rolling-gram.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { createReturnDraws, type DrawAlgebra } from '../analytics/simulation.js';
import type { Finding } from '../base/findings.js';
import { TRACKING_OBJECTIVE } from '../definition/objectives.js';
import type { FrontierRisk } from '../definition/optimisation-requests.js';
import { createRestriction, markHoldings, markShort } from './restriction.js';
import type { Solution } from './search.js';
import { solveTailGoal } from './tail-averages.js';
import { meterSolver } from './work-meter.js';

/** Argument and value of a function. */
interface MaximumPoint {
  readonly at: number;
  readonly value: number;
}

export interface MaximumBracket {
  readonly low: MaximumPoint;
  /** Best point so far, between the ends or at one of them. */
  readonly best: MaximumPoint;
  readonly high: MaximumPoint;
}

/** Smaller fraction of a golden section. The search continues in the larger part. */
const GOLDEN_SECTION = (3 - Math.sqrt(5)) / 2;

/** Distance of two points that counts as rounding, relative to 1 + the magnitude of the point. */
const POINT_TOLERANCE = 1e-9;

/** Maximum number of evaluations; six to ten are usual. */
const STEPS_MAX = 40;

/**
 * Searches for the maximum of a function that first rises and then falls. The caller records the best point in
 * `valueOf`. The next point is the vertex of the parabola through the three best points, or a golden section if that
 * fails.
 * @param valueOf returns the value at a point; -Infinity if there is none
 * @source Brent (1973), Algorithms for Minimization without Derivatives, chapter 5.
 */
function findMaximum(valueOf: (point: number) => number, { low, best, high }: MaximumBracket): void {
  let [from, to] = [low.at, high.at];
  let first = best;
  let [second, third] = low.value > high.value ? [low, high] : [high, low];
  let [step, before] = [to - from, to - from];
  for (let k = 0; k < STEPS_MAX; k++) {
    const middle = (from + to) / 2;
    const close = POINT_TOLERANCE * (1 + Math.abs(first.at));
    if (Math.abs(first.at - middle) <= 2 * close - (to - from) / 2) return;
    const top = findVertex(first, second, third);
    const isUseful = top > from && top < to && Math.abs(top - first.at) < Math.abs(before) / 2;
    before = isUseful ? step : first.at < middle ? to - first.at : from - first.at;
    step = isUseful ? top - first.at : GOLDEN_SECTION * before;
    if (isUseful && (top - from < 2 * close || to - top < 2 * close)) step = Math.sign(middle - first.at) * close;
    const position = first.at + (Math.abs(step) >= close ? step : Math.sign(step) * close);
    const trialPoint = { at: position, value: valueOf(position) };
    if (trialPoint.value >= first.value) {
      if (position >= first.at) from = first.at;
      else to = first.at;
      [first, second, third] = [trialPoint, first, second];
    } else {
      if (position < first.at) from = position;
      else to = position;
      if (trialPoint.value >= second.value) [second, third] = [trialPoint, second];
      else if (trialPoint.value >= third.value) third = trialPoint;
    }
  }
}

/** Returns the vertex of the parabola through three points. Returns NaN if they are on a line. */
function findVertex(a: MaximumPoint, b: MaximumPoint, c: MaximumPoint): number {
  const left = (a.at - b.at) * (a.value - c.value);
  const right = (a.at - c.at) * (a.value - b.value);
  const bend = right - left;
  return bend === 0 ? Number.NaN : a.at - ((a.at - c.at) * right - (a.at - b.at) * left) / (2 * bend);
}

/** Least variance at an expected return, with its slope with respect to expected return. */
interface VariancePoint {
  readonly at: number;
  readonly variance: number;
  readonly slope: number;
}

interface TangentSearchInput {
  readonly low: VariancePoint;
  readonly high: VariancePoint;
  readonly riskFreeRate: number;
  /**
   * Returns the frontier point at an expected return. Returns undefined if the point is unknown; the search then ends.
   */
  readonly probe: (rate: number) => VariancePoint | undefined;
}

/** Relative gain of the Sharpe ratio below which the search ends. */
const GAIN_MIN = 1e-12;

/** Maximum number of evaluated frontier points; three to eight are usual. */
const PROBES_MAX = 40;

/** Returns a positive value if the Sharpe ratio rises with expected return, a negative value if it falls. */
function computeSharpeSlope({ at, variance, slope }: VariancePoint, riskFreeRate: number): number {
  return 2 * variance - (at - riskFreeRate) * slope;
}

/**
 * Searches for the largest Sharpe ratio between two expected returns. The caller records the best point in `probe`. The
 * ratio must rise at the lower one and fall at the higher one. Alternates between two estimates. The first is the zero
 * of the slope on a line through the ends; it is exact while the active set is unchanged. The second is the
 * intersection of the tangents of the variance; it is exact at a kink.
 */
function findTangentPortfolio({ low, high, riskFreeRate, probe }: TangentSearchInput): void {
  const computeRise = (place: VariancePoint) => computeSharpeSlope(place, riskFreeRate);
  const computeGain = (place: VariancePoint) =>
    ((right.at - leftVariancePoint.at) * Math.abs(computeRise(place))) /
    (2 * place.variance * (place.at - riskFreeRate));
  let [leftVariancePoint, right] = [low, high];
  for (let k = 0; k < PROBES_MAX && Math.min(computeGain(leftVariancePoint), computeGain(right)) > GAIN_MIN; k++) {
    const position =
      k % 2 === 0
        ? interpolateZero(leftVariancePoint, computeRise(leftVariancePoint), right, computeRise(right))
        : intersectTangents(leftVariancePoint, right);
    if (!(position > leftVariancePoint.at && position < right.at)) return;
    const result = probe(position);
    if (result === undefined) return;
    if (computeRise(result) > 0) leftVariancePoint = result;
    else right = result;
  }
}

function interpolateZero(leftVariancePoint: VariancePoint, above: number, right: VariancePoint, below: number): number {
  return leftVariancePoint.at + ((right.at - leftVariancePoint.at) * above) / (above - below);
}

function intersectTangents(leftVariancePoint: VariancePoint, right: VariancePoint): number {
  const distance = right.at - leftVariancePoint.at;
  return (
    leftVariancePoint.at +
    (right.slope * distance - (right.variance - leftVariancePoint.variance)) / (right.slope - leftVariancePoint.slope)
  );
}

const POINT_COUNT = 21;

/** Weights with the least variance at an expected return. */
interface FrontierWeights {
  readonly x: Float64Array;
  /**
   * Multiplier of the expected return: minus the increase of the variance per unit of expected return. Null for the
   * least variance, and if the weights do not come from a solve.
   */
  readonly slope: number | null;
}

/** Portfolios of least variance at successive expected returns, with a function for further ones. */
interface TracedFrontier {
  readonly targets: readonly number[];
  readonly solved: readonly FrontierWeights[];
  readonly at: (target: number) => FrontierWeights | undefined;
  /** Results so far, including those of later calls of `at`. */
  readonly trace: FrontierTrace;
}

/** Results of a trace, from which the trace of the program with additional rows can start. */
export interface FrontierTrace {
  readonly least: Optimum;
  /** Solution with the largest expected return. */
  readonly most: ProgramResult;
  readonly known: readonly TracedPoint[];
}

export interface TraceOptions {
  /** Number of points; 0 if only `at` is needed. Default: `POINT_COUNT`. */
  readonly points?: number | undefined;
  /** Reference weights of the variance, [N]. Default: zero. */
  readonly centre?: Float64Array | undefined;
  /** Trace of the program with fewer rows, from which this trace continues. */
  readonly before?: FrontierTrace | undefined;
  /** Solution with the largest expected return for all rows, or for the first of them, if another trace found it. */
  readonly most?: ProgramResult | undefined;
  /** Optimum near the portfolio of least variance; its program may have fewer rows. */
  readonly near?: Optimum | undefined;
}

/**
 * Traces the portfolios of least variance of a program, from the overall minimum to the largest expected return,
 * equally spaced in expected return. Returns null if there is none.
 * @param base program with the rows and the metric of the variance.
 * @param means [N]
 * @cost as many warm solves as points; fewer if an earlier trace had them
 */
export function traceFrontier(
  solver: Solver,
  base: Program,
  means: Float64Array,
  { points: count = POINT_COUNT, centre = new Float64Array(base.n), before, most: mostKnown, near }: TraceOptions = {},
): TracedFrontier | null {
  const variance = createVarianceProgram(base, centre);
  const from = before?.least ?? near;
  const follow = from && from.program.rows.count <= base.rows.count ? createPathStart(variance, from) : undefined;
  const first = reuseSolution(base, before?.least.answer) ?? solver.solve(variance, { follow, pivots: PIVOTS });
  const last = findLargestReturn(solver, base, means, before?.most ?? mostKnown);
  if (first.status !== 'solved' || last.status !== 'solved') return null;
  const [least, most] = [first.point.x, last.point.x];
  const low = computeDotProduct(means, least);
  const high = Math.max(computeDotProduct(means, most), low);
  const programWithTarget = addRow(variance, means);
  const tracedPoints: TracedPoint[] = [convertToTarget(programWithTarget, low, first)];
  const trace = { least: { program: variance, answer: first }, most: last, known: tracedPoints };
  const traceTarget = createTracer(solver, programWithTarget, tracedPoints, before?.known ?? []);
  const targets = Array.from({ length: count }, (_, k) => low + ((high - low) * k) / (count - 1));
  const end = count > 0 && last.route === 'simplex' ? findUniqueCorner(variance, last, means) : undefined;
  const frontierWeights = targets.map((target, k) => {
    if (k === 0) return { x: least, slope: null };
    const corner = k === count - 1 ? end : undefined;
    return corner ?? traceTarget(target) ?? { x: mixWeights(least, most, k / (count - 1)), slope: null };
  });
  return { targets, solved: frontierWeights, at: traceTarget, trace };
}

/**
 * Returns the solution with the largest expected return if it is a unique corner. It is not solved again, because the
 * path to it would be degenerate.
 */
function findUniqueCorner(variance: Program, most: ProgramResult, means: Float64Array): FrontierWeights | undefined {
  const rise = computeCornerSlope(variance, most, means);
  return rise === undefined ? undefined : { x: most.point.x, slope: -rise };
}

/**
 * Returns the solution with the largest expected return. Reuses the solution of a program with fewer rows if it
 * satisfies the additional rows.
 */
export function findLargestReturn(
  solver: Solver,
  base: Program,
  means: Float64Array,
  programResult?: ProgramResult,
): ProgramResult {
  return reuseSolution(base, programResult) ?? solver.solve(createReturnProgram(base, means));
}

function createVarianceProgram(base: Program, centre: Float64Array): Program {
  return { ...base, centre, curvature: 2, linear: new Float64Array(base.n) };
}

function createReturnProgram(base: Program, means: Float64Array): Program {
  return { ...base, curvature: 0, ridge: 0, linear: means.map((mean) => -mean) };
}

/** Accepted violation of a row's bound, relative to 1 + |bound|. */
const ROW_TOLERANCE = 1e-10;

/**
 * Returns the solution of a program with fewer rows if it satisfies the additional rows (upper bounds at the end).
 * Otherwise returns undefined.
 */
function reuseSolution({ n, rows }: Program, answer: ProgramResult | undefined): ProgramResult | undefined {
  if (answer === undefined) return undefined;
  const { x, rowMultipliers } = answer.point;
  if (!satisfiesAddedRows({ n, rows }, rowMultipliers.length, x)) return undefined;
  return { ...answer, ...addIdleRows(answer, rows.count) };
}

/** Extends point and state of an optimum by additional rows that exert no force. */
function addIdleRows(
  { point, state }: Pick<ProgramResult, 'point' | 'state'>,
  count: number,
): Pick<ProgramResult, 'point' | 'state'> {
  return {
    point: { ...point, rowMultipliers: extendValues(point.rowMultipliers, count) },
    state: { ...state, rows: Int8Array.from({ length: count }, (_, r) => state.rows[r] ?? IDLE) },
  };
}

interface Optimum {
  readonly program: Program;
  readonly answer: ProgramResult;
}

/**
 * Returns the start of the path to a program from the optimum of a program with fewer rows, and possibly another
 * objective. If the additional rows (upper bounds at the end) are wide enough, this optimum is an optimum of the
 * program too.
 */
function createPathStart(program: Program, { program: before, answer }: Optimum): PathStart {
  const { n, rows } = program;
  const { curvature, ridge, linear, centre } = before;
  const upper = widenUpperBounds({ n, rows }, before.rows.count, answer.point.x);
  return {
    program: { ...program, curvature, ridge, linear, centre, rows: { ...rows, upper } },
    ...addIdleRows(answer, rows.count),
  };
}

/**
 * Returns upper bounds of rows, widened where weights exceed them. Each is widened by a different fraction of the
 * largest excess. If rows became active simultaneously, the path would be degenerate.
 * @param from first row that may be exceeded
 */
function widenUpperBounds({ n, rows }: Pick<Program, 'n' | 'rows'>, from: number, x: Float64Array, to = rows.count) {
  const values = Float64Array.from({ length: to - from }, (_, k) => computeRowValue(rows, from + k, n, x));
  const excess = values.reduce((most, value, k) => Math.max(most, value - rows.upper[from + k]!), 0);
  const upper = rows.upper.slice();
  for (const [k, value] of values.entries())
    if (value > upper[from + k]!) upper[from + k] = value + (excess * (k + 1)) / values.length;
  return upper;
}

function satisfiesAddedRows(
  { n, rows }: Pick<Program, 'n' | 'rows'>,
  from: number,
  x: Float64Array,
  to = rows.count,
): boolean {
  for (let r = from; r < to; r++)
    if (computeRowValue(rows, r, n, x) > rows.upper[r]! + ROW_TOLERANCE * (1 + Math.abs(rows.upper[r]!))) return false;
  return true;
}

function computeRowValue({ coefficients }: Program['rows'], r: number, n: number, x: Float64Array): number {
  let value = 0;
  for (let i = 0; i < n; i++) value += coefficients[r * n + i]! * x[i]!;
  return value;
}

function extendValues(values: Float64Array, length: number): Float64Array {
  const extendedValues = new Float64Array(length);
  extendedValues.set(values);
  return extendedValues;
}

/** Optimum of least variance at an expected return, with its program. */
export interface TracedPoint {
  readonly target: number;
  readonly program: Program;
  readonly answer: Pick<ProgramResult, 'point' | 'state'>;
}

/**
 * Converts the portfolio of least variance to the solution for its own expected return. The row for that return exerts
 * no force.
 */
function convertToTarget(program: Program, target: number, { point, state }: ProgramResult): TracedPoint {
  const rows = new Int8Array(program.rows.count).fill(EQUAL);
  rows.set(state.rows);
  return {
    target,
    program: { ...program, rows: setTarget(program.rows, target) },
    answer: { point: { ...point, rowMultipliers: appendValue(point.rowMultipliers, 0) }, state: { ...state, rows } },
  };
}

/** Maximum number of block pivoting steps from one optimum to the next; two to four are usual. */
const PIVOTS = 6;

/**
 * Number of successive expected returns at which block pivoting may fail. After that, paths are followed from the
 * start.
 */
const FAILED_PIVOTS_MAX = 2;

/**
 * Creates a solver for successive expected returns. If a result with fewer rows satisfies the additional rows, it is
 * reused. Other solves start from the nearest known optimum.
 */
function createTracer(
  solver: Solver,
  program: Program,
  tracedPoints: TracedPoint[],
  earlier: readonly TracedPoint[],
): (target: number) => FrontierWeights | undefined {
  const findNearest = (among: readonly TracedPoint[], target: number): TracedPoint | undefined =>
    among.reduce<TracedPoint | undefined>(
      (best, tracedPoint) =>
        best === undefined || Math.abs(tracedPoint.target - target) < Math.abs(best.target - target)
          ? tracedPoint
          : best,
      undefined,
    );
  let lostValue = 0;
  return (target) => {
    const nearestPoint = findNearest(earlier, target);
    const before = nearestPoint === undefined ? undefined : resumePath(program, nearestPoint);
    if (before !== undefined && before.target === target && before.isKept) return reuseResult(before.traced);
    const startPoint = findNearest(tracedPoints, target)!; // the list begins with the portfolio of least variance
    const isNearer = before !== undefined && Math.abs(before.target - target) <= Math.abs(startPoint.target - target);
    const start = isNearer ? before.traced : startPoint;
    const targetProgram = { ...program, rows: setTarget(program.rows, target) };
    const answer = solver.solve(targetProgram, {
      warm: start.answer.state,
      follow: { program: start.program, ...start.answer },
      pivots: lostValue < FAILED_PIVOTS_MAX ? PIVOTS : 0,
    });
    lostValue = answer.iterations <= PIVOTS ? 0 : lostValue + 1;
    return answer.status === 'solved' ? reuseResult({ target, program: targetProgram, answer }) : undefined;
  };

  function reuseResult(traced: TracedPoint): FrontierWeights {
    tracedPoints.push(traced);
    return { x: traced.answer.point.x, slope: traced.answer.point.rowMultipliers.at(-1) ?? null };
  }
}

interface ResumedPoint {
  readonly target: number;
  readonly traced: TracedPoint;
  /** True if the weights satisfy the additional rows. They are then the solution with all rows. */
  readonly isKept: boolean;
}

/**
 * Converts an optimum of a program with fewer rows, the last of which fixes the expected return. The result is an
 * optimum with the additional rows, made wide enough.
 */
function resumePath(
  program: Program,
  { target, program: { rows: before }, answer: { point, state } }: TracedPoint,
): ResumedPoint {
  const { n, rows } = program;
  const last = before.count - 1;
  const targetRows = setTarget(rows, target);
  const upper = widenUpperBounds({ n, rows: targetRows }, last, point.x, rows.count - 1);
  const rowMultipliers = new Float64Array(rows.count);
  rowMultipliers.set(point.rowMultipliers.subarray(0, last));
  rowMultipliers[rows.count - 1] = point.rowMultipliers[last]!;
  const states = new Int8Array(rows.count).fill(IDLE);
  states.set(state.rows.subarray(0, last));
  states[rows.count - 1] = EQUAL;
  return {
    target,
    isKept: satisfiesAddedRows(program, last, point.x, rows.count - 1),
    traced: {
      target,
      program: { ...program, rows: { ...targetRows, upper } },
      answer: { point: { ...point, rowMultipliers }, state: { ...state, rows: states } },
    },
  };
}

/**
 * Mixes two portfolios where the solver failed. The mixture is feasible at its expected return, but may not have the
 * least variance.
 */
export function mixWeights(from: Float64Array, to: Float64Array, share: number): Float64Array {
  return from.map((weight, i) => weight + share * (to[i]! - weight));
}

export function addRow(program: Program, coefficients: Float64Array): Program {
  const { rows, n } = program;
  const all = new Float64Array((rows.count + 1) * n);
  all.set(rows.coefficients);
  all.set(coefficients, rows.count * n);
  return {
    ...program,
    rows: {
      count: rows.count + 1,
      coefficients: all,
      lower: appendValue(rows.lower, 0),
      upper: appendValue(rows.upper, 0),
      penalty: appendValue(rows.penalty, Infinity),
    },
  };
}

function setTarget(rows: Program['rows'], target: number): Program['rows'] {
  const setLast = (values: Float64Array) => {
    const next = values.slice();
    next[next.length - 1] = target;
    return next;
  };
  return { ...rows, lower: setLast(rows.lower), upper: setLast(rows.upper) };
}

function appendValue(values: Float64Array, value: number): Float64Array {
  const next = new Float64Array(values.length + 1);
  next.set(values);
  next[values.length] = value;
  return next;
}

export interface FrontierPoint {
  readonly expected_return: number;
  readonly volatility: number;
  readonly tracking_error: number;
}

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
  let before: FrontierTrace | undefined;
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
function listTargetsWithinTails(
  input: FrontierInput,
  trace: FrontierTrace,
): (target: number) => FrontierWeights | undefined {
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

/** Portfolio with the least risk, as the objective measures it, at an expected return. */
export interface ObjectivePortfolio extends FrontierPoint {
  readonly risk_measure: FrontierRisk;
  readonly risk: number;
  /** [N] */
  readonly weights: Float64Array;
}

/**
 * Returns the risk measure of the frontier for the objective of a problem: that of the objective, or the volatility.
 */
function findFrontierRisk({ goal, objective }: Pick<Problem, 'goal' | 'objective'>): FrontierRisk {
  if (goal.form === 'tail') return goal.measure === 'loss' ? 'cvar' : 'cdar';
  return objective.entry.type === TRACKING_OBJECTIVE.entry.type ? 'tracking_error' : 'volatility';
}

interface ObjectiveFrontierInput extends Omit<FrontierInput, 'riskFreeRate'> {
  /** Solution with the largest expected return, if the efficient frontier found it. */
  readonly most?: ProgramResult | undefined;
  readonly solution?: Pick<Solution, 'assembled' | 'answer'> | undefined;
}

/**
 * Computes portfolios with the least risk of the objective, without costs. They lead from the overall minimum to the
 * largest expected return, equally spaced in expected return. Returns null for objectives based on volatility, because
 * their frontier is the efficient frontier. Also returns null if the rows have no frontier, or if it needs too much
 * work.
 * @cost as many warm solves as points; for tails fewer points if a solve is expensive
 * @source Rockafellar & Uryasev (2000), Journal of Risk 2(3), section 4, and Chekhlov, Uryasev & Zabarankin (2005),
 * International Journal of Theoretical and Applied Finance 8(1), for frontiers of tails; Roll (1992), Journal of
 * Portfolio Management 18(4), for the frontier of the tracking error.
 */
export function computeObjectiveFrontier(input: ObjectiveFrontierInput): readonly ObjectivePortfolio[] | null {
  const { problem, means, most, solution } = input;
  const measure = findFrontierRisk(problem);
  if (measure === 'volatility') return null;
  const { goal, index } = problem;
  const solver = meterSolver(input.solver);
  const nearOptimum = solution && { program: solution.assembled.program, answer: solution.answer };
  let before: FrontierTrace | undefined;
  return traceWithinTails({
    ...input,
    solver,
    trace(program) {
      // Rows with tail limits need repeated traces.
      if (before !== undefined && solver.spent() > TRACES_WORK_MAX) return null;
      let least: readonly Float64Array[] | undefined;
      if (goal.form === 'tail') least = minimiseTails(solver, { problem, goal, base: program, means, most });
      else {
        const tracedFrontier = traceFrontier(solver, program, means, {
          centre: index,
          before,
          most,
          near: nearOptimum,
        });
        before = tracedFrontier?.trace;
        least = tracedFrontier?.solved.map(({ x }) => x);
      }
      const weights = least?.map(clearRoundingWeights);
      if (weights === undefined) return null;
      const results = weights.map((portfolioWeights): ObjectivePortfolio => {
        const point = computeFrontierPoint(problem, means, portfolioWeights);
        const risk =
          goal.form === 'tail'
            ? computeTailAverage(goal, computeOutcomes(goal, portfolioWeights))
            : point.tracking_error;
        return { ...point, risk_measure: measure, risk, weights: portfolioWeights };
      });
      return { found: results, weights };
    },
  });
}

/**
 * Maximum number of multiplications of a tail frontier, a few seconds. Work is counted, so that equal requests have
 * equal points.
 */
const WORK_MAX = 2e9;

/** Number of multiplications after which a frontier is not traced again with further planes of tail rows. */
const TRACES_WORK_MAX = 2e10;

/** Numbers of frontier points, from which the work limit selects. */
const POINT_COUNTS = [21, 11, 6] as const;

interface TailTrace extends Pick<ObjectiveFrontierInput, 'problem' | 'means' | 'most'> {
  readonly goal: TailGoal;
  readonly base: Program;
}

/**
 * Returns the portfolios with the smallest tails at successive expected returns. Returns undefined if there are none,
 * or if one takes too long.
 */
function minimiseTails(
  inner: Solver,
  { problem, goal, base, means, most: programResult }: TailTrace,
): Float64Array[] | undefined {
  const solver = meterSolver(inner);
  const goalOnly = { ...problem, costs: null, robustness: null };
  const first = solveTailGoal(solver, goalOnly, goal, base, undefined);
  const count = POINT_COUNTS.find((points) => points * solver.spent() <= WORK_MAX);
  const last = findLargestReturn(solver, base, means, programResult);
  if (first === undefined || count === undefined || last.status !== 'solved') return undefined;
  const [least, most] = [first.answer.point.x, last.point.x];
  const from = computeDotProduct(means, least);
  const to = Math.max(computeDotProduct(means, most), from);
  let { start } = first;
  return Array.from({ length: count }, (_, k) => {
    if (k === 0) return least;
    const rows = addReturnFloor(base, means, from + ((to - from) * k) / (count - 1));
    const result = solveTailGoal(solver, goalOnly, goal, rows, start);
    start = result?.start ?? start;
    return result?.answer.point.x ?? mixWeights(least, most, k / (count - 1));
  });
}

function addReturnFloor(base: Program, means: Float64Array, least: number): Program {
  const program = addRow(base, means);
  const { rows } = program;
  const last = rows.count - 1;
  return {
    ...program,
    rows: { ...rows, lower: rows.lower.with(last, least), upper: rows.upper.with(last, Infinity) },
  };
}

/**
 * Returns the restriction to the choice of a solution: held securities, and securities above triggers. Returns
 * undefined if no row restricts the choice.
 */
export function fixChoice(problem: Problem, weights: Float64Array): Restriction | undefined {
  const rows = listNonConvexRows(problem).map(({ row }) => row);
  if (rows.length === 0) return undefined;
  const large = rows.flatMap((row) =>
    row.form === 'concentration'
      ? [Uint8Array.from(weights, (weight) => (weight > row.trigger + TRIGGER_TOLERANCE ? 1 : 0))]
      : [],
  );
  return createRestriction(rows, {
    held: markHoldings(weights),
    short: markShort(weights),
    large,
    isFinal: true,
  });
}

/** Excess over a trigger above which a weight counts as exceeding it. */
const TRIGGER_TOLERANCE = 1e-10;

/** Objectives without a separate frontier, with the reason. */
const OBJECTIVES_WITHOUT_FRONTIER: Readonly<Record<string, string>> = {
  risk_parity: 'risk budgets have a single solution within the constraints, and no frontier',
  max_diversification: 'the ratio has no expected return; its solution is reported with the points as portfolio',
  max_decorrelation: 'the ratio has no expected return; its solution is reported with the points as portfolio',
};

interface FrontierAvailability {
  readonly problem: Problem;
  /** Expected returns of the frontier; null if there are none. */
  readonly means: Float64Array | null;
  readonly hasFrontier: boolean;
  readonly hasOwn: boolean;
}

/** Returns the findings on the frontiers of a result: risk measure, securities, and missing frontiers. */
export function listFrontierFindings({ problem, means, hasFrontier, hasOwn }: FrontierAvailability): Finding[] {
  const createInfo = (severity: Finding['severity'], message: string): Finding => ({
    severity,
    code: 'FRONTIER_SCOPE',
    message,
    path: '',
  });
  if (means === null)
    return [
      createInfo(
        'warning',
        'There is no frontier: the request has no expected returns, and the history of the securities is too short for mean returns. The weights do not depend on them.',
      ),
    ];
  if (!hasFrontier)
    return [
      createInfo(
        'warning',
        'There is no frontier: the solver found no minimum variance or no maximum expected return within the constraints.',
      ),
    ];
  const { type } = problem.objective.entry;
  const reasonWithoutFrontier = OBJECTIVES_WITHOUT_FRONTIER[type];
  const nonConvexTypes = [...new Set(listNonConvexRows(problem).map(({ origin }) => origin.type))];
  return [
    ...(reasonWithoutFrontier === undefined
      ? []
      : [
          createInfo(
            'info',
            `The frontier is the frontier of mean and variance, not of ${type}: ${reasonWithoutFrontier}.`,
          ),
        ]),
    ...(findFrontierRisk(problem) === 'volatility' || hasOwn
      ? []
      : [
          createInfo(
            'warning',
            `There is no frontier for the risk measure of ${type}, because it would exceed the work limit.`,
          ),
        ]),
    ...(nonConvexTypes.length === 0
      ? []
      : [
          createInfo(
            'info',
            `The frontier uses the securities of the solution, which were selected by ${nonConvexTypes.join(', ')}. Other securities can be better at other returns.`,
          ),
        ]),
  ];
}

/** Number and kind of draws for a resampled frontier. */
export interface Resampling {
  readonly draws: number;
  readonly seed: number;
  /** Number of simulated returns in each draw. */
  readonly sessions: number;
}

/** Portfolio of a resampled frontier, measured with the original estimates. */
interface ResampledPortfolio extends FrontierPoint {
  /** Mean weights over the draws, [N]. */
  readonly weights: Float64Array;
  /** Standard deviations of the weights over the draws, [N]; 0 for a single draw. */
  readonly spread: Float64Array;
}

export interface ResampledFrontier {
  readonly draws: number;
  /**
   * Portfolios by rank. The first averages the portfolios of least variance over the draws, the last those of largest
   * expected return.
   */
  readonly points: readonly ResampledPortfolio[];
}

export interface ResampledInput extends Omit<FrontierInput, 'riskFreeRate'> {
  readonly algebra: DenseAlgebra & DrawAlgebra;
  readonly resampling: Resampling;
  /** Number of sessions per year. */
  readonly periods: number;
  /** Reports progress after each draw; throws to cancel the work. */
  readonly report?: (share: number) => void;
}

/**
 * Computes the frontier of portfolios averaged over draws. Each draw is a history of normal returns with the estimated
 * moments. Means and covariance are estimated again from the draw, and a frontier is traced. Portfolios of equal rank
 * are averaged. The rows are those of the problem, measured with its covariance. If all portfolios satisfy a convex
 * row, their average does too. Each draw has a separate random stream.
 * @returns null if no draw has a frontier.
 * @cost a frontier for each draw, and T N^2 to estimate it.
 * @source Michaud (1998), Efficient Asset Management, chapter 6; Scherer (2002), Portfolio resampling: review and
 * critique, Financial Analysts Journal 58(6), for averages by rank.
 */
export function computeResampledFrontier(input: ResampledInput): ResampledFrontier | null {
  const { solver, algebra, problem, means, restriction, points: count, resampling, report, periods } = input;
  const { draws, seed, sessions } = resampling;
  const n = problem.index.length;
  const returns = createReturnDraws(algebra, {
    metric: problem.metric,
    means: means.map((mean) => mean / periods),
    periods,
  });
  let solvedDraws = 0;
  let sums: RunningMoments[] | undefined;
  for (let draw = 0; draw < draws; draw++) {
    report?.(draw / draws);
    const panel = returns.draw(createCounterRandom({ seed, stream: draw }), sessions, null);
    const moments = estimateMoments(algebra, panel, { sessions, n, periods });
    let before: FrontierTrace | undefined;
    const traceDraw = (program: Program) => {
      const drawnProgram = setCovariance(program, moments.metric);
      const tracedFrontier = traceFrontier(solver, drawnProgram, moments.means, { points: count, before });
      if (tracedFrontier === null) return null;
      before = tracedFrontier.trace;
      const results = tracedFrontier.solved.map(({ x }) => clearRoundingWeights(x));
      return { found: results, weights: results };
    };
    const drawnFrontier = traceWithinTails({ solver, problem, means: moments.means, restriction, trace: traceDraw });
    if (drawnFrontier === null) continue;
    sums ??= drawnFrontier.map(() => ({ mean: new Float64Array(n), squares: new Float64Array(n) }));
    solvedDraws++;
    for (const [rank, weights] of drawnFrontier.entries()) addPortfolio(sums[rank]!, weights, solvedDraws);
  }
  if (sums === undefined) return null;
  return {
    draws: solvedDraws,
    points: sums.map(({ mean, squares }) => ({
      ...computeFrontierPoint(problem, means, mean),
      weights: mean,
      spread: squares.map((value) => (solvedDraws > 1 ? Math.sqrt(Math.max(value, 0) / (solvedDraws - 1)) : 0)),
    })),
  };
}

/** Running mean of the weights, and sum of squared deviations from it. */
interface RunningMoments {
  readonly mean: Float64Array;
  readonly squares: Float64Array;
}

/**
 * Adds a portfolio to the running moments.
 * @source Welford (1962), Technometrics 4(3)
 */
function addPortfolio({ mean, squares }: RunningMoments, weights: Float64Array, count: number): void {
  for (let i = 0; i < weights.length; i++) {
    const before = weights[i]! - mean[i]!;
    mean[i]! += before / count;
    squares[i]! += before * (weights[i]! - mean[i]!);
  }
}

/** Returns the annual means and the covariance of a panel, estimated with the default estimator. */
function estimateMoments(
  algebra: DenseAlgebra,
  panel: Float64Array,
  { sessions, n, periods }: { readonly sessions: number; readonly n: number; readonly periods: number },
): { readonly means: Float64Array; readonly metric: Metric } {
  const products = new Float64Array(n * n);
  algebra.symmetricRankK(panel, n, products);
  const sums = new Float64Array(n);
  for (let t = 0, e = 0; t < sessions; t++) for (let i = 0; i < n; i++, e++) sums[i]! += panel[e]!;
  const matrix = new Float64Array(n * n);
  shrinkGram({ products, sums }, sessions, periods, matrix);
  return { means: sums.map((sum) => (periods * sum) / sessions), metric: createDenseMetric(matrix, n) };
}

/** Replaces the covariance in the objective of a program. Norm rows keep the original covariance. */
function setCovariance(program: Program, metric: Metric): Program {
  const { metric: ownMetric, norms } = program;
  return {
    ...program,
    metric,
    norms: norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric: ownMetric! } : norm)), // a program with such a norm has a metric
  };
}
