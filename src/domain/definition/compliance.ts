import { z } from 'zod';
import { computeDotProduct, formatShare } from '../base/numbers.js';
import { defineObject } from '../base/schema.js';
import type { Day } from '../base/time.js';
import { createGroupsByDay, listIssuerSpells, type MarketData } from '../market/market-data.js';

/** Weights at a close, as the input of limits. */
export interface Holdings {
  /** Weights of the securities, negative for short positions, [H]. */
  readonly weights: Float64Array;
  /** Issuer of each security, [H]. */
  readonly issuerOf: Int32Array;
  /** Net weight of each issuer, [K]. */
  readonly nets: Float64Array;
  /** Magnitude of the net weight of each issuer, [K]. */
  readonly issuers: Float64Array;
}

/** Excess over the limit, in the unit of the limit, up to which it counts as rounding and not as a breach. */
export const TOLERANCE = 1e-12;

export type BoundSide = 'lower' | 'upper';

/** Relative price change of one security while all other prices are unchanged. */
export interface PriceMove {
  /** Position of the security. */
  readonly name: number;
  /** Relative change: 0.1 is a rise of 10%. */
  readonly move: number;
}

/** Number that a limit bounds. */
export interface BoundedMeasure {
  valueOf(holdings: Holdings): number;
  /** Returns the issuers whose weights form the value, largest first. Absent if the value has no such issuers. */
  issuersIn?(holdings: Holdings): readonly number[];
  /** Prepares the computation of the value after the price of a single security moves, for one close. */
  movesOf(holdings: Holdings, bound: Bound): Moves;
  /** Returns the securities among which the least move must be. Default: all. */
  movers?(heaviest: readonly number[]): readonly number[];
}

/** Price moves of single securities, prepared for one close. */
interface Moves {
  /** Product of move and weight below which no move exceeds the bound. Default: 0. */
  readonly least?: number;
  readonly moveOf: LeastMove;
}

/**
 * Returns the smallest price move of a security that takes the value beyond its bound. Of an equal rise and fall,
 * returns the rise. Returns Infinity if there is no such move.
 * @param name security with a weight
 * @param reach larger moves may be reported as Infinity
 */
export type LeastMove = (name: number, reach: number) => number;

interface Bound {
  readonly side: BoundSide;
  readonly limit: number;
}

/**
 * Measures a ratio of two weighted sums. A price move x of security i changes both: (n'w + n_i w_i x) / (d'w + d_i w_i
 * x). The ratio equals its bound at a single x.
 * @param denominator null if the ratio is to the value of the portfolio
 */
export function computeRatio(numerator: Float64Array, denominator: Float64Array | null): BoundedMeasure {
  const computeSums = ({ weights }: Holdings) => ({
    above: computeDotProduct(numerator, weights),
    below: denominator === null ? 1 : computeDotProduct(denominator, weights),
  });
  return {
    valueOf(holdings) {
      const { above, below } = computeSums(holdings);
      return below === 0 ? 0 : above / below;
    },
    movesOf(holdings, { limit }) {
      const { above, below } = computeSums(holdings);
      return {
        moveOf(name) {
          const weight = holdings.weights[name]!;
          const slope = numerator[name]! * weight - limit * (denominator === null ? 1 : denominator[name]!) * weight;
          return limitMove((limit * below - above) / slope, weight);
        },
      };
    },
  };
}

/** Sum of the absolute weights. */
export const grossExposure: BoundedMeasure = {
  valueOf: ({ weights }) => sumMagnitudes(weights),
  movesOf({ weights }, { limit }) {
    const gross = sumMagnitudes(weights);
    // Solves gross + |w| x = limit * (1 + w x). A position keeps its sign if its price stays positive.
    return {
      moveOf(name) {
        const weight = weights[name]!;
        return limitMove((limit - gross) / (Math.abs(weight) - limit * weight), weight);
      },
    };
  },
};

const sumMagnitudes = (weights: Float64Array): number => weights.reduce((sum, weight) => sum + Math.abs(weight), 0);

/** Effective number of securities: 1 over the sum of squared weights. */
export const effectiveNumber: BoundedMeasure = {
  valueOf({ weights }) {
    const squares = computeDotProduct(weights, weights);
    return squares === 0 ? 0 : 1 / squares;
  },
  movesOf({ weights }, { limit }) {
    const c = limit * computeDotProduct(weights, weights) - 1;
    // Solves limit * (Q + 2 w^2 x + w^2 x^2) = (1 + w x)^2, where Q is the sum of squared weights.
    const computeMove = (name: number): number => {
      const weight = weights[name]!;
      const square = weight * weight;
      const a = limit * square - square;
      const b = 2 * (limit * square - weight);
      if (a === 0) return limitMove(-c / b, weight);
      const root = Math.sqrt(b * b - 4 * a * c); // NaN if no move reaches the bound.
      // To avoid cancellation, one root is q / a, and the other is c / q, from the product of the roots.
      const q = -(b + Math.sign(b || 1) * root) / 2;
      return selectNearer(limitMove(q / a, weight), limitMove(c / q, weight));
    };
    return { moveOf: computeMove };
  },
};

