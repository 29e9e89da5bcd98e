import type { Market } from './market.js';
import { computeProportional, sum, type Weights } from './plain-functions.js';

export interface Composition {
  readonly date: string;
  readonly weights: Weights;
}

export interface PlainRun {
  /** Session of the base date. */
  readonly base: number;
  /** Level per session from the base date on. */
  readonly levels: readonly number[];
  /** Compositions with their weights at the effective closes. */
  readonly compositions: readonly Composition[];
}

/** Day of a month on which an index is rebalanced. */
export type Anchor =
  | { readonly day: 'first' }
  | { readonly day: 'last' }
  | { readonly day: 'weekday'; readonly weekday: number; readonly nth: number }
  | { readonly day: 'date'; readonly date: number };

/** Constituents before a decision; null at the base. */
export type Members = ReadonlySet<number> | null;

export interface Review {
  readonly months: readonly number[];
  readonly anchor: Anchor;
  /** Number of sessions from the decision to the effective close. */
  readonly lag?: number;
  /** Returns the session whose data is used by a review that is effective on `t`. */
  readonly reference?: (dates: readonly string[], t: number) => number;
  /** Returns the session whose closes convert the weights of this review to shares. */
  readonly pricing?: (dates: readonly string[], t: number) => number;
  /** Number of closes over which a composition takes effect. */
  readonly closes?: number;
  /**
   * Returns the target weights at the close of a session. `heldWeights` are the current weights of the constituents,
   * including their drift.
   */
  decide(t: number, members: Members, heldWeights: Weights): Weights;
}

export interface Terms extends Review {
  /** Further reviews. Of several reviews on the same date, only the first is performed. */
  readonly reviews?: readonly Review[];
  readonly dividends?: 'price' | 'total' | 'net';
  /** True if dividends buy shares of the whole index at the closes before the ex-date. */
  readonly isReinvestedBefore?: boolean;
  /** Returns the fraction of an ordinary dividend that is withheld. */
  readonly withheld?: (security: number, t: number) => number;
  /**
   * Returns the number of shares of a security in one unit of a basket. If it exists, shares are not computed from
   * weights.
   */
  readonly basket?: (security: number, t: number) => number;
  /** True if a split multiplies the number of shares in the basket. */
  readonly splitsKeepWeight?: boolean;
  /** Changes constituents after a close on which no review is effective. Returns undefined if nothing changes. */
  readonly between?: (t: number, shares: Shares, heldAfter: SharesAfterClose) => Shares | undefined;
}

export type Shares = Map<number, number>;

/** Function that returns the shares after the changes at the close of a session, or undefined before the base date. */
export type SharesAfterClose = (t: number) => Shares | undefined;

const BASE_VALUE = 1000;

/** Returns the sessions after the base date at whose close the index is rebalanced. */
export function rebalanceSessions(
  dates: readonly string[],
  { months, anchor }: Pick<Terms, 'months' | 'anchor'>,
): number[] {
  const storeMonths = [...new Set(dates.map((date) => date.slice(0, 7)))];
  return storeMonths.flatMap((month) => {
    if (!months.includes(Number(month.slice(5)))) return [];
    const inMonth = dates.flatMap((date, t) => (date.startsWith(month) ? [t] : []));
    if (anchor.day === 'first') return [inMonth[0]!];
    if (anchor.day === 'last') return [inMonth.at(-1)!];
    const wantedSession =
      anchor.day === 'weekday' ? findNthWeekday(month, anchor) : `${month}-${String(anchor.date).padStart(2, '0')}`;
    const t = dates.findIndex((date) => date >= wantedSession); // a holiday moves the date to the next session
    return t < 0 ? [] : [t];
  });
}

export function findNthWeekday(
  month: string,
  { weekday, nth }: { readonly weekday: number; readonly nth: number },
): string {
  const days = Array.from({ length: 31 }, (_, k) => `${month}-${String(k + 1).padStart(2, '0')}`).filter((day) => {
    const date = new Date(`${day}T00:00:00Z`);
    return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day) && date.getUTCDay() === weekday;
  });
  return nth === 5 ? days.at(-1)! : days[nth - 1]!;
}

interface DueReview {
  readonly review: Review;
  readonly decision: number;
  readonly pricing: number;
}

/**
 * Returns the review of each effective close. If several fall on one close, it is the first in order of precedence. The
 * base composition is decided and priced on the base date.
 */
function listDueBySession(dates: readonly string[], base: number, terms: Terms): Map<number, DueReview> {
  const dueReviews = new Map<number, DueReview>();
  for (const review of [terms, ...(terms.reviews ?? [])]) {
    const { lag = 0, reference = () => -1, pricing } = review;
    const sessions = rebalanceSessions(dates, review).filter((t) => t > base);
    for (const t of review === terms ? [base, ...sessions] : sessions) {
      if (dueReviews.has(t)) continue;
      const decision = review.reference === undefined ? t - lag : Math.min(t, reference(dates, t));
      dueReviews.set(t, { review, decision, pricing: pricing?.(dates, t) ?? decision });
    }
  }
  return dueReviews;
}

/** Composition that takes effect over several closes. */
interface Phase {
  readonly from: Shares;
  readonly to: Shares;
  readonly closes: number;
  done: number;
}

/**
 * Runs an index of securities. Shares follow from target weights and the closes of the pricing session, and change with
 * splits. At the effective close they are scaled so that the level has no jump.
 */
