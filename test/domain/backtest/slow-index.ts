import type { MarketSketch } from './market-builder.js';

/**
 * Input of a direct computation of an index and of the portfolio that follows it. The computation goes security by
 * security and day by day, allows short positions, and uses no code of the engine. Every date is a session. A security
 * has at most one action of a kind per date. Every ex-date is one of the dates.
 */
export interface SlowInput extends Pick<MarketSketch, 'dates' | 'close' | 'actions'> {
  /** Target weights by date. */
  readonly targets: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /** Exchange rates from the currency of each security to the index currency, with one value per date. Default: 1. */
  readonly rates?: Readonly<Record<string, readonly number[]>>;
  readonly variant: 'price' | 'total' | 'net';
  readonly tax: number;
  readonly costRate: number;
}

/** Weights and value of an index or portfolio at a close. */
export interface SlowDay {
  readonly value: number;
  readonly cash: number;
  readonly holdings: Readonly<Record<string, number>>;
}

/** Computes the values of an index or portfolio from the definition. @param capital value before the first purchase */
export function replayBook(
  { dates, close, actions = [], targets, rates = {}, variant, tax, costRate }: SlowInput,
  capital: number,
): SlowDay[] {
  const getFx = (name: string, t: number): number => rates[name]?.[t] ?? 1;
  const listActions = (name: string, t: number) =>
    actions.filter((action) => action.name === name && action.ex === dates[t]);
  const moneyByName = new Map<string, number>();
  let cash = capital;
  const days: SlowDay[] = [];
  for (let t = 0; t < dates.length; t++) {
    const entering: [name: string, money: number][] = [];
    for (const [name, money] of moneyByName) {
      const today = listActions(name, t);
      const split = today.filter(({ type }) => type === 'SPLIT').reduce((product, { value }) => product * value, 1);
      const before = getPrice(name, t - 1);
      const ordinary = today.filter(({ type }) => type === 'DIVIDEND').reduce((sum, { value }) => sum + value, 0);
      const specialDividend = today
        .filter(({ type }) => type === 'SPECIAL_DIVIDEND')
        .reduce((sum, { value }) => sum + value, 0);
      const reinvestedFraction = variant === 'price' ? 0 : variant === 'total' || money < 0 ? 1 : 1 - tax;
      const end = today.find(({ type }) => ['DELISTING', 'ACQUISITION', 'MERGER'].includes(type));
      const merger =
        end?.type === 'MERGER' ? (end.value * getPrice(end.related!, t) * getFx(end.related!, t)) / getFx(name, t) : 0;
      const proceeds = end === undefined ? 0 : end.type === 'MERGER' ? merger + (end.cash ?? 0) : end.value;
      const price = end !== undefined && !end.isUnpriced ? proceeds : getPrice(name, t);
      const growth = (split * (price + specialDividend + reinvestedFraction * ordinary)) / before;
      for (const { type, value, related } of today) {
        if (type === 'SPIN_OFF')
          entering.push([
            related!,
            (money / (before * getFx(name, t - 1))) * split * value * getPrice(related!, t) * getFx(related!, t),
          ]);
      }
      moneyByName.set(name, money * growth * (getFx(name, t) / getFx(name, t - 1)));
    }
    for (const [name, money] of entering) moneyByName.set(name, (moneyByName.get(name) ?? 0) + money);
    const weights = targets.get(dates[t]!);
    removeLeavers(t, weights !== undefined);
    if (weights) rebalance(weights);
    days.push({ value: computeTotal(), cash, holdings: Object.fromEntries(moneyByName) });
  }
  return days;

  /** Returns the price at a close. A price without a bar falls by the value of the shares that a spin-off distributes. */
  function getPrice(name: string, t: number): number {
    const bar = close[name]![t];
    if (bar !== null && bar !== undefined) return bar;
    const today = listActions(name, t);
    const split = today.filter(({ type }) => type === 'SPLIT').reduce((product, { value }) => product * value, 1);
    const carried = getPrice(name, t - 1) / split;
    const distributed = today
      .filter(({ type }) => type === 'SPIN_OFF')
      .reduce(
        (sum, { value, related }) => sum + (value * getPrice(related!, t) * getFx(related!, t)) / getFx(name, t),
        0,
      );
    return distributed < carried ? carried - distributed : carried;
  }

  function computeTotal(): number {
    let sum = cash;
    for (const money of moneyByName.values()) sum += money;
    return sum;
  }

  /**
   * Removes securities that end. On a day without a rebalance, the proceeds of a long position buy more of the other
   * long positions. To pay for covering a short position, more of the other short positions is sold.
   */
  function removeLeavers(t: number, isRebalance: boolean): void {
    let [brought, withdrawn] = [0, 0];
    const before = [...moneyByName];
    for (const [name, money] of before) {
      const end = listActions(name, t).find(({ type }) => ['DELISTING', 'ACQUISITION', 'MERGER'].includes(type));
      if (!end) continue;
      moneyByName.delete(name);
      let paidMoney = money;
      if (end.type === 'MERGER') {
        const shares = (end.value * getPrice(end.related!, t) * getFx(end.related!, t)) / getFx(name, t);
        paidMoney = (money * (end.cash ?? 0)) / (shares + (end.cash ?? 0));
        moneyByName.set(end.related!, (moneyByName.get(end.related!) ?? 0) + money - paidMoney);
      }
      if (paidMoney > 0) brought += paidMoney;
      else withdrawn -= paidMoney;
    }
    if (isRebalance) {
      cash += brought - withdrawn;
      return;
    }
    const longs = [...moneyByName].filter(([, money]) => money > 0);
    const shorts = [...moneyByName].filter(([, money]) => money < 0);
    if (shorts.length === 0) {
      brought -= withdrawn;
      withdrawn = 0;
    }
    scaleTrades(shorts, -withdrawn / (1 - costRate));
    if (brought < 0) {
      const paidMoney = longs.length === 0 ? -brought : Math.min(-brought, cash);
      cash -= paidMoney;
      brought += paidMoney;
    }
    if (longs.length === 0) cash += brought;
    else scaleTrades(longs, brought >= 0 ? brought / (1 + costRate) : brought / (1 - costRate));
  }

  /** Distributes money over securities in proportion to their holdings. */
  function scaleTrades(names: readonly [name: string, money: number][], addedMoney: number): void {
    const sum = names.reduce((before, [, money]) => before + money, 0);
    for (const [name, money] of names) moneyByName.set(name, money + (addedMoney * money) / sum);
  }

  /** Finds the value after costs by bisection, unlike the engine, which uses Newton's method. */
  function rebalance(weights: Readonly<Record<string, number>>): void {
    const value = computeTotal();
    const names = [...new Set([...moneyByName.keys(), ...Object.keys(weights)])];
    const computeCostRemainder = (amount: number): number =>
      amount +
      costRate *
        names.reduce((sum, name) => sum + Math.abs((weights[name] ?? 0) * amount - (moneyByName.get(name) ?? 0)), 0);
    let [low, high] = [0, value];
    for (let i = 0; i < 200; i++) {
      const middle = (low + high) / 2;
      if (computeCostRemainder(middle) > value) high = middle;
      else low = middle;
    }
    const remaining = costRate === 0 ? value : low;
    moneyByName.clear();
    for (const [name, weight] of Object.entries(weights)) if (weight !== 0) moneyByName.set(name, weight * remaining);
    cash = remaining - [...moneyByName.values()].reduce((sum, money) => sum + money, 0);
  }
}
