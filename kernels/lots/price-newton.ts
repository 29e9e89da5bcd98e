import { computeFactorExposures } from './account-program.js';
import { HARD_PENALTY } from './interior-state.js';
import { createPriceSystem } from './price-system.js';
import type { StartingSolution, Relaxation, RelaxationSolution, SolutionOptions } from './relaxation.js';
import { createResponses } from './security-responses.js';

/** Maximum number of steps; 8 to 15 are usual. */
const STEPS_MAX = 40;
/**
 * Barrier parameter (product of multiplier and slack of a row). The three values apply at a start far from a solution,
 * at a start near a solution, and at the end.
 */
const BARRIER_FAR = 1e-5;
const BARRIER_NEAR = 1e-8;
const BARRIER_MIN = 1e-15;
/** Factor on the barrier parameter after a step of more than half its length. */
const CENTRING_FAR = 0.1;
const CENTRING_NEAR = 0.02;
/**
 * Maximum residual of exposures and rows of a solution. The loose residual is the one below which the caller may end
 * the iterations.
 */
const RESIDUAL_MAX = 1e-11;
const LOOSE_RESIDUAL = 1e-6;
/**
 * Steps below this length count as short. The method has stalled after `SHORT_STEPS_MAX` consecutive short steps with a
 * small barrier parameter.
 */
const SHORT_STEP = 0.3;
const SHORT_STEPS_MAX = 3;
/**
 * Maximum number of trial lengths per step. The threshold for accepting a length is the slope at the end of the step
 * relative to the slope at its beginning.
 */
const TRIES_MAX = 6;
const OVERSHOOT_MAX = 0.1;
/** Fraction of the distance to the nearest bound of a multiplier that a step may take. */
const STEP_SHARE = 0.995;
/** Smallest initial multiplier for a start near a solution. */
const PRICE_MIN = 1e-7;

/**
 * Solves the convex form of an account by Newton steps in its prices: the exposures at which the common variance is
 * linearised, the multipliers of the rows, and the multipliers of the tax pieces. At given prices the optimal trades of
 * each security have a closed form, so the number of unknowns is factors plus rows, whatever the number of lots. Only
 * the rows have a barrier.
 *
 * @returns an answer with status `stalled` if the steps make no progress; undefined for a form with a variance limit or
 *   without risk aversion
 * @cost per step: 2 n k, and k^2 / 2 for each security that begins or stops trading in part
 * @source Qi & Sun (1993), A nonsmooth version of Newton's method; Nocedal & Wright (2006), Numerical Optimization, 2nd
 * ed., sections 12.9 and 19.6
 */
export function solveByPrices(
  relaxation: Relaxation,
  { near = null, isEnough = () => false }: SolutionOptions = {},
): RelaxationSolution | undefined {
  const { aversion, varianceLimit } = relaxation.program;
  if (Number.isFinite(varianceLimit) || !(aversion > 0)) return undefined;
  const state = createState(relaxation, near);
  let mu = near === null ? BARRIER_FAR : BARRIER_NEAR;
  const factor = near === null ? CENTRING_FAR : CENTRING_NEAR;
  let isAsked = false;
  let shortStepCount = 0;
  let step = 0;
  for (; step < STEPS_MAX && shortStepCount < SHORT_STEPS_MAX; step++) {
    const largestResidual = state.worst();
    if (largestResidual < RESIDUAL_MAX && mu <= BARRIER_MIN) return state.answer('solved', step);
    if (!isAsked && largestResidual < LOOSE_RESIDUAL && mu <= BARRIER_NEAR) {
      isAsked = true;
      if (isEnough(state.partial())) return state.answer('solved', step);
    }
    const length = state.advance(mu);
    shortStepCount = length < SHORT_STEP && mu <= BARRIER_NEAR ? shortStepCount + 1 : 0;
    if (length > 0.5) mu = Math.max(BARRIER_MIN, mu * factor);
  }
  return state.answer('stalled', step);
}

