import { computeFactorExposures } from './account-program.js';
import { createNewtonSystem } from './newton-system.js';
import type {
  Multipliers,
  LotRelaxation,
  RelaxationSolution,
  SolutionOptions,
  StartingSolution,
} from './relaxation.js';

/** Primal amounts and dual multipliers of an iterate, which form complementary pairs. */
interface Iterate {
  /** Sizes of the trades, which are their upper bounds. */
  readonly size: Float64Array;
  readonly z: Float64Array;
  /** Multipliers of z >= 0 and z <= size. */
  readonly zl: Float64Array;
  readonly zu: Float64Array;
  /** Multipliers of the rows, with the slack and the violation of each row. */
  readonly y: Float64Array;
  readonly slack: Float64Array;
  readonly excess: Float64Array;
  readonly penalties: Float64Array;
  readonly boundSlack: Float64Array;
  readonly boundPrice: Float64Array;
}

/** Changes of all unknowns: trades, multipliers of trades, rows, weight bounds, the tax. */
interface InteriorStep {
  readonly dz: Float64Array;
  readonly dzl: Float64Array;
  readonly dzu: Float64Array;
  readonly dw: Float64Array;
  readonly dy: Float64Array;
  readonly ds: Float64Array;
  readonly de: Float64Array;
  readonly db: Float64Array;
  readonly dp: Float64Array;
  dt: number;
}

function createStep(trades: number, securities: number, rows: number, bounds: number): InteriorStep {
  return {
    dz: new Float64Array(trades),
    dzl: new Float64Array(trades),
    dzu: new Float64Array(trades),
    dw: new Float64Array(securities),
    dy: new Float64Array(rows),
    ds: new Float64Array(rows),
    de: new Float64Array(rows),
    db: new Float64Array(bounds),
    dp: new Float64Array(bounds),
    dt: 0,
  };
}

export interface StepLengths {
  readonly primal: number;
  readonly dual: number;
}

/** Step length at which a value that changes by `change` reaches 0. */
const computeReach = (value: number, change: number): number => (change < 0 ? -value / change : Infinity);

/** Returns the longest step, up to 1, that keeps every pair positive, multiplied by `share`. */
function findLongestStep(iterate: Iterate, step: InteriorStep, share: number): StepLengths {
  const { size, z, zl, zu } = iterate;
  let primal = Infinity;
  let dual = Infinity;
  for (let j = 0; j < z.length; j++) {
    const change = step.dz[j]!;
    if (change < 0) primal = Math.min(primal, -z[j]! / change);
    else if (change > 0) primal = Math.min(primal, (size[j]! - z[j]!) / change);
    if (step.dzl[j]! < 0) dual = Math.min(dual, -zl[j]! / step.dzl[j]!);
    if (step.dzu[j]! < 0) dual = Math.min(dual, -zu[j]! / step.dzu[j]!);
  }
  for (let j = 0; j < iterate.y.length; j++) {
    primal = Math.min(primal, computeReach(iterate.slack[j]!, step.ds[j]!));
    dual = Math.min(dual, computeReach(iterate.y[j]!, step.dy[j]!));
    if (iterate.penalties[j] === Infinity) continue;
    primal = Math.min(primal, computeReach(iterate.excess[j]!, step.de[j]!));
    dual = Math.min(dual, computeReach(iterate.penalties[j]! - iterate.y[j]!, -step.dy[j]!));
  }
  for (let b = 0; b < iterate.boundSlack.length; b++) {
    primal = Math.min(primal, computeReach(iterate.boundSlack[b]!, step.db[b]!));
    dual = Math.min(dual, computeReach(iterate.boundPrice[b]!, step.dp[b]!));
  }
  return { primal: Math.min(1, share * primal), dual: Math.min(1, share * dual) };
}

