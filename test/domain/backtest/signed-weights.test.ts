import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import type { Book } from '#domain/books/book.js';
import { formatDay } from '#domain/base/time.js';
import type { ActionSketch } from './market-builder.js';
import { CONSTITUENT } from './event-case.js';
import { createHolding, simulateSigned, WEEK } from './signed-case.js';
import { replayBook, type SlowDay } from './slow-index.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 10);

interface SignedChoices {
  readonly steps: readonly number[];
  readonly actions: readonly {
    readonly kind: number;
    readonly name: number;
    readonly at: number;
    readonly size: number;
  }[];
  readonly shares: readonly number[];
  readonly cash: number;
  readonly variant: 'price' | 'total' | 'net';
  readonly costBps: number;
  readonly gaps: readonly number[];
}

const DATES = Array.from({ length: 26 }, (_, i) => i).flatMap((i) => (i % 7 < 5 ? [formatDay(19_786 + i)] : []));
const NAMES = ['AA', 'BB', 'CC', 'DD', 'EE', 'FF', 'GG'];
/** Securities with prices from the first to the last date, into which other securities can be converted. */
const STEADY_SECURITIES = ['AA', 'BB', 'KID'];
const REBALANCE_DATES = [DATES[0]!, DATES[7]!, DATES[13]!];

const choices: fc.Arbitrary<SignedChoices> = fc.record({
  steps: fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 200, maxLength: 200 }),
  actions: fc.array(
    fc.record({
      kind: fc.nat(6),
      name: fc.nat(6),
      at: fc.integer({ min: 1, max: DATES.length - 1 }),
      size: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength: 12 },
  ),
  shares: fc.array(fc.integer({ min: -4, max: 9 }), { minLength: 21, maxLength: 21 }),
  cash: fc.constantFrom(0, 0, 0.2, 1),
  variant: fc.constantFrom('price', 'total', 'net'),
  costBps: fc.constantFrom(0, 10, 250),
  gaps: fc.array(fc.nat(199), { maxLength: 10 }),
});

/** Builds a market and its weights. Also determines whether both implementations in the test can hold these weights. */
function createSketch({ steps, actions, shares, cash, gaps }: SignedChoices) {
  const placedActions = new Map<string, ActionSketch>();
  const endDates = new Map<string, number>();
  for (const { kind, name: n, at, size } of actions) {
    const name = NAMES[n]!;
    const ex = DATES[at]!;
    const isSteady = STEADY_SECURITIES.includes(name);
    const action: ActionSketch | null = [
      { name, type: 'DIVIDEND', value: 0.3 * size, ex } as const,
      { name, type: 'SPECIAL_DIVIDEND', value: 0.2 * size, ex } as const,
      { name, type: 'SPLIT', value: 1 + size / 4, ex } as const,
      { name, type: 'SPIN_OFF', value: 0.02 * size, ex, related: 'KID' } as const,
      isSteady
        ? null
        : ({ name, type: 'MERGER', value: 0.1 * size, ex, related: STEADY_SECURITIES[size % 2]! } as const),
      isSteady
        ? null
        : ({
            name,
            type: 'DELISTING',
            ex,
            ...(size % 2 === 0 ? { value: 0, isUnpriced: true as const } : { value: 4 * size }),
          } as const),
      isSteady ? null : ({ name, type: 'ACQUISITION', value: 5 * size, ex } as const),
    ][kind]!;
    if (action === null || (endDates.get(name) ?? Infinity) <= at) continue;
    if (kind >= 4) {
      endDates.set(name, at);
      for (const [key, other] of placedActions) if (other.name === name && other.ex >= ex) placedActions.delete(key);
    }
    placedActions.set(`${name} ${ex} ${kind >= 4 ? 'end' : kind}`, action);
  }
  const close: Record<string, (number | null)[]> = {};
  [...NAMES, 'KID'].forEach((name, n) => {
    let price = 20 + 7 * n;
    close[name] = DATES.map((_, t) => {
      price *= 1 + steps[(t * 8 + n) % 200]! / 1000;
      const isGap =
        t > 0 &&
        t % 3 === 1 &&
        gaps.includes((t * 8 + n) % 200) &&
        !STEADY_SECURITIES.includes(name) &&
        !REBALANCE_DATES.includes(DATES[t]!);
      return t >= (endDates.get(name) ?? Infinity) || isGap ? null : Math.round(price * 100) / 100;
    });
  });
  const rates = DATES.map((_, t) => 1.1 + steps[(t * 3) % 200]! / 500);
  const targets = new Map(
    REBALANCE_DATES.map((date, r) => {
      const listedNames = NAMES.filter((name) => close[name]![DATES.indexOf(date)] !== null);
      const requests = listedNames
        .map((name) => [name, shares[(7 * r + NAMES.indexOf(name)) % 21]!] as const)
        .filter(([, share]) => share !== 0);
      const long = requests.reduce((sum, [, share]) => sum + Math.max(0, share), 0);
      const short = requests.reduce((sum, [, share]) => sum + Math.max(0, -share), 0);
      const shortTotal = short / 20;
      return [
        date,
        long === 0
          ? { AA: 1 }
          : Object.fromEntries(
              requests.map(([name, share]) => [
                name,
                share > 0 ? (share / long) * (1 - cash + shortTotal) : share / 20,
              ]),
            ),
      ] as const;
    }),
  );
  return {
    dates: DATES,
    close: { ...close, EURUSD: rates },
    actions: [...placedActions.values()],
    rates: { CC: rates, FF: rates },
    targets,
  };
}

