import { computeFactorExposures, computeTax, type AccountProgram } from './account-program.js';
import { HARD_PENALTY } from './interior-point.js';
import type { Multipliers } from './relaxation.js';
import { sortSales, type GainPrices } from './relaxed-trades.js';

/** Maximum violation of a hard row that counts as a rounding error in the search. */
const VIOLATION_MAX = 1e-9;
/** Smallest price of a violation while violations are allowed. */
const PRICE_MIN = 1e-3;

/** Prices and multipliers of the convex solution. */
export interface MeritPrices {
  /** Prices of gains, which order the sales. */
  readonly prices: GainPrices;
  readonly multipliers: Multipliers;
}

/** Change of the trade of one security, with its contributions to the sums that couple the securities. */
export interface Move {
  readonly security: number;
  readonly trade: number;
  /** Change of the weight of the security. */
  readonly change: number;
  readonly short: number;
  readonly long: number;
  readonly spent: number;
  /** Change of the variance caused by this move. */
  variance: number;
  /** Change of the objective at the prices of the convex solution. */
  readonly loss: number;
}

/** Objective of net trades, updated incrementally by moves of single securities. */
export interface TradeMerit {
  /** Permits violations at the prices of the convex solution times `strength`; 0 permits none. */
  allow(strength: number): void;
  /** Returns the objective of the present trades. */
  objective(): number;
  /** Returns true if no hard row is violated. */
  isFeasible(): boolean;
  /** Returns the decrease of the objective if a security trades another amount. */
  gain(i: number, trade: number): number;
  moveOf(i: number, trade: number): Move;
  /** Updates the variance change of a move after other moves were made. */
  refresh(move: Move): void;
  /** Returns the decrease of the objective by two moves of different securities. */
  gainOfPair(one: Move, other: Move): number;
  /** Applies a move. */
  move(i: number, trade: number): void;
}

/**
 * Creates the objective of net trades.
 * @param net  signed trades by security, updated by moves
 * @cost per gain: lots of the security and rows; per pair: k and rows; per move: k
 * @source Grinold & Kahn (2000), Active Portfolio Management, 2nd ed., chapter 3
 */
