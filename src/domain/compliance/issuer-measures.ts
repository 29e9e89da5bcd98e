import { TOLERANCE, type Bound, type Holdings, type Measure } from './measure.js';

/** An issuer whose weight passes a trigger, at a move of one name. */
interface Crossing {
  readonly move: number;
  /** Of the move: an issuer that is at the trigger passes it at no move, in one direction. */
  readonly direction: 1 | -1;
  readonly issuer: number;
  /** Whether it comes above the trigger. */
  readonly rises: boolean;
}

/** The issuers above a trigger while one name moves: what they sum to is (fixed + moving x) / (1 + w x). */
interface Above {
  count: number;
  /** Sum of their weights at no move. */
  fixed: number;
  /** Weight of the moving name if its issuer is among them, else 0. */
  moving: number;
}

/** The weight of the n-th largest issuer. */
export function nthLargestIssuer(n: number): Measure {
  return {
    valueOf({ issuers }) {
      const largest = new Float64Array(n);
      for (const weight of issuers) {
        let place = n;
        while (place > 0 && weight > largest[place - 1]!) place--;
        if (place === n) continue;
        largest.copyWithin(place + 1, place, n - 1);
        largest[place] = weight;
      }
      return largest[n - 1]!;
    },
    movesOf: (holdings, name, { limit }) =>
      bothWays(holdings, name, limit, (above, from) => (above.count >= n ? from : Infinity)),
  };
}

/** Sum of the issuers that are above a trigger each. */
export function sumAbove(trigger: number): Measure {
  return {
    valueOf: ({ issuers }) => issuers.reduce((sum, weight) => (weight > trigger ? sum + weight : sum), 0),
    movesOf: (holdings, name, bound) =>
      bothWays(holdings, name, trigger, ({ fixed, moving }, from, to) =>
        firstBeyond({ fixed, moving, weight: holdings.weights[name]! }, bound, { from, to }),
      ),
  };
}

/** Sum of the issuers that are at most a trigger each. */
export function sumUpTo(trigger: number): Measure {
  return {
    valueOf: ({ issuers }) => issuers.reduce((sum, weight) => (weight > trigger ? sum : sum + weight), 0),
    movesOf(holdings, name, bound) {
      const weight = holdings.weights[name]!;
      const invested = holdings.issuers.reduce((sum, own) => sum + own, 0);
      return bothWays(holdings, name, trigger, ({ fixed, moving }, from, to) =>
        firstBeyond({ fixed: invested - fixed, moving: weight - moving, weight }, bound, { from, to }),
      );
    },
  };
}

/**
 * Whether and where (fixed + moving x) / (1 + weight x) is beyond a bound between two moves; Infinity where it is not.
 */
function firstBeyond(
  { fixed, moving, weight }: { readonly fixed: number; readonly moving: number; readonly weight: number },
  { side, limit }: Bound,
  { from, to }: { readonly from: number; readonly to: number },
): number {
  const sign = side === 'upper' ? 1 : -1;
  if (sign * (fixed + moving * from - limit * (1 + weight * from)) > TOLERANCE) return from;
  const meets = (limit - fixed) / (moving - limit * weight);
  const isWithin = to > from ? meets >= from && meets < to : meets <= from && meets > to;
  return isWithin ? meets : Infinity;
}

/**
 * The first move of each direction at which `beyond` finds the bound passed: asked for each span of moves over which
 * the same issuers are above the trigger, outwards from no move.
 */
function bothWays(
  holdings: Holdings,
  name: number,
  trigger: number,
  beyond: (above: Above, from: number, to: number) => number,
): { readonly up: number; readonly down: number } {
  const crossings = crossingsOf(holdings, name, trigger);
  const weight = holdings.weights[name]!;
  // A price falls to zero at most, a portfolio does not either.
  const ends = { up: weight < 0 ? -1 / weight : Infinity, down: -1 };
  const walk = (direction: 1 | -1, end: number): number => {
    const ahead = crossings.filter(
      (crossing) => crossing.direction === direction && crossing.move * direction < end * direction,
    );
    ahead.sort((a, b) => Math.abs(a.move) - Math.abs(b.move));
    const above = aboveAtRest(holdings, name, trigger);
    let from = 0;
    for (const { move, issuer, rises } of ahead) {
      const found = beyond(above, from, move);
      if (Math.abs(found) !== Infinity) return found;
      const sign = rises ? 1 : -1;
      above.count += sign;
      above.fixed += sign * holdings.issuers[issuer]!;
      if (issuer === holdings.issuerOf[name]) above.moving = rises ? weight : 0;
      from = move;
    }
    return beyond(above, from, end);
  };
  const [up, down] = [walk(1, ends.up), walk(-1, ends.down)];
  return { up: Number.isFinite(up) ? up : Infinity, down: Number.isFinite(down) ? down : -Infinity };
}

function aboveAtRest({ weights, issuers, issuerOf }: Holdings, name: number, trigger: number): Above {
  const above: Above = { count: 0, fixed: 0, moving: 0 };
  issuers.forEach((weight, issuer) => {
    if (weight <= trigger) return;
    above.count++;
    above.fixed += weight;
    if (issuer === issuerOf[name]) above.moving = weights[name]!;
  });
  return above;
}

/** Moves of a name at which issuers pass the trigger: (s + w x) / (1 + w x) for its own, s / (1 + w x) for others. */
function crossingsOf({ weights, issuers, issuerOf }: Holdings, name: number, trigger: number): Crossing[] {
  const weight = weights[name]!;
  const crossings: Crossing[] = [];
  issuers.forEach((sum, issuer) => {
    const isOwn = issuer === issuerOf[name];
    const move = isOwn ? (trigger - sum) / (weight * (1 - trigger)) : (sum / trigger - 1) / weight;
    if (!Number.isFinite(move) || move <= -1 || 1 + weight * move <= 0) return;
    const risesUpwards = isOwn === weight > 0;
    const direction = move > 0 || (move === 0 && risesUpwards) ? 1 : -1;
    crossings.push({ move, direction, issuer, rises: risesUpwards === (direction === 1) });
  });
  return crossings;
}
