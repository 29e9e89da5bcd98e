import { priceOptions, type OptionProblem } from '#kernels/optimisation/choices/price-options.js';
import { isUnbounded, sumKinks, type Program } from '#kernels/optimisation/program/program.js';
import { computeDotProduct } from '../numbers/dot.js';
import type { CountRow } from '../constraints/program-row.js';
import { isSoft } from './certified-bound.js';
import { isFixedQuadratic } from './neighbour-bound.js';
import type { SearchInput } from './restricted-solves.js';
import { findThreshold } from './restriction.js';

/** Bound on a linear objective over all choices of securities, with starts for a search near it. */
export interface PricedChoice {
  readonly bound: number;
  /** Choices of securities from which a search starts, [N] each. */
  readonly starts: readonly Uint8Array[];
}

/** Maximum number of limits; the work increases with its square. */
const LIMITS_MAX = 8;

/**
 * Factor on the maximum numbers of securities in the second start. It is larger than 1, because the first start may be
 * infeasible.
 */
const WIDENING = 1.15;

/** Loss from holding a security that counts as rounding of the prices. It is a fraction of the largest gain. */
const ROUNDING = 1e-5;

/**
 * Prices every limit of a linear objective, so that each security is either held with its best weight or not held. At
 * the optimal prices, hardly more securities are split between alternatives than there are limits. The bound is
 * therefore close. Of the non-convex rows, only counts of securities and minimum holdings are considered.
 * @returns undefined for objectives that are not linear, for soft rows, short positions or unbounded weights, without a
 *   count row, and for fewer than two or more than `LIMITS_MAX` limits
 * @cost less than a tenth of a second for 500 securities
 */
export function priceChoice({
  problem,
  rows,
  relaxation,
}: Pick<SearchInput, 'problem' | 'rows' | 'relaxation'>): PricedChoice | undefined {
  const { program } = relaxation.assembled;
  const counts = rows.filter((row): row is CountRow => row.form === 'count');
  if (counts.length === 0 || program.curvature !== 0 || !isFixedQuadratic(problem) || isSoft(program)) return undefined;
  if (program.lower.some((bound) => bound < 0) || program.upper.includes(Infinity)) return undefined;
  const limits = listLimits(program, counts);
  if (limits.length < 2 || limits.length > LIMITS_MAX) return undefined;
  const options = listOptions(program, limits, findThreshold(rows));
  if (options === undefined) return undefined;
  const { bound, priced } = priceOptions(options);
  const constant = relaxation.objective - computeCost(program, relaxation.weights);
  return { bound: bound + constant, starts: createStarts(counts, computeGains(program, options, priced)) };
}

/** Weight of a security as one alternative. It may be zero although the security is held. */
interface SecurityOption {
  readonly i: number;
  readonly weight: number;
  readonly isHeld: boolean;
}

/** Lower and upper bound of a sum of parts, one part for each security. */
interface PricedLimit {
  readonly partOf: (option: SecurityOption) => number;
  readonly lower: number;
  readonly upper: number;
}

function listLimits({ n, rows, kinks }: Program, counts: readonly CountRow[]): PricedLimit[] {
  const limits: PricedLimit[] = [];
  for (let r = 0; r < rows.count; r++) {
    if (isUnbounded(rows, r)) continue;
    const computePart = ({ i, weight }: SecurityOption) => rows.coefficients[r * n + i]! * weight;
    limits.push({ partOf: computePart, lower: rows.lower[r]!, upper: rows.upper[r]! });
  }
  for (const { at, left, right, limit } of kinks) {
    if (limit === null) continue;
    const computePart = ({ i, weight }: SecurityOption) => (weight > at[i]! ? right[i]! : left[i]!) * (weight - at[i]!);
    limits.push({ partOf: computePart, lower: Number.NEGATIVE_INFINITY, upper: limit });
  }
  for (const { members, maximum } of counts) {
    const isMember = new Uint8Array(n);
    for (const i of members) isMember[i] = 1;
    limits.push({
      partOf: ({ i, isHeld }) => (isHeld ? isMember[i]! : 0),
      lower: Number.NEGATIVE_INFINITY,
      upper: maximum,
    });
  }
  return limits;
}