export function createMerit(
  program: AccountProgram,
  net: Float64Array,
  { prices, multipliers }: MeritPrices,
): TradeMerit {
  const { n, k, loadings, specific, target, held, rows, sides, lower, upper, costRate, aversion, taxWeight } = program;
  const { lotSize, lotShort, lotLong, varianceLimit } = program;
  const m = rows.length;
  const active = Float64Array.from(net, (trade, i) => held[i]! + trade - target[i]!);
  const exposures = computeFactorExposures(program, active, new Float64Array(k));
  const orders = Array.from({ length: n }, (_, i) => sortSales(program, i, prices));
  /** Quadratic coefficient of each weight in the variance. */
  const norms = Float64Array.from(specific, (own, i) => own + computeSquares(loadings.subarray(i * k, (i + 1) * k)));
  const limit = Math.sqrt(varianceLimit);
  const values = new Float64Array(m); // Constant and weight terms of the rows, without gains and costs.
  const rowPrices = new Float64Array(m);
  let [variancePrice, isStrict] = [0, true];
  let [variance, cost] = [computeSquares(exposures), 0];
  let [short, long] = [program.fixedShort, program.fixedLong];
  let [ownShort, ownLong] = [0, 0];

  /** Writes the gains of a trade to `ownShort` and `ownLong`. */
  function realise(i: number, trade: number): void {
    [ownShort, ownLong] = [0, 0];
    let left = -trade;
    if (!(left > 0)) return;
    for (const l of orders[i]!) {
      const sold = Math.min(left, lotSize[l]!);
      ownShort += sold * lotShort[l]!;
      ownLong += sold * lotLong[l]!;
      left -= sold;
      if (!(left > 0)) break;
    }
  }

  for (let j = 0; j < m; j++) {
    const { weights, constant } = rows[j]!;
    let value = constant;
    if (weights !== null) for (let i = 0; i < n; i++) value += weights[i]! * (held[i]! + net[i]!);
    values[j] = value;
  }
  for (let i = 0; i < n; i++) {
    variance += specific[i]! * active[i]! * active[i]!;
    cost += Math.abs(net[i]!) * costRate[i]!;
    realise(i, net[i]!);
    short += ownShort;
    long += ownLong;
  }

  const measureExcess = (i: number, change: number): number => {
    const weight = held[i]! + net[i]! + change;
    return Math.max(0, lower[i]! - weight, weight - upper[i]!);
  };

  const sums = { variance: 0, short: 0, long: 0, spent: 0, violated: 0 };

  /** Returns the objective after changes of the sums and of up to two weights. */
  function computeTotal(i: number, change: number, j: number, other: number): number {
    const spent = cost + sums.spent;
    const [s, l, v] = [short + sums.short, long + sums.long, variance + sums.variance];
    let objective = aversion * v + spent + taxWeight * computeTax(sides, s, l);
    let { violated } = sums;
    if (v > varianceLimit) {
      if (isStrict) violated += Math.sqrt(v) - limit;
      else objective += variancePrice * (v - varianceLimit);
    }
    for (let r = 0; r < m; r++) {
      const row = rows[r]!;
      let value = values[r]! + row.short * s + row.long * l + row.cost * spent;
      if (row.weights !== null) value += row.weights[i]! * change + row.weights[j]! * other;
      if (!(value > 0)) continue;
      if (row.penalty < Infinity) objective += row.penalty * value;
      else if (isStrict) violated += value;
      else objective += rowPrices[r]! * value;
    }
    // Feasible trades are always better than infeasible ones.
    return objective + (violated > VIOLATION_MAX ? HARD_PENALTY * violated + 1 : 0);
  }

  /** Computes the objective and the variance slope of a security at its present trade. */
  const look = { security: -1, slope: 0, short: 0, long: 0, objective: 0 };

  function prepareSecurity(i: number): void {
    if (look.security === i) return;
    realise(i, net[i]!);
    Object.assign(sums, { variance: 0, short: 0, long: 0, spent: 0, violated: measureExcess(i, 0) });
    const objective = computeTotal(i, 0, i, 0);
    Object.assign(look, { security: i, slope: computeSlope(i), short: ownShort, long: ownLong, objective });
  }

  /** Returns half the derivative of the variance in a weight. */
  function computeSlope(i: number): number {
    let slope = specific[i]! * active[i]!;
    for (let f = 0, at = i * k; f < k; f++) slope += loadings[at + f]! * exposures[f]!;
    return slope;
  }

  function computeObjective(i: number, trade: number): number {
    const change = trade - net[i]!;
    realise(i, trade);
    sums.variance = change * (2 * look.slope + change * norms[i]!);
    sums.short = ownShort - look.short;
    sums.long = ownLong - look.long;
    sums.spent = (Math.abs(trade) - Math.abs(net[i]!)) * costRate[i]!;
    sums.violated = measureExcess(i, change);
    return computeTotal(i, change, i, 0);
  }

  const updateVariance = (own: Move): void => {
    own.variance = own.change * (2 * computeSlope(own.security) + own.change * norms[own.security]!);
  };

  return {
    allow(strength) {
      look.security = -1;
      isStrict = strength === 0;
      // If the variance limit does not bind, the risk aversion of the objective sets the smallest price.
      variancePrice = strength * Math.max(multipliers.variance, aversion);
      for (let r = 0; r < m; r++) rowPrices[r] = strength * Math.max(multipliers.rows[r]!, PRICE_MIN);
    },
    objective() {
      look.security = -1;
      prepareSecurity(0);
      return look.objective;
    },
    isFeasible() {
      let worst = variance > varianceLimit ? Math.sqrt(variance) - limit : 0;
      rows.forEach((row, r) => {
        if (row.penalty === Infinity)
          worst = Math.max(worst, values[r]! + row.short * short + row.long * long + row.cost * cost);
      });
      for (let i = 0; i < n; i++) worst = Math.max(worst, measureExcess(i, 0));
      return worst <= VIOLATION_MAX;
    },
    gain(i, trade) {
      prepareSecurity(i);
      return look.objective - computeObjective(i, trade);
    },
    moveOf(i, trade) {
      prepareSecurity(i);
      computeObjective(i, trade);
      const { short: s, long: l, spent, variance: v } = sums;
      const change = trade - net[i]!;
      let loss = (aversion + multipliers.variance) * v + prices.short * s + prices.long * l + spent;
      rows.forEach((row, r) => {
        const slope = row.cost * spent + (row.weights === null ? 0 : row.weights[i]! * change);
        loss += multipliers.rows[r]! * slope;
      });
      return { security: i, trade, change, short: s, long: l, spent, variance: v, loss };
    },
    refresh: updateVariance,
    gainOfPair(one, other) {
      const [i, j] = [one.security, other.security];
      let dot = 0;
      for (let f = 0; f < k; f++) dot += loadings[i * k + f]! * loadings[j * k + f]!;
      Object.assign(sums, {
        variance: 0,
        short: 0,
        long: 0,
        spent: 0,
        violated: measureExcess(i, 0) + measureExcess(j, 0),
      });
      const before = computeTotal(i, 0, j, 0);
      sums.variance = one.variance + other.variance + 2 * one.change * other.change * dot;
      sums.short = one.short + other.short;
      sums.long = one.long + other.long;
      sums.spent = one.spent + other.spent;
      sums.violated = measureExcess(i, one.change) + measureExcess(j, other.change);
      return before - computeTotal(i, one.change, j, other.change);
    },
    move(i, trade) {
      prepareSecurity(i);
      computeObjective(i, trade);
      const change = trade - net[i]!;
      variance += sums.variance;
      short += sums.short;
      long += sums.long;
      cost += sums.spent;
      active[i]! += change;
      for (let f = 0; f < k; f++) exposures[f]! += loadings[i * k + f]! * change;
      for (let r = 0; r < m; r++) if (rows[r]!.weights !== null) values[r]! += rows[r]!.weights![i]! * change;
      net[i] = trade;
      look.security = -1;
    },
  };
}

function computeSquares(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
}
