import { factorCholesky } from '../algebra/linear-systems.js';
import { type AccountProgram, computeFactorExposures, type TaxSide } from './account-program.js';
import { computeDualBound, computeLotPrices, minimiseSecurity } from './dual-bound.js';
import { HARD_PENALTY, solveRelaxation } from './interior-point.js';
import { solveTriangles } from './newton-system.js';
import {
  BOTH_DIRECTIONS,
  type GainPrices,
  type IntermediateSolution,
  listRelaxedRows,
  type Multipliers,
  type LotRelaxation,
  type RelaxationSolution,
  type RelaxedRow,
  type RelaxedTrades,
  relaxTrades,
  type SolutionOptions,
  type StartingSolution,
} from './relaxation.js';
import { roundTrades } from './round-trades.js';
import {
  applyTrades,
  type TradeCandidate,
  computePricesAt,
  createCandidate,
  createTrades,
  findTopPrices,
  interpolateTowards,
  type SettledTrades,
  VIOLATION_MAX,
} from './trade-figures.js';

/** Prices per unit of each sum that couples the securities. */
export interface SumPrices {
  readonly short: number;
  readonly long: number;
  readonly cost: number;
}

/** Optimal trades of all securities at given prices, and their sums. */
interface SecurityResponses {
  readonly traded: Float64Array;
  readonly weights: Float64Array;
  /**
   * Index of the partial trade of each security. The amount of this trade changes with the slope. It is -1 if no trade
   * is partial.
   */
  readonly partial: Int32Array;
  /** Gains and costs of all trades. */
  readonly sums: SumPrices;
  /**
   * Computes the optimal trades. @param slope derivative of the objective in each weight, without the specific variance
   * of the security, [n]
   */
  respond(slope: Float64Array, prices: SumPrices): void;
}

/**
 * Prepares the responses of the securities of a convex form. Each security minimises its specific variance plus a
 * piecewise linear cost in closed form: starting from the weight after all sales and no purchase, it undoes sales and
 * makes purchases while the marginal cost is below the slope. An ordered security undoes its last sale first, at no
 * less than the cost of the previous step, so that its gains are a continuous function of its weight; any other
 * security follows the marginal cost.
 *
 * @cost per response: 15 operations per trade
 * @source Rockafellar (1970), Convex Analysis, section 30: the dual of a separable problem
 */
function createResponses(
  { n, heldWeights, target, specific, aversion, lower, upper, isOrdered }: AccountProgram,
  { count, start, sign, size, short, long, cost }: RelaxedTrades,
): SecurityResponses {
  const tradedAmounts = new Float64Array(count);
  const weights = new Float64Array(n);
  const partialTrade = new Int32Array(n);
  const sums = { short: 0, long: 0, cost: 0 };
  /** Marginal cost per unit of weight of each trade. */
  const marginal = new Float64Array(count);
  /** Trades of each security in increasing order of weight: sales backwards, then the purchase. */
  const order = Int32Array.from({ length: count }, (_, j) => j);
  const lowest = heldWeights.slice();
  for (let i = 0; i < n; i++) {
    let end = start[i]!;
    for (; end < start[i + 1]! && sign[end]! < 0; end++) lowest[i]! -= size[end]!;
    order.subarray(start[i]!, end).reverse();
  }

  /** Sorts trades by marginal cost; they are nearly sorted from the previous call. */
  function sort(from: number, end: number): void {
    for (let position = from + 1; position < end; position++) {
      const j = order[position]!;
      const price = marginal[j]!;
      let insertAt = position;
      for (; insertAt > from && marginal[order[insertAt - 1]!]! > price; insertAt--)
        order[insertAt] = order[insertAt - 1]!;
      order[insertAt] = j;
    }
  }

  /** Computes the optimal trades of one security. @param scale  change of its weight per unit of slope */
  function computeResponse(i: number, slope: number, scale: number): void {
    const optimum = target[i]! - slope * scale;
    let weight = lowest[i]!;
    let [dearest, inPart, isOver] = [-Infinity, -1, false];
    for (let position = start[i]!; position < start[i + 1]!; position++) {
      const j = order[position]!;
      let amount = 0;
      if (!isOver) {
        dearest = Math.max(dearest, marginal[j]!);
        const wishedTrade = optimum - dearest * scale;
        const to = Math.min(upper[i]!, Math.max(lower[i]!, wishedTrade));
        amount = Math.min(size[j]!, Math.max(0, to - weight));
        isOver = amount < size[j]!;
        if (isOver && amount > 0 && to === wishedTrade) inPart = j;
        weight += amount;
      }
      tradedAmounts[j] = sign[j]! > 0 ? amount : size[j]! - amount;
    }
    weights[i] = weight;
    partialTrade[i] = inPart;
  }

  return {
    traded: tradedAmounts,
    weights,
    partial: partialTrade,
    sums,
    respond(slope, prices) {
      const { short: ps, long: pl, cost: pc } = prices;
      for (let j = 0; j < count; j++) marginal[j] = sign[j]! * (ps * short[j]! + pl * long[j]! + pc * cost[j]!);
      for (let i = 0; i < n; i++) {
        if (isOrdered[i] === 0) sort(start[i]!, start[i + 1]!);
        computeResponse(i, slope[i]!, 1 / (2 * aversion * specific[i]!));
      }
      let [s, l, c] = [0, 0, 0];
      for (let j = 0; j < count; j++) {
        s += short[j]! * tradedAmounts[j]!;
        l += long[j]! * tradedAmounts[j]!;
        c += cost[j]! * tradedAmounts[j]!;
      }
      Object.assign(sums, { short: s, long: l, cost: c });
    },
  };
}