function expectDays(book: Book, days: readonly SlowDay[]): void {
  days.forEach(({ value, cash, holdings }, t) => {
    expect(Math.abs(book.value[t]! / value - 1)).toBeLessThan(1e-10);
    expect(Math.abs(book.cash[t]! - cash / value)).toBeLessThan(1e-10);
    book.columns.forEach((column, slot) => {
      const expected = (holdings[book.sm.identifiers[column]!] ?? 0) / value;
      expect(Math.abs(book.weights[t * book.columns.length + slot]! - expected)).toBeLessThan(1e-10);
    });
  });
}

test('on random markets with random signed weights index and portfolio are those of the recursion written out', () => {
  let [comparedCount, shortCount, leftCount] = [0, 0, 0];
  fc.assert(
    fc.property(choices, (chosen) => {
      const { targets, rates, ...market } = createSketch(chosen);
      const slowInput = { ...market, targets, rates, variant: chosen.variant, tax: 0.3 };
      const index = replayBook({ ...slowInput, costRate: 0 }, 100);
      const followedDays = replayBook({ ...slowInput, costRate: chosen.costBps / 10_000 }, 1_000_000);
      // Values that are refused have separate tests. A run contains the index in every return variant.
      const variants = (['price', 'total', 'net'] as const).flatMap((variant) =>
        replayBook({ ...slowInput, variant, costRate: 0 }, 100),
      );
      if ([...variants, ...followedDays].some(({ value }) => value <= 0)) return;
      const run = simulateSigned({
        ...market,
        weights: {},
        reference: { CC: { CURRENCY: 'EUR' }, FF: { CURRENCY: 'EUR' } },
        treatment: { ...CONSTITUENT, dividends: chosen.variant, withholding_tax: 0.3 },
        rebalance: { frequency: 'custom', dates: REBALANCE_DATES.slice(1) },
        request: {
          transaction_cost_bps: chosen.costBps,
          createDecider: createHolding((session) => targets.get(DATES[session]!)!),
        },
      });
      expectDays(run.index.book, index);
      expectDays(run.portfolio, followedDays);
      comparedCount++;
      if ([...targets.values()].some((weights) => Object.values(weights).some((weight) => weight < 0))) shortCount++;
      if (run.index.book.events.some(({ exits }) => exits.some(({ change }) => change > 0))) leftCount++;
    }),
    { numRuns: 4 * RUNS },
  );
  expect(comparedCount).toBeGreaterThan(RUNS);
  expect(shortCount).toBeGreaterThan(RUNS / 3);
  expect(leftCount).toBeGreaterThan(RUNS / 30);
});

test('a short parent without a bar on the ex-date falls by the shares that it distributes', () => {
  // Per unit of value 0.005 shares of BB at 100 are owed. Each detaches half a share of KID at 20, so BB is worth 90.
  const { index } = simulateSigned({
    close: {
      AA: WEEK.map(() => 50),
      BB: [100, 100, null, 90, 90, 90],
      KID: [null, null, 20, 20, 20, 20],
    },
    actions: [{ name: 'BB', type: 'SPIN_OFF', value: 0.5, ex: WEEK[2]!, related: 'KID' }],
    weights: { AA: 1.5, BB: -0.5 },
    treatment: CONSTITUENT,
  });
  const { value, weights, columns } = index.book;
  expect(columns).toHaveLength(3);
  for (const t of [2, 3]) {
    expect(value[t]).toBeCloseTo(100, 12);
    [1.5, -0.45, -0.05].forEach((weight, slot) => expect(weights[3 * t + slot]).toBeCloseTo(weight, 12));
  }
});
