import { computeFactorExposures, type AccountProgram, type TaxSide } from './account-program.js';
import {
  applyTrades,
  type Candidate,
  computePricesAt,
  createCandidate,
  createTrades,
  findTopPrices,
  interpolateTowards,
  type SettledTrades,
  VIOLATION_MAX,
} from './trade-figures.js';
import { computeDualBound, minimiseSecurity, computePrices } from './dual-bound.js';
import { solveRelaxation } from './interior-point.js';
import { solveByPrices } from './price-newton.js';
import {
  BOTH_DIRECTIONS,
  type GainPrices,
  type IntermediateSolution,
  listRelaxedRows,
  type Multipliers,
  type RelaxedRow,
  type RelaxedTrades,
  relaxTrades,
  type StartingSolution,
} from './relaxation.js';
import { roundTrades } from './round-trades.js';

/** Maximum number of rounds that decide the lots at the margin. */
const ROUNDS_MAX = 5;
/** Maximum number of passes over all securities in a decision. */
const PASSES_MAX = 3;
/** Maximum change of a trade in a pass that counts as settled. */
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
  /** Trades in any fraction. */
  readonly candidate: Candidate;
  /** Rounds the trades to permitted trades. */
  permit(): Candidate;
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
  let bestCandidate: (Candidate & { readonly net: Float64Array; readonly at: Multipliers }) | undefined;
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
  const [candidate, { bound }] = [bestCandidate, bestDual];

  function permit(): Candidate {
    const { unit, minimumTrade } = program;
    if (!unit.some((step) => step > 0) && !minimumTrade.some((least) => least > 0)) return candidate;
    const net = candidate.net.slice();
    const prices = computeGainPrices(candidate.at);
    roundTrades(program, net, { prices, suggested: suggestedTrades, bound, multipliers: candidate.at });
    return createCandidate(program, createTrades(program, net, prices));
  }

  return { candidate, permit, ...bestDual, steps };
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
  const { rows: prices, short, long, cost } = computePrices(rows, multipliers, program.taxWeight);
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