/** Smallest long weight. */
export const leastHolding: BoundedMeasure = {
  valueOf: ({ weights }) => weights.reduce((least, weight) => (weight > 0 ? Math.min(least, weight) : least), Infinity),
  movesOf({ weights }, { limit }) {
    const [first, second] = findTwoLeast(weights);
    const computeMove = (name: number): number => {
      const weight = weights[name]!;
      if (weight <= 0) return Infinity;
      const limitDistance = limitMove((limit - weight) / (weight * (1 - limit)), weight);
      const least = name === first.name ? second.weight : first.weight;
      return selectNearer(limitDistance, limitMove((least / limit - 1) / weight, weight));
    };
    return { moveOf: computeMove };
  },
};

interface Holding {
  readonly name: number;
  readonly weight: number;
}

/** Returns the two smallest long weights. If there are fewer, the missing ones are Infinity. */
function findTwoLeast(weights: Float64Array): readonly [Holding, Holding] {
  let first: Holding = { name: -1, weight: Infinity };
  let second = first;
  weights.forEach((weight, name) => {
    if (weight <= 0 || weight >= second.weight) return;
    if (weight < first.weight) [first, second] = [{ name, weight }, first];
    else second = { name, weight };
  });
  return [first, second];
}

/** Measures the number of held securities among `members`. Price moves do not change it. */
export function createHoldingCount(members: Int32Array): BoundedMeasure {
  return {
    valueOf: ({ weights }) => members.reduce((count, name) => count + (weights[name] !== 0 ? 1 : 0), 0),
    movesOf: () => ({ moveOf: () => Infinity }),
  };
}

/**
 * Returns the two largest long and the two largest short positions, if they exist. Equal weights are in the order of
 * the securities.
 */
export function findHeaviest(weights: Float64Array): number[] {
  return [1, -1].flatMap((side) => {
    let first = -1;
    let second = -1;
    for (let name = 0; name < weights.length; name++) {
      const size = side * weights[name]!;
      if (!(size > 0)) continue;
      if (first < 0 || size > side * weights[first]!) [first, second] = [name, first];
      else if (second < 0 || size > side * weights[second]!) second = name;
    }
    return [first, second].filter((name) => name >= 0);
  });
}

/** Returns the move if the price and the portfolio stay positive, otherwise Infinity. */
export function limitMove(move: number, weight: number): number {
  return !Number.isFinite(move) || move <= -1 || 1 + weight * move <= 0 ? Infinity : move;
}

/** Returns the smaller of two moves. If a rise and a fall are equal, returns the rise. */
function selectNearer(a: number, b: number): number {
  if (Math.abs(a) === Math.abs(b)) return Math.max(a, b);
  return Math.abs(a) < Math.abs(b) ? a : b;
}

interface IssuerGroups {
  readonly by: readonly string[];
  readonly issuerOf: Int32Array;
  readonly sums: Float64Array;
  readonly sizes: Float64Array;
}

/**
 * Creates a function that sums weights by issuer, and takes the magnitude of each sum. A result is valid until the next
 * call, because the function reuses memory.
 * @param securityCount number of securities
 */
export function sumByIssuer(
  securityCount: number,
): (weights: Float64Array, issuers: readonly string[] | null) => Holdings {
  const namePositions = Int32Array.from({ length: securityCount }, (_, name) => name);
  const sizes = new Float64Array(securityCount);
  let issuerGroups: IssuerGroups | undefined;
  return (weights, by) => {
    if (by === null)
      return { weights, nets: weights, issuers: selectMagnitudes(weights, sizes), issuerOf: namePositions };
    if (issuerGroups?.by !== by) {
      const positionByIssuer = new Map<string, number>();
      const issuerPositions = Int32Array.from(by, (issuer) => {
        const position = positionByIssuer.get(issuer) ?? positionByIssuer.size;
        positionByIssuer.set(issuer, position);
        return position;
      });
      issuerGroups = {
        by,
        issuerOf: issuerPositions,
        sums: new Float64Array(positionByIssuer.size),
        sizes: new Float64Array(positionByIssuer.size),
      };
    }
    const { issuerOf, sums } = issuerGroups;
    sums.fill(0);
    for (let name = 0; name < securityCount; name++) sums[issuerOf[name]!]! += weights[name]!;
    return { weights, nets: sums, issuers: selectMagnitudes(sums, issuerGroups.sizes), issuerOf };
  };
}

function selectMagnitudes(nets: Float64Array, sizes: Float64Array): Float64Array {
  for (let position = 0; position < nets.length; position++) sizes[position] = Math.abs(nets[position]!);
  return sizes;
}

/** Monitored limit: a number computed from the holdings, with its bound. */
export interface LimitRow extends Bound {
  /** Name under which breaches are reported. */
  readonly row: string;
  readonly unit: 'fraction' | 'count' | 'value';
  readonly measure: BoundedMeasure;
}

