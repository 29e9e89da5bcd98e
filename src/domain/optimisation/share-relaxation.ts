import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { addDiagonal } from '#kernels/optimisation/program/metric.js';
import { INCLUDED, UNDECIDED, EXCLUDED } from '#kernels/optimisation/choices/decisions.js';
import type { Point, Program } from '#kernels/optimisation/program/program.js';
import { computeLagrangianExcess, computeLagrangianSlopes } from '#kernels/optimisation/program/slopes.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { CountRow } from '../constraints/program-row.js';
import { minimiseStep } from './minimise-two-steps.js';
import { computeChoiceBound } from './move-costs.js';

/** Convex program with count rows, and with the minimum weight of held securities. */
export interface CardinalityProgram {
  /** Computes the objective of the program, including its constant. */
  readonly valueAt: (weights: Float64Array) => number;
  readonly program: Program;
  readonly counts: readonly CountRow[];
  readonly threshold: number;
}

/** Decisions on securities, and initial shares of the iteration. */
export interface ShareStart {
  /** [N] */
  readonly names: Uint8Array;
  /** [N] */
  readonly shares: Float64Array;
  /** Minimum share of an undecided security. */
  readonly shareMin: number;
  readonly turnsMax: number;
}

/** Lower bounds of the objective over choices of securities. */
interface ShareBounds {
  readonly bound: number;
  /** Bounds over the choices that hold a security (`held`) or do not (`dropped`), [N]. */
  readonly held: Float64Array;
  readonly dropped: Float64Array;
}

/** Bounds, with the shares and weights that prove them. */
export interface ShareSolution extends ShareBounds {
  /** [N] */
  readonly shares: Float64Array;
  /** [N] */
  readonly weights: Float64Array;
}

/**
 * Number of iterations before the increase of the bound is first tested, and relative increase below which the
 * iteration ends.
 */
const ITERATIONS_MIN = 3;
const RISE_MIN = 1e-4;

/**
 * Bounds the objective over all choices of securities. Each security is charged D_i w_i^2 / z_i for a split-off part
 * D_i of its variance, where z_i is its share. The shares sum to at most the number of securities. The iteration
 * alternates between optimal weights for given shares and optimal shares for given weights, and converges to the
 * optimum. The multipliers of every iteration prove a bound, whether near the optimum or not. The remaining covariance
 * is above its tangent. The other terms are a sum over securities, whose minimum over all choices is computed exactly.
 * @param split D, [N], such that the covariance without D stays positive semi-definite
 * @returns undefined if an iteration has no solution
 * @cost one to three factorisations an iteration
 * @source Frangioni & Gentile (2006), Perspective cuts for a class of convex 0-1 mixed integer programs, Mathematical
 * Programming 106.
 */
export function relaxShares(
  solver: Solver,
  counted: CardinalityProgram,
  split: Float64Array,
  { names, shares: start, shareMin, turnsMax }: ShareStart,
): ShareSolution | undefined {
  const { counts } = counted;
  const program = removeDroppedSecurities(counted.program, names);
  let shares = start;
  let best: ShareSolution | undefined;
  let warm: ActiveState | undefined;
  for (let turn = 0; turn < turnsMax; turn++) {
    const { status, point, state } = solver.solve(createShareProgram(program, split, shares), {
      warm,
      effort: 'quick',
    });
    if (status !== 'solved') return best;
    const provenSolution = {
      ...proveBounds({ ...counted, program }, { split, names }, point),
      shares,
      weights: point.x,
    };
    const before = best?.bound ?? Number.NEGATIVE_INFINITY;
    if (provenSolution.bound > before) best = provenSolution;
    if (turn >= ITERATIONS_MIN && provenSolution.bound < before + RISE_MIN * Math.abs(before)) return best;
    shares = computeBestShares(counts, { split, names, shareMin }, point.x);
    warm = state;
  }
  return best;
}

/** Returns equal shares for the undecided securities of each row. */
export function computeEvenShares(counts: readonly CountRow[], names: Uint8Array): Float64Array {
  const evenSplit = new Float64Array(names.length).fill(1);
  return computeBestShares(counts, { split: evenSplit, names, shareMin: 0 }, evenSplit);
}

/** Returns the program in which securities that are decided to be dropped have weight zero. */
function removeDroppedSecurities(program: Program, names: Uint8Array): Program {
  const setDroppedToZero = (bounds: Float64Array) => bounds.map((bound, i) => (names[i] === EXCLUDED ? 0 : bound));
  return names.includes(EXCLUDED)
    ? { ...program, lower: setDroppedToZero(program.lower), upper: setDroppedToZero(program.upper) }
    : program;
}

