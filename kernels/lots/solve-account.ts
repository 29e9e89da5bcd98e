import { type AccountProgram, assertAccountProgram, type TaxSide } from './account-program.js';
import {
  type Branch,
  type BranchCut,
  type BranchProof,
  createRootRanges,
  divideRanges,
  evaluateRegion,
  findLeastBound,
  GAP_ROUNDED,
  isFixed,
  shareCertificates,
  type SideCertificate,
  transferCertificate,
  writeProof,
} from './branch-proof.js';
import { computeDualBound, type TradeRanges } from './dual-bound.js';
import { solveRelaxation } from './interior-point.js';
import {
  BOTH_DIRECTIONS,
  BUYS_ONLY,
  type GainPrices,
  listRelaxedRows,
  type Multipliers,
  type RelaxationSolution,
  type RelaxedRow,
  type RelaxedTrades,
  relaxTrades,
  SELLS_ONLY,
  sortSales,
} from './relaxation.js';
import { computeLotSize, roundTrades } from './round-trades.js';
import { settleOrder } from './settle-order.js';
import {
  type AccountTrades,
  applyTrades,
  type TradeCandidate,
  chooseLots,
  computePricesAt,
  createCandidate,
  createTrades,
  findTopPrices,
  interpolateTowards,
  type TradeFigures,
  VIOLATION_MAX,
} from './trade-figures.js';

/** Gap at which a branch is closed. */
const GAP_TOLERANCE = 1e-12;

/**
 * Searches the permitted trades on one side of the tax. It branches on ranges of net trades and starts with the lowest
 * bound.
 * @returns the best trades found, and a proof of a lower bound on the objective of all permitted trades; undefined if
 *   the proof would be too large
 */
function searchBranches(
  program: AccountProgram,
  sideAt: number,
  incumbent: TradeCandidate,
  limit: number,
): { readonly candidate: TradeCandidate; readonly proof: BranchProof | undefined; readonly nodes: number } {
  const side = program.sides[sideAt]!;
  let candidate = incumbent;
  let nodeCount = 0;
  /**
   * Lowest bound among regions that are not divided further: their trades are too many to try all, or any fraction may
   * trade.
   */
  let unprovedBound = Infinity;
  const root = solveBound(program, side, createRootRanges(program));
  if (root === undefined) return { candidate, proof: undefined, nodes: 0 };
  const openNodes: Node[] = [root];
  while (openNodes.length > 0 && nodeCount < limit) {
    const node = openNodes.shift()!;
    nodeCount++;
    if (node.bound > candidate.merit - GAP_TOLERANCE) {
      openNodes.unshift(node);
      break;
    }
    for (const net of [node.net, node.suggested]) {
      const roundedTrades = net.slice();
      roundTrades(program, roundedTrades, node);
      const ownCandidate = createCandidate(program, createTrades(program, roundedTrades, node.prices));
      if (ownCandidate.merit < candidate.merit) candidate = ownCandidate;
    }
    const cut = splitRange(program, node);
    if (cut === undefined) {
      const evaluated = evaluateRegion(program, node.branch.ranges);
      const lots = evaluated === undefined ? chooseLots(program, node.suggested) : undefined;
      const ownCandidate = evaluated ?? (lots && createCandidate(program, lots));
      node.branch.isEvaluated = evaluated !== undefined;
      if (evaluated === undefined) unprovedBound = Math.min(unprovedBound, node.bound);
      if (ownCandidate !== undefined && ownCandidate.merit < candidate.merit) candidate = ownCandidate;
      continue;
    }
    const [low, high] = divideRanges(node.branch.ranges, cut);
    const addPart = (ranges: TradeRanges): Branch => {
      const child = solveBound(program, side, ranges);
      // The multipliers of the whole prove at least its bound for each part.
      if (child === undefined || child.bound < node.bound) {
        const branch: Branch = { ranges, multipliers: node.branch.multipliers, isEvaluated: false, split: null };
        if (child !== undefined) openNode({ ...child, branch, bound: node.bound });
        return branch;
      }
      if (child.bound <= candidate.merit - GAP_TOLERANCE) openNode(child);
      return child.branch;
    };
    node.branch.split = { cut, parts: [addPart(low), addPart(high)] };
  }

  function openNode(node: Node): void {
    const position = openNodes.findIndex(({ bound }) => bound > node.bound);
    openNodes.splice(position < 0 ? openNodes.length : position, 0, node);
  }

  const openBound = openNodes[0]?.bound ?? Infinity;
  const bound = Math.min(openBound, candidate.merit, unprovedBound);
  return { candidate, proof: writeProof(program, side, root.branch, bound), nodes: nodeCount };
}

