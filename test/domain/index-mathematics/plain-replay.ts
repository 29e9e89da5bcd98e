import type { Run } from '#domain/backtest/run.js';
import type { CorporateAction, MarketData } from '#domain/market/market-data.js';

/**
 * Results of index mathematics in plain code: numbers of shares, one divisor, and loops over securities, sessions and
 * actions. The code is independent of the engine. It reads only the decisions of a run: the decided weights, their
 * sessions, and the sessions from which they are held.
 */
export interface ReplayedIndex {
  readonly price: number[];
  readonly total: number[];
  readonly net: number[];
  readonly divisor: number[];
  readonly points: number[];
  /** Market value and divisor before and after each session that changes the divisor. */
  readonly changes: { before: number; divisorBefore: number; after: number; divisorAfter: number }[];
  readonly weights: Map<string, number>[];
}

export interface ReplayTerms {
  readonly special: 'adjust' | 'ignore';
  readonly rights: 'subscribe' | 'price_only';
  readonly spinOffs: 'zero_price' | 'drop_after_first_session' | 'ignore';
  readonly keepsShares: boolean;
  /** One withholding tax rate, or a function that returns the rate of a security. */
  readonly withholdingTax: number | ((name: string) => number);
  /** Number of decimals and initial value of a rounded divisor. */
  readonly rounded?: { readonly decimals: number; readonly first: number };
  /**
   * Smallest relative change of a share count that the index applies between reviews. Without it, all changes wait for
   * the review.
   */
  readonly threshold?: number | undefined;
}

type Shares = Map<string, number>;

/** Share counts by security: the counts on which the index shares are based, and the latest counts. */
interface Counts {
  readonly adopted: Shares;
  readonly seen: Shares;
}

export function replay(run: Run, terms: ReplayTerms): ReplayedIndex {
  const { sm, from, length } = run.index.book;
  const market = createMarket(sm.market, sm.sessions);
  const result: ReplayedIndex = { price: [], total: [], net: [], divisor: [], points: [], changes: [], weights: [] };
  const index = { shares: new Map<string, number>(), divisor: terms.rounded?.first ?? 1, counts: createEmptyCounts() };
  const orders = new Map<number, { shares: Shares; session: number; counts: Counts; entered: number | undefined }>();
  const base = run.document.base_value;
  let perShare = 0;
  const decisions = run.index.compositions.list;
  for (let t = 0; t < from + length; t++) {
    market.open(t);
    const before = computeWorth(index.shares, market);
    for (const { shares, counts } of [index, ...orders.values()]) {
      if (terms.threshold !== undefined) changeCounts(shares, counts, market, t, terms);
      adjust(shares, market.actionsOn(t), terms);
    }
    market.adjust(t, terms);
    changeDivisor(result, index, before, computeWorth(index.shares, market));
    keepDivisor(index, terms);
    market.close(t);
    const value = computeWorth(index.shares, market);
    const computeDividends = (tax: ReplayTerms['withholdingTax']): number => sumDividends(index.shares, market, tax);
    if (t > from) {
      const price = value / index.divisor;
      const grow = (level: number, dividend: number): number =>
        (level * (price + dividend / index.divisor)) / result.price.at(-1)!;
      result.total.push(grow(result.total.at(-1)!, computeDividends(0)));
      result.net.push(grow(result.net.at(-1)!, computeDividends(terms.withholdingTax)));
      result.points.push(computeDividends(0) / index.divisor);
      result.price.push(price);
    }
    for (const order of orders.values()) removeLeavers(order, market, t, terms);
    const leavers = removeLeavers(index, market, t, terms);
    if (index.shares.size > 0)
      changeDivisor(result, index, computeWorthWith(index.shares, market, leavers), computeWorth(index.shares, market));
    for (const decision of decisions.filter((one) => findPricingSession(one, market) === t))
      orders.set(
        decision.session * 1000 + t,
        createOrder(decision, index.shares, { market, t, keepsShares: terms.keepsShares }),
      );
    for (const [key, { session, shares, counts, entered = 1 }] of orders) {
      if (session !== t) continue;
      const worthBefore = computeWorth(index.shares, market);
      if (t === from && terms.keepsShares) index.divisor = computeWorth(shares, market) / base;
      if (t === from) perShare = terms.keepsShares ? 1 : (base * index.divisor) / computeWorth(shares, market);
      const scale = t === from || terms.keepsShares ? perShare : (worthBefore * entered) / computeWorth(shares, market);
      index.shares = new Map([...shares].map(([name, q]) => [name, q * scale]));
      if (entered !== 1) keepCounts(index.counts, counts, shares);
      index.counts = counts;
      if (terms.keepsShares || entered !== 1)
        changeDivisor(result, index, worthBefore, computeWorth(index.shares, market));
      orders.delete(key);
    }
    keepDivisor(index, terms);
    if (t === from) {
      for (const levels of [result.price, result.total, result.net]) levels.push(base);
      result.points.push(0);
    }
    if (t < from) continue;
    result.divisor.push(index.divisor);
    const wholeWorth = computeWorth(index.shares, market);
    result.weights.push(new Map([...index.shares].map(([name, q]) => [name, (q * market.money(name)) / wholeWorth])));
  }
  return result;
}

