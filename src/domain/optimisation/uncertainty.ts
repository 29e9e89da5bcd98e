import type { ActiveState } from '#kernels/optimisation/program/active-state.js';
import { addOuterProduct, computeMetricDiagonal, type Metric } from '#kernels/optimisation/program/metric.js';
import { checkKkt, isOptimal, type ProgramResult } from '#kernels/optimisation/program/optimality.js';
import { computeNormLength, type Kink, type Norm, type Program } from '#kernels/optimisation/program/program.js';
import { addPrice } from '#kernels/optimisation/solve-norms.js';
import type { Robustness } from '../definition/objectives.js';
import { applyMetric, computeGradient } from './problem.js';

/** Solution, with the program whose optimality conditions it satisfies. */
interface ProgramSolution {
  readonly program: Program;
  readonly answer: ProgramResult;
}

/** Solves a program, including curved costs. Returns undefined without a solution. */
export type InnerSolve<F extends ProgramSolution> = (program: Program, warm: ActiveState | undefined) => F | undefined;

export interface UncertainProblem {
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
export interface SolveHints {
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
export function solveUncertain<F extends ProgramSolution>(
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
const PRICE_TOLERANCE = 1e-13;

/** Growth factor of a price that is too low. */
const GROWTH = 16;

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
    if (Math.abs(trial.excess) <= PRICE_TOLERANCE || price < ZERO_PRICE * guess) return trial;
    if (trial.excess < 0) low = trial;
    else high = trial;
    if (high === undefined) price *= GROWTH;
    else if (low === undefined) price /= GROWTH;
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
