import type { AccountProgram, TaxSide } from './account-program.js';
import { BUYS_ONLY, listRelaxedRows, type Multipliers, type RelaxedRow, SELLS_ONLY, sortSales } from './relaxation.js';

/** Restrictions of a branch: lower and upper limits on the signed trade of each security. */
export interface TradeRanges {
  readonly least: Float64Array;
  readonly most: Float64Array;
}

export interface DualBound {
  /**
   * Lower bound on the objective over all permitted trades of the side; Infinity if a security has no permitted trade.
   */
  readonly bound: number;
  /** Signed trades by security that attain the bound; purchases are positive. */
  readonly trades: Float64Array;
}

/** Tolerance for weight bounds and whole shares, as a weight. */
const ROUNDING_ERROR = 1e-12;

/**
 * Computes the Lagrangian bound of one side of the tax. Given multipliers, the problem separates by security: each is
 * minimised exactly over its permitted trades (purchase or sale, order of lots, whole shares, minimum trades, bounds).
 * Any multipliers give a valid bound; the optimal multipliers give the best one. No solver is needed.
 *
 * @cost lots log lots + n k
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 12.9
 */
export function computeDualBound(
  program: AccountProgram,
  side: TaxSide,
  multipliers: Multipliers,
  ranges: TradeRanges | null = null,
): DualBound {
  const { n, k, loadings, target, specific, varianceLimit, taxWeight } = program;
  const rows = listRelaxedRows(program, side);
  const prices = computeLotPrices(rows, multipliers, taxWeight);
  const theta = Number.isFinite(varianceLimit) && multipliers.variance > 0 ? multipliers.variance : 0;
  const averseness = program.aversion + theta;
  const { exposures } = multipliers;
  let squares = 0;
  for (let f = 0; f < k; f++) squares += exposures[f]! * exposures[f]!;
  let bound = -averseness * squares - (theta === 0 ? 0 : theta * varianceLimit);
  rows.forEach(({ constant }, j) => void (bound += prices.rows[j]! * constant));
  const trades = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let tangent = 0;
    for (let f = 0; f < k; f++) tangent += loadings[i * k + f]! * exposures[f]!;
    tangent *= 2 * averseness;
    let slope = tangent;
    rows.forEach(({ weights }, j) => void (weights !== null && (slope += prices.rows[j]! * weights[i]!)));
    const leastValue = minimiseSecurity(program, i, {
      curvature: averseness * specific[i]!,
      slope,
      short: prices.short,
      long: prices.long,
      cost: prices.cost,
      from: ranges?.least[i] ?? -Infinity,
      to: ranges?.most[i] ?? Infinity,
    });
    bound += leastValue.value - tangent * target[i]!;
    trades[i] = leastValue.trade;
  }
  return { bound, trades };
}

/**
 * Returns multipliers that satisfy the dual constraints: not negative, at most the penalty, and a sum of `taxWeight`
 * over the tax pieces.
 */
export function computeLotPrices(rows: readonly RelaxedRow[], multipliers: Multipliers, taxWeight: number) {
  const toFinite = (x: number): number => (Number.isFinite(x) ? x : 0);
  const prices = Float64Array.from(rows, ({ penalty }, j) =>
    Math.min(penalty, Math.max(0, toFinite(multipliers.rows[j]!))),
  );
  let taxPriceSum = 0;
  rows.forEach(({ tax }, j) => void (tax === 1 && (taxPriceSum += prices[j]!)));
  const pieces = rows.filter(({ tax }) => tax === 1).length;
  const sums = { short: 0, long: 0, cost: 1 };
  rows.forEach((row, j) => {
    if (row.tax === 1) prices[j] = taxPriceSum > 0 ? (prices[j]! / taxPriceSum) * taxWeight : taxWeight / pieces;
    sums.short += prices[j]! * row.short;
    sums.long += prices[j]! * row.long;
    sums.cost += prices[j]! * row.cost;
  });
  return { rows: prices, ...sums };
}

export interface SecurityTerms {
  /** Coefficient of (w - target)^2. */
  readonly curvature: number;
  /** Coefficient of w. */
  readonly slope: number;
  readonly short: number;
  readonly long: number;
  readonly cost: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Minimisation of one security: its terms and the best trade so far. It is a class, so that JavaScript engines optimise
 * access to its members.
 */
class Search {
  readonly curvature: number;
  readonly slope: number;
  readonly from: number;
  readonly to: number;
  readonly heldWeight: number;
  readonly target: number;
  readonly lower: number;
  readonly upper: number;
  readonly step: number;
  value = Infinity;
  trade = 0;