/**
 * Returns the session at whose closes weights become shares. This is the effective session if a phase mixes weights or
 * if a replacement has joined them. A security that was spun off does not count as a replacement.
 */
function findPricingSession(
  { decision, pricing = decision, session, phase, targets, columns }: Run['rebalances'][number],
  { names }: Pick<Market, 'names'>,
): number {
  const isJoined = columns.some(
    (column) => targets !== undefined && !targets.columns.includes(column) && !names[column]!.endsWith('KID'),
  );
  return phase !== undefined || isJoined ? session : pricing;
}

/**
 * Returns the number of shares of each security that a decision holds, at the closes of its session. With fixed
 * numbers, it is one share of each security at a review. A change between reviews adds one share of the securities that
 * enter; the others keep their shares, of which a spun-off security has those that were distributed.
 */
function createOrder(
  one: Run['rebalances'][number],
  held: Shares,
  { market, t, keepsShares }: { readonly market: Market; readonly t: number; readonly keepsShares: boolean },
): { shares: Shares; session: number; counts: Counts; entered: number | undefined } {
  const { session, entered, targets } = one;
  const { columns: decided, weights: wantedOf } = findPricingSession(one, market) === session ? one : (targets ?? one);
  // A security that has ended by the pricing date is left out.
  const isAvailable = (_: number, k: number): boolean =>
    one.pricing === undefined || !market.hasEnded(market.names[decided[k]!]!, t);
  const [of, wantedWeights] = [decided.filter(isAvailable), wantedOf.filter(isAvailable)];
  const columnMoney = [...of].map((column) => market.money(market.names[column]!));
  const isReview = one.cause === undefined || one.cause === 'breach';
  const countShares = (column: number): number => (isReview ? 1 : (held.get(market.names[column]!) ?? 1));
  const unit = keepsShares ? sum([...of].map((column, k) => countShares(column) * columnMoney[k]!)) : 1;
  const countEntries = [...of].map((c): [string, number] => [market.names[c]!, market.count(market.names[c]!, t)]);
  return {
    session,
    entered,
    shares: new Map([...of].map((c, k) => [market.names[c]!, (unit * wantedWeights[k]!) / columnMoney[k]!])),
    counts: { adopted: new Map(countEntries), seen: new Map(countEntries) },
  };
}

const createEmptyCounts = (): Counts => ({ adopted: new Map(), seen: new Map() });

/** Applies share counts before the session opens, if they differ enough from the counts that were applied last. */
function changeCounts(
  shares: Shares,
  { adopted, seen }: Counts,
  market: Market,
  t: number,
  { threshold, rights }: ReplayTerms,
): void {
  for (const { identifier, type, value, subscriptionPrice } of market.actionsOn(t)) {
    const isRights = type === 'RIGHTS_ISSUE' && subscriptionPrice !== null && rights === 'subscribe';
    const factor = type === 'SPLIT' ? value : isRights ? 1 + value : 1;
    if (adopted.has(identifier)) adopted.set(identifier, adopted.get(identifier)! * factor);
  }
  const issuing = new Set(
    market
      .actionsOn(t)
      .filter(({ type, identifier }) => type === 'MERGER' && shares.has(identifier))
      .map(({ related }) => related),
  );
  for (const [name, shareCount] of shares) {
    const count = market.count(name, t);
    if (Number.isNaN(count) || count === seen.get(name) || issuing.has(name)) continue;
    seen.set(name, count);
    const factor = count / (adopted.get(name) ?? count);
    if (!adopted.has(name)) adopted.set(name, count);
    if (Math.abs(factor - 1) < threshold! - 1e-12) continue;
    adopted.set(name, count);
    shares.set(name, shareCount * factor);
  }
}

