import type { MarketSketch } from './market-builder.js';

/**
 * Input of a direct computation of an index and of the portfolio that follows it, security by security and day by day,
 * with signed weights and without engine code. Every date is a session, a security has at most one action of a kind per
 * date, and every ex-date is one of the dates.
 */
export interface SlowInput extends Pick<MarketSketch, 'dates' | 'close' | 'actions'> {
  /** Target weights by date. */
  readonly targets: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /** Exchange rates from each security's currency to the index currency, with one value per date; default: 1. */
  readonly rates?: Readonly<Record<string, readonly number[]>>;
  readonly variant: 'price' | 'total' | 'net';
  readonly tax: number;
  readonly costRate: number;
}

/** Weights and value of a book at a close. */
export interface SlowDay {
  readonly value: number;
  readonly cash: number;
  readonly held: Readonly<Record<string, number>>;
}

/** Computes the values of a book by its definition. @param capital value before the first purchase */
export function replayBook(
  { dates, close, actions = [], targets, rates = {}, variant, tax, costRate }: SlowInput,
  capital: number,
): SlowDay[] {
  const rateOf = (name: string, t: number): number => rates[name]?.[t] ?? 1;
  const actionsOf = (name: string, t: number) =>
    actions.filter((action) => action.name === name && action.ex === dates[t]);
  const moneyByName = new Map<string, number>();
  let cash = capital;
  const days: SlowDay[] = [];
  for (let t = 0; t < dates.length; t++) {
    const entering: [name: string, money: number][] = [];
    for (const [name, money] of moneyByName) {
      const today = actionsOf(name, t);
      const split = today.filter(({ type }) => type === 'SPLIT').reduce((product, { value }) => product * value, 1);
      const before = priceOf(name, t - 1);
      const carried = before / split;
      const ordinary = today.filter(({ type }) => type === 'DIVIDEND').reduce((sum, { value }) => sum + value, 0);
      const special = today
        .filter(({ type }) => type === 'SPECIAL_DIVIDEND')
        .reduce((sum, { value }) => sum + value, 0);
      const reinvested = variant === 'price' ? 0 : variant === 'total' || money < 0 ? 1 : 1 - tax;
      const end = today.find(({ type }) => ['DELISTING', 'ACQUISITION', 'MERGER'].includes(type));
      const merged =
        end?.type === 'MERGER' ? (end.value * priceOf(end.related!, t) * rateOf(end.related!, t)) / rateOf(name, t) : 0;
      const proceeds = end === undefined ? 0 : end.type === 'MERGER' ? merged + (end.cash ?? 0) : end.value;
      const price = proceeds > 0 ? proceeds : (close[name]![t] ?? carried);
      const growth = (split * (price + special + reinvested * ordinary)) / before;
      for (const { type, value, related } of today) {
        if (type === 'SPIN_OFF')
          entering.push([
            related!,
            (money / (before * rateOf(name, t - 1))) * split * value * priceOf(related!, t) * rateOf(related!, t),
          ]);
      }
      moneyByName.set(name, money * growth * (rateOf(name, t) / rateOf(name, t - 1)));
    }
    for (const [name, money] of entering) moneyByName.set(name, (moneyByName.get(name) ?? 0) + money);
    const weights = targets.get(dates[t]!);
    removeLeavers(t, weights !== undefined);
    if (weights) rebalance(weights);
    days.push({ value: computeTotal(), cash, held: Object.fromEntries(moneyByName) });
  }
  return days;

  function priceOf(name: string, t: number): number {
    const bar = close[name]![t];
    if (bar !== null && bar !== undefined) return bar;
    const split = actionsOf(name, t)
      .filter(({ type }) => type === 'SPLIT')
      .reduce((product, { value }) => product * value, 1);
    return priceOf(name, t - 1) / split;
  }

  function computeTotal(): number {
    let sum = cash;
    for (const money of moneyByName.values()) sum += money;
    return sum;
  }

  /**
   * Removes securities that end. Except on a rebalance, the proceeds buy more of the other long positions, and selling
   * more of the other short positions finances the cost of covering.
   */
  function removeLeavers(t: number, isRebalance: boolean): void {
    let [brought, taken] = [0, 0];
    const before = [...moneyByName];
    for (const [name, money] of before) {
      const end = actionsOf(name, t).find(({ type }) => ['DELISTING', 'ACQUISITION', 'MERGER'].includes(type));
      if (!end) continue;
      moneyByName.delete(name);
      let paid = money;
      if (end.type === 'MERGER') {
        const shares = (end.value * priceOf(end.related!, t) * rateOf(end.related!, t)) / rateOf(name, t);
        paid = (money * (end.cash ?? 0)) / (shares + (end.cash ?? 0));
        moneyByName.set(end.related!, (moneyByName.get(end.related!) ?? 0) + money - paid);
      }
      if (paid > 0) brought += paid;
      else taken -= paid;
    }
    if (isRebalance) {
      cash += brought - taken;
      return;
    }
    const longs = [...moneyByName].filter(([, money]) => money > 0);
    const shorts = [...moneyByName].filter(([, money]) => money < 0);
    if (shorts.length === 0) {
      brought -= taken;
      taken = 0;
    }
    scaleTrades(shorts, -taken / (1 - costRate));
    if (brought < 0) {
      const paid = longs.length === 0 ? -brought : Math.min(-brought, cash);
      cash -= paid;
      brought += paid;
    }
    if (longs.length === 0) cash += brought;
    else scaleTrades(longs, brought >= 0 ? brought / (1 + costRate) : brought / (1 - costRate));
  }

  /** Adds money to securities, in proportion to their holdings. */
  function scaleTrades(names: readonly [name: string, money: number][], added: number): void {
    const sum = names.reduce((before, [, money]) => before + money, 0);
    for (const [name, money] of names) moneyByName.set(name, money + (added * money) / sum);
  }

  /** Finds the value after costs by bisection; the engine uses Newton's method. */
  function rebalance(weights: Readonly<Record<string, number>>): void {
    const value = computeTotal();
    const names = [...new Set([...moneyByName.keys(), ...Object.keys(weights)])];
    const computeCostRemainder = (left: number): number =>
      left +
      costRate *
        names.reduce((sum, name) => sum + Math.abs((weights[name] ?? 0) * left - (moneyByName.get(name) ?? 0)), 0);
    let [low, high] = [0, value];
    for (let i = 0; i < 200; i++) {
      const middle = (low + high) / 2;
      if (computeCostRemainder(middle) > value) high = middle;
      else low = middle;
    }
    const left = costRate === 0 ? value : low;
    moneyByName.clear();
    for (const [name, weight] of Object.entries(weights)) if (weight !== 0) moneyByName.set(name, weight * left);
    cash = left - [...moneyByName.values()].reduce((sum, money) => sum + money, 0);
  }
}