/** Returns the program for fixed shares, without the constant. */
function createShareProgram(program: Program, split: Float64Array, shares: Float64Array): Program {
  const { curvature, centre, linear, norms } = program;
  const metric = program.metric!; // a fixed quadratic has a metric
  const differences = split.map((own, i) => own * (1 / shares[i]! - 1));
  return {
    ...program,
    metric: addDiagonal(metric, differences),
    norms: norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric } : norm)),
    linear: linear.map((slope, i) => slope + curvature * differences[i]! * centre[i]!),
  };
}

interface ShareDecisions {
  readonly split: Float64Array;
  readonly names: Uint8Array;
}

interface ShareTerms extends ShareDecisions {
  readonly shareMin: number;
}

/**
 * Returns the best shares for given weights. They are in proportion to the risk of each security, at most 1, and have
 * the sum that each row allows. Rows with common securities adjust their proportions in turn.
 */
function computeBestShares(
  counts: readonly CountRow[],
  { split, names, shareMin }: ShareTerms,
  weights: Float64Array,
): Float64Array {
  const sizes = weights.map((x, i) => Math.sqrt(split[i]!) * Math.abs(x));
  const scales = new Float64Array(counts.length).fill(Infinity);
  const computeShare = (i: number, scale: number) => (sizes[i]! > 0 ? Math.min(1, sizes[i]! * scale) : 0);
  const leastScales = new Float64Array(weights.length);
  for (let round = 0; round < (counts.length > 1 ? PRICE_ROUNDS : 1); round++) {
    counts.forEach(({ members, maximum }, r) => {
      leastScales.fill(Infinity);
      counts.forEach((otherCountRow, s) => {
        if (s !== r) for (const i of otherCountRow.members) leastScales[i] = Math.min(leastScales[i]!, scales[s]!);
      });
      const undecidedMembers = members.filter((i) => names[i] === UNDECIDED);
      const remainingCount = maximum - members.reduce((count, i) => count + (names[i] === INCLUDED ? 1 : 0), 0);
      const readSize = (place: number) => sizes[undecidedMembers[place]!]!;
      scales[r] = findScaleWithin(undecidedMembers.length, remainingCount, readSize, (place) =>
        computeShare(undecidedMembers[place]!, leastScales[undecidedMembers[place]!]!),
      );
    });
  }
  const shares = new Float64Array(weights.length).fill(1);
  counts.forEach(({ members }, r) => {
    for (const i of members)
      if (names[i] === UNDECIDED) shares[i] = Math.min(shares[i]!, Math.max(shareMin, computeShare(i, scales[r]!)));
  });
  return shares;
}

/**
 * Returns the scale at which the sizes, each capped at its limit, sum to the available number. Returns Infinity if the
 * limits do not exceed it.
 */
function findScaleWithin(
  count: number,
  room: number,
  sizeOf: (place: number) => number,
  limitOf: (place: number) => number,
): number {
  const sizes = Float64Array.from({ length: count }, (_, place) => sizeOf(place));
  const limits = sizes.map((_, place) => limitOf(place));
  const order = Array.from(sizes.keys())
    .filter((place) => limits[place]! > 0)
    .toSorted((a, b) => limits[a]! / sizes[a]! - limits[b]! / sizes[b]! || a - b);
  let remainder = order.reduce((sum, place) => sum + sizes[place]!, 0);
  let left = room;
  // A growing scale reaches the limits of the sizes one after the other. Sizes are capped in this order.
  for (const position of order) {
    if (limits[position]! * remainder > left * sizes[position]!) return Math.max(0, left) / remainder;
    left -= limits[position]!;
    remainder -= sizes[position]!;
  }
  return Infinity;
}

/** Returns the bounds that a point and its multipliers prove. */
function proveBounds(
  { valueAt, program, counts, threshold }: CardinalityProgram,
  { split, names }: ShareDecisions,
  point: Point,
): ShareBounds {
  const { n, lower, upper, curvature } = program;
  const { left, right } = computeLagrangianSlopes({ ...program, ridge: 0 }, point);
  const heldCosts = new Float64Array(n);
  const droppedCosts = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const x = point.x[i]!;
    const step = { left: left[i]!, right: right[i]!, from: lower[i]! - x, to: upper[i]! - x };
    const splitCurvature = curvature * split[i]!;
    const longCost = minimiseStep({ ...step, from: Math.max(step.from, threshold - x) }, splitCurvature);
    const shortCost =
      lower[i]! < 0 ? minimiseStep({ ...step, to: Math.min(step.to, -x) }, splitCurvature) : Number.POSITIVE_INFINITY;
    const canRest = names[i] !== INCLUDED && lower[i]! <= 0 && upper[i]! >= 0;
    heldCosts[i] = names[i] === EXCLUDED ? Number.POSITIVE_INFINITY : Math.min(longCost, shortCost);
    droppedCosts[i] = canRest ? minimiseStep({ ...step, from: -x, to: -x }, splitCurvature) : Number.POSITIVE_INFINITY;
  }
  return minimiseOverChoices(
    counts,
    { held: heldCosts, dropped: droppedCosts },
    valueAt(point.x) + computeLagrangianExcess(program, point),
  );
}

