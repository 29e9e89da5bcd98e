import { selectNearer, TOLERANCE, type Bound, type Holdings, type BoundedMeasure, type Moves } from './measure.js';

/** Issuers above a trigger while one security moves: their sum is (fixed + moving x) / (1 + weight x). */
interface Above {
  count: number;
  /** Sum of their weights without a move. */
  fixed: number;
  /**
   * Change of the sum per unit of the move: the weight of the moving security if its issuer is included, otherwise 0.
   */
  moving: number;
  /** Same sum over all issuers, above the trigger or not. */
  total: number;
  totalMoving: number;
  /** Weight of the moving security. */
  weight: number;
}

/** Measures the weight of the n-th largest issuer. */
export function measureNthLargestIssuer(n: number): BoundedMeasure {
  return {
    valueOf({ issuers }) {
      if (n === 1) return largestOf(issuers);
      const largest = new Float64Array(n);
      for (let issuer = 0; issuer < issuers.length; issuer++) {
        const weight = issuers[issuer]!;
        let place = n;
        while (place > 0 && weight > largest[place - 1]!) place--;
        if (place === n) continue;
        largest.copyWithin(place + 1, place, n - 1);
        largest[place] = weight;
      }
      return largest[n - 1]!;
    },
    movesOf: (holdings, { limit }) =>
      bothWays(holdings, limit, {
        beyond: (above, from) => (above.count >= n ? from : Infinity),
        gapAt: () => Infinity,
      }),
  };
}

function largestOf(issuers: Float64Array): number {
  let largest = 0;
  for (let issuer = 0; issuer < issuers.length; issuer++) if (issuers[issuer]! > largest) largest = issuers[issuer]!;
  return largest;
}

/** Sums the issuers above a trigger. */
export function measureSumAbove(trigger: number): BoundedMeasure {
  return {
    valueOf({ issuers }) {
      let sum = 0;
      for (let issuer = 0; issuer < issuers.length; issuer++) if (issuers[issuer]! > trigger) sum += issuers[issuer]!;
      return sum;
    },
    movesOf: (holdings, bound) =>
      bothWays(holdings, trigger, {
        beyond: (above, from, to) => computeFirstBeyond(above, bound, from, to),
        gapAt: (sum) => gapOf(bound, sum),
        kept: bound.side === 'lower' ? undefined : keptBelow(bound.limit),
      }),
  };
}

/** Sums the issuers at or below a trigger. */
export function measureSumUpTo(trigger: number): BoundedMeasure {
  return {
    valueOf({ issuers }) {
      let sum = 0;
      for (let issuer = 0; issuer < issuers.length; issuer++)
        if (!(issuers[issuer]! > trigger)) sum += issuers[issuer]!;
      return sum;
    },
    movesOf(holdings, bound) {
      const invested = holdings.issuers.reduce((sum, own) => sum + own, 0);
      const others = { fixed: 0, moving: 0, weight: 0 };
      return bothWays(holdings, trigger, {
        beyond({ fixed, moving, weight, total, totalMoving }, from, to) {
          others.fixed = total - fixed;
          others.moving = totalMoving - moving;
          others.weight = weight;
          return computeFirstBeyond(others, bound, from, to);
        },
        gapAt: (sum) => gapOf(bound, invested - sum),
        kept: bound.side === 'upper' ? undefined : keptBeside(invested, bound.limit),
      });
    },
  };
}

/**
 * Returns the first move, between two, at which (fixed + moving x) / (1 + weight x) exceeds a bound; Infinity if there
 * is none.
 */
