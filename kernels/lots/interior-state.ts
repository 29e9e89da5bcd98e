import { computeFactorExposures } from './account-program.js';
import { widenBounds, type Bound, type Iterate } from './interior-steps.js';
import type { Multipliers, StartingSolution, Relaxation } from './relaxation.js';
import { createFarPoint, createNearPoint } from './starting-point.js';

/**
 * Penalty per unit of violation of a row that must hold. It is finite, because the multiplier of the variance row is
 * unbounded near a limit of 0.
 */
export const HARD_PENALTY = 100;

/** Iterate of the interior-point method, with the values that follow from it. */
export interface InteriorState extends Iterate {
  readonly relaxation: Relaxation;
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
export function createInteriorState(relaxation: Relaxation, near: StartingSolution | null): InteriorState {
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
const computePenalty = ({ rows }: Relaxation, j: number): number =>
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
export function evaluateState(state: InteriorState): void {
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

/** Weight of the variance in the Lagrangian. */
export const computeVarianceWeight = (state: InteriorState): number =>
  state.relaxation.program.aversion + computeVarianceMultiplier(state);

/** Returns views of the current multipliers. */
export const collectMultipliers = (state: InteriorState): Multipliers => ({
  exposures: state.exposures,
  variance: computeVarianceMultiplier(state),
  rows: state.y.subarray(0, state.relaxation.rows.length),
});

/** Computes the mean complementarity. Returns the sum of the complementary products and the largest residual. */
export function measureState(state: InteriorState): { gap: number; worst: number } {
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