interface Node {
  readonly branch: Branch;
  readonly bound: number;
  readonly net: Float64Array;
  readonly suggested: Float64Array;
  readonly prices: { readonly short: number; readonly long: number };
  readonly multipliers: Multipliers;
}

/** Minimum width of a range that is still split if any fraction may trade. */
const WIDTH_MIN = 1e-7;

/**
 * Returns where to split the range in which the convex solution and the minimiser of the bound differ most. Returns
 * undefined if no range can be split.
 */
function splitRange(program: AccountProgram, { branch: { ranges }, net, suggested }: Node): BranchCut | undefined {
  const { n, unit } = program;
  let [position, most] = [-1, -1];
  for (let i = 0; i < n; i++) {
    const width = ranges.most[i]! - ranges.least[i]!;
    if (unit[i]! > 0 ? isFixed(program, ranges, i) : width < WIDTH_MIN) continue;
    const difference = Math.abs(net[i]! - suggested[i]!) + 1e-6 * width;
    if (difference > most) [position, most] = [i, difference];
  }
  if (position < 0) return undefined;
  const step = unit[position]!;
  const [low, high] = [ranges.least[position]!, ranges.most[position]!];
  let middle = (net[position]! + suggested[position]!) / 2;
  if (low < 0 && high > 0) middle = step > 0 && suggested[position]! > 0 ? -step / 2 : 0;
  if (step > 0) {
    const cut = Math.min(
      Math.max(Math.floor(middle / step), Math.ceil(low / step - 1e-9)),
      Math.floor(high / step + 1e-9) - 1,
    );
    // A position of a fraction of a share may be sold as a whole.
    return { security: position, below: Math.max(low, cut * step), above: (cut + 1) * step };
  }
  const width = high - low;
  const cut = low < 0 && high > 0 ? 0 : Math.min(Math.max(middle, low + 0.1 * width), high - 0.1 * width);
  return { security: position, below: cut, above: cut };
}

/**
 * Solves the convex form within the ranges. Securities with only one possible trade become constants of the account.
 */
