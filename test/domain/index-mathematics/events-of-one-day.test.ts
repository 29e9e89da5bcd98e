import { expect, test } from 'vitest';
import { fc } from '../../fast-check.js';
import type { MarketData } from '#domain/market/market-data.js';
import { parseValidDay } from '#domain/base/time.js';
import { buildMarket, type ActionSketch } from '../backtest/market-builder.js';
import { listWeekdays, readLevels, runIndexCase } from './index-case.js';

const SESSIONS = 12;
const DAYS = listWeekdays(SESSIONS);
const NAMES = ['A', 'B', 'C', 'D'];
const CHILD = 'K';

interface DrawnMarket {
  /** Closes by security, null without a bar. */
  readonly close: Record<string, (number | null)[]>;
  readonly actions: ActionSketch[];
  /** Session from which A is quoted in USD instead of EUR; after the last session if it is always quoted in EUR. */
  readonly redenominated: number;
  readonly rights: 'subscribe' | 'price_only';
}

/**
 * Random prices with suspensions. A day may have a split, special and ordinary dividends, a rights issue, a spin-off and
 * an ending of one security; B may merge into C, and C into D, on one day. D never ends.
 */
const randomMarket = fc
  .record({
    steps: fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 97, maxLength: 97 }),
    halts: fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: SESSIONS - 1 })), { maxLength: 10 }),
    days: fc.array(
      fc.record({ name: fc.nat(3), at: fc.integer({ min: 1, max: SESSIONS - 1 }), kinds: fc.nat(31), size: fc.nat(8) }),
      { maxLength: 6 },
    ),
    endings: fc.array(
      fc.record({
        name: fc.nat(2),
        at: fc.integer({ min: 1, max: SESSIONS - 1 }),
        isMerger: fc.boolean(),
        size: fc.nat(6),
      }),
      { maxLength: 3 },
    ),
    redenominated: fc.integer({ min: 1, max: SESSIONS + 3 }),
    rights: fc.constantFrom('subscribe' as const, 'price_only' as const),
  })
  .map(({ steps, halts, days, endings, redenominated, rights }): DrawnMarket => {
    const listPath = (start: number, n: number) => {
      let price = start;
      return DAYS.map((_, t) => (price *= 1 + steps[(5 * t + 17 * n) % steps.length]! / 1000));
    };
    const close: DrawnMarket['close'] = Object.fromEntries(NAMES.map((name, n) => [name, listPath(80 + 10 * n, n)]));
    close['EURUSD'] = listPath(1.2, 9);
    for (const [name, at] of halts) close[NAMES[name]!]![at] = null;
    const actions: ActionSketch[] = [];
    const seen = new Set<string>();
    for (const { name, at, kinds, size } of days) {
      const id = NAMES[name]!;
      if (seen.has(`${id} ${at}`)) continue;
      seen.add(`${id} ${at}`);
      const ex = DAYS[at]!;
      if (kinds & 1) actions.push({ name: id, type: 'SPLIT', value: [0.5, 2, 3][size % 3]!, ex });
      if (kinds & 2) actions.push({ name: id, type: 'SPECIAL_DIVIDEND', value: 0.4 + size / 4, ex });
      if (kinds & 4) actions.push({ name: id, type: 'DIVIDEND', value: 0.5 + size / 4, ex });
      if (kinds & 8) actions.push({ name: id, type: 'RIGHTS_ISSUE', value: 0.25, subscription: 3 + size, ex });
      if (kinds & 16 && !(CHILD in close)) {
        actions.push({ name: id, type: 'SPIN_OFF', value: 0.5, related: CHILD, ex });
        const firstBar = at + (size % 3);
        close[CHILD] = listPath(6, 5).map((price, t) => (t < firstBar ? null : price));
      }
    }
    const ended = new Set<number>();
    for (const { name, at, isMerger, size } of endings) {
      if (ended.has(name)) continue;
      ended.add(name);
      const ex = DAYS[at]!;
      const related = NAMES[name + 1]!;
      const cash = size % 2 === 0 ? {} : { cash: size };
      actions.push(
        isMerger && name > 0
          ? { name: NAMES[name]!, type: 'MERGER', value: 0.5 + size / 4, related, ex, ...cash }
          : { name: NAMES[name]!, type: name === 0 ? 'ACQUISITION' : 'DELISTING', value: 15 * (size % 4), ex },
      );
      close[NAMES[name]!] = close[NAMES[name]!]!.map((price, t) => (t >= at ? null : price));
    }
    return { close, actions, redenominated, rights };
  });