/**
 * Hessian of the dual of a convex form in its prices: [k] factor prices, then [m] row prices.
 *
 *   | I / (2 aversion) + B' R B    B' R C     |     R  response of the weight of a security to its slope, [n]
 *   | C' R B                       C' R C + V |     C  coefficients of the rows in the weights of securities, [n x m]
 *
 * Only a security with a partial trade responds to prices. Its contribution to the matrix is added when the trade
 * becomes partial and removed when it stops being partial, so a step near the solution costs only the factorisation.
 */
export interface PriceSystem {
  /** Factors the Hessian. @param slack  V [m] @returns false if the matrix is not positive definite */
  factor(slack: Float64Array): boolean;
  /** Solves in place for a right-hand side, [k + m]. */
  solve(x: Float64Array): void;
}

/** Number of linear functionals of the trades that rows combine: short-term gains, long-term gains and costs. */
const FUNCTIONAL_COUNT = 3;

function createPriceSystem(
  { program: { n, k, loadings, specific, aversion }, trades, rows }: LotRelaxation,
  { partial }: SecurityResponses,
): PriceSystem {
  const { sign, short, long, cost } = trades;
  const m = rows.length;
  const order = k + m;
  const { distinct, mixes } = listColumns(rows, n);
  const q = FUNCTIONAL_COUNT + distinct.length;
  const products = new Float64Array(k * k); // B' R B, lower triangle
  const reach = new Float64Array(q * k); // B' R C, by column
  const gram = new Float64Array(q * q);
  const groupPositions = new Int32Array(n).fill(-1);
  const coefficients = new Float64Array(q);
  const matrix = new Float64Array(order * order);

  /** Adds (`way` 1) or removes (-1) the contribution of a security whose trade j is partial. */
  function add(i: number, j: number, way: 1 | -1): void {
    const response = way / (2 * aversion * specific[i]!);
    const position = i * k;
    for (let f = 0; f < k; f++) {
      const value = response * loadings[position + f]!;
      for (let g = 0; g <= f; g++) products[f * k + g]! += value * loadings[position + g]!;
    }
    coefficients[0] = sign[j]! * short[j]!;
    coefficients[1] = sign[j]! * long[j]!;
    coefficients[2] = sign[j]! * cost[j]!;
    for (let c = FUNCTIONAL_COUNT; c < q; c++) coefficients[c] = distinct[c - FUNCTIONAL_COUNT]![i]!;
    for (let c = 0; c < q; c++) {
      if (coefficients[c] === 0) continue;
      const value = response * coefficients[c]!;
      for (let f = 0; f < k; f++) reach[c * k + f]! += value * loadings[position + f]!;
      for (let d = 0; d <= c; d++) gram[c * q + d]! += value * coefficients[d]!;
    }
  }

  function update(): void {
    for (let i = 0; i < n; i++) {
      const [before, now] = [groupPositions[i]!, partial[i]!];
      if (before === now) continue;
      if (before >= 0) add(i, before, -1);
      if (now >= 0) add(i, now, 1);
      groupPositions[i] = now;
    }
  }

  return {
    factor(slack) {
      update();
      for (let f = 0; f < k; f++) {
        for (let g = 0; g <= f; g++) matrix[f * order + g] = products[f * k + g]!;
        matrix[f * order + f]! += 1 / (2 * aversion);
      }
      for (let j = 0; j < m; j++) {
        const position = (k + j) * order;
        matrix.fill(0, position, position + order);
        for (const [c, factor] of mixes[j]!)
          for (let f = 0; f < k; f++) matrix[position + f]! += factor * reach[c * k + f]!;
        for (let h = 0; h <= j; h++) {
          let value = 0;
          for (const [c, factor] of mixes[j]!)
            for (const [d, other] of mixes[h]!) value += factor * other * gram[Math.max(c, d) * q + Math.min(c, d)]!;
          matrix[position + k + h] = value;
        }
        matrix[position + k + j]! += slack[j]!;
      }
      return factorCholesky(matrix, order) === order;
    },
    solve: (x) => solveTriangles(matrix, order, x),
  };
}

