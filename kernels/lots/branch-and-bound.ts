import type { AccountProgram, TaxSide } from './account-program.js';
import { computeDualBound, type TradeRanges } from './dual-bound.js';
import {
  applyTrades,
  type Candidate,
  chooseLots,
  computePricesAt,
  createCandidate,
  createTrades,
  findTopPrices,
} from './trade-figures.js';
import {
  type Branch,
  type BranchCut,
  type BranchProof,
  createRootRanges,
  divideRanges,
  evaluateRegion,
  isFixed,
  writeProof,
} from './branch-proof.js';
import { solveRelaxation } from './interior-point.js';
import {
  BOTH_DIRECTIONS,
  BUYS_ONLY,
  listRelaxedRows,
  type Multipliers,
  relaxTrades,
  SELLS_ONLY,
  sortSales,
} from './relaxation.js';
import { computeLotSize, roundTrades } from './round-trades.js';

/** Gap at which a branch is closed. */
const GAP_TOLERANCE = 1e-12;

/**
 * Searches the permitted trades on one side of the tax. It branches on ranges of net trades and starts with the lowest
 * bound.
 * @returns the best trades found, and a proof of a lower bound on the objective of all permitted trades; undefined if
 *   the proof would be too large
 */
export function searchBranches(
  program: AccountProgram,
  sideAt: number,
  incumbent: Candidate,
  limit: number,
): { readonly candidate: Candidate; readonly proof: BranchProof | undefined; readonly nodes: number } {
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