/** Returns the mean product of the complementary pairs after a step. */
function computeComplementarity(iterate: Iterate, step: InteriorStep, { primal, dual }: StepLengths): number {
  const { size, z, zl, zu } = iterate;
  let total = 0;
  let pairs = 2 * z.length + iterate.y.length + iterate.boundSlack.length;
  for (let j = 0; j < z.length; j++) {
    const tradeSize = z[j]! + primal * step.dz[j]!;
    total += tradeSize * (zl[j]! + dual * step.dzl[j]!) + (size[j]! - tradeSize) * (zu[j]! + dual * step.dzu[j]!);
  }
  for (let j = 0; j < iterate.y.length; j++) {
    const price = iterate.y[j]! + dual * step.dy[j]!;
    total += price * (iterate.slack[j]! + primal * step.ds[j]!);
    if (iterate.penalties[j] === Infinity) continue;
    total += (iterate.penalties[j]! - price) * (iterate.excess[j]! + primal * step.de[j]!);
    pairs++;
  }
  for (let b = 0; b < iterate.boundSlack.length; b++)
    total += (iterate.boundSlack[b]! + primal * step.db[b]!) * (iterate.boundPrice[b]! + dual * step.dp[b]!);
  return total / pairs;
}

/** Weight bound, handled as a pair of slack and multiplier. */
interface Bound {
  readonly security: number;
  /** 1 for an upper bound, -1 for a lower one. */
  readonly sign: 1 | -1;
  readonly limit: number;
}

/** Returns the weight bounds that the sizes of the trades do not imply. */
function widenBounds({
  program: { n, heldWeights, lower, upper },
  trades: { start, sign, size },
}: LotRelaxation): Bound[] {
  const bounds: Bound[] = [];
  for (let i = 0; i < n; i++) {
    let [least, most] = [heldWeights[i]!, heldWeights[i]!];
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      if (sign[j]! > 0) most += size[j]!;
      else least -= size[j]!;
    }
    if (lower[i]! > least + 1e-15) bounds.push({ security: i, sign: -1, limit: lower[i]! });
    if (upper[i]! < most - 1e-15) bounds.push({ security: i, sign: 1, limit: upper[i]! });
  }
  return bounds;
}

/** Target products of the complementary pairs after a step: of trades, rows and bounds. */
export interface Goals {
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly slack: Float64Array;
  readonly excess: Float64Array;
  readonly bound: Float64Array;
}

const createGoals = (count: number, rows: number, bounds: number): Goals => ({
  lower: new Float64Array(count),
  upper: new Float64Array(count),
  slack: new Float64Array(rows),
  excess: new Float64Array(rows),
  bound: new Float64Array(bounds),
});

/** Sets all targets to the complementarity `goal`, less the second-order terms of the predictor step. */
function setGoals(goals: Goals, goal: number, otherInteriorStep: InteriorStep | null): void {
  for (const list of Object.values(goals) as Float64Array[]) list.fill(goal); // `Goals` has only array members.
  if (otherInteriorStep === null) return;
  const { dz, dzl, dzu, dy, ds, de, db, dp } = otherInteriorStep;
  for (let j = 0; j < dz.length; j++) {
    goals.lower[j]! -= dz[j]! * dzl[j]!;
    goals.upper[j]! += dz[j]! * dzu[j]!;
  }
  for (let j = 0; j < dy.length; j++) {
    goals.slack[j]! -= ds[j]! * dy[j]!;
    goals.excess[j]! += de[j]! * dy[j]!;
  }
  for (let b = 0; b < db.length; b++) goals.bound[b]! -= db[b]! * dp[b]!;
}

/** First iterate of the interior-point method. */
export interface StartingPoint {
  readonly traded: Float64Array;
  /** Multipliers of the rows, then of the variance limit if there is one. */
  readonly prices: Float64Array;
  /** Sum of the products of all complementary pairs. */
  readonly gap: number;
  /** Minimum slack of the rows, and minimum distance of the tax variable from its linear pieces. */
  readonly slack: number;
  readonly aboveTax: number;
}

/**
 * Minimum distance of the first iterate from its bounds, as a fraction of the size of a trade: far from a solution, and
 * near one.
 */
const DISTANCE_FAR = 0.05;
const DISTANCE_NEAR = 1e-3;
/** Smallest initial multiplier near a solution. */
const PRICE_MIN = 1e-5;

/** Returns a starting point without prior information about the solution. */
function createFarPoint({ trades, rows, side, program }: LotRelaxation, penalties: Float64Array): StartingPoint {
  const startTrades = trades.size
    .map((size) => Math.min(size * 0.5, DISTANCE_FAR * size + 1e-6))
    .subarray(0, trades.count);
  const share = program.taxWeight / side.pieces.length;
  const prices = penalties.map((penalty, j) => (rows[j]?.tax === 1 ? share : Math.min(1e-3, penalty / 2)));
  return { traded: startTrades, prices, gap: 0.02, slack: 1e-4, aboveTax: 1e-3 };
}