function computeFirstBeyond(
  { fixed, moving, weight }: Pick<Above, 'fixed' | 'moving' | 'weight'>,
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

/** Returns the change of a sum that meets a bound, per unit of the largest effect of the moving weight. */
function gapOf({ limit }: Bound, sum: number): number {
  return Math.abs(limit - sum) / Math.max(1, Math.abs(limit), Math.abs(1 - limit));
}

interface Question {
  /**
   * Returns the smallest move between two at which the bound is exceeded while the same issuers are above the trigger;
   * otherwise Infinity.
   */
  beyond(above: Above, from: number, to: number): number;
  /**
   * Returns the least product of a move and a weight that passes the bound while no issuer crosses the trigger, from
   * the sum of the issuers above it.
   */
  gapAt(sum: number): number;
  /** Moves that keep the bound regardless of crossings. Default: none are known. */
  readonly kept?: Kept | undefined;
}

/** Sums of the issuers above the trigger that keep a bound, as parts of the portfolio before the move. */
interface Kept {
  /** Returns true if a sum of at most this value remains within the bound after the portfolio has lost an amount. */
  afterFall(most: number, lost: number): boolean;
  /** Returns the gain of the portfolio below which a sum of at most this value keeps it, the gain included. */
  rise(most: number): number;
}

/** (most + gain) / (1 + gain) < limit */
const keptBelow = (limit: number): Kept => ({
  afterFall: (most, lost) => most + ROUNDING < limit * (1 - lost),
  rise: (most) => (limit < 1 ? (limit - most - ROUNDING) / (1 - limit) : 0),
});

/** (invested - most) / (1 + gain) > limit */
const keptBeside = (invested: number, limit: number): Kept => ({
  afterFall: (most, lost) => limit < 1 && invested - lost - most > limit * (1 - lost) + ROUNDING,
  rise: (most) => (limit > 0 ? (invested - most - ROUNDING) / limit - 1 : 0),
});

/**
 * Returns the least move at which `beyond` finds the bound passed. It is called for each span of moves over which the
 * same issuers are above the trigger, from zero outwards. Another issuer s passes the trigger where s / (1 + w x) does,
 * at one multiple of 1/w for all securities, so one order serves them all. The issuer of the moving security passes it
 * where |n + w x| / (1 + w x) does, n its net weight.
 */
function bothWays(holdings: Holdings, trigger: number, question: Question): Moves {
  const { beyond } = question;
  const { weights, issuers, issuerOf, nets } = holdings;
  const near = byDistance(holdings, trigger);
  const { falling, rising, sum } = near;
  const invested = issuers.reduce((total, own) => total + own, 0);
  const above: Above = { count: 0, fixed: 0, moving: 0, weight: 0, total: 0, totalMoving: 0 };

  function walk(name: number, direction: 1 | -1, reach: number): number {
    const weight = weights[name]!;
    const own = issuerOf[name]!;
    const net = nets[own]!;
    const crossing = direction * weight < 0 ? rising : falling;
    const change = direction * weight < 0 ? 1 : -1;
    // A price falls to zero at most, so the portfolio falls by less than its full value.
    const end = direction < 0 ? Math.max(-1, weight > 0 ? -1 / weight : -1) : weight < 0 ? -1 / weight : Infinity;
    const turns = turnsOf({ net, weight, trigger, direction, end });
    let isOwnAbove = issuers[own]! > trigger;
    let side = net < 0 ? -1 : 1;
    const others = { count: falling.length - (isOwnAbove ? 1 : 0), sum: sum - (isOwnAbove ? issuers[own]! : 0) };
    above.weight = weight;
    let from = 0;
    for (let k = 0, turn = 0; ;) {
      if (crossing[k] === own) k++;
      above.count = others.count + (isOwnAbove ? 1 : 0);
      above.fixed = others.sum + (isOwnAbove ? side * net : 0);
      above.moving = isOwnAbove ? side * weight : 0;
      above.total = invested - issuers[own]! + side * net;
      above.totalMoving = side * weight;
      const otherAt = k < crossing.length ? (issuers[crossing[k]!]! / trigger - 1) / weight : end;
      const ownAt = turns[turn]?.at ?? end;
      const isOwn = ownAt * direction <= otherAt * direction;
      const to = isOwn ? ownAt : otherAt;
      if (!(to * direction < end * direction)) return beyond(above, from, end);
      const result = beyond(above, from, to);
      if (Number.isFinite(result) || Math.abs(to) > reach) return result;
      if (isOwn) {
        const { becomes } = turns[turn++]!;
        if (becomes === 'other side') side = -side;
        else isOwnAbove = becomes === 'above';
      } else {
        others.count += change;
        others.sum += change * issuers[crossing[k++]!]!;
      }
      from = to;
    }
  }

  return {
    least: computeLeastProduct(near, issuers, { trigger, ...question }) * (1 - ROUNDING),
    moveOf: (name, reach) => selectNearer(toInfinite(walk(name, 1, reach)), toInfinite(walk(name, -1, reach))),
  };
}

interface Turn {
  readonly at: number;
  readonly becomes: 'above' | 'below' | 'other side';
}

interface OwnIssuer {
  readonly net: number;
  readonly weight: number;
  readonly trigger: number;
  readonly direction: 1 | -1;
  readonly end: number;
}

/**
 * Returns the moves at which the issuer of a moving security passes the trigger, long or short, or zero; from zero
 * outwards.
 */
function turnsOf({ net, weight, trigger, direction, end }: OwnIssuer): Turn[] {
  const rises = direction * weight > 0;
  const turns: Turn[] = [
    { at: (trigger - net) / (weight * (1 - trigger)), becomes: rises ? 'above' : 'below' },
    { at: -(trigger + net) / (weight * (1 + trigger)), becomes: rises ? 'below' : 'above' },
    { at: -net / weight, becomes: 'other side' },
  ];
  return turns
    .filter(({ at }) => at * direction >= 0 && at * direction < end * direction)
    .sort((a, b) => (a.at - b.at) * direction);
}

/** Tolerance that keeps rounding from skipping a security. */
const ROUNDING = 1e-9;

/** Returns the least product of a move and a weight that may pass the bound. */
function computeLeastProduct(
  { gap, sum, rising, most, isShort }: ByDistance,
  issuers: Float64Array,
  { gapAt, kept, trigger }: Question & { readonly trigger: number },
): number {
  if (isShort) return 0;
  const uncrossed = Math.min(gap, gapAt(sum));
  if (kept === undefined || most >= 1) return uncrossed;
  // Worst case: a fall raises above the trigger every issuer that any fall can raise; a rise raises only the issuer of
  // the security.
  const all = rising.reduce((total, issuer) => total + issuers[issuer]!, sum);
  return kept.afterFall(all, most) ? Math.max(uncrossed, kept.rise(sum + trigger)) : uncrossed;
}

function toInfinite(move: number): number {
  return Number.isFinite(move) ? move : Infinity;
}

interface ByDistance {
  /** Issuers above the trigger, nearest first. */
  readonly falling: readonly number[];
  /** Sum of the weights of those issuers. */
  readonly sum: number;
  /** Issuers at or below the trigger that a move of another can raise above it, nearest first. */
  readonly rising: readonly number[];
  /** Smallest distance of an issuer to the trigger. No issuer passes the trigger while weight times move is smaller. */
  readonly gap: number;
  /** Largest long weight. */
  readonly most: number;
  readonly isShort: boolean;
}

function byDistance({ weights, issuers }: Holdings, trigger: number): ByDistance {
  const falling: number[] = [];
  const rising: number[] = [];
  let most = 0;
  let isShort = false;
  for (let name = 0; name < weights.length; name++) {
    const weight = weights[name]!;
    if (weight > most) most = weight;
    if (weight < 0) isShort = true;
  }
  // After a long position w falls to zero, the others have 1 / (1 - w) of their previous weight. For a short position
  // there is no limit.
  const least = isShort ? 0 : trigger * (1 - most);
  let sum = 0;
  let gap = Infinity;
  for (let issuer = 0; issuer < issuers.length; issuer++) {
    const weight = issuers[issuer]!;
    gap = Math.min(gap, Math.abs(weight - trigger));
    if (weight > trigger) {
      falling.push(issuer);
      sum += weight;
    } else if (weight > least) rising.push(issuer);
  }
  falling.sort((a, b) => issuers[a]! - issuers[b]!);
  rising.sort((a, b) => issuers[b]! - issuers[a]!);
  return { falling, rising, sum, gap, most, isShort };
}