function solveBound(program: AccountProgram, side: TaxSide, ranges: TradeRanges): Node | undefined {
  const { n, heldWeights } = program;
  for (let i = 0; i < n; i++)
    if (isFixed(program, ranges, i) && isTooSmall(program, i, ranges.least[i]!)) return undefined;
  const topPrices = findTopPrices(side, program.taxWeight);
  const { reduced } = fixTrades(program, ranges, topPrices);
  const directions = Int8Array.from({ length: n }, (_, i) =>
    ranges.least[i]! >= 0 ? BUYS_ONLY : ranges.most[i]! <= 0 ? SELLS_ONLY : BOTH_DIRECTIONS,
  );
  const restrictedProgram: AccountProgram = {
    ...reduced,
    lower: Float64Array.from(reduced.lower, (lower, i) => Math.max(lower, reduced.heldWeights[i]! + ranges.least[i]!)),
    upper: Float64Array.from(reduced.upper, (upper, i) => Math.min(upper, reduced.heldWeights[i]! + ranges.most[i]!)),
  };
  for (let i = 0; i < n; i++)
    if (isFixed(program, ranges, i)) {
      restrictedProgram.lower[i] = -Infinity;
      restrictedProgram.upper[i] = Infinity;
    }
  const trades = relaxTrades(restrictedProgram, topPrices, directions);
  const answer = solveRelaxation({
    program: restrictedProgram,
    side,
    trades,
    rows: listRelaxedRows(restrictedProgram, side),
  });
  // The bound is that of the program: the lots of a fixed trade are chosen at the prices of the multipliers.
  const { bound, trades: suggested } = computeDualBound(program, side, answer.multipliers, ranges);
  if (bound === Infinity) return undefined;
  const net = Float64Array.from(answer.weights, (weight, i) => weight - heldWeights[i]!);
  for (let i = 0; i < n; i++) if (isFixed(program, ranges, i)) suggested[i] = ranges.least[i]!;
  const { multipliers } = answer;
  return {
    branch: { ranges, multipliers, isEvaluated: false, split: null },
    bound,
    net,
    suggested,
    multipliers,
    prices: computePricesAt(restrictedProgram, side, multipliers),
  };
}

/** Returns true for a trade below the minimum that does not sell the whole position. */
function isTooSmall(program: AccountProgram, i: number, trade: number): boolean {
  const amount = Math.abs(trade);
  if (amount < 1e-12 || amount >= program.minimumTrade[i]! - 1e-12) return false;
  return trade > 0 || Math.abs(amount - computeLotSize(program, i)) > 1e-12;
}

/** Applies the trades of securities with a single possible trade. Returns the reduced account and the trading costs. */
function fixTrades(program: AccountProgram, ranges: TradeRanges, prices: { short: number; long: number }) {
  const { n, lotStart, lotSize, lotShort, lotLong } = program;
  const [first, end] = [lotStart.slice(0, n), lotStart.slice(1)];
  const buyLimit = program.buyLimit.slice();
  const net = new Float64Array(n);
  let [short, long] = [0, 0];
  for (let i = 0; i < n; i++) {
    if (!isFixed(program, ranges, i)) continue;
    net[i] = ranges.least[i]!;
    end[i] = first[i]!;
    buyLimit[i] = 0;
    let unsoldWeight = -net[i]!;
    for (const l of sortSales(program, i, prices)) {
      if (!(unsoldWeight > 0)) break;
      const lotSale = Math.min(unsoldWeight, lotSize[l]!);
      short += lotSale * lotShort[l]!;
      long += lotSale * lotLong[l]!;
      unsoldWeight -= lotSale;
    }
  }
  return applyTrades(program, { net, short, long, first, end, buyLimit });
}

/** Fraction of the mean weight by which sales may go below the target at first. */
const TARGET_MARGIN = 0.25;

/**
 * Returns the lots to consider first: lots sold at a loss, and further lots in the order of sale until the target is
 * reached. `addOfferedLots` adds the lots that a solution lacks.
 */
function listOfferedLots(program: AccountProgram, prices: GainPrices): Uint8Array {
  const { n, lotStart, lotSize, lotShort, lotLong, isOrdered, heldWeights, target, upper } = program;
  const isOffered = new Uint8Array(lotSize.length);
  for (let i = 0; i < n; i++) {
    const isWhole = isOrdered[i] === 1 || upper[i]! < heldWeights[i]!;
    const sufficientSale = heldWeights[i]! - target[i]! + TARGET_MARGIN / n;
    let soldWeight = 0;
    for (const l of sortSales(program, i, prices)) {
      const price = prices.short * lotShort[l]! + prices.long * lotLong[l]!;
      if (!isWhole && price > 0 && soldWeight >= sufficientSale) break;
      isOffered[l] = 1;
      soldWeight += lotSize[l]!;
    }
    if (isWhole) isOffered.fill(1, lotStart[i], lotStart[i + 1]);
  }
  return isOffered;
}