function createNearPoint(
  { trades, rows, program }: LotRelaxation,
  penalties: Float64Array,
  { net, multipliers }: StartingSolution,
): StartingPoint {
  const { start, sign, size } = trades;
  const startTrades = new Float64Array(trades.count);
  for (let i = 0; i < program.n; i++) {
    let remainingTrade = net[i]!;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const amount = Math.min(Math.max(0, sign[j]! * remainingTrade), size[j]!);
      remainingTrade -= sign[j]! * amount;
      startTrades[j] = Math.min(size[j]! * (1 - DISTANCE_NEAR), Math.max(size[j]! * DISTANCE_NEAR, amount));
    }
  }
  const prices = penalties.map((penalty, j) =>
    Math.min(
      Math.max(multipliers.rows[j] ?? multipliers.variance * program.varianceLimit, PRICE_MIN),
      Math.max(penalty - PRICE_MIN, penalty / 2),
    ),
  );
  let taxPriceSum = 0;
  rows.forEach(({ tax }, j) => void (taxPriceSum += tax * prices[j]!));
  rows.forEach(({ tax }, j) => void (tax === 1 && (prices[j]! *= program.taxWeight / taxPriceSum)));
  return { traded: startTrades, prices, gap: 1e-5, slack: 0, aboveTax: 1e-5 };
}

/**
 * Penalty per unit of violation of a row that must hold. It is finite, because the multiplier of the variance row is
 * unbounded near a limit of 0.
 */
export const HARD_PENALTY = 100;

interface InteriorState extends Iterate {
  readonly relaxation: LotRelaxation;
  readonly hasVariance: boolean;
  readonly bounds: readonly Bound[];
  /** Weights, and their differences from the target, [n]. */
  readonly w: Float64Array;
  readonly active: Float64Array;
  readonly exposures: Float64Array;
  /** Gradient of the variance in the weights, [n]. */
  readonly slope: Float64Array;
  /** Gradient of the variance row, which is relative to the limit. Empty without a limit. */
  readonly limitSlope: Float64Array;
  /** Left sides of the rows. */
  readonly values: Float64Array;
  /** Gradient of the Lagrangian in the trades, without the multipliers of their bounds. */
  readonly gradient: Float64Array;
  /** Gradient of the Lagrangian in the weights, [n]. */
  readonly weightGradient: Float64Array;
  /** Tax, the maximum of its pieces. */
  t: number;
  /** Mean product of the complementary pairs. */
  mu: number;
}

/** Creates the first iterate, from the solution of a similar form if there is one. */
function createInteriorState(relaxation: LotRelaxation, near: StartingSolution | null): InteriorState {
  const { program, trades, rows } = relaxation;
  const hasVariance = Number.isFinite(program.varianceLimit);
  const m = rows.length + (hasVariance ? 1 : 0);
  const { count } = trades;
  const bounds = widenBounds(relaxation);
  const create = (length: number) => new Float64Array(length);
  const state: InteriorState = {
    relaxation,
    hasVariance,
    bounds,
    size: trades.size,
    z: create(count),
    zl: create(count),
    zu: create(count),
    w: create(program.n),
    active: create(program.n),
    exposures: create(program.k),
    slope: create(program.n),
    limitSlope: create(hasVariance ? program.n : 0),
    y: create(m),
    slack: create(m),
    excess: create(m),
    values: create(m),
    penalties: Float64Array.from({ length: m }, (_, j) => computePenalty(relaxation, j)),
    boundSlack: create(bounds.length),
    boundPrice: create(bounds.length),
    gradient: create(count),
    weightGradient: create(program.n),
    t: 0,
    mu: 0,
  };
  initialiseState(state, near);
  return state;
}

/** Returns the price of a unit of violation of a row. */
const computePenalty = ({ rows }: LotRelaxation, j: number): number =>
  j < rows.length && rows[j]!.tax === 1 ? Infinity : Math.min(rows[j]?.penalty ?? Infinity, HARD_PENALTY);