/** Returns the distance to the bound; negative if the bound is exceeded. */
export function computeHeadroom({ side, limit }: Bound, value: number): number {
  return side === 'upper' ? limit - value : value - limit;
}

/**
 * Issuers above a trigger while the price of one security moves by x. The sum of their weights is (fixed + moving x) /
 * (1 + weight x).
 */
interface IssuersAboveTrigger {
  count: number;
  /** Sum of the weights without a move. */
  fixed: number;
  /**
   * Change of the sum per unit of the move. This is the weight of the moving security, negated for a net short issuer.
   * 0 if the issuer of the security is not above the trigger.
   */
  moving: number;
  /** Sum over all issuers, whether above the trigger or not. */
  total: number;
  totalMoving: number;
  /** Weight of the moving security. */
  weight: number;
}

/** Measures the weight of the n-th largest issuer. */
export function measureNthLargestIssuer(n: number): BoundedMeasure {
  return {
    valueOf({ issuers }) {
      if (n === 1) return findLargest(issuers);
      const largest = new Float64Array(n);
      for (let issuer = 0; issuer < issuers.length; issuer++) {
        const weight = issuers[issuer]!;
        let rank = n;
        while (rank > 0 && weight > largest[rank - 1]!) rank--;
        if (rank === n) continue;
        largest.copyWithin(rank + 1, rank, n - 1);
        largest[rank] = weight;
      }
      return largest[n - 1]!;
    },
    issuersIn: (holdings) => listIssuersAbove(holdings, 0).slice(n - 1, n),
    movesOf: (holdings, { limit }) =>
      computeIssuerMoves(holdings, limit, {
        beyond: (above, from) => (above.count >= n ? from : Infinity),
        gapAt: () => Infinity,
      }),
  };
}

const listIssuersAbove = ({ issuers }: Holdings, trigger: number): readonly number[] =>
  [...issuers.keys()].filter((issuer) => issuers[issuer]! > trigger).sort((a, b) => issuers[b]! - issuers[a]!);

function findLargest(issuers: Float64Array): number {
  let largest = 0;
  for (let issuer = 0; issuer < issuers.length; issuer++) if (issuers[issuer]! > largest) largest = issuers[issuer]!;
  return largest;
}

export function measureSumAbove(trigger: number): BoundedMeasure {
  return {
    valueOf({ issuers }) {
      let sum = 0;
      for (let issuer = 0; issuer < issuers.length; issuer++) if (issuers[issuer]! > trigger) sum += issuers[issuer]!;
      return sum;
    },
    issuersIn: (holdings) => listIssuersAbove(holdings, trigger),
    movesOf: (holdings, bound) =>
      computeIssuerMoves(holdings, trigger, {
        beyond: (above, from, to) => computeFirstBeyond(above, bound, from, to),
        gapAt: (sum) => computeRelativeGap(bound, sum),
        kept: bound.side === 'lower' ? undefined : createUpperGuarantee(bound.limit),
      }),
  };
}

function measureSumUpTo(trigger: number): BoundedMeasure {
  return {
    valueOf({ issuers }) {
      let sum = 0;
      for (let issuer = 0; issuer < issuers.length; issuer++)
        if (!(issuers[issuer]! > trigger)) sum += issuers[issuer]!;
      return sum;
    },
    movesOf(holdings, bound) {
      const investedWeight = holdings.issuers.reduce((sum, own) => sum + own, 0);
      const otherIssuers = { fixed: 0, moving: 0, weight: 0 };
      return computeIssuerMoves(holdings, trigger, {
        beyond({ fixed, moving, weight, total, totalMoving }, from, to) {
          otherIssuers.fixed = total - fixed;
          otherIssuers.moving = totalMoving - moving;
          otherIssuers.weight = weight;
          return computeFirstBeyond(otherIssuers, bound, from, to);
        },
        gapAt: (sum) => computeRelativeGap(bound, investedWeight - sum),
        kept: bound.side === 'upper' ? undefined : createLowerGuarantee(investedWeight, bound.limit),
      });
    },
  };
}

/**
 * Returns the first move in an interval at which (fixed + moving x) / (1 + weight x) exceeds a bound. Returns Infinity
 * if there is none.
 */
function computeFirstBeyond(
  { fixed, moving, weight }: Pick<IssuersAboveTrigger, 'fixed' | 'moving' | 'weight'>,
  { side, limit }: Bound,
  from: number,
  to: number,
): number {
  const sign = side === 'upper' ? 1 : -1;
  if (sign * (fixed + moving * from - limit * (1 + weight * from)) > TOLERANCE) return from;
  const meets = (limit - fixed) / (moving - limit * weight);
  const isWithin = to > from ? meets >= from && meets < to : meets <= from && meets > to;
  return isWithin ? meets : Infinity;
}

/**
 * Returns the distance of a sum to a bound, relative to the fastest change: the largest change of the sum per unit of
 * the weighted move.
 */
