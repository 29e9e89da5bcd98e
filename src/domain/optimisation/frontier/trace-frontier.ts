import { computeDotProduct } from '../../numbers/dot.js';
import { EQUAL, IDLE } from '#kernels/optimisation/active-set/active-state.js';
import type { PathStart } from '#kernels/optimisation/path/follow-path.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramResult } from '#kernels/optimisation/program-answer.js';
import { computeCornerSlope } from '#kernels/optimisation/simplex/corner-slope.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';

/** Number of frontier points in results. */
const POINT_COUNT = 21;

/** Weights with the least variance at an expected return. */
export interface FrontierWeights {
  readonly x: Float64Array;
  /**
   * Multiplier of the expected return: minus the increase of the variance per unit of expected return. Null for the
   * least variance, and if the weights do not come from a solve.
   */
  readonly slope: number | null;
}

/** Portfolios of least variance at successive expected returns, with a function for further ones. */
export interface TracedFrontier {
  readonly targets: readonly number[];
  readonly solved: readonly FrontierWeights[];
  readonly at: (target: number) => FrontierWeights | undefined;
  /** Results so far, including those of later calls of `at`. */
  readonly trace: Trace;
}

/** Results of a trace, from which the trace of the program with additional rows can start. */
export interface Trace {
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
  readonly before?: Trace | undefined;
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

export function createReturnProgram(base: Program, means: Float64Array): Program {
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

/** Optimum with its program. */
export interface Optimum {
  readonly program: Program;
  readonly answer: ProgramResult;
}

/**
 * Returns the start of the path to a program from the optimum of a program with fewer rows, and possibly another
 * objective. If the additional rows (upper bounds at the end) are wide enough, this optimum is an optimum of the
 * program too.
 */
export function createPathStart(program: Program, { program: before, answer }: Optimum): PathStart {
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
export const PIVOTS = 6;

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

/** Adds an equality row to the program. */
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