function createMarket({ close, actions, redenominated }: DrawnMarket): MarketData {
  const market = buildMarket({ dates: DAYS, close, actions });
  const change = DAYS[redenominated];
  const rows = new Map([['A', [{ validFrom: null, values: ['EUR'] }]]]);
  if (change !== undefined)
    rows.set('A', [
      { validFrom: null, values: ['EUR'] },
      { validFrom: parseValidDay(change), values: ['USD'] } as never,
    ]);
  return { ...market, reference: { columns: ['CURRENCY'], rows } };
}

/** Payment for a share: shares of another security, and cash. */
interface Payment {
  readonly into: string | null;
  readonly ratio: number;
  readonly cash: number;
}

const isEnding = ({ type }: ActionSketch): boolean => /MERGER|ACQUISITION|DELISTING/.test(type);

/** Returns the payment of a security that ends on a session, through the acquirers that end on it too. */
function findPayment(
  actions: readonly ActionSketch[],
  { name, t, last }: { readonly name: string; readonly t: number; readonly last: number },
): Payment | null {
  const end = actions.find((one) => one.name === name && one.ex === DAYS[t] && isEnding(one));
  if (end === undefined) return null;
  if (end.type !== 'MERGER') return { into: null, ratio: 0, cash: end.value };
  const isGone = actions.some((one) => one.name === end.related && one.ex < DAYS[t]! && isEnding(one));
  if (isGone) return { into: null, ratio: 0, cash: last };
  const next = findPayment(actions, { name: end.related!, t, last });
  if (next === null) return { into: end.related!, ratio: end.value, cash: end.cash ?? 0 };
  return { into: next.into, ratio: end.value * next.ratio, cash: (end.cash ?? 0) + end.value * next.cash };
}

interface OpenedIndex extends Pick<DrawnMarket, 'rights'> {
  readonly price: Map<string, number>;
  readonly shares: Map<string, number>;
  /** Spun-off shares without a price. */
  readonly waiting: Map<string, number>;
  /** Spun-off shares that the price of a parent still contains, for one share. */
  readonly contained: Contained[];
  /** Shares that dividends and spin-offs are paid on: after splits, before rights issues. */
  readonly entitled: Map<string, number>;
}

interface Contained {
  readonly parent: string;
  readonly child: string;
  count: number;
}

/** Adjusts previous closes and index shares before a session. */
function openSession(
  { price, shares, waiting, contained, entitled, rights }: OpenedIndex,
  listOf: (type: string) => readonly ActionSketch[],
): void {
  for (const { name, value } of listOf('SPLIT')) {
    price.set(name, price.get(name)! / value);
    if (shares.has(name)) shares.set(name, shares.get(name)! * value);
    if (waiting.has(name)) waiting.set(name, waiting.get(name)! * value);
    for (const one of contained) one.count *= one.child === name ? value : one.parent === name ? 1 / value : 1;
  }
  for (const [name, q] of shares) entitled.set(name, q);
  for (const { name, value } of listOf('SPECIAL_DIVIDEND')) price.set(name, price.get(name)! - value);
  for (const { name, value, subscription } of listOf('RIGHTS_ISSUE')) {
    price.set(name, (price.get(name)! + value * subscription!) / (1 + value));
    if (rights === 'subscribe' && shares.has(name)) shares.set(name, shares.get(name)! * (1 + value));
  }
  for (const { name, value, related } of listOf('SPIN_OFF')) {
    if (entitled.has(name)) waiting.set(related!, entitled.get(name)! * value);
    contained.push({ parent: name, child: related!, count: value });
  }
  if (rights === 'subscribe')
    for (const { name, value } of listOf('RIGHTS_ISSUE'))
      for (const one of contained) if (one.parent === name) one.count /= 1 + value;
}

