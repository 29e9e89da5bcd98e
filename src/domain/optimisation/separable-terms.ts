import { type ActiveState, IDLE, UPPER } from '#kernels/optimisation/program/active-state.js';
import { addDiagonal, computeMetricDiagonal, createFactorMetric } from '#kernels/optimisation/program/metric.js';
import {
  checkKkt,
  computeLagrangianSlopes,
  isOptimal,
  type KktReport,
  type ProgramResult,
} from '#kernels/optimisation/program/optimality.js';
import { computeNormLength, type Norm, type Point, type Program } from '#kernels/optimisation/program/program.js';
import { addPrice, computePriceScale } from '#kernels/optimisation/solve-norms.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { raiseToPower } from '#kernels/power.js';
import type { TradeCosts } from '../definition/objectives.js';
import { applyMetric, computeGradient, computePrices } from './problem.js';

/** Sum of smooth convex functions of single weights, with value and quadratic model. */
export interface SeparableFunction {
  valueAt(x: Float64Array): number;
  /** Adds the first and second derivatives at x to the model. */
  addModel(x: Float64Array, model: SeparableModel): void;
  /**
   * Returns a point near x for the next model. Each weight is at its optimum while the other weights are fixed.
   * Default: x.
   */
  settle?(x: Float64Array, rest: RemainingDerivatives): Float64Array;
  /** Returns the smallest weights that a step from x may reach, [N]. Absent if the function is defined everywhere. */
  leastFrom?(x: Float64Array): Float64Array;
}

/** Derivatives of the remaining objective at a point, by weight. */
export interface RemainingDerivatives {
  /**
   * First derivatives, including the forces of rows, [N]: `left` for a decrease, `right` for an increase. They differ
   * at a kink.
   */
  readonly left: Float64Array;
  readonly right: Float64Array;
  /** Second derivatives, [N]. */
  readonly stiffness: Float64Array;
}

export interface SeparableModel {
  /** [N] */
  readonly slope: Float64Array;
  /** [N] */
  readonly curvature: Float64Array;
}

/** Smallest trade size at which the curvature is evaluated, because it is infinite at zero. */
const TRADE_MIN = 1e-14;

/**
 * Creates the market impact cost: scale times coefficient times |w - reference|^1.5.
 * @param least trade size. Smaller trades have the curvature of this size. Settled steps do not depend on it.
 */
export function createImpactTerm(
  { impact, reference }: TradeCosts,
  scale: number,
  least = TRADE_MIN,
): SeparableFunction {
  const coefficient = scale * impact;
  return {
    valueAt: (x) =>
      x.reduce((sum, value, i) => sum + coefficient * raiseToPower(Math.abs(value - reference[i]!), 1.5), 0),
    addModel(x, { slope, curvature }) {
      for (let i = 0; i < x.length; i++) {
        const trade = x[i]! - reference[i]!;
        slope[i]! += 1.5 * coefficient * Math.sign(trade) * Math.sqrt(Math.abs(trade));
        curvature[i]! += (0.75 * coefficient) / Math.sqrt(Math.max(Math.abs(trade), least));
      }
    },
    settle: (x, { left, right, stiffness }) =>
      x.map((value, i) => {
        const trade = value - reference[i]!;
        const costSlope = 1.5 * coefficient * Math.sign(trade) * Math.sqrt(Math.abs(trade));
        const slope = left[i]! + costSlope > 0 ? left[i]! : right[i]! + costSlope < 0 ? right[i]! : null;
        if (slope === null) return value;
        return reference[i]! + solveSingleTrade(stiffness[i]! * trade - slope, stiffness[i]!, 1.5 * coefficient);
      }),
  };
}

/** Returns the trade d that solves: stiffness times d plus steepness times the root of |d| equals the pull. */
function solveSingleTrade(pull: number, stiffness: number, steepness: number): number {
  const size = Math.abs(pull);
  const root = (2 * size) / (steepness + Math.sqrt(steepness * steepness + 4 * stiffness * size));
  return Math.sign(pull) * root * root;
}

/** Minimum fraction of a weight that remains after one step. */
const REMAINING_MIN = 0.1;