function initialiseState(state: InteriorState, near: StartingSolution | null): void {
  const { relaxation, bounds, size, z, zl, zu, w, y, slack, excess, values, penalties, boundSlack, boundPrice } = state;
  const { rows } = relaxation;
  const first = near === null ? createFarPoint(relaxation, penalties) : createNearPoint(relaxation, penalties, near);
  z.set(first.traded);
  y.set(first.prices);
  const mu = first.gap / (2 * z.length + 1);
  state.mu = mu;
  evaluateState(state);
  for (let j = 0; j < rows.length; j++)
    if (rows[j]!.tax === 1) state.t = Math.max(state.t, values[j]! + first.aboveTax);
  evaluateState(state);
  for (let j = 0; j < y.length; j++) {
    slack[j] = Math.max(-values[j]!, mu / y[j]!, first.slack);
    excess[j] = penalties[j] === Infinity ? 0 : mu / (penalties[j]! - y[j]!);
  }
  bounds.forEach(({ security, sign: way, limit }, b) => {
    boundSlack[b] = Math.max(way * (limit - w[security]!), 1e-4);
    boundPrice[b] = mu / boundSlack[b]!;
  });
  if (near !== null) computeDualGradient(state);
  // Near a solution the multipliers of bounds follow from the gradient.
  for (let j = 0; j < z.length; j++) {
    const [room, slope] = [size[j]! - z[j]!, state.gradient[j]!];
    zl[j] = near === null ? mu / z[j]! : (slope + Math.hypot(slope, (2 * mu) / Math.min(z[j]!, room))) / 2;
    zu[j] = near === null ? mu / room : zl[j]! - slope;
  }
}

/** Computes weights, exposures, the gradient of the variance and the left sides of the rows from the trades. */
function evaluateState(state: InteriorState): void {
  const { relaxation, hasVariance, z, w, active, exposures, slope, limitSlope, values, t } = state;
  const { program, trades, rows } = relaxation;
  const { n, k, loadings, specific, target, heldWeights, varianceLimit } = program;
  const { start, sign, short, long, cost } = trades;
  let s = 0;
  let l = 0;
  let c = 0;
  for (let i = 0; i < n; i++) {
    let weight = heldWeights[i]!;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const tradeSize = z[j]!;
      weight += sign[j]! * tradeSize;
      s += short[j]! * tradeSize;
      l += long[j]! * tradeSize;
      c += cost[j]! * tradeSize;
    }
    w[i] = weight;
    active[i] = weight - target[i]!;
  }
  computeFactorExposures(program, active, exposures);
  let variance = 0;
  for (let f = 0; f < k; f++) variance += exposures[f]! * exposures[f]!;
  for (let i = 0; i < n; i++) {
    let marginalVariance = specific[i]! * active[i]!;
    variance += marginalVariance * active[i]!;
    for (let f = 0; f < k; f++) marginalVariance += loadings[i * k + f]! * exposures[f]!;
    slope[i] = 2 * marginalVariance;
  }
  for (let j = 0; j < rows.length; j++) {
    const row = rows[j]!;
    let value = row.constant + row.short * s + row.long * l + row.cost * c - row.tax * t;
    if (row.weights !== null) for (let i = 0; i < n; i++) value += row.weights[i]! * w[i]!;
    values[j] = value;
  }
  if (!hasVariance) return;
  for (let i = 0; i < n; i++) limitSlope[i] = slope[i]! / varianceLimit;
  values[rows.length] = variance / varianceLimit - 1;
}

/** Multiplier of the variance limit, in units of the variance. */
export const computeVarianceMultiplier = ({ hasVariance, y, relaxation: { program, rows } }: InteriorState): number =>
  hasVariance ? y[rows.length]! / program.varianceLimit : 0;

const computeVarianceWeight = (state: InteriorState): number =>
  state.relaxation.program.aversion + computeVarianceMultiplier(state);

/** Returns views of the current multipliers. */
const collectMultipliers = (state: InteriorState): Multipliers => ({
  exposures: state.exposures,
  variance: computeVarianceMultiplier(state),
  rows: state.y.subarray(0, state.relaxation.rows.length),
});