function computeRelativeGap({ limit }: Bound, sum: number): number {
  return Math.abs(limit - sum) / Math.max(1, Math.abs(limit), Math.abs(1 - limit));
}

interface MoveSearchTerms {
  /**
   * Returns the smallest move in an interval at which the sum exceeds the bound. No issuer crosses the trigger within
   * the interval. Returns Infinity if there is no such move.
   */
  beyond(above: IssuersAboveTrigger, from: number, to: number): number;
  /**
   * Returns the least product of move and weight at which the sum exceeds the bound, if no issuer crosses the trigger.
   * @param sum weight of the issuers above the trigger
   */
  gapAt(sum: number): number;
  /** Moves that stay within the bound, whichever issuers cross the trigger. Default: no such moves are known. */
  readonly kept?: SafeMoveBounds | undefined;
}

/** Bounds on the sum of the issuers above the trigger, as fractions of the portfolio before the move. */
interface SafeMoveBounds {
  /** Returns true if a sum of at most `most` stays within the bound when the portfolio loses the fraction `lost`. */
  afterFall(most: number, lost: number): boolean;
  /**
   * Returns the largest gain of the portfolio at which a sum of at most `most` plus the gain stays within the bound.
   */
  rise(most: number): number;
}

/** Solves (most + gain) / (1 + gain) < limit. */
const createUpperGuarantee = (limit: number): SafeMoveBounds => ({
  afterFall: (most, lost) => most + ROUNDING < limit * (1 - lost),
  rise: (most) => (limit < 1 ? (limit - most - ROUNDING) / (1 - limit) : 0),
});

/** Solves (invested - most) / (1 + gain) > limit. */
const createLowerGuarantee = (invested: number, limit: number): SafeMoveBounds => ({
  afterFall: (most, lost) => limit < 1 && invested - lost - most > limit * (1 - lost) + ROUNDING,
  rise: (most) => (limit > 0 ? (invested - most - ROUNDING) / limit - 1 : 0),
});

/**
 * Returns the least move at which `beyond` reports an exceeded bound. Calls `beyond` for successive intervals of moves
 * in which no issuer crosses the trigger, from zero outwards. Another issuer s crosses the trigger where s / (1 + w x)
 * does. This is one multiple of 1/w for all securities, so that one order serves all of them. The issuer of the moving
 * security, with net weight n, crosses it where |n + w x| / (1 + w x) does.
 */
function computeIssuerMoves(holdings: Holdings, trigger: number, question: MoveSearchTerms): Moves {
  const { beyond } = question;
  const { weights, issuers, issuerOf, nets } = holdings;
  const issuersByDistance = groupByDistance(holdings, trigger);
  const { falling, rising, sum } = issuersByDistance;
  const investedWeight = issuers.reduce((total, own) => total + own, 0);
  const issuersAbove: IssuersAboveTrigger = { count: 0, fixed: 0, moving: 0, weight: 0, total: 0, totalMoving: 0 };

  function findMoveInDirection(name: number, direction: 1 | -1, reach: number): number {
    const weight = weights[name]!;
    const securityIssuer = issuerOf[name]!;
    const net = nets[securityIssuer]!;
    const crossingIssuers = direction * weight < 0 ? rising : falling;
    const change = direction * weight < 0 ? 1 : -1;
    // A price falls at most to zero, so the portfolio falls by less than its full value.
    const end = direction < 0 ? Math.max(-1, weight > 0 ? -1 / weight : -1) : weight < 0 ? -1 / weight : Infinity;
    const crossings = listTurns({ net, weight, trigger, direction, end });
    let isOwnAbove = issuers[securityIssuer]! > trigger;
    let side = net < 0 ? -1 : 1;
    const otherIssuers = {
      count: falling.length - (isOwnAbove ? 1 : 0),
      sum: sum - (isOwnAbove ? issuers[securityIssuer]! : 0),
    };
    issuersAbove.weight = weight;
    let from = 0;
    for (let k = 0, turn = 0; ;) {
      if (crossingIssuers[k] === securityIssuer) k++;
      issuersAbove.count = otherIssuers.count + (isOwnAbove ? 1 : 0);
      issuersAbove.fixed = otherIssuers.sum + (isOwnAbove ? side * net : 0);
      issuersAbove.moving = isOwnAbove ? side * weight : 0;
      issuersAbove.total = investedWeight - issuers[securityIssuer]! + side * net;
      issuersAbove.totalMoving = side * weight;
      const nextCrossing = k < crossingIssuers.length ? (issuers[crossingIssuers[k]!]! / trigger - 1) / weight : end;
      const nextTurn = crossings[turn]?.at ?? end;
      const isOwn = nextTurn * direction <= nextCrossing * direction;
      const to = isOwn ? nextTurn : nextCrossing;
      if (!(to * direction < end * direction)) return beyond(issuersAbove, from, end);
      const result = beyond(issuersAbove, from, to);
      if (Number.isFinite(result) || Math.abs(to) > reach) return result;
      if (isOwn) {
        const { becomes } = crossings[turn++]!;
        if (becomes === 'other side') side = -side;
        else isOwnAbove = becomes === 'above';
      } else {
        otherIssuers.count += change;
        otherIssuers.sum += change * issuers[crossingIssuers[k++]!]!;
      }
      from = to;
    }
  }

  return {
    least: computeLeastProduct(issuersByDistance, issuers, { trigger, ...question }) * (1 - ROUNDING),
    moveOf: (name, reach) =>
      selectNearer(toInfinite(findMoveInDirection(name, 1, reach)), toInfinite(findMoveInDirection(name, -1, reach))),
  };
}