/**
 * Savings that are negligible, as fractions of the account value: if any fraction may trade, and for whole shares,
 * whose rounding costs more.
 */
const SAVING_MIN = 5e-11;
const SAVING_MIN_ROUNDED = 1e-9;

/**
 * Adds all lots of the securities of which the solution would sell an omitted lot, if their total saving is not
 * negligible.
 * @param rows  rows returned by `listRelaxedRows`
 * @returns false if the saving is negligible: the solution is optimal with all lots
 */
function addOfferedLots(
  program: AccountProgram,
  offered: Uint8Array,
  rows: readonly RelaxedRow[],
  { weights, multipliers }: { readonly weights: Float64Array; readonly multipliers: Multipliers },
): boolean {
  const { n, k, loadings, specific, target, lotStart, lotSize, lotShort, lotLong, costRate } = program;
  const averseness = program.aversion + multipliers.variance;
  const prices = { short: 0, long: 0, cost: 1 };
  rows.forEach((row, j) => {
    prices.short += multipliers.rows[j]! * row.short;
    prices.long += multipliers.rows[j]! * row.long;
    prices.cost += multipliers.rows[j]! * row.cost;
  });
  let saving = 0;
  const lackingLots: number[] = [];
  for (let i = 0; i < n; i++) {
    let slope = specific[i]! * (weights[i]! - target[i]!);
    for (let f = 0; f < k; f++) slope += loadings[i * k + f]! * multipliers.exposures[f]!;
    slope *= 2 * averseness;
    rows.forEach((row, j) => void (row.weights !== null && (slope += multipliers.rows[j]! * row.weights[i]!)));
    const keepingCost = prices.cost * costRate[i]! - slope;
    let securitySaving = 0;
    for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++)
      if (offered[l] === 0)
        securitySaving -=
          lotSize[l]! * Math.min(0, prices.short * lotShort[l]! + prices.long * lotLong[l]! + keepingCost);
    if (securitySaving > 0) lackingLots.push(i);
    saving += securitySaving;
  }
  if (saving <= (program.unit.some((step) => step > 0) ? SAVING_MIN_ROUNDED : SAVING_MIN)) return false;
  for (const i of lackingLots) offered.fill(1, lotStart[i], lotStart[i + 1]);
  return true;
}

export interface AccountSolution {
  readonly status: 'optimal' | 'infeasible';
  readonly trades: AccountTrades;
  readonly figures: TradeFigures;
  /** Certificate of each possible side: no permitted trades of the side have an objective below its bound. */
  readonly certificates: readonly SideCertificate[];
  /** Smallest bound of all sides. */
  readonly bound: number;
  readonly certificateIndex: number;
  readonly steps: number;
  readonly nodes: number;
}

export interface SearchLimits {
  /** Maximum number of nodes of the branch and bound search of each side of the tax; 0 disables this search. */
  readonly nodes: number;
}

/**
 * Maximum number of solutions of the convex form of one side: the first one with either direction, the others with
 * purchase or sale decided.
 */
const ROUNDS_MAX = 4;
/** The convex form of the other side is not solved if its bound is lower by less than this fraction of the gap. */
const GAP_SHARE = 0.1;
/** Gap, as a fraction of the account value, at which a solution counts as proved optimal. */
const GAP_PROVED = 1e-10;
/** Amount both bought and sold of one security above which its direction is decided. */
const MIXED_MIN = 1e-10;
/** Smallest amount that counts as a net trade. */
const TRADE_MIN = 1e-12;

/**
 * Solves an account. For each side of the tax, solves the convex form, decides between purchase and sale of each
 * security, and rounds to permitted trades. If a gap remains and nodes are allowed, continues with branch and bound.
 *
 * @cost 15 to 20 interior-point steps for each of one to eight rounds, and for each node
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 12.9; Wolsey (2020), Integer Programming,
 * 2nd ed., chapter 7
 */