/** Levels of an equal-weight index in numbers of shares and one divisor, from the definitions. */
function computeLevels({ close, actions, redenominated, rights }: DrawnMarket): { price: number[]; points: number[] } {
  const price = new Map<string, number>();
  const shares = new Map<string, number>();
  const waiting = new Map<string, number>();
  let contained: Contained[] = [];
  const result: { price: number[]; points: number[] } = { price: [100], points: [0] };
  const getRate = (name: string, t: number): number => (name === 'A' && t < redenominated ? close['EURUSD']![t]! : 1);
  const getMoney = (name: string, t: number): number => price.get(name)! * getRate(name, t);
  const computeWorth = (t: number): number => [...shares].reduce((sum, [name, q]) => sum + q * getMoney(name, t), 0);
  const listOf = (t: number, type: string) => actions.filter((one) => one.type === type && one.ex === DAYS[t]);
  for (const name of NAMES) price.set(name, close[name]![0]!);
  for (const name of NAMES) shares.set(name, 25 / getMoney(name, 0));
  let divisor = 1;
  for (let t = 1; t < SESSIONS; t++) {
    const before = computeWorth(t - 1);
    // The line changes its currency at the previous rate.
    if (t === redenominated) price.set('A', price.get('A')! * close['EURUSD']![t - 1]!);
    const getOpeningRate = (name: string): number => (t === redenominated && name === 'A' ? 1 : getRate(name, t - 1));
    const entitled = new Map<string, number>();
    openSession({ price, shares, waiting, contained, entitled, rights }, (type) => listOf(t, type));
    const opened = [...shares].reduce((sum, [name, q]) => sum + q * price.get(name)! * getOpeningRate(name), 0);
    divisor *= opened / before;
    for (const name of Object.keys(close)) {
      const bar = close[name]![t] ?? null;
      if (bar !== null) price.set(name, bar);
    }
    // A bar of the parent shows its fall; without one, its price falls by the first price of the spun-off security.
    contained = contained.filter(({ parent }) => (close[parent]![t] ?? null) === null);
    for (const { parent, child, count } of contained) {
      const fall = price.has(child) ? (count * price.get(child)!) / getRate(parent, t) : 0;
      if (fall < price.get(parent)!) price.set(parent, price.get(parent)! - fall);
    }
    contained = contained.filter(({ child }) => !price.has(child));
    for (const [name, q] of waiting)
      if (price.has(name)) {
        shares.set(name, q);
        waiting.delete(name);
      }
    const payments = [...shares.keys()].flatMap((name) => {
      const pay = findPayment(actions, { name, t, last: price.get(name)! });
      return pay === null ? [] : [{ name, ...pay }];
    });
    const prices = new Map(price);
    for (const { name, into, ratio, cash } of payments)
      price.set(name, cash + (into === null ? 0 : (ratio * prices.get(into)! * getRate(into, t)) / getRate(name, t)));
    const level = computeWorth(t) / divisor;
    const dividends = listOf(t, 'DIVIDEND').reduce(
      (sum, { name, value }) => sum + (entitled.get(name) ?? 0) * value * getRate(name, t),
      0,
    );
    result.price.push(level);
    result.points.push(dividends / divisor);
    const worth = computeWorth(t);
    for (const { name, into, ratio } of payments) {
      if (into !== null) shares.set(into, (shares.get(into) ?? 0) + ratio * shares.get(name)!);
      shares.delete(name);
    }
    if (payments.length > 0) divisor *= computeWorth(t) / worth;
  }
  return result;
}

test('levels and points of days with several events are those of numbers of shares written out', () => {
  fc.assert(
    fc.property(randomMarket, (drawn) => {
      const run = runIndexCase({
        close: drawn.close,
        market: createMarket(drawn),
        universe: NAMES,
        treatment: { rights: drawn.rights, max_stale_sessions: null, dividends: 'total' },
      });
      const expected = computeLevels(drawn);
      readLevels(run, 'price').forEach((level, t) => expect(level / expected.price[t]!).toBeCloseTo(1, 10));
      expected.points.forEach((points, t) => expect(run.index.book.reinvested!.points[t]! - points).toBeCloseTo(0, 8));
    }),
    { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 200) },
  );
});
