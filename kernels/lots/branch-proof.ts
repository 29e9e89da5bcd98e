import type { AccountProgram, TaxSide } from './account-program.js';
import { computeDualBound, type TradeRanges } from './dual-bound.js';
import { listRelaxedRows, type Multipliers } from './relaxation.js';
import { computeLotSize } from './round-trades.js';
import { chooseLots, createCandidate } from './trade-figures.js';

/** Region of net trades in the search: divided into two, proved by multipliers, or with its only net trades evaluated. */
export interface Branch {
  readonly ranges: TradeRanges;
  multipliers: Multipliers;
  /** True if the region has one net trade per security, for which all combinations of lots were tried. */
  isEvaluated: boolean;
  split: { readonly cut: BranchCut; readonly parts: readonly [Branch, Branch] } | null;
}

/** Division of the net trades of a security: at most `below`, or at least `above`; none is permitted in between. */
export interface BranchCut {
  readonly security: number;
  readonly below: number;
  readonly above: number;
}

/** Step of a proof: a division, the position of the multipliers of a region, or a region whose trades were evaluated. */
export type BranchStep = BranchCut | { readonly multipliers: number } | 'evaluated';

/** Regions that contain all permitted trades of a side, in the order of their division, and the bound of all regions. */
export interface BranchProof {
  readonly steps: readonly BranchStep[];
  readonly multipliers: readonly Multipliers[];
  readonly bound: number;
}

/** Maximum number of multipliers in a proof; a search that requires more proves nothing. */
const MULTIPLIERS_MAX = 2000;
/** Difference of two bounds that is a rounding error. */
const BOUND_ERROR = 1e-12;
/** Maximum width of a range with one trade: as a fraction of a share, and as a weight. */
const WIDTH_IN_SHARES = 1e-6;
const WIDTH_MIN = 1e-12;

export const isFixed = ({ unit }: AccountProgram, { least, most }: TradeRanges, i: number): boolean =>
  most[i]! - least[i]! < (unit[i]! > 0 ? unit[i]! * WIDTH_IN_SHARES : WIDTH_MIN);

export function createRootRanges(program: AccountProgram): TradeRanges {
  const { n, heldWeights, lower, upper, buyLimit, unit } = program;
  const roundToLots = (trade: number, step: number): number =>
    step > 0 ? Math.floor(trade / step + 1e-9) * step : trade;
  return {
    least: Float64Array.from({ length: n }, (_, i) =>
      Math.max(-computeLotSize(program, i), lower[i]! - heldWeights[i]!),
    ),
    most: Float64Array.from({ length: n }, (_, i) =>
      roundToLots(Math.min(buyLimit[i]!, upper[i]! - heldWeights[i]!), unit[i]!),
    ),
  };
}

/** Returns the ranges of both parts of a division. */
export function divideRanges(
  { least, most }: TradeRanges,
  { security, below, above }: BranchCut,
): [TradeRanges, TradeRanges] {
  const parts = [
    { least, most: most.slice() },
    { least: least.slice(), most },
  ] as [TradeRanges, TradeRanges];
  parts[0].most[security] = below;
  parts[1].least[security] = above;
  return parts;
}

/**
 * Evaluates a region in which every security has one net trade, in whole shares.
 * @returns the lowest objective of all combinations of lots; undefined if there are too many, or any fraction may trade
 * @cost O(combinations x N)
 * @source A. H. Land and A. G. Doig, "An automatic method of solving discrete programming problems", Econometrica 28,
 *   1960
 */
export function evaluateRegion(program: AccountProgram, ranges: TradeRanges) {
  for (let i = 0; i < program.n; i++) if (!(program.unit[i]! > 0) || !isFixed(program, ranges, i)) return undefined;
  const trades = chooseLots(program, ranges.least);
  return trades && createCandidate(program, trades);
}

/**
 * Writes the proof of a search. A region takes multipliers of another region if they prove its bound, too.
 * @param bound  bound of all regions
 * @returns undefined if the proof would be too large
 */
export function writeProof(
  program: AccountProgram,
  side: TaxSide,
  root: Branch,
  bound: number,
): BranchProof | undefined {
  const steps: BranchStep[] = [];
  const multipliers: Multipliers[] = [root.multipliers];
  let least = Infinity;
  const openBranches = [root];
  for (let branch = openBranches.pop(); branch !== undefined; branch = openBranches.pop()) {
    const { split, ranges, isEvaluated } = branch;
    if (split !== null) {
      steps.push(split.cut);
      openBranches.push(split.parts[1], split.parts[0]);
      continue;
    }
    if (isEvaluated) {
      steps.push('evaluated');
      least = Math.min(least, evaluateRegion(program, ranges)?.merit ?? -Infinity);
      continue;
    }
    const prove = (own: Multipliers): number => computeDualBound(program, side, own, ranges).bound;
    let position = [multipliers.length - 1, 0].find((at) => prove(multipliers[at]!) >= bound - BOUND_ERROR);
    if (position === undefined) position = multipliers.push(branch.multipliers) - 1;
    if (multipliers.length > MULTIPLIERS_MAX) return undefined;
    steps.push({ multipliers: position });
    least = Math.min(least, prove(multipliers[position]!));
  }
  return { steps, multipliers, bound: least };
}

