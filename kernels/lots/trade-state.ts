import { computeFactorExposures, computeTax, computeTaxExcess, type AccountProgram } from './account-program.js';
import { HARD_PENALTY } from './interior-state.js';
import { sortSales, type GainPrices } from './relaxed-trades.js';

/** Maximum sum of violations that counts as a rounding error while trades are improved. */
export const VIOLATION_MAX = 1e-9;

/** Net trades with the sums that couple the securities. */
export interface TradeState {
  readonly program: AccountProgram;
  /** Signed trades by security, [n]. */
  readonly net: Float64Array;
  /** Weights less the target weights, [n]. */
  readonly active: Float64Array;
  readonly exposures: Float64Array;
  /** Lots of each security in the order of sale. */
  readonly orders: readonly Int32Array[];
  /** Quadratic coefficient of each weight in the variance. */
  readonly norms: Float64Array;
  /** Constant and weight terms of the rows, without gains and costs. */
  readonly values: Float64Array;
  /** Prices of violations of the rows, if violations are allowed. */
  readonly rowPrices: Float64Array;
  variancePrice: number;
  /** Price of a tax above its limit, if violations are allowed. */
  taxPrice: number;
  /** True if violations are not allowed. */
  isStrict: boolean;
  variance: number;
  cost: number;
  short: number;
  long: number;
  /** Gains of the trade that was realised last. */
  readonly realised: { short: number; long: number };
  /** Changes of the sums, and the violation of weight bounds. The objective is computed from them. */
  readonly sums: { variance: number; short: number; long: number; spent: number; violated: number };
}

/** Creates the state of net trades. @param net  updated by moves */
export function createTradeState(program: AccountProgram, net: Float64Array, prices: GainPrices): TradeState {
  const { n, k, loadings, specific, target, heldWeights, rows, costRate } = program;
  const active = Float64Array.from(net, (trade, i) => heldWeights[i]! + trade - target[i]!);
  const exposures = computeFactorExposures(program, active, new Float64Array(k));
  const state: TradeState = {
    program,
    net,
    active,
    exposures,
    orders: Array.from({ length: n }, (_, i) => sortSales(program, i, prices)),
    norms: Float64Array.from(specific, (own, i) => own + sumSquares(loadings.subarray(i * k, (i + 1) * k))),
    values: new Float64Array(rows.length),
    rowPrices: new Float64Array(rows.length),
    variancePrice: 0,
    taxPrice: 0,
    isStrict: true,
    variance: sumSquares(exposures),
    cost: 0,
    short: program.fixedShort,
    long: program.fixedLong,
    realised: { short: 0, long: 0 },
    sums: { variance: 0, short: 0, long: 0, spent: 0, violated: 0 },
  };
  rows.forEach(({ weights, constant }, j) => {
    let value = constant;
    if (weights !== null) for (let i = 0; i < n; i++) value += weights[i]! * (heldWeights[i]! + net[i]!);
    state.values[j] = value;
  });
  for (let i = 0; i < n; i++) {
    state.variance += specific[i]! * active[i]! * active[i]!;
    state.cost += Math.abs(net[i]!) * costRate[i]!;
    realise(state, i, net[i]!);
    state.short += state.realised.short;
    state.long += state.realised.long;
  }
  return state;
}

/** Computes the gains of a trade. */
export function realise({ program, orders, realised }: TradeState, i: number, trade: number): void {
  const { lotSize, lotShort, lotLong } = program;
  let unsoldWeight = -trade;
  let short = 0;
  let long = 0;
  if (unsoldWeight > 0)
    for (const l of orders[i]!) {
      const lotSale = Math.min(unsoldWeight, lotSize[l]!);
      short += lotSale * lotShort[l]!;
      long += lotSale * lotLong[l]!;
      unsoldWeight -= lotSale;
      if (!(unsoldWeight > 0)) break;
    }
  realised.short = short;
  realised.long = long;
}

/** Returns the violation of the bounds of a weight after a change. */
export function measureExcess({ program, net }: TradeState, i: number, change: number): number {
  const { heldWeights, lower, upper } = program;
  const weight = heldWeights[i]! + net[i]! + change;
  return Math.max(0, lower[i]! - weight, weight - upper[i]!);
}

/** Returns half the derivative of the variance in a weight. */
export function computeVarianceSlope({ program, active, exposures }: TradeState, i: number): number {
  const { k, specific, loadings } = program;
  let slope = specific[i]! * active[i]!;
  for (let f = 0, position = i * k; f < k; f++) slope += loadings[position + f]! * exposures[f]!;
  return slope;
}

/** Returns the objective after the changes `sums` and the changes of up to two weights. */
export function computeObjective(state: TradeState, i: number, change: number, j: number, other: number): number {
  const { program, values, rowPrices, variancePrice, isStrict, sums } = state;
  const { rows, sides, aversion, taxWeight, varianceLimit } = program;
  const costTotal = state.cost + sums.spent;
  const [s, l, v] = [state.short + sums.short, state.long + sums.long, state.variance + sums.variance];
  let objective = aversion * v + costTotal + taxWeight * computeTax(sides, s, l);
  let { violated } = sums;
  if (v > varianceLimit) {
    if (isStrict) violated += Math.sqrt(v) - Math.sqrt(varianceLimit);
    else objective += variancePrice * (v - varianceLimit);
  }
  const taxExcess = computeTaxExcess(sides, s, l);
  if (isStrict) violated += taxExcess;
  else objective += state.taxPrice * taxExcess;
  for (let r = 0; r < values.length; r++) {
    const row = rows[r]!;
    let value = values[r]! + row.short * s + row.long * l + row.cost * costTotal;
    if (row.weights !== null) value += row.weights[i]! * change + row.weights[j]! * other;
    if (!(value > 0)) continue;
    if (row.penalty < Infinity) objective += row.penalty * value;
    else if (isStrict) violated += value;
    else objective += rowPrices[r]! * value;
  }
  // Feasible trades are always better than infeasible ones.
  return objective + (violated > VIOLATION_MAX ? HARD_PENALTY * violated + 1 : 0);
}

function sumSquares(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
}