  constructor({ heldWeights, target, lower, upper, unit }: AccountProgram, i: number, terms: SecurityTerms) {
    this.curvature = terms.curvature;
    this.slope = terms.slope;
    this.from = terms.from;
    this.to = terms.to;
    this.heldWeight = heldWeights[i]!;
    this.target = target[i]!;
    this.lower = lower[i]!;
    this.upper = upper[i]!;
    this.step = unit[i]!;
  }
}

/** Replaces the best trade by `trade`, at the cost `amount`, if that is better. */
function considerTrade(s: Search, trade: number, amount: number): void {
  const w = s.heldWeight + trade;
  if (
    w < s.lower - ROUNDING_ERROR ||
    w > s.upper + ROUNDING_ERROR ||
    trade < s.from - ROUNDING_ERROR ||
    trade > s.to + ROUNDING_ERROR
  )
    return;
  const activeWeight = w - s.target;
  const value = s.curvature * activeWeight * activeWeight + s.slope * w + amount;
  if (value < s.value) {
    s.value = value;
    s.trade = trade;
  }
}

/** Considers trades between `least` and `most` in one direction. `price` is the price per unit. */
function considerRange(s: Search, way: number, least: number, most: number, offset: number, price: number): void {
  // Bounds on weights and branch ranges, expressed as bounds on the amount traded.
  const low = way > 0 ? Math.max(s.lower - s.heldWeight, s.from) : Math.max(s.heldWeight - s.upper, -s.to);
  const high = way > 0 ? Math.min(s.upper - s.heldWeight, s.to) : Math.min(s.heldWeight - s.lower, -s.from);
  const a = Math.max(least, low);
  const z = Math.min(most, high);
  if (a > z + ROUNDING_ERROR) return;
  const optimum = way * (s.target - s.heldWeight) - (way * s.slope + price) / (2 * s.curvature);
  if (s.step === 0) {
    const x = Math.min(z, Math.max(a, optimum));
    considerTrade(s, way * x, offset + price * (x - least));
    return;
  }
  const first = Math.ceil((a - ROUNDING_ERROR) / s.step);
  const last = Math.floor((z + ROUNDING_ERROR) / s.step);
  if (first > last) return;
  const tradeBelow = Math.min(last, Math.max(first, Math.floor(optimum / s.step))) * s.step;
  considerTrade(s, way * tradeBelow, offset + price * (tradeBelow - least));
  const tradeAbove = Math.min(last, Math.max(first, Math.ceil(optimum / s.step))) * s.step;
  if (tradeAbove !== tradeBelow) considerTrade(s, way * tradeAbove, offset + price * (tradeAbove - least));
}

export function minimiseSecurity(
  program: AccountProgram,
  i: number,
  terms: SecurityTerms,
): { value: number; trade: number } {
  const { minimumTrade, buyLimit, costRate, lotStart, lotSize, lotShort, lotLong } = program;
  const { short, long, cost } = terms;
  const search = new Search(program, i, terms);
  considerTrade(search, 0, 0);
  const charge = cost * costRate[i]!;
  const leastTrade = Math.max(minimumTrade[i]!, 0);
  if (buyLimit[i]! >= leastTrade)
    considerRange(search, BUYS_ONLY, leastTrade, buyLimit[i]!, leastTrade * charge, charge);
  let soldWeight = 0;
  let amount = 0;
  const firstLot = lotStart[i]!;
  const endLot = lotStart[i + 1]!;
  const order = program.isOrdered[i] === 1 ? null : sortSales(program, i, terms);
  for (let place = firstLot; place < endLot; place++) {
    const l = order === null ? place : order[place - firstLot]!;
    const price = short * lotShort[l]! + long * lotLong[l]! + charge;
    const end = soldWeight + lotSize[l]!;
    const start = Math.max(soldWeight, leastTrade);
    if (start <= end) considerRange(search, SELLS_ONLY, start, end, amount + price * (start - soldWeight), price);
    amount += price * (end - soldWeight);
    soldWeight = end;
  }
  if (soldWeight > 0) considerTrade(search, -soldWeight, amount); // The whole position may be sold, whatever its size.
  return search;
}