interface IssuerCrossing {
  readonly at: number;
  readonly becomes: 'above' | 'below' | 'other side';
}

interface MovingIssuer {
  readonly net: number;
  readonly weight: number;
  readonly trigger: number;
  readonly direction: 1 | -1;
  readonly end: number;
}

/**
 * Returns the moves at which the issuer of the moving security crosses the trigger (long or short) or zero, from zero
 * outwards.
 */
function listTurns({ net, weight, trigger, direction, end }: MovingIssuer): IssuerCrossing[] {
  const isRising = direction * weight > 0;
  const crossings: IssuerCrossing[] = [
    { at: (trigger - net) / (weight * (1 - trigger)), becomes: isRising ? 'above' : 'below' },
    { at: -(trigger + net) / (weight * (1 + trigger)), becomes: isRising ? 'below' : 'above' },
    { at: -net / weight, becomes: 'other side' },
  ];
  return crossings
    .filter(({ at }) => at * direction >= 0 && at * direction < end * direction)
    .sort((a, b) => (a.at - b.at) * direction);
}

/** Tolerance that prevents rounding from skipping a security. */
const ROUNDING = 1e-9;

function computeLeastProduct(
  { gap, sum, rising, most, isShort }: IssuersByDistance,
  issuers: Float64Array,
  { gapAt, kept, trigger }: MoveSearchTerms & { readonly trigger: number },
): number {
  if (isShort) return 0;
  const leastGap = Math.min(gap, gapAt(sum));
  if (kept === undefined || most >= 1) return leastGap;
  // Worst case: a fall lifts above the trigger every issuer that a fall can lift. A rise lifts only the issuer of the
  // moving security.
  const all = rising.reduce((total, issuer) => total + issuers[issuer]!, sum);
  return kept.afterFall(all, most) ? Math.max(leastGap, kept.rise(sum + trigger)) : leastGap;
}

function toInfinite(move: number): number {
  return Number.isFinite(move) ? move : Infinity;
}

interface IssuersByDistance {
  /** Issuers above the trigger, nearest to the trigger first. */
  readonly falling: readonly number[];
  /** Sum of the weights of the issuers above the trigger. */
  readonly sum: number;
  /**
   * Issuers at or below the trigger that the price move of another issuer can lift above it, nearest to the trigger
   * first.
   */
  readonly rising: readonly number[];
  /**
   * Smallest distance of an issuer to the trigger. No issuer crosses the trigger while weight times move is smaller.
   */
  readonly gap: number;
  /** Largest long weight of a security. */
  readonly most: number;
  readonly isShort: boolean;
}

function groupByDistance({ weights, issuers }: Holdings, trigger: number): IssuersByDistance {
  const fallingIssuers: number[] = [];
  const risingIssuers: number[] = [];
  let largestMeasure = 0;
  let isShort = false;
  for (let name = 0; name < weights.length; name++) {
    const weight = weights[name]!;
    if (weight > largestMeasure) largestMeasure = weight;
    if (weight < 0) isShort = true;
  }
  // If a long position of weight w falls to zero, all other weights grow by the factor 1 / (1 - w). A short position
  // has no such limit.
  const least = isShort ? 0 : trigger * (1 - largestMeasure);
  let sum = 0;
  let gap = Infinity;
  for (let issuer = 0; issuer < issuers.length; issuer++) {
    const weight = issuers[issuer]!;
    gap = Math.min(gap, Math.abs(weight - trigger));
    if (weight > trigger) {
      fallingIssuers.push(issuer);
      sum += weight;
    } else if (weight > least) risingIssuers.push(issuer);
  }
  fallingIssuers.sort((a, b) => issuers[a]! - issuers[b]!);
  risingIssuers.sort((a, b) => issuers[b]! - issuers[a]!);
  return { falling: fallingIssuers, rising: risingIssuers, sum, gap, most: largestMeasure, isShort };
}

/** Published concentration rule. */
export interface LimitRule {
  readonly label: string;
  readonly help: string;
  readonly source: string;
  readonly rows: readonly LimitRow[];
}

const createLargestIssuerLimit = (limit: number): LimitRow => ({
  row: 'largest issuer',
  side: 'upper',
  limit,
  unit: 'fraction',
  measure: measureNthLargestIssuer(1),
});