/** Costs of holding and of dropping each security, [N] each; Infinity if impossible. */
type HoldingCosts = Pick<ShareSolution, 'held' | 'dropped'>;

/** Number of rounds in which rows with common securities set their prices. */
const PRICE_ROUNDS = 4;

/**
 * Returns the minimum sum over all choices, and for each security over the choices that hold it or drop it. Each row
 * charges the other rows what one more security would save it. They then respect its limit.
 */
function minimiseOverChoices(counts: readonly CountRow[], costs: HoldingCosts, value: number): ShareBounds {
  const prices = new Float64Array(counts.length);
  for (let round = 0; round < (counts.length > 1 ? PRICE_ROUNDS : 0); round++)
    counts.forEach((row, r) => (prices[r] = computeRowPrice(row, addRowPrices(counts, prices, r, costs))));
  const least = counts.map((row, r) => minimiseWithinRow(row, addRowPrices(counts, prices, r, costs)));
  const offers = counts.map((_, r) =>
    counts.reduce((sum, { maximum }, other) => (other === r ? sum : sum - prices[other]! * maximum), value),
  );
  const bounds: ShareBounds = {
    bound: Math.max(...least.map(({ bound }, r) => offers[r]! + bound)),
    held: costs.held.slice(),
    dropped: costs.dropped.slice(),
  };
  for (const side of ['held', 'dropped'] as const)
    bounds[side].forEach((_, i) => {
      bounds[side][i] = Math.max(...least.map((ownShareBounds, r) => offers[r]! + ownShareBounds[side][i]!));
    });
  return bounds;
}

/** Returns the costs of holding securities, including the prices of all rows except one. */
function addRowPrices(
  counts: readonly CountRow[],
  prices: Float64Array,
  except: number,
  costs: HoldingCosts,
): HoldingCosts {
  const heldCosts = costs.held.slice();
  counts.forEach(({ members }, r) => {
    if (r !== except && prices[r]! > 0) for (const i of members) heldCosts[i]! += prices[r]!;
  });
  return { held: heldCosts, dropped: costs.dropped };
}

/** Returns the price at which the number of securities worth holding equals the limit of the row. */
function computeRowPrice({ members, maximum }: CountRow, { held, dropped }: HoldingCosts): number {
  const savings = Float64Array.from(members, (i) => dropped[i]! - held[i]!)
    .toSorted()
    .reverse();
  if (maximum < 1 || maximum >= savings.length) return 0;
  const middlePrice = (savings[maximum - 1]! + savings[maximum]!) / 2;
  return Number.isFinite(middlePrice) ? Math.max(0, middlePrice) : Math.max(0, savings[maximum]!);
}

/** Returns the minimum sum under one row, and for each security the minimum if it is held or dropped. */
function minimiseWithinRow({ members, minimum, maximum }: CountRow, costs: HoldingCosts): ShareBounds {
  const least = costs.held.map((cost, i) => Math.min(cost, costs.dropped[i]!));
  const freeMembers = members.filter((i) => Number.isFinite(costs.held[i]!) && Number.isFinite(costs.dropped[i]!));
  const requiredCount = members.reduce((count, i) => count + (Number.isFinite(costs.dropped[i]!) ? 0 : 1), 0);
  const parts = { holdPart: costs.held, dropPart: costs.dropped };
  const choice = computeChoiceBound(parts, freeMembers, minimum - requiredCount, maximum - requiredCount);
  const isOpen = new Uint8Array(least.length);
  for (const i of freeMembers) isOpen[i] = 1;
  const remainder = least.reduce((sum, cost, i) => sum + (isOpen[i] === 1 ? 0 : cost), 0);
  const bound = remainder + choice.least;
  const heldBounds = costs.held.map((cost, i) => bound + (cost - least[i]!));
  const droppedBounds = costs.dropped.map((cost, i) => bound + (cost - least[i]!));
  freeMembers.forEach((i, place) => {
    heldBounds[i] = remainder + choice.ifHeld[place]!;
    droppedBounds[i] = remainder + choice.ifDropped[place]!;
  });
  return { bound, held: heldBounds, dropped: droppedBounds };
}