/** Creates the barrier - sum of shares_i log x_i over the securities with a share. */
export function createBarrierTerm(shares: Float64Array): SeparableFunction {
  return {
    valueAt: (x) =>
      x.reduce((sum, value, i) => (shares[i] === 0 ? sum : sum - shares[i]! * Math.log(Math.max(value, 0))), 0),
    addModel(x, { slope, curvature }) {
      for (let i = 0; i < x.length; i++) {
        if (shares[i] === 0) continue;
        slope[i]! -= shares[i]! / x[i]!;
        curvature[i]! += shares[i]! / (x[i]! * x[i]!);
      }
    },
    leastFrom: (x) => x.map((value, i) => (shares[i] === 0 ? Number.NEGATIVE_INFINITY : REMAINING_MIN * value)),
  };
}

export function addSeparableTerms(parts: readonly SeparableFunction[]): SeparableFunction {
  const [first, ...otherSeparableFunctions] = parts;
  if (first === undefined || otherSeparableFunctions.length === 0)
    return first ?? { valueAt: () => 0, addModel: () => {} };
  const boundedParts = parts.filter((part) => part.leastFrom !== undefined);
  return {
    valueAt: (x) => parts.reduce((sum, part) => sum + part.valueAt(x), 0),
    addModel(x, model) {
      for (const part of parts) part.addModel(x, model);
    },
    ...(boundedParts.length === 0 ? {} : { leastFrom: (x: Float64Array) => boundedParts[0]!.leastFrom!(x) }),
  };
}

/** Optimum of a program with an added separable function. */
export interface SeparableSolution {
  /**
   * Program in which the function is replaced by its tangent at the optimum. Its optimality conditions there are the
   * same.
   */
  readonly program: Program;
  readonly answer: ProgramResult;
}

export interface SeparableOptions {
  /** Point of the first model, inside the domain of the function; it need not be feasible. */
  readonly start: Float64Array;
  readonly warm?: ActiveState | undefined;
  readonly effort?: 'quick' | 'thorough';
}

/** Maximum number of quadratic models in one solve; six to ten are usual. */
const MODELS_MAX = 60;

/** Residual of the optimality conditions below which the solution cannot be improved. */
const EXACT_RESIDUAL = 1e-13;

/** Maximum number of halvings of a step that does not lower the objective. */
const HALVINGS_MAX = 40;

/** Relative change of the objective that counts as rounding: rows are satisfied to 1e-10. */
const ROUNDING = 1e-10;

/** Fraction of the way to the edge of the domain that a step may take. */
const DOMAIN_FRACTION = 0.9;

/**
 * Minimises a program's objective plus a smooth separable function within its rows. Solves successive quadratic models
 * of the function; the optimum of each model is the next point. Once a point is feasible, every step lowers the
 * objective.
 * @returns undefined if a model has no solution or the steps do not converge.
 * @cost a program without the function if that gives the start, then one warm-started program for each model.
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 18.1.
 */
export function solveSeparable(
  solver: Solver,
  base: Program,
  smooth: SeparableFunction,
  options: SeparableOptions,
): SeparableSolution | undefined {
  const { norms, metric, curvature } = base;
  if (norms.length === 0) return solveModels(solver, base, smooth, options);
  const isFlat = metric === null || curvature === 0;
  const [first, second] = isFlat ? [solveByNormPrice, solveModels] : [solveModels, solveByNormPrice];
  return first(solver, base, smooth, options) ?? second(solver, base, smooth, options);
}