const createSumAboveLimit = (trigger: number, limit: number): LimitRow => ({
  row: `issuers above ${formatPercent(trigger)} together`,
  side: 'upper',
  limit,
  unit: 'fraction',
  measure: measureSumAbove(trigger),
});

/**
 * All published rules, in the order in which forms list them. The weight of an issuer is the sum over its securities.
 */
export const LIMIT_RULES = {
  UCITS_5_10_40: {
    label: 'UCITS 5/10/40',
    help: 'No issuer is above 10%. All issuers above 5% together are at most 40%.',
    source: 'Directive 2009/65/EC, article 52(1) and (2)',
    rows: [createLargestIssuerLimit(0.1), createSumAboveLimit(0.05, 0.4)],
  },
  UCITS_20_35: {
    label: 'UCITS 20/35',
    help: 'For funds that replicate an index: no issuer is above 20%, except one issuer with up to 35%.',
    source: 'Directive 2009/65/EC, article 53',
    rows: [
      createLargestIssuerLimit(0.35),
      {
        row: 'second largest issuer',
        side: 'upper',
        limit: 0.2,
        unit: 'fraction',
        measure: measureNthLargestIssuer(2),
      },
    ],
  },
  RIC_25_5_50: {
    label: 'RIC 25/5/50',
    help: 'No issuer is above 25%. All issuers above 5% together are at most 50%.',
    source: 'Internal Revenue Code, section 851(b)(3)',
    rows: [createLargestIssuerLimit(0.25), createSumAboveLimit(0.05, 0.5)],
  },
  SEC_75_5_10: {
    label: 'Diversified 75-5-10',
    help: 'Positions of at most 5% each add up to at least 75%. The limit of 10% of voting rights is not checked.',
    source: 'Investment Company Act of 1940, section 5(b)(1)',
    rows: [
      {
        row: 'issuers of at most 5% together',
        side: 'lower',
        limit: 0.75,
        unit: 'fraction',
        measure: measureSumUpTo(0.05),
      },
    ],
  },
} as const satisfies Readonly<Record<string, LimitRule>>;

export type LimitRuleName = keyof typeof LIMIT_RULES;
export const LIMIT_RULE_NAMES = Object.keys(LIMIT_RULES) as LimitRuleName[]; // Object.keys returns plain strings.

export const isPublishedRule = (name: string): name is LimitRuleName => Object.hasOwn(LIMIT_RULES, name);

/** Default rule. */
export const DEFAULT_LIMIT_RULE: LimitRuleName = 'UCITS_5_10_40';

function formatPercent(fraction: number): string {
  return `${fraction * 100}%`;
}

/** Reference column of issuers. */
export const ISSUER = 'ISSUER';

const limitSchema = z.number().gt(0).max(1);

const RANKED_LIMITS_MAX = 100;

/** Limits of an index whose breach triggers a rebalance, in the form of the limits of `ladder_caps`. */
export const BreachLimits = defineObject(() => ({
  single: defineObject(() => ({
    above: limitSchema.meta({ description: 'Maximum of each weight.', unit: 'fraction' }),
  }))
    .optional()
    .meta({ label: 'Single weights', description: 'Limit of each weight.' }),
  ranked: defineObject(() => ({
    above: z.array(limitSchema).min(1).max(RANKED_LIMITS_MAX).meta({
      description: 'Limits by rank, largest weight first. The last limit applies to all further ranks.',
      unit: 'fraction',
    }),
  }))
    .optional()
    .meta({ label: 'Weights by rank', description: 'Limit of the weight of each rank.' }),
  group: defineObject(() => ({
    each_above: limitSchema.meta({ description: 'Weights above this value are added up.', unit: 'fraction' }),
    together_above: limitSchema.meta({ description: 'Maximum of the total of these weights.', unit: 'fraction' }),
  }))
    .optional()
    .meta({ label: 'Total of large weights', description: 'Limit of the total of large weights.' }),
}))
  .refine(({ single, ranked, group }) => single !== undefined || ranked !== undefined || group !== undefined, {
    path: ['single'],
    params: { finding: 'REQUIRED' },
    error: 'or `ranked` or `group` is required',
  })
  .meta({ id: 'BreachLimits' });
export type BreachLimits = z.infer<typeof BreachLimits>;

export interface BreachTreatment {
  readonly on_breach?: 'none' | 'rebalance' | undefined;
  readonly breach_rule?: LimitRuleName | undefined;
  readonly breach_limits?: BreachLimits | undefined;
  readonly breach_review?: string | undefined;
}

/** Name of a rule that the index itself defines. */
export const CUSTOM_RULE = 'CUSTOM';

/** Names of the rules that trigger rebalances: the published rules, and the limits of the index itself. */
export const BREACH_RULE_NAMES = [...LIMIT_RULE_NAMES, CUSTOM_RULE] as const;
export type BreachRuleName = (typeof BREACH_RULE_NAMES)[number];