export function solveAccount(program: AccountProgram, { nodes }: SearchLimits): AccountSolution {
  assertAccountProgram(program);
  let best: TradeCandidate | undefined;
  const openSides: OpenSide[] = [];
  const hasOrder = program.isOrdered.some((order) => order === 1);
  const certificates: SideCertificate[] = [];
  let steps = 0;
  for (const side of listPossibleSides(program)) {
    const sideCertificate = certificates.at(-1);
    const proof = sideCertificate === undefined ? undefined : transferCertificate(program, sideCertificate, side);
    // The other side is not better, or better only by a rounding error that is also within the gap of the first side.
    const merit = best?.merit ?? Infinity;
    const margin = sideCertificate === undefined ? 0 : GAP_SHARE * Math.max(0, merit - sideCertificate.bound);
    const goal = Math.min(merit, Math.max((sideCertificate?.bound ?? Infinity) - margin, merit - GAP_ROUNDED));
    if (proof !== undefined && proof.bound > goal - GAP_PROVED) {
      certificates.push(proof);
      continue;
    }
    const settledSide = hasOrder
      ? settleOrder(program, program.sides[side]!, {
          start:
            best && proof ? { net: computeNetTrades(program, best.figures), multipliers: proof.multipliers } : null,
          incumbent: merit,
        })
      : solveRefined(program, program.sides[side]!, merit);
    steps += settledSide.steps;
    certificates.push({ side, multipliers: settledSide.multipliers, bound: settledSide.bound });
    openSides.push({ candidate: settledSide.candidate, permit: settledSide.permit, at: certificates.length - 1 });
    if (best === undefined || settledSide.candidate.merit < best.merit) best = settledSide.candidate;
  }
  let { answer, at: certificateIndex } = selectBest(openSides);
  shareCertificates(program, certificates, answer.merit);
  let visitedNodes = 0;
  if (nodes > 0 && answer.merit - findLeastBound(certificates) > GAP_PROVED)
    certificates.forEach(({ side, bound }, position) => {
      const { candidate, proof, nodes: visited } = searchBranches(program, side, answer, nodes);
      visitedNodes += visited;
      if (proof !== undefined && proof.bound > bound) certificates[position] = { ...certificates[position]!, proof };
      if (candidate.merit < answer.merit) answer = candidate;
    });
  const { trades, figures } = answer;
  return {
    status: figures.worst > VIOLATION_MAX ? 'infeasible' : 'optimal',
    trades,
    figures,
    certificates,
    bound: findLeastBound(certificates),
    certificateIndex,
    steps,
    nodes: visitedNodes,
  };
}

/** Solved side of the tax whose trades are not yet rounded. */
interface OpenSide {
  readonly candidate: TradeCandidate;
  permit(): TradeCandidate;
  /** Index of its certificate. */
  readonly at: number;
}

/**
 * Returns the best permitted trades of all sides. Sides are rounded in order of their unrounded objective, because
 * rounding rarely improves it.
 */
function selectBest(sides: readonly OpenSide[]): { readonly answer: TradeCandidate; readonly at: number } {
  let bestSide: { readonly answer: TradeCandidate; readonly at: number } | undefined;
  for (const { candidate, permit, at } of sides.toSorted((a, b) => a.candidate.merit - b.candidate.merit)) {
    if (bestSide !== undefined && candidate.merit >= bestSide.answer.merit) continue;
    const answer = permit();
    if (bestSide === undefined || answer.merit < bestSide.answer.merit) bestSide = { answer, at };
  }
  if (bestSide === undefined) throw new Error('No side of the tax has trades.');
  return bestSide;
}

