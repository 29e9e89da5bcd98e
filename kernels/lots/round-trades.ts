import { type AccountProgram, computeFactorExposures, computeTax, computeTaxExcess } from './account-program.js';
import { HARD_PENALTY } from './interior-point.js';
import { type GainPrices, type Multipliers, sortSales } from './relaxation.js';

/** Permitted trades of each security of an account: whole shares, minimum trades, whole positions. */
interface PermittedMoves {
  /** Trades found by the last call of `list`. */
  readonly found: Float64Array;
  permit(i: number, trade: number): number;
  /**
   * Writes the other permitted trades of a security to `found`. They are: one share more or less, no trade, the minimum
   * trade, the whole position, the suggested trade, and trades that begin or end the lot that is sold in part.
   * @returns the number of trades
   */
  list(i: number, trade: number): number;
}

/** Maximum difference of two trades that count as equal. */
const DIFFERENCE_MIN = 1e-14;

function createMoves(program: AccountProgram, suggested: Float64Array): PermittedMoves {
  const { n, unit, minimumTrade, buyLimit, heldWeights, lotStart, lotSize, isOrdered } = program;
  const sizes = Float64Array.from({ length: n }, (_, i) => computeLotSize(program, i));
  const moves = new Float64Array(9);
  let count = 0;

  function permit(i: number, trade: number): number {
    const [step, least, position] = [unit[i]!, minimumTrade[i]!, sizes[i]!];
    if (trade === 0) return 0;
    const tradeMax = trade > 0 ? buyLimit[i]! : position;
    let amount = Math.min(Math.abs(trade), tradeMax);
    if (trade < 0 && position - amount < Math.max(step * 1e-6, heldWeights[i]! * 1e-9)) return -position;
    if (step > 0) amount = Math.min(Math.round(amount / step), Math.floor(tradeMax / step + 1e-9)) * step;
    if (amount < least) {
      const leastMove = step > 0 ? Math.ceil(least / step - 1e-9) * step : least;
      amount = amount * 2 < least || leastMove > tradeMax ? 0 : leastMove;
    }
    return trade > 0 ? amount : -amount;
  }

  function add(i: number, present: number, wish: number): void {
    const trade = permit(i, wish);
    if (Math.abs(trade - present) <= DIFFERENCE_MIN) return;
    for (let position = 0; position < count; position++) if (moves[position] === trade) return;
    moves[count++] = trade;
  }

  return {
    found: moves,
    permit,
    list(i, trade) {
      count = 0;
      const step = unit[i]!;
      const leastTrade = minimumTrade[i]!;
      if (step > 0) {
        add(i, trade, trade - step);
        add(i, trade, trade + step);
      }
      add(i, trade, 0);
      const leastMove = step > 0 ? Math.ceil(leastTrade / step - 1e-9) * step : leastTrade;
      if (leastMove > 0) {
        add(i, trade, leastMove);
        add(i, trade, -leastMove);
      }
      add(i, trade, suggested[i]!);
      add(i, trade, -sizes[i]!);
      if (isOrdered[i] === 1 && trade < 0) {
        let [begin, end] = [0, 0];
        for (let l = lotStart[i]!; l < lotStart[i + 1]! && end < -trade - DIFFERENCE_MIN; l++) {
          begin = end;
          end += lotSize[l]!;
        }
        add(i, trade, -begin);
        add(i, trade, -end);
      }
      return count;
    },
  };
}

/** Returns the total weight of the lots of a security. */
export function computeLotSize({ lotStart, lotSize }: AccountProgram, i: number): number {
  let total = 0;
  for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) total += lotSize[l]!;
  return total;
}

/** Maximum sum of violations that counts as a rounding error while trades are improved. */
const VIOLATION_MAX = 1e-9;

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
  readonly realised: { short: number; long: number };
  /** Changes of the sums, and the violation of weight bounds. The objective is computed from them. */
  readonly sums: { variance: number; short: number; long: number; spent: number; violated: number };
}