/**
 * Returns the distinct weight vectors of the rows, up to sign. Also returns each row as a combination of functionals
 * and weight vectors: [column, coefficient].
 */
function listColumns(rows: LotRelaxation['rows'], n: number) {
  const distinctRows: Float64Array[] = [];
  const mixes = rows.map(({ weights, short, long, cost }) => {
    const mix: (readonly [number, number])[] = [];
    [short, long, cost].forEach((value, c) => void (value !== 0 && mix.push([c, value])));
    if (weights === null) return mix;
    for (const factor of [1, -1])
      for (let c = 0; c < distinctRows.length; c++) {
        let i = 0;
        while (i < n && weights[i] === factor * distinctRows[c]![i]!) i++;
        if (i === n) return [...mix, [FUNCTIONAL_COUNT + c, factor] as const];
      }
    distinctRows.push(weights);
    return [...mix, [FUNCTIONAL_COUNT + distinctRows.length - 1, 1] as const];
  });
  return { distinct: distinctRows, mixes };
}

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
  relaxation: LotRelaxation,
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

function createState(relaxation: LotRelaxation, near: StartingSolution | null) {
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
  { program: { k, aversion }, rows }: LotRelaxation,
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
  { program, rows, side }: LotRelaxation,
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

/** Maximum number of rounds that decide the lots at the margin. */
const ROUNDS_MAX = 5;
/** Maximum number of passes over all securities in a decision. */
const PASSES_MAX = 3;
const TRADE_CHANGE_MAX = 1e-7;
/** Gap that counts as closed. */
const GAP_TOLERANCE = 1e-8;
/**
 * Gap, as a fraction of the account value, at which two decisions suffice: 0.015 bp. If the gap is wider, further
 * decisions follow as long as each reduces it by a quarter.
 */
const ACCEPTED_GAP = 1.5e-6;
const GAP_RATIO_MAX = 0.75;
/**
 * Gap above which the hulls are solved again at the prices with the best bound. Hulls at these prices have the largest
 * bound, and may put other lots at the margin.
 */
const GAP_HULLS = 1e-5;
const HULLS_MAX = 2;
/** Gap above which other lots may be at the margin. */
const WIDE_GAP_MIN = 3e-6;
/** Smallest amount that counts as a trade. */
const TRADE_MIN = 1e-12;

/** Solution of one side of the tax. */
export interface SettledSide {
  readonly candidate: TradeCandidate;
  permit(): TradeCandidate;
  readonly bound: number;
  readonly multipliers: Multipliers;
  readonly steps: number;
}

/**
 * Solves one side of the tax for an account that sells lots in an order. The cost of a sale is then not convex: an
 * early lot may have a gain and a later lot a loss. Each round decides at the current multipliers which lots of each
 * security are at the margin, by exact minimisation of one security after another, and solves the convex form of these
 * lots.
 *
 * @param start  null: the first round begins with the convex hulls of the cost of all lots
 * @param incumbent  objective of known trades; the search ends if the side cannot improve on it
 * @cost 10 to 20 interior-point steps for the hulls, and for each of two to four rounds
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 12.9: the dual and its bound
 */
export function settleOrder(
  program: AccountProgram,
  side: TaxSide,
  { start, incumbent }: { readonly start: StartingSolution | null; readonly incumbent: number },
): SettledSide {
  const rows = listRelaxedRows(program, side);
  const topPrices = findTopPrices(side, program.taxWeight);
  const directions = new Int8Array(program.n).fill(BOTH_DIRECTIONS);
  const computeGainPrices = (multipliers: Multipliers): GainPrices =>
    interpolateTowards(topPrices, computePricesAt(program, side, multipliers));
  let steps = 0;

  /**
   * Solves the convex hulls of the cost of all lots. The first solution ends early if a hull is below the actual cost.
   */
  function solveHulls(near: StartingSolution | null): Solution {
    const trades =
      near === null
        ? relaxTrades(program, topPrices, directions)
        : relaxTrades(
            program,
            computePricesAt(program, side, near.multipliers),
            Int8Array.from(suggestedTrades, Math.sign),
          );
    let isPartial = near !== null;
    const isEnough = (partial: IntermediateSolution): boolean =>
      (isPartial = hasParts(program, trades, partial, computePricesAt(program, side, partial.multipliers)));
    const relaxation = { program, side, trades, rows };
    const options = near === null ? { isEnough } : { near };
    const answer = solveByPrices(relaxation, options) ?? solveRelaxation(relaxation, options);
    if (answer.status === 'stalled') isPartial = true;
    steps += answer.steps;
    const net = answer.weights.map((weight, i) => weight - program.heldWeights[i]!);
    return { multipliers: answer.multipliers, net, isPartial };
  }

  /**
   * Returns the trades of the convex hulls, solved to their end, if they violate the limits less than the given trades.
   * Limits of weights are convex, so that the hulls have permitted trades whenever the account has some.
   */
  function keepLimits(violating: TradeCandidate & Solved): TradeCandidate & Solved {
    const { multipliers: at } = bestDual!;
    const trades = relaxTrades(program, computePricesAt(program, side, at), directions);
    const answer = solveRelaxation({ program, side, trades, rows });
    steps += answer.steps;
    const net = answer.weights.map((weight, i) => weight - program.heldWeights[i]!);
    const own = createCandidate(program, createTrades(program, net, computeGainPrices(answer.multipliers)));
    return own.merit < violating.merit ? { ...own, net, at: answer.multipliers } : violating;
  }

  const findMarginAt = (startingSolution: StartingSolution): SettledTrades =>
    findMargin(program, { ...startingSolution, rows, prices: computeGainPrices(startingSolution.multipliers) });

  /**
   * Solves the convex form of the lots at the margin. Ends early if the gap is wide and other lots are at the margin.
   */
  function solveMargin(startingSolution: StartingSolution, isLast: boolean): Solution {
    const ownSettledTrades = findMarginAt(startingSolution);
    const { reduced } = applyTrades(program, ownSettledTrades);
    const prices = computeGainPrices(startingSolution.multipliers);
    const trades = relaxTrades(reduced, prices, directions);
    const createPoint = ({ weights, multipliers }: IntermediateSolution): StartingSolution => ({
      multipliers,
      net: weights.map((weight, i) => weight - reduced.heldWeights[i]! + ownSettledTrades.net[i]!),
    });
    let isPartial = false;
    const isEnough = (partial: IntermediateSolution): boolean => {
      const next = createPoint(partial);
      const { merit } = createCandidate(program, createTrades(program, next.net, prices));
      const isWide = merit - computeDualBound(program, side, next.multipliers).bound > WIDE_GAP_MIN;
      return (isPartial = !isLast && isWide && !areEqualTrades(ownSettledTrades, findMarginAt(next)));
    };
    const near = {
      net: startingSolution.net.map((trade, i) => trade - ownSettledTrades.net[i]!),
      multipliers: startingSolution.multipliers,
    };
    const relaxation = { program: reduced, side, trades, rows: listRelaxedRows(reduced, side) };
    const priceSolution = solveByPrices(relaxation, { near, isEnough });
    if (priceSolution?.status === 'stalled') steps += priceSolution.steps;
    const answer = priceSolution?.status === 'solved' ? priceSolution : solveRelaxation(relaxation, { near, isEnough });
    steps += answer.steps;
    return { ...createPoint(answer), isPartial };
  }

  let bestDual: { readonly bound: number; readonly multipliers: Multipliers } | undefined;
  let bestCandidate: (TradeCandidate & Solved) | undefined;
  let suggestedTrades: Float64Array = new Float64Array(program.n);
  let solution: Solution = start === null ? solveHulls(null) : { ...start, isPartial: true };
  let previousGap = Infinity;
  let hullCount = 1;
  for (let sinceHulls = 0; ; sinceHulls++) {
    const { bound, trades } = computeDualBound(program, side, solution.multipliers);
    if (bestDual === undefined || bound > bestDual.bound)
      [bestDual, suggestedTrades] = [{ bound, multipliers: solution.multipliers }, trades];
    if (!solution.isPartial) {
      const ownCandidate = createCandidate(
        program,
        createTrades(program, solution.net, computeGainPrices(solution.multipliers)),
      );
      if (bestCandidate === undefined || ownCandidate.merit < bestCandidate.merit)
        bestCandidate = { ...ownCandidate, net: solution.net, at: solution.multipliers };
    }
    if (bestCandidate !== undefined) {
      const gap = bestCandidate.merit - bestDual.bound;
      const isEnough = sinceHulls > 1 && (gap < ACCEPTED_GAP || gap > GAP_RATIO_MAX * previousGap);
      if (gap < GAP_TOLERANCE || bestDual.bound > incumbent) break;
      previousGap = gap;
      if (isEnough || sinceHulls === ROUNDS_MAX) {
        if (gap < GAP_HULLS || hullCount === HULLS_MAX) break;
        solution = solveHulls({ net: bestCandidate.net, multipliers: bestDual.multipliers });
        [hullCount, sinceHulls, previousGap] = [hullCount + 1, -1, Infinity];
        continue;
      }
    }
    // Solutions do not end early before the search has found permitted trades, or after the hulls were solved again.
    const isWanted = hullCount > 1 || (bestCandidate !== undefined && bestCandidate.figures.worst > VIOLATION_MAX);
    solution = solveMargin(solution, sinceHulls + 1 === ROUNDS_MAX || (sinceHulls > 0 && isWanted));
  }
  const { bound } = bestDual;
  const candidate = bestCandidate.figures.worst > VIOLATION_MAX ? keepLimits(bestCandidate) : bestCandidate;

  function permit(): TradeCandidate {
    const { unit, minimumTrade } = program;
    if (!unit.some((step) => step > 0) && !minimumTrade.some((least) => least > 0)) return candidate;
    const net = candidate.net.slice();
    const prices = computeGainPrices(candidate.at);
    roundTrades(program, net, { prices, suggested: suggestedTrades, bound, multipliers: candidate.at });
    return createCandidate(program, createTrades(program, net, prices));
  }

  return { candidate, permit, ...bestDual, steps };
}

interface Solved {
  readonly net: Float64Array;
  /** Multipliers at which the gains of the trades have their prices. */
  readonly at: Multipliers;
}

interface Solution extends StartingSolution {
  /** True if the solution ended before its last steps. */
  readonly isPartial: boolean;
}

/**
 * Returns true if trades of several lots are sold in part although this costs more than the hull: at these prices, the
 * order of the lots makes such sales more expensive.
 */
function hasParts(
  program: AccountProgram,
  trades: RelaxedTrades,
  { traded }: IntermediateSolution,
  prices: GainPrices,
): boolean {
  const { lotSize, lotShort, lotLong } = program;
  const { count, firstLot, endLot, short, long } = trades;
  let excess = 0;
  for (let j = 0; j < count; j++) {
    if (endLot[j]! - firstLot[j]! < 2) continue;
    let unsoldWeight = traded[j]!;
    excess -= unsoldWeight * (prices.short * short[j]! + prices.long * long[j]!);
    for (let l = firstLot[j]!; l < endLot[j]! && unsoldWeight > 0; l++) {
      const lotSale = Math.min(unsoldWeight, lotSize[l]!);
      excess += lotSale * (prices.short * lotShort[l]! + prices.long * lotLong[l]!);
      unsoldWeight -= lotSale;
    }
  }
  return excess > GAP_TOLERANCE;
}

const areEqualTrades = (settledTrades: SettledTrades, otherSettledTrades: SettledTrades): boolean =>
  settledTrades.first.every(
    (lot, i) => lot === otherSettledTrades.first[i] && settledTrades.end[i] === otherSettledTrades.end[i],
  ) && settledTrades.buyLimit.every((limit, i) => limit > 0 === otherSettledTrades.buyLimit[i]! > 0);

interface Terms extends StartingSolution {
  readonly rows: readonly RelaxedRow[];
  readonly prices: GainPrices;
}

/**
 * Decides the direction of each security and its lots at the margin. Lots before the margin are sold; lots after it are
 * not.
 */
function findMargin(program: AccountProgram, terms: Terms): SettledTrades {
  const { n, lotStart, lotSize, lotShort, lotLong, isOrdered } = program;
  const net = settleTrades(program, terms);
  const [first, end] = [lotStart.slice(0, n), lotStart.slice(1)];
  const buyLimit = program.buyLimit.slice();
  const decidedTrades = new Float64Array(n);
  const computePrice = (l: number): number => terms.prices.short * lotShort[l]! + terms.prices.long * lotLong[l]!;
  let [short, long] = [0, 0];
  for (let i = 0; i < n; i++) {
    const saleWeight = -net[i]!;
    const [from, to] = [lotStart[i]!, lotStart[i + 1]!];
    if (saleWeight < -TRADE_MIN) end[i] = from;
    if (saleWeight > TRADE_MIN) buyLimit[i] = 0;
    if (saleWeight < -TRADE_MIN || isOrdered[i] === 0 || from === to) continue;
    let [position, left] = [from, saleWeight - lotSize[from]!];
    for (; position < to - 1 && left > TRADE_MIN; left -= lotSize[position]!) position++;
    if (saleWeight > TRADE_MIN)
      while (position > from && computePrice(position - 1) <= computePrice(position)) position--;
    first[i] = position;
    end[i] = position + 1;
    while (end[i]! < to && computePrice(end[i]!) >= computePrice(end[i]! - 1)) end[i]!++;
    for (let l = from; l < position; l++) {
      decidedTrades[i]! -= lotSize[l]!;
      short += lotSize[l]! * lotShort[l]!;
      long += lotSize[l]! * lotLong[l]!;
    }
  }
  return { net: decidedTrades, short, long, first, end, buyLimit };
}

/**
 * Returns trades that no change of a single security improves, if at most `PASSES_MAX` passes suffice. Gains and rows
 * have the prices of the multipliers, and the variance is exact.
 */
function settleTrades(program: AccountProgram, { net: from, multipliers, rows }: Terms): Float64Array {
  const { n, k, loadings, specific, target, heldWeights } = program;
  const { rows: prices, short, long, cost } = computeLotPrices(rows, multipliers, program.taxWeight);
  const averseness = program.aversion + multipliers.variance;
  const slopes = new Float64Array(n);
  rows.forEach(({ weights }, j) => {
    if (weights !== null) for (let i = 0; i < n; i++) slopes[i]! += prices[j]! * weights[i]!;
  });
  const net = from.slice();
  const activeWeights = Float64Array.from(net, (trade, i) => heldWeights[i]! + trade - target[i]!);
  const exposures = computeFactorExposures(program, activeWeights, new Float64Array(k));
  for (let pass = 0, largestChange = Infinity; pass < PASSES_MAX && largestChange > TRADE_CHANGE_MAX; pass++) {
    largestChange = 0;
    for (let i = 0; i < n; i++) {
      let [dot, norm] = [0, 0];
      for (let f = 0; f < k; f++) {
        const loading = loadings[i * k + f]!;
        dot += loading * exposures[f]!;
        norm += loading * loading;
      }
      const { trade } = minimiseSecurity(program, i, {
        curvature: averseness * (specific[i]! + norm),
        slope: 2 * averseness * (dot - norm * activeWeights[i]!) + slopes[i]!,
        short,
        long,
        cost,
        from: -Infinity,
        to: Infinity,
      });
      const change = trade - net[i]!;
      if (change === 0) continue;
      largestChange = Math.max(largestChange, Math.abs(change));
      net[i] = trade;
      activeWeights[i]! += change;
      for (let f = 0; f < k; f++) exposures[f]! += loadings[i * k + f]! * change;
    }
  }
  return net;
}