/** Computes the mean complementarity. Returns the sum of the complementary products and the largest residual. */
function measureState(state: InteriorState): { gap: number; worst: number } {
  const { bounds, size, z, zl, zu, w, y, slack, excess, values, penalties, boundSlack, boundPrice, gradient } = state;
  let complementarity = 0;
  let pairs = 2 * z.length + y.length + bounds.length;
  let worst = 0;
  for (let j = 0; j < z.length; j++) complementarity += zl[j]! * z[j]! + zu[j]! * (size[j]! - z[j]!);
  for (let j = 0; j < y.length; j++) {
    complementarity += y[j]! * slack[j]!;
    if (penalties[j]! < Infinity) {
      complementarity += (penalties[j]! - y[j]!) * excess[j]!;
      pairs++;
    }
    worst = Math.max(worst, Math.abs(values[j]! + slack[j]! - excess[j]!));
  }
  for (let b = 0; b < bounds.length; b++) {
    const { security, sign: way, limit } = bounds[b]!;
    complementarity += boundSlack[b]! * boundPrice[b]!;
    worst = Math.max(worst, Math.abs(way * (w[security]! - limit) + boundSlack[b]!));
  }
  state.mu = complementarity / pairs;
  computeDualGradient(state);
  for (let j = 0; j < z.length; j++)
    worst = Math.max(worst, Math.abs(gradient[j]! - zl[j]! + zu[j]!) * Math.min(1, size[j]!));
  return { gap: complementarity, worst };
}

/** Computes the gradient of the Lagrangian in the trades, without the multipliers of their bounds. */
export function computeDualGradient(state: InteriorState): void {
  const { relaxation, bounds, slope, y, boundPrice, gradient, weightGradient } = state;
  const { program, trades, rows } = relaxation;
  const { n } = program;
  const { start, sign, short, long, cost } = trades;
  const scale = computeVarianceWeight(state);
  let ps = 0;
  let pl = 0;
  let pc = 1;
  for (let i = 0; i < n; i++) weightGradient[i] = scale * slope[i]!;
  for (let j = 0; j < rows.length; j++) {
    const row = rows[j]!;
    ps += y[j]! * row.short;
    pl += y[j]! * row.long;
    pc += y[j]! * row.cost;
    if (row.weights !== null) for (let i = 0; i < n; i++) weightGradient[i]! += y[j]! * row.weights[i]!;
  }
  bounds.forEach(({ security, sign: way }, b) => void (weightGradient[security]! += way * boundPrice[b]!));
  for (let i = 0; i < n; i++)
    for (let j = start[i]!; j < start[i + 1]!; j++)
      gradient[j] = sign[j]! * weightGradient[i]! + ps * short[j]! + pl * long[j]! + pc * cost[j]!;
}

/** Newton directions of a state. */
export interface Directions {
  /** Factors the Newton system of the current iterate. @returns false if it is singular */
  factor(): boolean;
  /**
   * Computes the step to a complementarity of `goal`.
   * @param predictor step whose second-order terms are subtracted, or null
   */
  compute(step: InteriorStep, goal: number, predictor: InteriorStep | null): void;
}