function solveModels(
  solver: Solver,
  base: Program,
  smooth: SeparableFunction,
  { start, warm, effort }: SeparableOptions,
): SeparableSolution | undefined {
  const options = effort === undefined ? {} : { effort };
  const computeMerit = (x: Float64Array) => computeObjective(base, x) + smooth.valueAt(x);
  const plainResult = smooth.settle === undefined ? undefined : solver.solve(base, { warm, ...options });
  const isSolved = plainResult?.status === 'solved';
  let x = isSolved ? plainResult.point.x : start;
  let modelCentre = isSolved ? settlePoint(plainResult, base, smooth.settle!) : start; // present, because `isSolved` requires it
  let state = isSolved ? plainResult.state : warm;
  let isFeasible = isSolved;
  let iterations = plainResult?.iterations ?? 0;
  let best: SeparableSolution | undefined;
  for (let k = 0; k < MODELS_MAX; k++) {
    let result = solver.solve(createModelProgram(base, smooth, { x, around: modelCentre, isBounded: true }), {
      warm: state,
      ...options,
    });
    iterations += result.iterations;
    if (result.status !== 'solved' && smooth.leastFrom !== undefined) {
      result = solver.solve(createModelProgram(base, smooth, { x, around: modelCentre, isBounded: false }), {
        warm: state,
        ...options,
      });
      iterations += result.iterations;
    }
    if (result.status !== 'solved') break;
    const from: Float64Array = x;
    const stepLength = computeStepLength(from, result.point.x, smooth);
    const length: number =
      isFeasible && stepLength === 1 ? findDecreasingStep(from, result.point.x, computeMerit) : stepLength;
    state = result.state;
    x = length === 1 ? result.point.x : from.map((value, i) => value + length * (result.point.x[i]! - value));
    isFeasible ||= length === 1;
    const checkedSolution = checkSolution(base, smooth, { ...result.point, x }, result, iterations);
    modelCentre = smooth.settle === undefined ? x : settlePoint(checkedSolution.answer, base, smooth.settle);
    if (length < 1) continue;
    const isBetter =
      best === undefined || computeResidual(checkedSolution.answer.kkt) < computeResidual(best.answer.kkt) / 2;
    if (isBetter || computeResidual(checkedSolution.answer.kkt) < computeResidual(best!.answer.kkt))
      best = checkedSolution;
    if (computeResidual(best!.answer.kkt) <= EXACT_RESIDUAL || (best!.answer.status === 'solved' && !isBetter)) break;
  }
  return best?.answer.status === 'solved' ? best : undefined;
}

/** Maximum number of prices that are tried for a norm; eight to fifteen are usual. */
const PRICES_MAX = 60;

/**
 * Relative distance of a norm from its radius that counts as zero, and the distance below which the search stops if
 * prices no longer improve it.
 */
const NORM_TOLERANCE = 1e-11;
const NEAR_TOLERANCE = 1e-9;

/** Number of prices without improvement after which the rest is rounding. */
const IDLE_PRICES_MAX = 4;

/**
 * Minimises the objective with the first norm as a penalty term instead of a row. The price of the term is the one at
 * which the norm equals its radius. This is more stable if only the separable function is curved.
 */
function solveByNormPrice(
  solver: Solver,
  base: Program,
  smooth: SeparableFunction,
  options: SeparableOptions,
): SeparableSolution | undefined {
  const norm = base.norms[0]!; // only programs with norms reach this function
  const programWithoutNorm = { ...base, norms: base.norms.slice(1) };
  const loose =
    programWithoutNorm.norms.length === 0
      ? undefined
      : solveSeparable(solver, programWithoutNorm, smooth, { ...options, warm: undefined });
  if (loose !== undefined && computeNormLength(base, norm, loose.answer.point.x) <= norm.radius)
    return setFirstNorm(base, smooth, { found: loose, price: 0, iterations: loose.answer.iterations });
  let price = computePriceScale(base, norm);
  let { start } = options;
  let warm: ActiveState | undefined;
  let iterations = 0;
  let best: (PricedSolution & { readonly excess: number }) | undefined;
  let idleCount = 0;
  const bracket = createBracket();
  for (let k = 0; k < PRICES_MAX; k++) {
    const result = solveSeparable(solver, addPrice(base, 0, price), smooth, { ...options, start, warm });
    if (result === undefined) break;
    start = result.answer.point.x;
    warm = result.answer.state;
    iterations += result.answer.iterations;
    const excess = computeNormLength(base, norm, start) / norm.radius - 1;
    idleCount++;
    if (best === undefined || Math.abs(excess) < Math.abs(best.excess)) {
      best = { found: result, price, iterations, excess };
      idleCount = 0;
    }
    if (Math.abs(excess) <= NORM_TOLERANCE || (Math.abs(best.excess) <= NEAR_TOLERANCE && idleCount > IDLE_PRICES_MAX))
      break;
    const next = bracket.next(price, excess);
    if (next === undefined) break;
    price = next;
  }
  return best === undefined || Math.abs(best.excess) > NEAR_TOLERANCE
    ? undefined
    : setFirstNorm(base, smooth, { ...best, iterations });
}