/**
 * Computes the bound that a proof states for one side of the tax, without a search.
 * @returns undefined if its regions do not contain all permitted trades
 */
export function computeProofBound(
  program: AccountProgram,
  side: TaxSide,
  { steps, multipliers }: Pick<BranchProof, 'steps' | 'multipliers'>,
): number | undefined {
  let least = Infinity;
  const openRanges = [createRootRanges(program)];
  for (const step of steps) {
    const ranges = openRanges.pop();
    if (ranges === undefined) return undefined;
    if (step === 'evaluated') least = Math.min(least, evaluateRegion(program, ranges)?.merit ?? -Infinity);
    else if ('security' in step) {
      if (!isDivision(program, step)) return undefined;
      const [low, high] = divideRanges(ranges, step);
      openRanges.push(high, low);
    } else {
      const own = multipliers[step.multipliers];
      if (own === undefined) return undefined;
      least = Math.min(least, computeDualBound(program, side, own, ranges).bound);
    }
  }
  return openRanges.length === 0 ? least : undefined;
}

/** Returns true if no permitted trade is between the parts of a division. */
function isDivision(program: AccountProgram, { security, below, above }: BranchCut): boolean {
  const step = program.unit[security];
  if (step === undefined || !(below <= above)) return false;
  if (step === 0) return below === above;
  const margin = step * WIDTH_IN_SHARES;
  const next = (Math.floor((below + margin) / step) + 1) * step;
  const position = -computeLotSize(program, security);
  return next >= above - margin && !(position > below + margin && position < above - margin);
}

/**
 * Gap that may be due to rounding to permitted trades; further rounds and the other side of the tax do not reduce it.
 */
export const GAP_ROUNDED = 1e-5;

/** Multipliers of one side of the tax, and the lower bound that they prove. */
export interface SideCertificate {
  readonly side: number;
  readonly multipliers: Multipliers;
  readonly bound: number;
  /** Proof of a higher bound, if the search found one. */
  readonly proof?: BranchProof | undefined;
}

export const findLeastBound = (certificates: readonly SideCertificate[]): number =>
  Math.min(...certificates.map(({ bound, proof }) => proof?.bound ?? bound));

/**
 * Replaces each certificate that leaves a gap by a certificate from the multipliers of another side, if that one has a
 * higher bound.
 * @cost O(N) for each pair of sides
 * @source S. Boyd and L. Vandenberghe, Convex Optimization, 2004, section 5.2: every multiplier proves a bound
 */
export function shareCertificates(program: AccountProgram, certificates: SideCertificate[], merit: number): void {
  for (const sideCertificate of certificates.slice())
    certificates.forEach(({ side, bound }, position) => {
      if (side === sideCertificate.side || merit - bound < GAP_ROUNDED) return;
      const certificate = transferCertificate(program, sideCertificate, side);
      if (certificate.bound > bound) certificates[position] = certificate;
    });
}

/**
 * Returns the bound on another side that the multipliers of one side prove, with the same prices of gains if the pieces
 * of the other side permit them.
 */
export function transferCertificate(
  program: AccountProgram,
  sideCertificate: SideCertificate,
  side: number,
): SideCertificate {
  const from = program.sides[sideCertificate.side]!;
  const to = program.sides[side]!;
  const m = program.rows.length;
  const prices = { short: 0, long: 0 };
  from.pieces.forEach((piece, position) => {
    prices.short += sideCertificate.multipliers.rows[m + position]! * piece.short;
    prices.long += sideCertificate.multipliers.rows[m + position]! * piece.long;
  });
  if (from.longSign !== 0) prices.long -= from.longSign * sideCertificate.multipliers.rows[m + from.pieces.length]!;
  const rows = new Float64Array(listRelaxedRows(program, to).length);
  rows.set(sideCertificate.multipliers.rows.subarray(0, m));
  const [high, low] = [to.pieces[0]!, to.pieces.at(-1)!];
  const range = program.taxWeight * (high.short - low.short);
  const share = range > 0 ? Math.min(1, Math.max(0, (prices.short - program.taxWeight * low.short) / range)) : 1;
  rows[m] = program.taxWeight * share;
  rows[m + to.pieces.length - 1] = program.taxWeight * (1 - share);
  const long = program.taxWeight * (share * high.long + (1 - share) * low.long);
  if (to.longSign !== 0) rows[m + to.pieces.length] = Math.max(0, to.longSign * (long - prices.long));
  const multipliers = { ...sideCertificate.multipliers, rows };
  return { side, multipliers, bound: computeDualBound(program, to, multipliers).bound };
}
