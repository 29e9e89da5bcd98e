import { raiseToPower } from '../power.js';
import { IDLE, UPPER } from './program/active-state.js';
import type { PathStart } from './path/follow-path.js';
import { addMetrics, type Metric, multiplyMetric } from './program/metric.js';
import { isHard, measureInfeasibility, type ProgramResult } from './program/optimality.js';
import { computeMeanSquare, computeNormLength, type Norm, type Program } from './program/program.js';

/**
 * Maximum number of price evaluations in the search for the price at which a norm equals its radius; four to eight are
 * usual.
 */
const PRICES_MAX = 60;

/**
 * Relative distance to the radius at which the search ends. Newton's method on the norm itself then finds the solution.
 */
const NEWTON_DISTANCE = 1e-7;

/**
 * Relative distance to the radius at which the search ends if Newton's method has failed. It fails near the least
 * possible radius, which has no finite price.
 */
const RADIUS_DISTANCE_MIN = 1e-10;

/** Maximum excess of a norm over its radius that counts as zero, relative to 1 + radius. */
const EXCESS_MAX = 1e-12;

/**
 * Maximum ratio of two prices. Beyond it, the solution at one price is no useful start for the other, because many
 * states change.
 */
const PRICE_RATIO_MAX = 2;

/** Factor on a price that is too low. */
const PRICE_GROWTH = 4;

/** Maximum number of active-set iterations near a known solution, and at the end of the search. */
const NEARBY_STATES_MAX = 5;
const FINAL_STATES_MAX = 10;

export interface NormSolvers {
  readonly solve: (program: Program, follow: PathStart | undefined) => ProgramResult;
  /** Returns the optimum near a solution whose norms are close to their radii; undefined if it is not found. */
  readonly finish: (
    program: Program,
    near: Pick<ProgramResult, 'point' | 'state'>,
    iterationsMax?: number,
  ) => ProgramResult | undefined;
}

/**
 * Solves a program with binding norms by replacing one norm after the other by a price on it. The program with a price
 * has one norm less, and paths connect its solutions at successive prices. The length of the norm decreases as the
 * price rises.
 * @returns  Undefined if this does not lead to an optimum; `infeasible` if a price proves that the norm cannot be
 *           within its radius.
 * @cost     Four to eight programs with one norm less.
 * @source   More & Sorensen (1983), Computing a trust region step, SIAM J. Sci. Stat. Comput. 4(3): the reciprocal of
 *   the length is nearly linear in the price.
 */
export function solveWithNorms(
  program: Program,
  follow: PathStart | undefined,
  { solve, finish }: NormSolvers,
): ProgramResult | undefined {
  const hintedNorm = follow?.state.norms.indexOf(UPPER) ?? -1;
  // If few states change, Newton's method on the norms themselves suffices, without a search.
  const nearbyResult = hintedNorm < 0 ? undefined : finish(program, follow!, NEARBY_STATES_MAX);
  if (nearbyResult !== undefined) return nearbyResult;
  let q = hintedNorm;
  let start = follow;
  if (q < 0) {
    const plainProgram = { ...program, norms: [] };
    const freeResult = solve(
      plainProgram,
      follow === undefined
        ? undefined
        : { ...follow, program: { ...follow.program, norms: [] }, state: { ...follow.state, norms: new Int8Array(0) } },
    );
    if (freeResult.status !== 'solved') return undefined;
    q = findMostExceeded(program, freeResult.point.x);
    if (q < 0) return finish(program, addNorms(freeResult, program));
    start = undefined;
  }
  const norm = program.norms[q]!;
  if (!(norm.radius > 0)) return undefined;
  const first = hintedNorm < 0 ? 0 : follow!.point.normMultipliers[q]!;
  let last = start === undefined ? undefined : createPricedStart(start, q, first);
  let lastPrice = first;
  const solveAtPrice = (price: number): PricedSolution | undefined => {
    const pricedProgram = addPrice(program, q, price);
    const isFar = !(price < PRICE_RATIO_MAX * lastPrice && lastPrice < PRICE_RATIO_MAX * price);
    const result = solve(pricedProgram, isFar ? undefined : last);
    if (result.status === 'failed') return undefined;
    last = { program: pricedProgram, point: result.point, state: result.state };
    lastPrice = price;
    const excess = 1 - norm.radius / computeNormLength(program, norm, result.point.x);
    const isProven =
      result.status === 'infeasible' || (excess > EXCESS_MAX && isTooShort(program, q, { price, answer: result }));
    return { price, answer: isProven ? { ...result, status: 'infeasible' } : result, excess };
  };
  const close = findRoot(solveAtPrice, first > 0 ? first : computePriceScale(program, norm), NEWTON_DISTANCE);
  if (close === undefined) return undefined;
  if (close.answer.status === 'infeasible') return addNorm(close.answer, { program, q, price: close.price });
  const finishedResult = finish(program, addNorm(close.answer, { program, q, price: close.price }), FINAL_STATES_MAX);
  if (finishedResult !== undefined) return finishedResult;
  const closestSolution = findRoot(solveAtPrice, close.price, RADIUS_DISTANCE_MIN);
  if (closestSolution === undefined) return undefined;
  return finish(program, addNorm(closestSolution.answer, { program, q, price: closestSolution.price }), 0);
}