/**
 * Returns the alternative weights of each security. At any prices, one of them is optimal. The first is zero, unless
 * the security must be held; the others are the least and largest held weight and the kinks between them. Returns
 * undefined if a security has no alternative.
 */
function listOptions(program: Program, limits: readonly PricedLimit[], threshold: number): OptionProblem | undefined {
  const { n, linear, kinks } = program;
  const pricedKinks = kinks.filter(({ limit }) => limit === null);
  const starts = [0];
  const costs: number[] = [];
  const amounts: number[] = [];
  const addOption = (option: SecurityOption) => {
    const { i, weight } = option;
    const charges = pricedKinks.map(
      ({ at, left, right }) => (weight > at[i]! ? right[i]! : left[i]!) * (weight - at[i]!),
    );
    costs.push(charges.reduce((sum, charge) => sum + charge, linear[i]! * weight));
    for (const { partOf } of limits) amounts.push(partOf(option));
  };
  for (let i = 0; i < n; i++) {
    const [least, most] = [Math.max(program.lower[i]!, threshold), program.upper[i]!];
    if (program.lower[i] === 0) addOption({ i, weight: 0, isHeld: false });
    if (least <= most) {
      const innerKinks = kinks.map(({ at }) => at[i]!).filter((weight) => weight > least && weight < most);
      for (const weight of new Set([least, most, ...innerKinks])) addOption({ i, weight, isHeld: true });
    }
    if (costs.length === starts.at(-1)) return undefined;
    starts.push(costs.length);
  }
  return {
    starts: Int32Array.from(starts),
    costs: Float64Array.from(costs),
    amounts: Float64Array.from(amounts),
    lower: Float64Array.from(limits, ({ lower }) => lower),
    upper: Float64Array.from(limits, ({ upper }) => upper),
  };
}

/** Returns the gain from holding each security at the prices, [N]. It is Infinity if the security must be held. */
function computeGains({ lower }: Program, { starts }: OptionProblem, priced: Float64Array): Float64Array {
  return lower.map((bound, i) => {
    if (bound > 0) return Infinity;
    const [none, ...held] = priced.subarray(starts[i]!, starts[i + 1]!);
    return none! - Math.min(...held);
  });
}

/**
 * Returns two choices of securities in order of gain. The first holds as many as the count rows allow, the second
 * somewhat more.
 */
function createStarts(counts: readonly CountRow[], gains: Float64Array): Uint8Array[] {
  const order = Array.from(gains.keys()).toSorted((a, b) => gains[b]! - gains[a]! || a - b);
  const largest = gains.reduce((most, gain) => (Number.isFinite(gain) ? Math.max(most, Math.abs(gain)) : most), 0);
  return [
    { least: -ROUNDING * largest, share: 1 },
    { least: Number.NEGATIVE_INFINITY, share: WIDENING },
  ].map(({ least, share }) => {
    const heldFlags = Uint8Array.from(gains, (gain) => (gain > Number.NEGATIVE_INFINITY && gain >= least ? 1 : 0));
    for (const { members, maximum } of counts) {
      const memberFlags = new Uint8Array(heldFlags.length);
      for (const i of members) memberFlags[i] = heldFlags[i]!;
      for (const i of order.filter((security) => memberFlags[security] === 1).slice(Math.ceil(share * maximum)))
        heldFlags[i] = 0;
    }
    return heldFlags;
  });
}

/** Returns the linear terms of a program's objective at some weights, including kinks without a limit. */
function computeCost({ linear, kinks }: Program, weights: Float64Array): number {
  return kinks.reduce(
    (sum, kink) => (kink.limit === null ? sum + sumKinks(kink, weights) : sum),
    computeDotProduct(linear, weights),
  );
}