function createState(relaxation: Relaxation, near: StartingSolution | null) {
  const { program, trades, rows } = relaxation;
  const { n, k, loadings, target, aversion, taxWeight } = program;
  const m = rows.length;
  const order = k + m;
  const responses = createResponses(program, trades);
  const system = createPriceSystem(relaxation, responses);
  const { weights, sums } = responses;
  const penalties = Float64Array.from(rows, ({ tax, penalty }) =>
    tax === 1 ? Infinity : Math.min(penalty, HARD_PENALTY),
  );
  /** Prices: 2 aversion times the exposures, then the multipliers of the rows. */
  const prices = createStartingPrices(relaxation, penalties, near);
  const y = prices.subarray(k);
  const previousPrices = new Float64Array(order);
  const [gradient, step, border] = [new Float64Array(order), new Float64Array(order), new Float64Array(order)];
  const [slope, active] = [new Float64Array(n), new Float64Array(n)];
  const exposures = new Float64Array(k);
  const [values, slack] = [new Float64Array(m), new Float64Array(m)];
  /** Value of the tax: the mean of its pieces, weighted by their multipliers. */
  let taxValue = 0;

  /** Computes trades, exposures and rows at the prices. */
  function evaluate(): void {
    const sumPrices = { short: 0, long: 0, cost: 1 };
    slope.fill(0);
    for (let j = 0; j < m; j++) {
      const row = rows[j]!;
      sumPrices.short += y[j]! * row.short;
      sumPrices.long += y[j]! * row.long;
      sumPrices.cost += y[j]! * row.cost;
      if (row.weights !== null) for (let i = 0; i < n; i++) slope[i]! += y[j]! * row.weights[i]!;
    }
    for (let i = 0; i < n; i++) {
      let total = slope[i]!;
      for (let f = 0; f < k; f++) total += loadings[i * k + f]! * prices[f]!;
      slope[i] = total;
    }
    responses.respond(slope, sumPrices);
    for (let i = 0; i < n; i++) active[i] = weights[i]! - target[i]!;
    computeFactorExposures(program, active, exposures);
    taxValue = 0;
    for (let j = 0; j < m; j++) {
      const row = rows[j]!;
      let value = row.constant + row.short * sums.short + row.long * sums.long + row.cost * sums.cost;
      if (row.weights !== null) for (let i = 0; i < n; i++) value += row.weights[i]! * weights[i]!;
      values[j] = value;
      taxValue += (row.tax * y[j]! * value) / taxWeight;
    }
  }

  /** Computes the gradient of the dual with its barrier. @returns the product of the gradient with the step */
  function computeGradient(mu: number): number {
    for (let f = 0; f < k; f++) gradient[f] = exposures[f]! - prices[f]! / (2 * aversion);
    for (let j = 0; j < m; j++) gradient[k + j] = values[j]! + mu / y[j]! - mu / (penalties[j]! - y[j]!);
    let total = 0;
    for (let f = 0; f < order; f++) total += gradient[f]! * step[f]!;
    return total;
  }

  /** Computes the Newton direction; the sum of the multipliers of the tax pieces stays constant. */
  function computeDirection(mu: number): boolean {
    for (let j = 0; j < m; j++) {
      const rowResidual = rows[j]!.tax * taxValue - values[j]!;
      const multiplierSlack = penalties[j]! - y[j]!;
      slack[j] =
        Math.max(rowResidual, mu / y[j]!) / y[j]! +
        (multiplierSlack < Infinity ? Math.max(-rowResidual, mu / multiplierSlack) / multiplierSlack : 0);
    }
    if (!system.factor(slack)) return false;
    computeGradient(mu);
    step.set(gradient);
    border.fill(0);
    for (let j = 0; j < m; j++) border[k + j] = rows[j]!.tax;
    system.solve(step);
    system.solve(border);
    let [dot, curvature] = [0, 0];
    for (let j = 0; j < m; j++) {
      dot += rows[j]!.tax * step[k + j]!;
      curvature += rows[j]!.tax * border[k + j]!;
    }
    for (let f = 0; f < order; f++) step[f]! -= (border[f]! * dot) / curvature;
    return true;
  }

  evaluate();
  return {
    worst: () => findLargestResidual(relaxation, { exposures, prices, values, penalties, t: taxValue }),
    /**
     * Performs one step. The dual is concave. A length is therefore accepted if the slope at its end has at most a
     * small opposite sign. @returns the length
     */
    advance(mu: number): number {
      if (!computeDirection(mu)) return 0;
      let length = findLongestStep(step.subarray(k), y, penalties);
      previousPrices.set(prices);
      const first = computeGradient(mu);
      for (let tries = 0; ; tries++) {
        for (let f = 0; f < order; f++) prices[f] = previousPrices[f]! + length * step[f]!;
        evaluate();
        const last = computeGradient(mu);
        if (last >= -OVERSHOOT_MAX * first || tries === TRIES_MAX) return length;
        length *= Math.min(0.9, Math.max(0.1, first / (first - last)));
      }
    },
    partial: () => ({ traded: responses.traded, weights, multipliers: getMultipliers() }),
    answer(status: RelaxationSolution['status'], steps: number): RelaxationSolution {
      const violations = values.map((value, j) => Math.max(0, value - rows[j]!.tax * taxValue));
      return { status, traded: responses.traded, weights, multipliers: getMultipliers(), violations, steps };
    },
  };

  function getMultipliers() {
    return { exposures: prices.slice(0, k).map((price) => price / (2 * aversion)), variance: 0, rows: y };
  }
}

