import { isSamePurchase, sortByPurchase, SHARES_MIN, type FreshShares, type WashRule } from './wash-sales.js';

/**
 * Shares of a lot that are sold together, in the order of sale. The wash sale rule may divide a lot: its shares then
 * realise different gains.
 */
export interface SaleLot {
  /** Index of the lot in the account. */
  readonly lot: number;
  readonly shares: number;
  /** Taxed gains per share. The sale of replacement shares also realises losses that they would have disallowed. */
  readonly short: number;
  readonly long: number;
}

export interface TraceQuestion {
  readonly rule: WashRule;
  /** Lots of one security in the order of sale. */
  readonly order: readonly number[];
  /** Number of shares that are sold of lots of other securities, by lot. */
  readonly others: ReadonlyMap<number, number>;
  priceOf(identifier: string): number;
  isLong(lot: number): boolean;
}

/** Number of shares, and its change per share that is sold next. */
interface Quantity {
  readonly value: number;
  readonly change: number;
}

/** Shares sold of the lots so far. */
interface Sales {
  /** Lot of which shares are sold next. */
  readonly lot: number;
  readonly sold: ReadonlyMap<number, number>;
}

/** Gains of the shares that are sold next. */
interface MarginalGains {
  readonly short: number;
  readonly long: number;
  /** Number of shares for which these gains hold. */
  readonly reach: number;
}

/**
 * Returns the taxed gains of a security under the wash sale rule as its lots are sold one after another, with given
 * sales of other securities. The gains are a piecewise linear function of the number of shares sold: a sale at a loss is
 * matched with the shares that replace it, and the sale of these shares allows the loss again. Each piece has constant
 * gains per share. The gains never fall if other securities sell less: the losses of this security then find more
 * shares that replace them.
 *
 * @cost per piece: lots at a loss times shares that may replace them, usually a few
 */
export function traceGains(question: TraceQuestion): SaleLot[] {
  const { rule, order, others, priceOf } = question;
  const { lots } = rule;
  const isLosing = (lot: number): boolean => lots[lot]!.cost > priceOf(lots[lot]!.identifier);
  const losing = sortByPurchase(lots, [...order, ...others.keys()]).filter(isLosing);
  const freshCount = losing.reduce((most, lot) => Math.max(most, rule.listFresh(lots[lot]!.identifier).length), 0);
  const piecesMax = 4 * (order.length + others.size + freshCount) + 8;
  const sold = new Map(others);
  const pieces: SaleLot[] = [];
  for (const lot of order) {
    const { shares } = lots[lot]!;
    let left = shares;
    for (let piece = 1; left > 0; piece++) {
      sold.set(lot, shares - left);
      const { short, long, reach } = computeMarginalGains(question, losing, { lot, sold });
      // The last piece takes all shares of the lot, also if rounding errors divided the lot too often.
      const isLast = reach >= left - SHARES_MIN * Math.max(1, shares) || piece === piecesMax;
      pieces.push({ lot, shares: isLast ? left : reach, short, long });
      left = isLast ? 0 : left - reach;
    }
    sold.set(lot, shares);
  }
  return joinEqual(pieces);
}

/** Computes the gains of the next shares of a lot by matching quantities together with their changes. */
function computeMarginalGains(
  { rule, others, priceOf, isLong }: TraceQuestion,
  losing: readonly number[],
  { lot: next, sold }: Sales,
): MarginalGains {
  const { lots } = rule;
  let reach = Infinity;
  const gains = { short: 0, long: 0 };
  const computeGain = (lot: number): number => priceOf(lots[lot]!.identifier) - lots[lot]!.cost;
  const addGain = (lot: number, amount: number): void => void (gains[isLong(lot) ? 'long' : 'short'] += amount);
  const findLess = (a: Quantity, b: Quantity): Quantity => {
    const difference = a.value - b.value;
    if (Math.abs(difference) <= SHARES_MIN) return a.change < b.change ? a : b;
    const [less, more] = difference < 0 ? [a, b] : [b, a];
    if (less.change > more.change) reach = Math.min(reach, Math.abs(difference) / (less.change - more.change));
    return less;
  };
  const subtract = (a: Quantity, b: Quantity): Quantity => ({ value: a.value - b.value, change: a.change - b.change });
  const isNone = ({ value, change }: Quantity): boolean => value <= SHARES_MIN && change <= 0;
  const free = new Map<FreshShares, Quantity>();
  const findFree = (fresh: FreshShares): Quantity => {
    const { lot, shares } = fresh;
    const known = free.get(fresh);
    if (known !== undefined) return known;
    const whole = { value: shares, change: 0 };
    if (lot === null || !(sold.has(lot) || lot === next)) return whole;
    return findLess(whole, { value: lots[lot]!.shares - (sold.get(lot) ?? 0), change: lot === next ? -1 : 0 });
  };
  addGain(next, computeGain(next));
  for (const lot of losing) {
    if (!sold.has(lot)) continue;
    let left: Quantity = { value: sold.get(lot)!, change: lot === next ? 1 : 0 };
    for (const fresh of rule.listFresh(lots[lot]!.identifier)) {
      if (isNone(left)) break;
      const own = findFree(fresh);
      if (isNone(own) || isSamePurchase(lots, fresh, lot)) continue;
      const taken = findLess(left, own);
      left = subtract(left, taken);
      free.set(fresh, subtract(own, taken));
      if (!others.has(lot)) addGain(lot, -taken.change * computeGain(lot));
    }
  }
  return { ...gains, reach };
}

/** Joins consecutive pieces of a lot with equal gains. */
function joinEqual(pieces: readonly SaleLot[]): SaleLot[] {
  const joined: SaleLot[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (last?.lot === piece.lot && last.short === piece.short && last.long === piece.long)
      joined[joined.length - 1] = { ...last, shares: last.shares + piece.shares };
    else joined.push(piece);
  }
  return joined;
}