/** Keeps the share counts of the securities that were held before. Used when a security enters between reviews. */
function keepCounts(before: Counts, counts: Counts, shares: Shares): void {
  for (const member of ['adopted', 'seen'] as const)
    for (const [name, count] of before[member]) if (shares.has(name)) counts[member].set(name, count);
}

function keepDivisor(index: { divisor: number }, { rounded }: ReplayTerms): void {
  if (rounded !== undefined)
    index.divisor = Math.round(index.divisor * 10 ** rounded.decimals) / 10 ** rounded.decimals;
}

function sumDividends(shares: Shares, market: Market, tax: ReplayTerms['withholdingTax']): number {
  const getRate = (name: string): number => (typeof tax === 'number' ? tax : tax(name));
  return sum([...shares].map(([name, q]) => q * market.dividend(name) * (1 - getRate(name)) * market.rate(name)));
}

function changeDivisor(replayed: ReplayedIndex, index: { divisor: number }, before: number, after: number): void {
  if (before === after || before === 0) return;
  const divisorBefore = index.divisor;
  index.divisor *= after / before;
  replayed.changes.push({ before, divisorBefore, after, divisorAfter: index.divisor });
}

/** Applies splits, rights and spin-offs to the shares before the session opens. */
function adjust(shares: Shares, actions: readonly CorporateAction[], terms: ReplayTerms): void {
  for (const { identifier, type, value, related, subscriptionPrice } of actions) {
    const shareCount = shares.get(identifier);
    if (shareCount === undefined) continue;
    if (type === 'SPLIT' && !terms.keepsShares) shares.set(identifier, shareCount * value);
    if (type === 'RIGHTS_ISSUE' && subscriptionPrice !== null && terms.rights === 'subscribe')
      shares.set(identifier, shareCount * (1 + value));
    if (type === 'SPIN_OFF' && terms.spinOffs !== 'ignore')
      shares.set(related!, (shares.get(related!) ?? 0) + shareCount * value);
  }
}

/** Removes securities that end at the close. Their shares are converted to other securities or sold at their value. */
function removeLeavers(
  { shares, counts: { adopted, seen } }: { shares: Shares; counts: Counts },
  market: Market,
  t: number,
  { spinOffs, keepsShares }: ReplayTerms,
): Shares {
  const leavers: Shares = new Map();
  // Several mergers of one session into a security from outside are all converted, in any order of the actions.
  const members = new Set(shares.keys());
  for (const { identifier, type, value, related, cash = 0 } of market.actionsOn(t)) {
    const shareCount = shares.get(identifier);
    if (type === 'SPIN_OFF' && spinOffs === 'drop_after_first_session' && shares.has(related!)) {
      leavers.set(related!, shares.get(related!)!);
      for (const counts of [shares, adopted, seen]) counts.delete(related!);
    }
    if (shareCount === undefined || !(type === 'MERGER' || type === 'ACQUISITION' || type === 'DELISTING')) continue;
    for (const counts of [shares, adopted, seen]) counts.delete(identifier);
    if (type === 'MERGER' && keepsShares && members.has(related!)) {
      // One share of each member: the value of the acquired one leaves the index.
      const worth = value * market.money(related!) + cash * market.rate(identifier);
      leavers.set(identifier, (shareCount * worth) / market.money(identifier));
      continue;
    }
    if (type === 'MERGER' && shares.has(related!) && adopted.has(related!))
      adopted.set(related!, adopted.get(related!)! * (1 + (shareCount * value) / shares.get(related!)!));
    if (type !== 'MERGER') leavers.set(identifier, shareCount);
    else {
      shares.set(related!, (shares.get(related!) ?? 0) + shareCount * value);
      // The cash that holders receive leaves the index.
      leavers.set(identifier, (shareCount * cash * market.rate(identifier)) / market.money(identifier));
    }
  }
  return leavers;
}