export interface BreachRule extends Pick<LimitRule, 'label' | 'help' | 'rows'> {
  readonly name: BreachRuleName;
  /** Text that is equal for equal rules. */
  readonly key: string;
  /** Column by whose groups weights are added up; null if each security counts by itself. */
  readonly by: string | null;
}

interface WatchedDefinition {
  readonly pipeline: {
    readonly treatment: BreachTreatment;
    readonly weighting: { readonly cap_by?: string | undefined };
  } | null;
}

const rulesByTreatment = new WeakMap<BreachTreatment, BreachRule>();

/**
 * Returns the rule whose breach triggers a rebalance of an index. Limits of the index itself add up weights as its caps
 * do: by `cap_by`. Returns null if there is none.
 */
export function findBreachRule(document: WatchedDefinition | undefined): BreachRule | null {
  const { treatment, weighting } = document?.pipeline ?? {};
  if (treatment?.on_breach !== 'rebalance') return null;
  const { breach_rule: name = DEFAULT_LIMIT_RULE, breach_limits: limits } = treatment;
  const by = limits === undefined ? ISSUER : (weighting?.cap_by ?? null);
  const known = rulesByTreatment.get(treatment);
  if (known?.by === by) return known;
  const rule =
    limits === undefined
      ? { name, key: name, ...LIMIT_RULES[name], by }
      : { ...createCustomRule(limits), key: JSON.stringify([limits, by]), by };
  rulesByTreatment.set(treatment, rule);
  return rule;
}

function createCustomRule({ single, ranked, group }: BreachLimits): Omit<BreachRule, 'by' | 'key'> {
  const limits = ranked?.above ?? [];
  const texts = [
    ...(single === undefined ? [] : [`No weight is above ${formatShare(single.above)}.`]),
    ...limits.map(
      (limit, rank) =>
        `The ${rank === limits.length - 1 && rank > 0 ? 'other weights are' : rank === 0 ? 'largest weight is' : `weight number ${rank + 1} is`} at most ${formatShare(limit)}.`,
    ),
    ...(group === undefined
      ? []
      : [
          `The weights above ${formatShare(group.each_above)} together are at most ${formatShare(group.together_above)}.`,
        ]),
  ];
  return {
    name: CUSTOM_RULE,
    label: 'Limits of the index',
    help: texts.join(' '),
    rows: [
      ...(single === undefined ? [] : [{ ...createLargestIssuerLimit(single.above), row: 'largest weight' }]),
      ...limits.map((limit, rank) => ({
        ...createLargestIssuerLimit(limit),
        row: `weight number ${rank + 1}`,
        measure: measureNthLargestIssuer(rank + 1),
      })),
      ...(group === undefined
        ? []
        : [
            {
              ...createSumAboveLimit(group.each_above, group.together_above),
              row: `weights above ${formatShare(group.each_above)} together`,
            },
          ]),
    ],
  };
}

export interface WatchedSecurities {
  readonly rule: BreachRule;
  readonly market: MarketData;
  /** [H] */
  readonly names: readonly string[];
  /** Rows that currently exceed their bound. `begins` updates them. */
  readonly open: Set<string>;
}

/** Creates a function that detects breaches of a rule over the closes of a book. */
export function createBreachWatch({ rule, market, names, open }: WatchedSecurities) {
  const readHoldings = createIssuerHoldings(market, names, rule.by);
  return {
    /**
     * Returns true if a row that was within its bound at the previous close exceeds it now.
     * @param weights [H], in the order of the securities; days must be passed in ascending order
     */
    begins(day: Day, weights: Float64Array): boolean {
      const holdings = readHoldings(day, weights);
      let hasBegun = false;
      for (const { row, isBeyond } of listRuleRows(rule, holdings)) {
        if (isBeyond && !open.has(row)) hasBegun = true;
        if (isBeyond) open.add(row);
        else open.delete(row);
      }
      return hasBegun;
    },
  };
}

/** Returns the distance of weights to the nearest bound of a rule. It is negative if a bound is exceeded. */
export function computeRuleHeadroom(
  { rule, market, names }: Omit<WatchedSecurities, 'open'>,
  day: Day,
  weights: Float64Array,
): number {
  const holdings = createIssuerHoldings(market, names, rule.by)(day, weights);
  return Math.min(...rule.rows.map((row) => computeHeadroom(row, row.measure.valueOf(holdings))));
}

/**
 * Returns a function that sums weights by issuer as known on a day. A security without an issuer counts as a separate
 * issuer.
 * @param by column of the issuers; null if each security is one
 */
function createIssuerHoldings(
  market: MarketData,
  names: readonly string[],
  by: string | null,
): (day: Day, weights: Float64Array) => Holdings {
  const hasIssuers = by !== null && market.reference.columns.includes(by);
  const readIssuers = hasIssuers ? createGroupsByDay(names, listIssuerSpells(market, by)) : null;
  const sumHoldings = sumByIssuer(names.length);
  return (day, weights) => sumHoldings(weights, readIssuers?.(day) ?? null);
}