/** Growth factor of a price that is too low. */
const GROWTH = 4;

/** Creates a bracket of prices: the norm is too long at the lower price, too short at the higher one. */
function createBracket(): { next(price: number, excess: number): number | undefined } {
  let low = { price: 0, excess: Number.POSITIVE_INFINITY };
  let high = { price: Number.POSITIVE_INFINITY, excess: Number.NEGATIVE_INFINITY };
  let last = 0;
  return {
    /**
     * Returns the next price by the secant method. The excess at an end that stays is halved, so that both ends move
     * (Illinois method).
     */
    next(price, excess) {
      const side = Math.sign(excess);
      if (side > 0) low = { price, excess };
      else high = { price, excess };
      if (side === last && side > 0) high = { ...high, excess: high.excess / 2 };
      if (side === last && side < 0) low = { ...low, excess: low.excess / 2 };
      last = side;
      let nextPrice: number;
      if (high.price === Number.POSITIVE_INFINITY) nextPrice = GROWTH * price;
      else if (low.price === 0) nextPrice = price / GROWTH;
      else nextPrice = low.price + ((high.price - low.price) * low.excess) / (low.excess - high.excess);
      const isInside = nextPrice > low.price && nextPrice < high.price && nextPrice > Number.MIN_VALUE;
      return isInside && Number.isFinite(nextPrice) ? nextPrice : undefined;
    },
  };
}

interface PricedSolution {
  readonly found: SeparableSolution;
  readonly price: number;
  readonly iterations: number;
}

function setFirstNorm(
  base: Program,
  smooth: SeparableFunction,
  { found, price, iterations }: PricedSolution,
): SeparableSolution | undefined {
  const { point, state } = found.answer;
  const newPoint = { ...point, normMultipliers: Float64Array.of(price, ...point.normMultipliers) };
  const stateWithNorm = { ...state, norms: Int8Array.of(price > 0 ? UPPER : IDLE, ...state.norms) };
  const checkedSolution = checkSolution(base, smooth, newPoint, { ...found.answer, state: stateWithNorm }, iterations);
  return checkedSolution.answer.status === 'solved' ? checkedSolution : undefined;
}

/** Distance from a kink that counts as rounding, relative to 1 + the kink's magnitude. */
const KINK_TOLERANCE = 1e-12;

/**
 * Returns the point for the next model. Each weight is at its optimum under the forces of the last solution, within its
 * bounds, and on the side of a kink towards which it moves.
 */
function settlePoint(
  { point }: Pick<ProgramResult, 'point'>,
  base: Program,
  settle: NonNullable<SeparableFunction['settle']>,
): Float64Array {
  const { metric, curvature, ridge, kinks, n } = base;
  const { x, kinkMultipliers } = point;
  const smooth = computeLagrangianSlopes({ ...base, kinks: [] }, { ...point, kinkMultipliers: new Float64Array(0) });
  const [left, right] = [smooth.left, smooth.left.slice()];
  const [lower, upper] = [base.lower.slice(), base.upper.slice()];
  kinks.forEach(({ at, left: below, right: above }, k) => {
    const price = kinkMultipliers[k]!;
    for (let i = 0; i < n; i++) {
      if (price === 0 || below[i] === above[i]) continue;
      const isAtKink = Math.abs(x[i]! - at[i]!) <= KINK_TOLERANCE * (1 + Math.abs(at[i]!));
      const isAbove = x[i]! > at[i]!;
      left[i]! += price * (isAtKink || !isAbove ? below[i]! : above[i]!);
      right[i]! += price * (isAtKink || isAbove ? above[i]! : below[i]!);
      if (isAtKink) continue;
      if (isAbove) lower[i] = Math.max(lower[i]!, at[i]!);
      else upper[i] = Math.min(upper[i]!, at[i]!);
    }
  });
  const variances = metric === null || curvature === 0 ? undefined : computeMetricDiagonal(metric);
  const stiffness = Float64Array.from({ length: n }, (_, i) => curvature * (variances?.[i] ?? 0) + ridge);
  return settle(x, { left, right, stiffness }).map((value, i) => Math.min(Math.max(value, lower[i]!), upper[i]!));
}

