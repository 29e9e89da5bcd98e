import { computeTaxExcess, type AccountProgram } from './account-program.js';
import type { Multipliers } from './relaxation.js';
import type { GainPrices } from './relaxed-trades.js';
import {
  computeObjective,
  computeVarianceSlope,
  createTradeState,
  VIOLATION_MAX,
  measureExcess,
  realise,
} from './trade-state.js';

/** Smallest price of a violation while violations are allowed. */
const PRICE_MIN = 1e-3;
/** Smallest price of a tax above its limit, relative to the tax. */
const LIMIT_PRICE = 1;

/** Prices and multipliers of the convex solution. */
export interface MeritPrices {
  /** Prices of gains, which order the sales. */
  readonly prices: GainPrices;
  readonly multipliers: Multipliers;
}

/** Change of the trade of one security. Contains its contributions to the sums that couple the securities. */
export interface TradeMove {
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

/** Objective of net trades. Moves of single securities update it incrementally. */
export interface TradeMerit {
  /** Permits violations at the prices of the convex solution times `strength`; 0 permits none. */
  allow(strength: number): void;
  /** Returns the objective of the present trades. */
  objective(): number;
  /** Returns true if no row without a penalty, weight bound or variance limit is violated. */
  isFeasible(): boolean;
  /** Returns the decrease of the objective if a security trades another amount. */
  gain(i: number, trade: number): number;
  moveOf(i: number, trade: number): TradeMove;
  /** Updates the variance change of a move after other moves were made. */
  refresh(move: TradeMove): void;
  /** Returns the decrease of the objective by two moves of different securities. */
  gainOfPair(one: TradeMove, other: TradeMove): number;
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
  const { n, k, loadings, rows, costRate, aversion, varianceLimit } = program;
  const state = createTradeState(program, net, prices);
  const { active, exposures, norms, values, rowPrices, realised, sums } = state;
  /** Objective and variance slope of the security that was evaluated last, at its present trade. */
  const evaluatedTrade = { security: -1, slope: 0, short: 0, long: 0, objective: 0 };

  function evaluatePresent(i: number): void {
    if (evaluatedTrade.security === i) return;
    realise(state, i, net[i]!);
    const { short, long } = realised;
    Object.assign(sums, { variance: 0, short: 0, long: 0, spent: 0, violated: measureExcess(state, i, 0) });
    const objective = computeObjective(state, i, 0, i, 0);
    Object.assign(evaluatedTrade, { security: i, slope: computeVarianceSlope(state, i), short, long, objective });
  }

  function computeObjectiveAt(i: number, trade: number): number {
    const change = trade - net[i]!;
    realise(state, i, trade);
    sums.variance = change * (2 * evaluatedTrade.slope + change * norms[i]!);
    sums.short = realised.short - evaluatedTrade.short;
    sums.long = realised.long - evaluatedTrade.long;
    sums.spent = (Math.abs(trade) - Math.abs(net[i]!)) * costRate[i]!;
    sums.violated = measureExcess(state, i, change);
    return computeObjective(state, i, change, i, 0);
  }

  return {
    allow(strength) {
      evaluatedTrade.security = -1;
      state.isStrict = strength === 0;
      // If the variance limit does not bind, the risk aversion of the objective sets the smallest price.
      state.variancePrice = strength * Math.max(multipliers.variance, aversion);
      for (let r = 0; r < values.length; r++) rowPrices[r] = strength * Math.max(multipliers.rows[r]!, PRICE_MIN);
      state.taxPrice = strength * Math.max(LIMIT_PRICE, ...multipliers.rows.subarray(values.length));
    },
    objective() {
      evaluatedTrade.security = -1;
      evaluatePresent(0);
      return evaluatedTrade.objective;
    },
    isFeasible() {
      const { variance, short, long, cost } = state;
      let largestViolation = variance > varianceLimit ? Math.sqrt(variance) - Math.sqrt(varianceLimit) : 0;
      rows.forEach((row, r) => {
        if (row.penalty === Infinity)
          largestViolation = Math.max(
            largestViolation,
            values[r]! + row.short * short + row.long * long + row.cost * cost,
          );
      });
      largestViolation = Math.max(largestViolation, computeTaxExcess(program.sides, short, long));
      for (let i = 0; i < n; i++) largestViolation = Math.max(largestViolation, measureExcess(state, i, 0));
      return largestViolation <= VIOLATION_MAX;
    },
    gain(i, trade) {
      evaluatePresent(i);
      return evaluatedTrade.objective - computeObjectiveAt(i, trade);
    },
    moveOf(i, trade) {
      evaluatePresent(i);
      computeObjectiveAt(i, trade);
      const { short: s, long: l, spent, variance: v } = sums;
      const change = trade - net[i]!;
      let loss = (aversion + multipliers.variance) * v + prices.short * s + prices.long * l + spent;
      rows.forEach((row, r) => {
        const slope = row.cost * spent + (row.weights === null ? 0 : row.weights[i]! * change);
        loss += multipliers.rows[r]! * slope;
      });
      return { security: i, trade, change, short: s, long: l, spent, variance: v, loss };
    },
    refresh(ownTradeMove) {
      ownTradeMove.variance =
        ownTradeMove.change *
        (2 * computeVarianceSlope(state, ownTradeMove.security) + ownTradeMove.change * norms[ownTradeMove.security]!);
    },
    gainOfPair(tradeMove, otherTradeMove) {
      const [i, j] = [tradeMove.security, otherTradeMove.security];
      let dot = 0;
      for (let f = 0; f < k; f++) dot += loadings[i * k + f]! * loadings[j * k + f]!;
      Object.assign(sums, {
        variance: 0,
        short: 0,
        long: 0,
        spent: 0,
        violated: measureExcess(state, i, 0) + measureExcess(state, j, 0),
      });
      const before = computeObjective(state, i, 0, j, 0);
      sums.variance = tradeMove.variance + otherTradeMove.variance + 2 * tradeMove.change * otherTradeMove.change * dot;
      sums.short = tradeMove.short + otherTradeMove.short;
      sums.long = tradeMove.long + otherTradeMove.long;
      sums.spent = tradeMove.spent + otherTradeMove.spent;
      sums.violated = measureExcess(state, i, tradeMove.change) + measureExcess(state, j, otherTradeMove.change);
      return before - computeObjective(state, i, tradeMove.change, j, otherTradeMove.change);
    },
    move(i, trade) {
      evaluatePresent(i);
      computeObjectiveAt(i, trade);
      const change = trade - net[i]!;
      state.variance += sums.variance;
      state.short += sums.short;
      state.long += sums.long;
      state.cost += sums.spent;
      active[i]! += change;
      for (let f = 0; f < k; f++) exposures[f]! += loadings[i * k + f]! * change;
      for (let r = 0; r < values.length; r++)
        if (rows[r]!.weights !== null) values[r]! += rows[r]!.weights![i]! * change;
      net[i] = trade;
      evaluatedTrade.security = -1;
    },
  };
}