function computeWorth(shares: Shares, market: Market): number {
  return sum([...shares].map(([name, q]) => q * market.money(name)));
}

function computeWorthWith(shares: Shares, market: Market, leavers: Shares): number {
  return computeWorth(shares, market) + computeWorth(leavers, market);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

interface Market {
  readonly names: readonly string[];
  open(t: number): void;
  adjust(t: number, terms: ReplayTerms): void;
  close(t: number): void;
  actionsOn(t: number): readonly CorporateAction[];
  rate(name: string): number;
  money(name: string): number;
  dividend(name: string): number;
  count(name: string, t: number): number;
  hasEnded(name: string, t: number): boolean;
}

/**
 * Returns market data in which the last price replaces a missing price. After an acquisition, the price is what holders
 * received.
 */
function createMarket({ identifiers, dates, fields, actions, reference }: MarketData, sessions: Int32Array): Market {
  const close = fields.get('CLOSE')!;
  const N = identifiers.length;
  const prices = new Map<string, number>();
  const paidDividends = new Map<string, number>();
  const currencies = new Map(
    identifiers.map((name) => [name, (reference.rows.get(name)?.[0]?.values[0] as string | undefined) ?? 'USD']),
  );
  const listActionsThrough = (t: number) =>
    actions.filter(({ exDay }) => exDay <= sessions[t]! && (t === 0 || exDay > sessions[t - 1]!));
  const computeMoney = (name: string): number => prices.get(name)! * readRate(name);
  const readRate = (name: string): number => {
    const currency = currencies.get(name)!;
    return currency === 'USD' || name.length === 6 ? 1 : prices.get(`${currency}USD`)!;
  };
  return {
    names: identifiers,
    actionsOn: listActionsThrough,
    rate: readRate,
    money: (name) => (prices.get(name) === undefined ? 0 : computeMoney(name)),
    dividend: (name) => paidDividends.get(name) ?? 0,
    count(name, t) {
      const row = dates.indexOf(sessions[t]!);
      return row < 0
        ? Number.NaN
        : (fields.get('SHARES_OUTSTANDING')?.[row * N + identifiers.indexOf(name)] ?? Number.NaN);
    },
    hasEnded: (name, t) =>
      actions.some(({ identifier, type, exDay }) => {
        const isEnd = type === 'MERGER' || type === 'ACQUISITION' || type === 'DELISTING';
        return isEnd && identifier === name && exDay <= sessions[t]!;
      }),
    open: () => paidDividends.clear(),
    adjust(t, { special, rights }) {
      for (const { identifier, type, value, subscriptionPrice } of listActionsThrough(t)) {
        const before = prices.get(identifier);
        if (before === undefined) continue;
        if (type === 'SPLIT') prices.set(identifier, before / value);
        if (type === 'SPECIAL_DIVIDEND' && special === 'adjust') prices.set(identifier, before - value);
        if (type === 'RIGHTS_ISSUE' && subscriptionPrice !== null && rights !== undefined)
          prices.set(identifier, (before + value * subscriptionPrice) / (1 + value));
      }
    },
    close(t) {
      const row = dates.indexOf(sessions[t]!);
      identifiers.forEach((name, i) => {
        const bar = row < 0 ? Number.NaN : close[row * N + i]!;
        if (bar === bar) prices.set(name, bar);
      });
      for (const { identifier, type, value, related, cash = 0 } of listActionsThrough(t)) {
        if (type === 'DIVIDEND') paidDividends.set(identifier, (paidDividends.get(identifier) ?? 0) + value);
        if (type === 'ACQUISITION' || (type === 'DELISTING' && value > 0)) prices.set(identifier, value);
        if (type === 'MERGER') prices.set(identifier, (value * computeMoney(related!)) / readRate(identifier) + cash);
        const hasBar = row >= 0 && !Number.isNaN(close[row * N + identifiers.indexOf(identifier)]!);
        if (type === 'SPIN_OFF' && !hasBar && prices.has(related!))
          prices.set(identifier, prices.get(identifier)! - (value * computeMoney(related!)) / readRate(identifier));
      }
    },
  };
}