interface ModelPoint {
  /** Centre of the program's quadratic objective, [N]. */
  readonly x: Float64Array;
  /** Point at which the function's derivatives are evaluated, [N]. */
  readonly around: Float64Array;
  readonly isBounded: boolean;
}

function createModelProgram(base: Program, smooth: SeparableFunction, { x, around, isBounded }: ModelPoint): Program {
  const { n, metric, curvature } = base;
  const model = { slope: new Float64Array(n), curvature: new Float64Array(n) };
  smooth.addModel(around, model);
  const curvatures = model.curvature;
  const isCurved = metric !== null && curvature > 0;
  const least = isBounded ? smooth.leastFrom?.(x) : undefined;
  return {
    ...base,
    metric: isCurved
      ? addDiagonal(
          metric,
          curvatures.map((value) => value / curvature),
        )
      : createFactorMetric(new Float64Array(0), curvatures),
    curvature: isCurved ? curvature : 1,
    centre: x,
    linear: computeGradient(base, x).map((value, i) => value + model.slope[i]! + curvatures[i]! * (x[i]! - around[i]!)),
    lower: least === undefined ? base.lower : base.lower.map((bound, i) => Math.max(bound, least[i]!)),
    norms: base.norms.map((norm): Norm => (norm.metric === 'metric' ? { ...norm, metric: metric! } : norm)), // a program with such a norm has a metric
  };
}

function computeObjective(program: Program, x: Float64Array): number {
  const { n, metric, curvature, ridge, centre, linear } = program;
  const offset = x.map((value, i) => value - centre[i]!);
  const force = metric === null || curvature === 0 ? undefined : applyMetric(metric, offset);
  let total = 0;
  for (let i = 0; i < n; i++)
    total += linear[i]! * x[i]! + (offset[i]! / 2) * (curvature * (force?.[i] ?? 0) + ridge * offset[i]!);
  return total + computePrices(program, x);
}

/** Returns the step length: 1, or less if the whole step would leave the domain. */
function computeStepLength(x: Float64Array, to: Float64Array, { leastFrom }: SeparableFunction): number {
  const least = leastFrom?.(x);
  if (least === undefined) return 1;
  let length = 1;
  for (let i = 0; i < x.length; i++)
    if (least[i]! > Number.NEGATIVE_INFINITY && to[i]! <= 0)
      length = Math.min(length, (DOMAIN_FRACTION * x[i]!) / (x[i]! - to[i]!));
  return length;
}

/**
 * Returns the longest of successively halved steps that lowers the objective. Returns 1 if none does, because the rest
 * is rounding.
 */
function findDecreasingStep(x: Float64Array, to: Float64Array, merit: (x: Float64Array) => number): number {
  const before = merit(x);
  const acceptedMerit = before + ROUNDING * Math.abs(before);
  for (let length = 1, k = 0; k < HALVINGS_MAX; length /= 2, k++) {
    if (merit(x.map((value, i) => value + length * (to[i]! - value))) <= acceptedMerit) return length;
  }
  return 1;
}

/** Checks a point against the optimality conditions of the program with the function's tangent at that point. */
function checkSolution(
  base: Program,
  smooth: SeparableFunction,
  point: Point,
  { state, route }: ProgramResult,
  iterations: number,
): SeparableSolution {
  const slope = Float64Array.from(base.linear);
  smooth.addModel(point.x, { slope, curvature: new Float64Array(base.n) });
  const program = { ...base, linear: slope };
  const kkt = checkKkt(program, point);
  return { program, answer: { status: isOptimal(kkt) ? 'solved' : 'failed', point, state, kkt, iterations, route } };
}

function computeResidual({ primal, stationarity, multipliers }: KktReport): number {
  return Math.max(primal, stationarity, multipliers);
}
