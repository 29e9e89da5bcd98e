import { selectNearer, TOLERANCE, type Bound, type Holdings, type BoundedMeasure, type Moves } from './measure.js';

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

/** Returns the issuers above a trigger, largest first. */
const listIssuersAbove = ({ issuers }: Holdings, trigger: number): readonly number[] =>
  [...issuers.keys()].filter((issuer) => issuers[issuer]! > trigger).sort((a, b) => issuers[b]! - issuers[a]!);

function findLargest(issuers: Float64Array): number {
  let largest = 0;
  for (let issuer = 0; issuer < issuers.length; issuer++) if (issuers[issuer]! > largest) largest = issuers[issuer]!;
  return largest;
}

/** Measures the sum of the issuers above a trigger. */
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

/** Measures the sum of the issuers at or below a trigger. */
export function measureSumUpTo(trigger: number): BoundedMeasure {
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

/** Returns the least product of move and weight that can exceed the bound. */
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