export function runIndex(market: Market, baseDate: string, terms: Terms): PlainRun {
  const { dates } = market.store;
  const base = dates.findIndex((date) => date >= baseDate);
  const dueReviews = listDueBySession(dates, base, terms);
  const compositions: Composition[] = [];
  const levels: number[] = [];
  const heldOn = new Map<number, Shares>();
  const heldAfter = new Map<number, Shares>();
  let shares: Shares = new Map();
  let phase = null as Phase | null;
  let level = BASE_VALUE;
  const computeWeights = (held: Shares, t: number) =>
    computeProportional([...held.keys()], (i) => held.get(i)! * market.price(i, t));
  for (let t = base; t < dates.length; t++) {
    if (t > base) {
      level *= computeGrowthTo(market, shares, t, terms);
      shares = carryShares(market, shares, t, terms);
      if (phase !== null)
        phase = {
          ...phase,
          from: carryShares(market, phase.from, t, terms),
          to: carryShares(market, phase.to, t, terms),
        };
    }
    levels.push(level);
    heldOn.set(t, shares);
    const now = dueReviews.get(t);
    const changedShares =
      now === undefined && phase === null ? terms.between?.(t, shares, (s) => heldAfter.get(s)) : undefined;
    if (changedShares !== undefined) shares = changedShares;
    if (now !== undefined) {
      const before = heldOn.get(Math.max(base, now.decision))!;
      const members = t === base ? null : new Set(before.keys());
      const weights = now.review.decide(now.decision, members, computeWeights(before, now.decision));
      const to = computePendingShares(market, weights, { from: now.pricing, to: t, terms });
      const { closes = 1 } = now.review;
      if (t === base || closes === 1) shares = to;
      else phase = { from: shares, to: scaleShares(market, to, { like: shares, t }), closes, done: 0 };
    }
    if (phase !== null) {
      phase.done++;
      shares = mixShares(phase);
      if (phase.done === phase.closes) phase = null;
      compositions.push({ date: dates[t]!, weights: computeWeights(shares, t) });
    } else if (now !== undefined || changedShares !== undefined)
      compositions.push({ date: dates[t]!, weights: computeWeights(shares, t) });
    heldAfter.set(t, shares);
  }
  return { base, levels, compositions };
}

/**
 * Returns the shares that follow from target weights at the closes of a session. They include splits up to a later
 * session.
 */
function computePendingShares(
  market: Market,
  weights: Weights,
  { from, to, terms }: { readonly from: number; readonly to: number; readonly terms: Terms },
): Shares {
  let shares: Shares = new Map(
    [...weights].map(([i, weight]) => [i, terms.basket?.(i, from) ?? weight / market.price(i, from)]),
  );
  for (let t = from + 1; t <= to; t++) shares = carryShares(market, shares, t, { ...terms, splitsKeepWeight: true });
  return shares;
}

const computeValue = (market: Market, shares: Shares, t: number): number =>
  sum([...shares].map(([i, shareCount]) => shareCount * market.price(i, t)));

function scaleShares(
  market: Market,
  shares: Shares,
  { like, t }: { readonly like: Shares; readonly t: number },
): Shares {
  const scale = computeValue(market, like, t) / computeValue(market, shares, t);
  return new Map([...shares].map(([i, shareCount]) => [i, shareCount * scale]));
}

function mixShares({ from, to, done, closes }: Phase): Shares {
  const share = done / closes;
  const all = new Set([...from.keys(), ...to.keys()]);
  const mixedShares = [...all].map((i): [number, number] => [
    i,
    (1 - share) * (from.get(i) ?? 0) + share * (to.get(i) ?? 0),
  ]);
  return new Map(mixedShares.filter(([, shareCount]) => shareCount !== 0));
}

const isKeepingShares = ({ basket, splitsKeepWeight }: Terms): boolean =>
  basket !== undefined && splitsKeepWeight !== true;

/**
 * Returns the growth of the level over a session. It is closes plus dividends, divided by the previous closes on the
 * share basis of the session.
 */
function computeGrowthTo(market: Market, before: Shares, t: number, terms: Terms): number {
  const { split, special } = market.store;
  const { dividends = 'price', withheld = () => 0 } = terms;
  const keepsCount = isKeepingShares(terms);
  let [opening, value, cash] = [0, 0, 0];
  for (const [i, shares] of before) {
    const shareCount = shares * (keepsCount ? 1 : split[i]![t]!);
    opening += shareCount * (market.price(i, t - 1) / split[i]![t]! - special[i]![t]!);
    value += shareCount * market.price(i, t);
    if (dividends === 'price') continue;
    cash += shareCount * market.dividend(i, t) * (dividends === 'net' ? 1 - withheld(i, t) : 1);
  }
  return terms.isReinvestedBefore === true ? value / (opening - cash) : (value + cash) / opening;
}

/** Returns the shares after a session. They include its splits and leave out securities that leave at the close. */
function carryShares(market: Market, before: Shares, t: number, terms: Terms): Shares {
  const { split, delisted } = market.store;
  const keepsCount = isKeepingShares(terms);
  const readOwnSplit = (i: number): number => (keepsCount ? 1 : split[i]![t]!);
  const isChanged = [...before.keys()].some((i) => delisted[i] === t || readOwnSplit(i) !== 1);
  if (!isChanged) return before;
  return new Map(
    [...before].flatMap(([i, shares]) =>
      delisted[i] === t ? [] : [[i, shares * readOwnSplit(i)] as [number, number]],
    ),
  );
}