/**
 * Returns true if the solution at a price proves that the norm cannot be within its radius. No point that satisfies the
 * other constraints then has such a norm.
 */
function isTooShort(program: Program, q: number, priced: Pick<PricedSolution, 'price' | 'answer'>): boolean {
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = addNorm(priced.answer, {
    program,
    q,
    price: priced.price,
  }).point;
  const kinks = kinkMultipliers.map((value, k) => (isHard(program.kinks[k]!) ? value : 0));
  const size = priced.price * computeNormLength(program, program.norms[q]!, x) ** 2;
  return (
    measureInfeasibility(program, { rows: rowMultipliers, kinks, norms: normMultipliers, around: x }) >
    EXCESS_MAX * size
  );
}

interface PricedSolution {
  readonly price: number;
  /** Solution at the price; `infeasible` if it proves that no price suffices. */
  readonly answer: ProgramResult;
  /** 1 - radius / length: positive if the price is too low. */
  readonly excess: number;
}

/**
 * Finds the price at which the length equals the radius, by the secant method within a bracket. Ends early at price 0
 * if the norm does not bind, and at a price that proves infeasibility.
 */
function findRoot(
  solveAtPrice: (price: number) => PricedSolution | undefined,
  guess: number,
  close: number,
): PricedSolution | undefined {
  let low: PricedSolution | undefined;
  let high: PricedSolution | undefined;
  let price = guess;
  for (let k = 0; k < PRICES_MAX; k++) {
    const trialSolution = solveAtPrice(price);
    if (trialSolution === undefined || Number.isNaN(trialSolution.excess)) return undefined;
    const isEnd = trialSolution.answer.status === 'infeasible' || (price === 0 && trialSolution.excess <= 0);
    if (isEnd || Math.abs(trialSolution.excess) <= close) return trialSolution;
    const previousLow = low;
    if (trialSolution.excess > 0) low = trialSolution;
    else high = trialSolution;
    if (high === undefined) price = raisePrice(trialSolution, previousLow);
    else if (low === undefined) price = price > guess / raiseToPower(PRICE_GROWTH, 3) ? price / PRICE_GROWTH : 0;
    else {
      const secant = low.price + ((high.price - low.price) * low.excess) / (low.excess - high.excess);
      const isInside = secant > low.price && secant < high.price;
      price = isInside && k % 6 !== 5 ? secant : (low.price + high.price) / 2;
      if (price === low.price || price === high.price) return trialSolution;
    }
  }
  return undefined;
}

/**
 * Returns the next price after two prices that are too low. Near the least length, the excess decreases with the square
 * of the price. The price of a radius slightly above the least length may therefore be far away.
 */
function raisePrice({ price, excess }: PricedSolution, before: PricedSolution | undefined): number {
  const next = PRICE_GROWTH * price;
  if (before === undefined || before.price === 0) return next;
  const slope = (before.excess - excess) / (raiseToPower(before.price, -2) - raiseToPower(price, -2));
  const last = excess - slope * raiseToPower(price, -2);
  if (!(last < 0 && slope > 0)) return next;
  return Math.min(Math.max(Math.sqrt(slope / -last), next), PRICE_GROWTH_MAX * price);
}

/** Maximum growth of a price in one step. */
const PRICE_GROWTH_MAX = 1e3;

/** Returns the norm with the largest violation relative to its radius; -1 if all are satisfied. */
function findMostExceeded(program: Program, x: Float64Array): number {
  let worstNorm = -1;
  let largestExcess = 0;
  program.norms.forEach((norm, q) => {
    const length = computeNormLength(program, norm, x);
    if (length - norm.radius <= EXCESS_MAX * (1 + norm.radius)) return;
    const excess = length / norm.radius;
    if (excess > largestExcess) {
      largestExcess = excess;
      worstNorm = q;
    }
  });
  return worstNorm;
}

