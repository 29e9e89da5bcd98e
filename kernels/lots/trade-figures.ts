import { computeFactorExposures, computeTax, computeTaxExcess, type AccountProgram } from './account-program.js';
import { sortSales } from './relaxed-trades.js';
import { HARD_PENALTY } from './interior-state.js';
import type { GainPrices } from './relaxed-trades.js';

/** Purchases by security and sales by lot. */
export interface AccountTrades {
  readonly bought: Float64Array;
  readonly sold: Float64Array;
}

export interface TradeFigures {
  readonly objective: number;
  readonly variance: number;
  readonly short: number;
  readonly long: number;
  readonly cost: number;
  readonly tax: number;
  readonly weights: Float64Array;
  /** Violation of each row of the program. */
  readonly violations: Float64Array;
  /**
   * Largest violation of rows without a penalty, weight bounds, limits of the tax and the variance limit; the latter is
   * measured as tracking error.
   */
  readonly worst: number;
}

/** Maximum violation that counts as a rounding error. */
export const VIOLATION_MAX = 1e-7;

/**
 * Computes the figures of trades by their definitions.
 * @cost n k + lots + rows n
 * @source Grinold & Kahn (2000), Active Portfolio Management, 2nd ed., chapter 3
 */
export function computeFigures(program: AccountProgram, { bought, sold }: AccountTrades): TradeFigures {
  const { n, k, heldWeights, target, specific, lotStart, lotShort, lotLong, costRate, rows, sides } = program;
  const weights = new Float64Array(n);
  const activeWeights = new Float64Array(n);
  let short = program.fixedShort;
  let long = program.fixedLong;
  let cost = 0;
  let variance = 0;
  for (let i = 0; i < n; i++) {
    let [weight, traded] = [heldWeights[i]! + bought[i]!, bought[i]!];
    for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) {
      weight -= sold[l]!;
      traded += sold[l]!;
      short += sold[l]! * lotShort[l]!;
      long += sold[l]! * lotLong[l]!;
    }
    cost += traded * costRate[i]!;
    weights[i] = weight;
    activeWeights[i] = weight - target[i]!;
    variance += specific[i]! * activeWeights[i]! * activeWeights[i]!;
  }
  const exposures = computeFactorExposures(program, activeWeights, new Float64Array(k));
  for (let f = 0; f < k; f++) variance += exposures[f]! * exposures[f]!;
  const tax = computeTax(sides, short, long);
  let objective = program.aversion * variance + cost + program.taxWeight * tax;
  let worst = Math.max(0, Math.sqrt(variance) - Math.sqrt(program.varianceLimit));
  const violations = Float64Array.from(rows, (row) => {
    let value = row.constant + row.short * short + row.long * long + row.cost * cost;
    if (row.weights !== null) for (let i = 0; i < n; i++) value += row.weights[i]! * weights[i]!;
    const violation = Math.max(0, value);
    if (row.penalty < Infinity) objective += row.penalty * violation;
    else worst = Math.max(worst, violation);
    return violation;
  });
  worst = Math.max(worst, computeTaxExcess(sides, short, long));
  for (let i = 0; i < n; i++) worst = Math.max(worst, program.lower[i]! - weights[i]!, weights[i]! - program.upper[i]!);
  return { objective, variance, short, long, cost, tax, weights, violations, worst };
}

/** Returns the objective of trades, plus a penalty on their largest violation unless it is a rounding error. */
export const computeMerit = ({ objective, worst }: TradeFigures): number =>
  objective + (worst > VIOLATION_MAX ? HARD_PENALTY * worst + 1 : 0);

/**
 * Returns the purchases and sales by lot for net trades, with lots sold in their order at the given prices of gains.
 */
export function createTrades(program: AccountProgram, net: Float64Array, prices: GainPrices): AccountTrades {
  const { n, lotSize } = program;
  const purchases = new Float64Array(n);
  const sales = new Float64Array(lotSize.length);
  for (let i = 0; i < n; i++) {
    if (net[i]! >= 0) purchases[i] = net[i]!;
    else {
      let unsoldWeight = -net[i]!;
      for (const l of sortSales(program, i, prices)) {
        sales[l] = Math.min(unsoldWeight, lotSize[l]!);
        unsoldWeight -= sales[l]!;
        if (!(unsoldWeight > 0)) break;
      }
    }
  }
  return { bought: purchases, sold: sales };
}