/**
 * Returns the largest residual of the exposures and of the rows. The residual of a row is multiplied by the distance of
 * its multiplier from the other bound.
 */
function findLargestResidual(
  { program: { k, aversion }, rows }: Relaxation,
  {
    exposures,
    prices,
    values,
    penalties,
    t,
  }: {
    readonly exposures: Float64Array;
    readonly prices: Float64Array;
    readonly values: Float64Array;
    readonly penalties: Float64Array;
    readonly t: number;
  },
): number {
  let largest = 0;
  for (let f = 0; f < k; f++) largest = Math.max(largest, Math.abs(exposures[f]! - prices[f]! / (2 * aversion)));
  for (let j = 0; j < rows.length; j++) {
    const violation = values[j]! - rows[j]!.tax * t;
    const price = prices[k + j]!;
    largest = Math.max(
      largest,
      violation > 0 ? violation * Math.min(1, penalties[j]! - price) : -violation * Math.min(1, price),
    );
  }
  return largest;
}

/** Returns the longest step that keeps the multipliers within their bounds. */
function findLongestStep(step: Float64Array, y: Float64Array, penalties: Float64Array): number {
  let length = 1;
  for (let j = 0; j < y.length; j++) {
    const priceStep = step[j]!;
    const reachMax = STEP_SHARE * (priceStep < 0 ? y[j]! : penalties[j]! - y[j]!);
    if (Math.abs(priceStep) * length > reachMax) length = reachMax / Math.abs(priceStep);
  }
  return length;
}

function createStartingPrices(
  { program, rows, side }: Relaxation,
  penalties: Float64Array,
  near: StartingSolution | null,
): Float64Array {
  const { k, aversion, heldWeights, target, taxWeight } = program;
  const exposures =
    near?.multipliers.exposures ??
    computeFactorExposures(
      program,
      heldWeights.map((weight, i) => weight - target[i]!),
      new Float64Array(k),
    );
  const earlierMultipliers = near?.multipliers.rows;
  const y = rows.map(({ tax }, j) =>
    earlierMultipliers === undefined
      ? tax === 1
        ? taxWeight / side.pieces.length
        : Math.min(1e-3, penalties[j]! / 2)
      : Math.min(Math.max(earlierMultipliers[j]!, PRICE_MIN), Math.max(penalties[j]! - PRICE_MIN, penalties[j]! / 2)),
  );
  let taxPriceSum = 0;
  rows.forEach(({ tax }, j) => void (taxPriceSum += tax * y[j]!));
  const scaledPrices = y.map((price, j) => (rows[j]!.tax === 1 ? (price * taxWeight) / taxPriceSum : price));
  return Float64Array.from([...Array.from(exposures, (x) => 2 * aversion * x), ...scaledPrices]);
}