/**
 * Returns a price of the order of magnitude of the objective's curvature. For a linear objective, returns the price at
 * which the norm would reach its radius without other constraints.
 */
export function computePriceScale(program: Program, norm: Norm): number {
  const { metric, curvature, ridge, linear, n } = program;
  const { metric: kind, radius } = norm;
  if (metric === null || curvature === 0) {
    const linearLength = Math.sqrt(linear.reduce((sum, value) => sum + value * value, 0));
    return linearLength > 0 || ridge === 0 ? Math.max(linearLength / radius, Number.MIN_VALUE) : ridge;
  }
  if (kind === 'metric') return curvature;
  if (kind !== 'identity')
    return (curvature * computeMeanSquare(program, { ...norm, metric: 'metric' })) / computeMeanSquare(program, norm);
  const equalWeights = new Float64Array(n).fill(1 / n);
  const product = new Float64Array(n);
  multiplyMetric(metric, equalWeights, product);
  return ridge + curvature * product.reduce((sum, value) => sum + value, 0);
}

/** Returns the program without a norm. Instead, price / 2 times the square of the norm is added to the objective. */
export function addPrice(program: Program, q: number, price: number): Program {
  const { centre, metric: kind } = program.norms[q]!;
  const norms = program.norms.filter((_, other) => other !== q);
  if (kind === 'identity') {
    return {
      ...program,
      norms,
      ridge: program.ridge + price,
      linear: program.linear.map((value, i) => value + price * (program.centre[i]! - centre[i]!)),
    };
  }
  if (kind !== 'metric') return addPricedMetric({ ...program, norms }, program.norms[q]!, kind, price);
  // Identity: c (x - a) + p (x - b) = (c + p) (x - m); the ridge remains centred at a.
  const curvature = program.curvature + price;
  if (curvature === 0) return { ...program, norms };
  const middle = program.centre.map((value, i) => (program.curvature * value + price * centre[i]!) / curvature);
  return {
    ...program,
    norms,
    curvature,
    centre: middle,
    linear: program.linear.map((value, i) => value + program.ridge * (middle[i]! - program.centre[i]!)),
  };
}

/**
 * Returns the program with a price on a norm that has a separate metric. The metrics are added, and the other norms are
 * unchanged.
 */
function addPricedMetric(program: Program, { centre }: Norm, ownMetric: Metric, price: number): Program {
  const { metric, curvature } = program;
  if (price === 0) return program;
  const isCurved = metric !== null && curvature !== 0;
  const sum = addMetrics([...(isCurved ? [{ metric, weight: curvature }] : []), { metric: ownMetric, weight: price }]);
  const force = new Float64Array(program.n);
  multiplyMetric(
    ownMetric,
    program.centre.map((value, i) => value - centre[i]!),
    force,
  );
  return {
    ...program,
    metric: sum,
    curvature: 1,
    linear: program.linear.map((value, i) => value + price * force[i]!),
    norms: program.norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric: metric! } : norm)), // The metric exists because the norm refers to it.
  };
}

function createPricedStart({ program, point, state }: PathStart, q: number, price: number): PathStart {
  return {
    program: addPrice(program, q, price),
    point: { ...point, normMultipliers: point.normMultipliers.filter((_, other) => other !== q) },
    state: { ...state, norms: state.norms.filter((_, other) => other !== q) },
  };
}

/** Converts the solution of a program without norms to one with norms that do not bind. */
function addNorms(answer: ProgramResult, { norms }: Program): ProgramResult {
  return {
    ...answer,
    point: { ...answer.point, normMultipliers: new Float64Array(norms.length) },
    state: { ...answer.state, norms: new Int8Array(norms.length) },
  };
}

/** Converts the solution of a priced program to one with the norm. */
function addNorm(
  { point, state, ...answer }: ProgramResult,
  { program, q, price }: { readonly program: Program; readonly q: number; readonly price: number },
): ProgramResult {
  const multipliers = program.norms.map((_, other) =>
    other === q ? price : point.normMultipliers[other < q ? other : other - 1]!,
  );
  const norms = program.norms.map((_, other) =>
    other === q ? (price > 0 ? UPPER : IDLE) : state.norms[other < q ? other : other - 1]!,
  );
  return {
    ...answer,
    point: { ...point, normMultipliers: Float64Array.from(multipliers) },
    state: { ...state, norms: Int8Array.from(norms) },
  };
}