/** Returns the sides of the tax whose sign of long-term gains is attainable. */
function listPossibleSides({ sides, lotSize, lotLong, fixedLong }: AccountProgram): number[] {
  let [least, most] = [fixedLong, fixedLong];
  lotSize.forEach((size, l) => {
    const gain = size * lotLong[l]!;
    if (gain < 0) least += gain;
    else most += gain;
  });
  const isPossible = sides.map(({ longSign }) => (longSign > 0 ? most >= 0 : longSign < 0 ? least <= 0 : true));
  // If long-term gains can have only one sign, the other side reduces to L = 0, which this side includes.
  const possibleSides = sides.map((_, position) => position).filter((position) => isPossible[position]);
  if (possibleSides.length === 2 && least >= 0) return [0];
  if (possibleSides.length === 2 && most <= 0) return [1];
  return possibleSides;
}

/**
 * Solves a side. If a gap remains, decides again between purchase, sale and no trade, by exact minimisation of one
 * security after another. Accounts with few securities at a loss have the widest gaps.
 */
function solveRefined(program: AccountProgram, side: TaxSide, incumbent: number) {
  const sideSolution = solveSide(program, side, incumbent);
  const { candidate } = sideSolution;
  if (Math.min(candidate.merit, incumbent) - sideSolution.bound < GAP_ROUNDED)
    return { ...sideSolution, permit: () => candidate };
  const start = { net: computeNetTrades(program, candidate.figures), multipliers: sideSolution.multipliers };
  const resolvedSide = settleOrder(program, side, { start, incumbent });
  const isTighter = resolvedSide.bound > sideSolution.bound;
  const otherCandidate = resolvedSide.candidate.merit < candidate.merit ? resolvedSide.permit() : candidate;
  const betterCandidate = otherCandidate.merit < candidate.merit ? otherCandidate : candidate;
  return {
    candidate: betterCandidate,
    permit: () => betterCandidate,
    bound: isTighter ? resolvedSide.bound : sideSolution.bound,
    multipliers: isTighter ? resolvedSide.multipliers : sideSolution.multipliers,
    steps: sideSolution.steps + resolvedSide.steps,
  };
}

function solveSide(program: AccountProgram, side: TaxSide, incumbent: number) {
  const rows = listRelaxedRows(program, side);
  const directions = new Int8Array(program.n).fill(BOTH_DIRECTIONS);
  const topPrices = findTopPrices(side, program.taxWeight);
  let prices = topPrices;
  let candidate: TradeCandidate | undefined;
  let dual = { bound: -Infinity, multipliers: undefined as Multipliers | undefined };
  const isOffered = listOfferedLots(program, prices);
  let steps = 0;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const { trades, answer, steps: solveSteps } = solveOffered(program, { side, rows, prices, directions, isOffered });
    steps += solveSteps;
    const { bound, trades: suggested } = computeDualBound(program, side, answer.multipliers);
    if (bound > dual.bound || dual.multipliers === undefined) dual = { bound, multipliers: answer.multipliers };
    prices = computePricesAt(program, side, answer.multipliers);
    const ownCandidate = roundToCandidate(program, {
      trades,
      answer,
      suggested,
      bound: dual.bound,
      prices: interpolateTowards(topPrices, prices),
    });
    if (candidate === undefined || ownCandidate.merit < candidate.merit) candidate = ownCandidate;
    const leastMerit = Math.min(incumbent, candidate.merit);
    if (dual.bound > leastMerit || candidate.merit - dual.bound < GAP_PROVED) break;
    const isChanged = decide(program, { trades, answer, suggested }, directions);
    if (!isChanged && (round > 0 || candidate.merit - dual.bound < GAP_ROUNDED)) break;
  }
  return { candidate: candidate!, bound: dual.bound, multipliers: dual.multipliers!, steps };
}

interface OfferedForm {
  readonly side: TaxSide;
  readonly rows: readonly RelaxedRow[];
  readonly prices: GainPrices;
  readonly directions: Int8Array;
  /** Lots that may be traded. Lots that the solution lacks are added. */
  readonly isOffered: Uint8Array;
}