/** Creates the state of net trades. @param net  updated by moves */
function createTradeState(program: AccountProgram, net: Float64Array, prices: GainPrices): TradeState {
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

function realise({ program, orders, realised }: TradeState, i: number, trade: number): void {
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
function measureExcess({ program, net }: TradeState, i: number, change: number): number {
  const { heldWeights, lower, upper } = program;
  const weight = heldWeights[i]! + net[i]! + change;
  return Math.max(0, lower[i]! - weight, weight - upper[i]!);
}

/** Returns half the derivative of the variance in a weight. */
function computeVarianceSlope({ program, active, exposures }: TradeState, i: number): number {
  const { k, specific, loadings } = program;
  let slope = specific[i]! * active[i]!;
  for (let f = 0, position = i * k; f < k; f++) slope += loadings[position + f]! * exposures[f]!;
  return slope;
}

/** Returns the objective after the changes `sums` and the changes of up to two weights. */
function computeObjective(state: TradeState, i: number, change: number, j: number, other: number): number {
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

/** Smallest price of a violation while violations are allowed. */
const PRICE_MIN = 1e-3;
/** Smallest price of a tax above its limit, relative to the tax. */
const LIMIT_PRICE = 1;

/** Prices and multipliers of the convex solution. */
export interface MeritPrices {
  readonly prices: GainPrices;
  readonly multipliers: Multipliers;
}

/** Change of the trade of one security. Contains its contributions to the sums that couple the securities. */
interface TradeMove {
  readonly security: number;
  readonly trade: number;
  /** Change of the weight of the security. */
  readonly change: number;
  readonly short: number;
  readonly long: number;
  readonly spent: number;
  variance: number;
  /** Change of the objective at the prices of the convex solution. */
  readonly loss: number;
}

/** Objective of net trades. Moves of single securities update it incrementally. */
interface TradeMerit {
  /** Permits violations at the prices of the convex solution times `strength`; 0 permits none. */
  allow(strength: number): void;
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
  move(i: number, trade: number): void;
}

/**
 * Creates the objective of net trades.
 * @param net  signed trades by security, updated by moves
 * @cost per gain: lots of the security and rows; per pair: k and rows; per move: k
 * @source Grinold & Kahn (2000), Active Portfolio Management, 2nd ed., chapter 3
 */
function createMerit(program: AccountProgram, net: Float64Array, { prices, multipliers }: MeritPrices): TradeMerit {
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

/** Maximum number of passes over all securities; five are usual. */
const PASSES_MAX = 40;
/**
 * Maximum ratio of the loss of a move to the largest gain of a pass. A move with a larger loss is not tried in the next
 * pass.
 */
const LOSS_RATIO_MAX = 10;
/** Gain of a pass, as a fraction of the account value, below which the passes end. */
const PASS_GAIN_MIN = 1e-9;
/** Minimum improvement of a move. */
const MOVE_GAIN_MIN = 1e-13;
/**
 * Prices of violations while rounded trades may violate rows, in multiples of the multipliers. At such prices, the
 * cheapest trades restore a row. At lower prices, the first trades that help would restore it.
 */
const VIOLATION_PRICES = [2, 6] as const;
/** Gap, as a fraction of the account value, below which pairs of moves are not tried: 0.03 bp. */
const ACCEPTED_GAP = 3e-6;
/** Maximum number of moves that are combined into pairs. */
const PAIRED_MOVES_MAX = 64;
const PAIR_ROUNDS_MAX = 12;

export interface RoundingTerms {
  /** Prices that order sales. */
  readonly prices: GainPrices;
  /** Trades to try, by security. */
  readonly suggested: Float64Array;
  /** Multipliers of the convex solution. */
  readonly multipliers: Multipliers;
  /** Lower bound on the objective; pairs of moves are tried only if the gap to it is large. */
  readonly bound: number;
}

/**
 * Rounds net trades to permitted ones (whole shares, minimum trades) and improves them by moves. First moves single
 * securities until no move helps, with prices on violations of the rows and the variance limit. Then moves two
 * securities at a time.
 * @param net  signed trades by security, replaced by the rounded trades
 */
export function roundTrades(program: AccountProgram, net: Float64Array, terms: RoundingTerms): void {
  const { n } = program;
  const moves = createMoves(program, terms.suggested);
  for (let i = 0; i < n; i++) net[i] = moves.permit(i, net[i]!);
  const merit = createMerit(program, net, terms);
  for (const strength of VIOLATION_PRICES) {
    merit.allow(strength);
    improve(net, moves, merit);
    if (merit.isFeasible()) break;
  }
  const isSettled = merit.isFeasible();
  merit.allow(0);
  if (!isSettled) improve(net, moves, merit);
  for (let round = 0; round < PAIR_ROUNDS_MAX && merit.objective() - terms.bound > ACCEPTED_GAP; round++) {
    if (!movePairs(net, { moves, merit, n })) return;
    improve(net, moves, merit);
  }
}

/** Moves single securities until no move improves the objective. */
function improve(net: Float64Array, moves: PermittedMoves, merit: TradeMerit): void {
  /** Gain of the best move of each security at its last trial. */
  const gains = new Float64Array(net.length).fill(Infinity);
  let gainMin = Infinity;
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    let [largest, sum] = [0, 0];
    for (let i = 0; i < net.length; i++) {
      // A move with a loss far above the gains of other moves is not tried: those gains hardly compensate it.
      if (gains[i]! < -gainMin) continue;
      let [best, gain] = [net[i]!, -Infinity];
      const count = moves.list(i, net[i]!);
      for (let position = 0; position < count; position++) {
        const moveGain = merit.gain(i, moves.found[position]!);
        if (moveGain > gain) [best, gain] = [moves.found[position]!, moveGain];
      }
      gains[i] = gain;
      if (!(gain > MOVE_GAIN_MIN)) continue;
      merit.move(i, best);
      largest = Math.max(largest, gain);
      sum += gain;
    }
    if (sum < PASS_GAIN_MIN) return;
    gainMin = LOSS_RATIO_MAX * largest;
  }
}

interface PairTerms {
  readonly n: number;
  readonly moves: PermittedMoves;
  readonly merit: TradeMerit;
}

/**
 * Makes pairs of moves that improve the objective, chosen from the moves that cost least individually. One move uses
 * the slack of a row, and the other restores it.
 * @returns false if no pair improves
 */
function movePairs(net: Float64Array, { n, moves, merit }: PairTerms): boolean {
  const tradeMoves: TradeMove[] = [];
  for (let i = 0; i < n; i++) {
    const count = moves.list(i, net[i]!);
    for (let position = 0; position < count; position++) tradeMoves.push(merit.moveOf(i, moves.found[position]!));
  }
  const cheapestMoves = tradeMoves.sort((a, b) => a.loss - b.loss).slice(0, PAIRED_MOVES_MAX);
  const usedSecurities = new Set<number>();
  for (let a = 0; a < cheapestMoves.length; a++)
    for (let b = a + 1; b < cheapestMoves.length; b++) {
      const [tradeMove, otherTradeMove] = [cheapestMoves[a]!, cheapestMoves[b]!];
      if (
        tradeMove.security === otherTradeMove.security ||
        usedSecurities.has(tradeMove.security) ||
        usedSecurities.has(otherTradeMove.security)
      )
        continue;
      if (!(merit.gainOfPair(tradeMove, otherTradeMove) > MOVE_GAIN_MIN)) continue;
      for (const { security, trade } of [tradeMove, otherTradeMove]) {
        merit.move(security, trade);
        usedSecurities.add(security);
      }
      for (const move of cheapestMoves) merit.refresh(move);
    }
  return usedSecurities.size > 0;
}