function createDirections(state: InteriorState): Directions {
  const { relaxation, hasVariance, bounds, size, z, zl, zu, w, y, slack, excess, values } = state;
  const { penalties, boundSlack, boundPrice, gradient, limitSlope } = state;
  const { program, trades, rows } = relaxation;
  const { n, specific, taxWeight } = program;
  const { count, start, sign } = trades;
  const m = y.length;
  const system = createNewtonSystem(relaxation, { hasVariance });
  const [curvature, extra] = [new Float64Array(n), new Float64Array(n)];
  const [barrier, rhs] = [new Float64Array(count), new Float64Array(count)];
  const [slackTerm, residual] = [new Float64Array(m), new Float64Array(m)];
  const goals = createGoals(count, m, bounds.length);

  function factor(): boolean {
    const scale = computeVarianceWeight(state);
    for (let i = 0; i < n; i++) curvature[i] = 2 * scale * specific[i]!;
    bounds.forEach(({ security }, b) => void (curvature[security]! += boundPrice[b]! / boundSlack[b]!));
    for (let j = 0; j < count; j++) barrier[j] = zl[j]! / z[j]! + zu[j]! / (size[j]! - z[j]!);
    for (let j = 0; j < m; j++)
      slackTerm[j] = slack[j]! / y[j]! + (penalties[j] === Infinity ? 0 : excess[j]! / (penalties[j]! - y[j]!));
    return system.factor({ kappa: 2 * scale, curvature, barrier, slack: slackTerm, variance: limitSlope });
  }

  function compute(step: InteriorStep, goal: number, predictor: InteriorStep | null): void {
    setGoals(goals, goal, predictor);
    extra.fill(0);
    bounds.forEach(({ security, sign: way, limit }, b) => {
      const boundResidual = way * (w[security]! - limit) + boundSlack[b]!;
      extra[security]! += way * ((goals.bound[b]! + boundPrice[b]! * boundResidual) / boundSlack[b]! - boundPrice[b]!);
    });
    for (let i = 0; i < n; i++)
      for (let j = start[i]!; j < start[i + 1]!; j++)
        rhs[j] = gradient[j]! + sign[j]! * extra[i]! - goals.lower[j]! / z[j]! + goals.upper[j]! / (size[j]! - z[j]!);
    for (let j = 0; j < m; j++) {
      const multiplierSlack = penalties[j]! - y[j]!;
      residual[j] = values[j]! - excess[j]! + goals.slack[j]! / y[j]!;
      if (multiplierSlack < Infinity) residual[j]! -= goals.excess[j]! / multiplierSlack - excess[j]!;
    }
    let sum = taxWeight;
    for (let j = 0; j < rows.length; j++) sum -= rows[j]!.tax * y[j]!;
    step.dt = system.solve({ gradient: rhs, residual, sum, dz: step.dz, dy: step.dy });
    completeStep(step);
  }

  /** Computes the changes of the remaining unknowns from the solution of the reduced system. */
  function completeStep({ dz, dy, dw, dzl, dzu, ds, de, db, dp }: InteriorStep): void {
    for (let i = 0; i < n; i++) {
      let change = 0;
      for (let j = start[i]!; j < start[i + 1]!; j++) {
        const tradeStep = dz[j]!;
        change += sign[j]! * tradeStep;
        dzl[j] = (goals.lower[j]! - zl[j]! * tradeStep) / z[j]! - zl[j]!;
        dzu[j] = (goals.upper[j]! + zu[j]! * tradeStep) / (size[j]! - z[j]!) - zu[j]!;
      }
      dw[i] = change;
    }
    for (let j = 0; j < m; j++) {
      const multiplierSlack = penalties[j]! - y[j]!;
      ds[j] = (goals.slack[j]! - slack[j]! * dy[j]!) / y[j]! - slack[j]!;
      de[j] = multiplierSlack < Infinity ? (goals.excess[j]! + excess[j]! * dy[j]!) / multiplierSlack - excess[j]! : 0;
    }
    bounds.forEach(({ security, sign: way, limit }, b) => {
      db[b] = -way * dw[security]! - way * (w[security]! - limit) - boundSlack[b]!;
      dp[b] = (goals.bound[b]! - boundPrice[b]! * db[b]!) / boundSlack[b]! - boundPrice[b]!;
    });
  }

  return { factor, compute };
}

/** Maximum number of steps; 15 to 25 are usual. */
const STEPS_MAX = 80;
/** Complementarity of a solution, as a fraction of the account value. */
const TOLERANCE = 1e-13;
/** Complementarity below which further steps only add rounding errors. */
const COMPLEMENTARITY_MIN = 1e-15;
/** Complementarity and residuals from which on the caller may end the iterations. */
const LOOSE_TOLERANCE = 1e-6;
/** Maximum residual of a solution; smaller residuals are lost to rounding. */
const RESIDUAL_TOLERANCE = 1e-10;
/** Maximum residual that counts as feasible if rounding errors stop the iterations. */
const RESIDUAL_ACCEPTED = 1e-9;
/** Fraction of the distance to the nearest bound that a step may take. */
const STEP_SHARE = 0.995;
const STEP_MIN = 1e-10; // Minimum step length; shorter steps make no progress.
/** Maximum distance at which a trade counts as at a bound with a positive multiplier. */
const CONTACT_MAX = 1e-9;
/** Maximum violation of rows and weight bounds that counts as feasible. */
const VIOLATION_MAX = 1e-7;

/**
 * Solves the convex form of an account by a primal-dual interior-point method with predictor and corrector.
 *
 * Rows may be violated at a price, so an interior always exists. Weight bounds that the sizes of the trades imply are
 * omitted.
 *
 * @cost per step: n k^2 / 2 multiply-adds, and 60 per lot
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 16.6; Mehrotra (1992).
 */