/** Solves the convex form with some of the lots, and again with further lots until none is missing. */
function solveOffered(program: AccountProgram, { side, rows, prices, directions, isOffered }: OfferedForm) {
  let steps = 0;
  for (;;) {
    const trades = relaxTrades(program, prices, directions, isOffered);
    const answer = solveRelaxation({ program, side, trades, rows });
    steps += answer.steps;
    if (!addOfferedLots(program, isOffered, rows, answer)) return { trades, answer, steps };
  }
}

interface RelaxedSolution {
  readonly trades: RelaxedTrades;
  readonly answer: RelaxationSolution;
  /** Trades that attain the dual bound. */
  readonly suggested: Float64Array;
}

/**
 * Decides between purchase and sale of each security. @returns false if the convex solution agrees with all previous
 * decisions
 */
function decide(
  { n, heldWeights }: AccountProgram,
  { trades, answer, suggested }: RelaxedSolution,
  decided: Int8Array,
): boolean {
  let isChanged = false;
  for (let i = 0; i < n; i++) {
    const net = answer.weights[i]! - heldWeights[i]!;
    const isMixed = buysAndSells(trades, answer.traded, i);
    const wishedTrade = isMixed || Math.abs(net) < TRADE_MIN ? suggested[i]! : net;
    const direction = wishedTrade > 0 ? BUYS_ONLY : wishedTrade < 0 ? SELLS_ONLY : (decided[i] as number);
    // A decided security changes its direction only if its own minimum has the opposite direction.
    if (decided[i] === BOTH_DIRECTIONS) {
      decided[i] = direction;
      if (isMixed || net * direction < -TRADE_MIN) isChanged = true;
    } else if (suggested[i]! * decided[i]! < 0) {
      decided[i] = Math.sign(suggested[i]!);
      isChanged = true;
    }
  }
  return isChanged;
}

function buysAndSells({ start, sign }: RelaxedTrades, traded: Float64Array, i: number): boolean {
  let [buys, sells] = [false, false];
  for (let j = start[i]!; j < start[i + 1]!; j++)
    if (traded[j]! > MIXED_MIN) {
      if (sign[j]! > 0) buys = true;
      else sells = true;
    }
  return buys && sells;
}

/** Returns permitted trades near the convex solution. */
function roundToCandidate(
  program: AccountProgram,
  relaxed: RelaxedSolution & { readonly prices: GainPrices; readonly bound: number },
): TradeCandidate {
  const { trades, answer, suggested, prices, bound } = relaxed;
  const { n, unit, minimumTrade } = program;
  const isDiscrete = unit.some((step) => step > 0) || minimumTrade.some((least) => least > 0);
  let isPlain = !isDiscrete;
  for (let i = 0; i < n && isPlain; i++) if (buysAndSells(trades, answer.traded, i)) isPlain = false;
  if (isPlain) return createCandidate(program, clearRounding(program, trades, answer.traded));
  const net = computeNetTrades(program, answer);
  if (isDiscrete) roundTrades(program, net, { prices, suggested, bound, multipliers: answer.multipliers });
  return createCandidate(program, createTrades(program, net, prices));
}

const computeNetTrades = ({ heldWeights }: AccountProgram, { weights }: Pick<TradeFigures, 'weights'>): Float64Array =>
  weights.map((weight, i) => weight - heldWeights[i]!);

function clearRounding({ n, lotSize }: AccountProgram, trades: RelaxedTrades, traded: Float64Array): AccountTrades {
  const purchases = new Float64Array(n);
  const sales = new Float64Array(lotSize.length);
  for (let i = 0; i < n; i++)
    for (let j = trades.start[i]!; j < trades.start[i + 1]!; j++) {
      if (trades.sign[j]! > 0) purchases[i] = traded[j]!;
      else sales[trades.firstLot[j]!] = traded[j]!;
    }
  return { bought: purchases, sold: sales };
}