function* listRuleRows(
  rule: Pick<BreachRule, 'rows'>,
  holdings: Holdings,
): Iterable<{ readonly row: string; isBeyond: boolean }> {
  for (const row of rule.rows)
    yield { row: row.row, isBeyond: computeHeadroom(row, row.measure.valueOf(holdings)) < -TOLERANCE };
}

/** Row of a rule that the weights of a definition may violate on the day of the decision. */
export interface RowWithoutGuarantee {
  readonly row: LimitRow;
  /** Value of the row for the most concentrated weights that the definition allows. */
  readonly value: number;
}

type LimitRows = Pick<LimitRule, 'rows'>;

/** Lowest cap that is tried. It is below all bounds of the rules, so smaller caps satisfy every rule as well. */
const CAP_MIN = 0.001;

/**
 * Returns the first row of a rule that weights may violate although no weight exceeds a cap. Returns null if the cap
 * guarantees the rule.
 */
export function findRowViolatedUnderCap(rule: LimitRows, most: number): RowWithoutGuarantee | null {
  const cap = Math.max(most, CAP_MIN);
  const count = Math.floor(1 / cap + TOLERANCE);
  const remainder = Math.max(1 - count * cap, 0);
  return findUnkeptByWeights(rule, [...Array<number>(count).fill(cap), ...(remainder > TOLERANCE ? [remainder] : [])]);
}

/** Staged caps: a cap on each weight, and a cap on the total of large weights. */
export interface StagedCaps {
  readonly single?: { readonly above: number } | undefined;
  readonly ranked?: { readonly above: readonly number[] } | undefined;
  readonly group?: { readonly each_above: number; readonly together_above: number } | undefined;
}

/**
 * Returns the first row of a rule that weights under staged caps may violate, or null. Assumes that the large weights
 * reach their joint total and all others their single cap.
 */
export function findRowViolatedUnderStages(
  rule: LimitRows,
  { single, ranked, group }: StagedCaps,
): RowWithoutGuarantee | null {
  if (ranked !== undefined && group === undefined) return findRowViolatedUnderRanks(rule, ranked.above);
  const largestWeight = single?.above ?? ranked?.above[0] ?? 1;
  if (group === undefined || group.each_above >= largestWeight) return findRowViolatedUnderCap(rule, largestWeight);
  const { each_above: largeTrigger, together_above: together } = group;
  const large = Array<number>(Math.floor(together / largestWeight + TOLERANCE)).fill(largestWeight);
  const last = together - large.length * largestWeight;
  if (last > largeTrigger + TOLERANCE) large.push(last);
  const remainder = 1 - large.reduce((sum, weight) => sum + weight, 0);
  const cap = Math.max(largeTrigger, CAP_MIN);
  const cappedWeights = Array<number>(Math.max(0, Math.floor(remainder / cap + TOLERANCE))).fill(cap);
  const left = remainder - cappedWeights.length * cap;
  return findUnkeptByWeights(rule, [...large, ...cappedWeights, ...(left > TOLERANCE ? [left] : [])]);
}

/** Returns the first row of a rule that weights under caps by rank may violate, or null. */
function findRowViolatedUnderRanks(rule: LimitRows, caps: readonly number[]): RowWithoutGuarantee | null {
  const weights: number[] = [];
  for (let remainder = 1; remainder > TOLERANCE;) {
    const weight = Math.min(remainder, Math.max(caps[weights.length] ?? caps.at(-1)!, CAP_MIN));
    weights.push(weight);
    remainder -= weight;
  }
  return findUnkeptByWeights(rule, weights);
}

/** Returns the first row of a rule that equal weights violate. Returns null if there is none. */
export function findRowViolatedByEqualWeights(rule: LimitRows, count: number): RowWithoutGuarantee | null {
  return findUnkeptByWeights(rule, Array<number>(count).fill(1 / count));
}

/** Returns the first row of a rule that given weights violate. Returns null if there is none. */
export function findUnkeptByWeights(rule: LimitRows, weights: readonly number[]): RowWithoutGuarantee | null {
  for (const row of rule.rows) {
    const value = row.measure.valueOf(sumByIssuer(weights.length)(Float64Array.from(weights), null));
    if (computeHeadroom(row, value) < -TOLERANCE) return { row, value };
  }
  return null;
}

/** Caps to try: bounds of published rules. */
const ROUND_CAPS = [0.35, 0.25, 0.2, 0.1, 0.05];

/** Returns the largest of `ROUND_CAPS` and the bounds of a rule that guarantees the rule. Returns null if none does. */
export function findLargestCap(rule: LimitRows): number | null {
  const bounds = rule.rows.flatMap(({ unit, limit }) => (unit === 'fraction' ? [limit] : []));
  const caps = [...ROUND_CAPS, ...bounds].toSorted((a, b) => b - a);
  return caps.find((cap) => findRowViolatedUnderCap(rule, cap) === null) ?? null;
}