export function solveRelaxation(
  relaxation: LotRelaxation,
  { near = null, isEnough = () => false }: SolutionOptions = {},
): RelaxationSolution {
  const state = createInteriorState(relaxation, near);
  const advance = createAdvance(state);
  let [status, step]: [RelaxationSolution['status'], number] = ['stalled', 0];
  let hasAsked = false;
  for (; step < STEPS_MAX; step++) {
    const { gap, worst } = measureState(state);
    if (!hasAsked && gap < LOOSE_TOLERANCE && worst < LOOSE_TOLERANCE) {
      hasAsked = true;
      if (isEnough({ traded: state.z, weights: state.w, multipliers: collectMultipliers(state) })) {
        status = 'solved';
        break;
      }
    }
    if (gap < TOLERANCE && worst < (gap < COMPLEMENTARITY_MIN ? RESIDUAL_ACCEPTED : RESIDUAL_TOLERANCE)) {
      status = 'solved';
      break;
    }
    if (!advance()) break;
  }
  if (status === 'stalled') {
    const { gap, worst } = measureState(state);
    if (gap < RESIDUAL_ACCEPTED && worst < RESIDUAL_ACCEPTED) status = 'solved';
  }
  return createSolution(state, status, step);
}

/** Creates the function that performs a step and returns false if there is no progress. */
function createAdvance(state: InteriorState): () => boolean {
  const { relaxation, bounds, y } = state;
  const { program, trades } = relaxation;
  const directions = createDirections(state);
  const create = () => createStep(trades.count, program.n, y.length, bounds.length);
  const [predictor, corrector] = [create(), create()];
  return () => {
    if (!directions.factor()) return false;
    directions.compute(predictor, 0, null);
    const stepLengths = findLongestStep(state, predictor, 1);
    const predictedComplementarity = Math.max(0, computeComplementarity(state, predictor, stepLengths));
    const ratio = predictedComplementarity / state.mu;
    const centring = Math.max(1e-8, ratio * ratio * ratio);
    directions.compute(corrector, centring * state.mu, predictor);
    const { primal, dual } = findLongestStep(state, corrector, STEP_SHARE);
    const length = Math.min(primal, dual); // The objective is nonlinear, so primal and dual take the same step length.
    // If no trades are permitted, the prices of an account exceed the range of doubles.
    const next = computeComplementarity(state, corrector, { primal: length, dual: length });
    if (!(length > STEP_MIN) || !Number.isFinite(next)) return false;
    moveState(state, corrector, length);
    return true;
  };
}

function moveState(state: InteriorState, step: InteriorStep, length: number): void {
  const { z, zl, zu, y, slack, excess, boundSlack, boundPrice } = state;
  for (let j = 0; j < z.length; j++) {
    z[j]! += length * step.dz[j]!;
    zl[j]! += length * step.dzl[j]!;
    zu[j]! += length * step.dzu[j]!;
  }
  for (let j = 0; j < y.length; j++) {
    slack[j]! += length * step.ds[j]!;
    excess[j]! += length * step.de[j]!;
    y[j]! += length * step.dy[j]!;
  }
  for (let b = 0; b < boundSlack.length; b++) {
    boundSlack[b]! += length * step.db[b]!;
    boundPrice[b]! += length * step.dp[b]!;
  }
  state.t += length * step.dt;
  evaluateState(state);
}

/** Returns the answer, with trades that are at a bound set to it. */
function createSolution(state: InteriorState, status: RelaxationSolution['status'], steps: number): RelaxationSolution {
  const { relaxation, bounds, size, z, zl, zu, w, values } = state;
  const { rows } = relaxation;
  for (let j = 0; j < z.length; j++) {
    if (z[j]! < zl[j]! * 1e-3 && z[j]! < CONTACT_MAX) z[j] = 0;
    else if (size[j]! - z[j]! < CONTACT_MAX && size[j]! - z[j]! < zu[j]! * 1e-3) z[j] = size[j]!;
  }
  evaluateState(state);
  const violations = Float64Array.from(values, (value) => Math.max(0, value));
  const isViolated = violations.some(
    (value, j) => value > VIOLATION_MAX && (j === rows.length || (rows[j]!.tax === 0 && rows[j]!.penalty === Infinity)),
  );
  const isBeyond = bounds.some(({ security, sign: way, limit }) => way * (w[security]! - limit) > VIOLATION_MAX);
  return {
    status: isViolated || isBeyond ? 'infeasible' : status,
    traded: z,
    weights: w,
    multipliers: collectMultipliers(state),
    violations,
    steps,
  };
}
