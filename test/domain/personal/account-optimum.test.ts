import { describe, expect, test } from 'vitest';
import { Account } from '#domain/personal/account.js';
import { type SolvedResult, solveOutcome } from '#domain/personal/account-result.js';
import { verifyResult } from '#domain/personal/verification.js';
import { isLongTerm } from '#domain/personal/tax-regime.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { countDraws } from '../../draws.js';
import { seeded } from '../../seeded.js';
import { AS_OF, createSmallBatch } from './small-batch.js';
import { sellShares, type Share } from './wash-sale-law.js';

const asOf = parseValidDay(AS_OF);
const NAMES = ['A', 'B', 'C'] as const;
const PRICE = 100;
const RATES = { short: 0.4, long: 0.2 };
const SEEDS = Array.from({ length: countDraws(240) }, (_, seed) => seed);

interface Case {
  readonly account: Account;
  readonly weights: readonly number[];
  readonly objective: { readonly risk_aversion: number; readonly cash_minimum: number; readonly cash_maximum: number };
}

const areAlike =
  (groups: readonly (readonly string[])[]) =>
  (a: string, b: string): boolean =>
    a === b || groups.some((group) => group.includes(a) && group.includes(b));

/** Returns an account of two to five small lots, most of them bought within 30 days. */
function createCase(seed: number): Case {
  const random = seeded(5000 + seed);
  const draw = (count: number): number => Math.floor(random() * count);
  const lots = Array.from({ length: 2 + draw(4) }, () => ({
    identifier: NAMES[draw(3)]!,
    shares: 1 + draw(3),
    cost: [70, 90, 110, 130, 180][draw(5)]!,
    acquired: formatDay(asOf - (random() < 0.6 ? 1 + draw(29) : 40 + draw(700))),
  }));
  const substitutes = [
    [],
    [['A', 'B']],
    [['A', 'B', 'C']],
    [
      ['A', 'B'],
      ['B', 'C'],
    ],
  ][draw(4)]!;
  const isForbidden = random() < 0.5;
  const account = Account.parse({
    account_id: 'X',
    cash: 100 * draw(4),
    lots,
    substitutes,
    exclusions: random() < 0.2 ? [NAMES[draw(3)]] : [],
    tax: {
      short_rate: RATES.short,
      long_rate: RATES.long,
      wash_sales: isForbidden ? 'forbid' : 'disallow',
      lot_method: isForbidden ? 'specific' : ['fifo', 'hifo'][draw(2)],
    },
  });
  const parts = [draw(4), draw(4), 1 + draw(4)];
  const total = parts.reduce((sum, part) => sum + part, 0);
  const cash_minimum = random() < 0.4 ? random() : 0;
  const cash_maximum = random() < 0.5 ? 1 : Math.min(1, cash_minimum + 0.3);
  const objective = { risk_aversion: [0.1, 1, 10][draw(3)]!, cash_minimum, cash_maximum };
  return { account, weights: parts.map((part) => part / total), objective };
}

/** Tax with US netting: gains of one term offset losses of the other. */
function computeTax(short: number, long: number): number {
  if (short >= 0 && long >= 0) return RATES.short * short + RATES.long * long;
  if (short < 0 && long < 0) return 0;
  return Math.max(0, short + long) * (short >= 0 ? RATES.short : RATES.long);
}

/** Returns the lists of shares sold by lot that the method permits. */
function* listSales({ lots, exclusions, tax }: Account): Generator<readonly number[]> {
  const order = lots.map((_, lot) => lot);
  if (tax.lot_method === 'hifo') order.sort((a, b) => lots[b]!.cost - lots[a]!.cost || a - b);
  else order.sort(compareDays);
  const sold = lots.map(() => 0);
  yield* sellFrom(0);

  function compareDays(a: number, b: number): number {
    return parseValidDay(lots[a]!.acquired) - parseValidDay(lots[b]!.acquired) || a - b;
  }

  function* sellFrom(position: number): Generator<readonly number[]> {
    const lot = order[position];
    if (lot === undefined) return yield sold.slice();
    const { identifier, shares } = lots[lot]!;
    const isBehind =
      tax.lot_method !== 'specific' &&
      order
        .slice(0, position)
        .some((other) => lots[other]!.identifier === identifier && sold[other]! < lots[other]!.shares);
    const least = exclusions.includes(identifier) ? shares : 0;
    for (let count = least; count <= (isBehind ? 0 : shares); count++) {
      sold[lot] = count;
      yield* sellFrom(position + 1);
    }
    sold[lot] = 0;
  }
}

interface Sold {
  readonly isForbidden: boolean;
  readonly losing: ReadonlySet<string>;
  readonly short: number;
  readonly long: number;
}

/** Computes the gains of sales share by share. */
function computeGains({ lots, substitutes, exclusions, tax }: Account, sold: readonly number[]): Sold {
  const shares = lots.map(({ identifier, shares: count, cost, acquired }, purchase) =>
    Array.from({ length: count }, (): Share => {
      const day = parseValidDay(acquired);
      return { identifier, purchase, bought: day, acquired: day, cost, hasReplaced: false };
    }),
  );
  const sale = shares.flatMap((own, lot) => own.slice(0, sold[lot]));
  const gains = sellShares(
    shares.flat(),
    { shares: sale, day: asOf, prices: { A: PRICE, B: PRICE, C: PRICE } },
    areAlike(substitutes),
  );
  const sums = { short: 0, long: 0 };
  let isForbidden = false;
  const losing = new Set<string>();
  for (const [share, gain] of gains) {
    sums[isLongTerm(formatDay(share.acquired), asOf) ? 'long' : 'short'] += gain;
    if (share.cost <= PRICE) continue;
    losing.add(share.identifier);
    if (gain === 0 && tax.wash_sales === 'forbid' && !exclusions.includes(share.identifier)) isForbidden = true;
  }
  return { isForbidden, losing, ...sums };
}

/** Returns the lowest objective of all permitted trades in whole shares; Infinity if there are none. */
function findOptimum({ account, weights, objective }: Case): number {
  const { lots, cash, substitutes, exclusions } = account;
  const value = cash + lots.reduce((sum, { shares }) => sum + shares * PRICE, 0);
  let least = Infinity;
  for (const sold of listSales(account)) {
    const { isForbidden, losing, short, long } = computeGains(account, sold);
    if (isForbidden) continue;
    const tax = computeTax(short, long) / value;
    const held = NAMES.map((name) =>
      lots.reduce((sum, lot, at) => (lot.identifier === name ? sum + lot.shares - sold[at]! : sum), 0),
    );
    const isSold = (name: string): boolean => lots.some((lot, at) => lot.identifier === name && sold[at]! > 0);
    const buyMax = NAMES.map((name, i) => {
      const isClosed = substitutes.some((group) => group.includes(name) && group.some((other) => losing.has(other)));
      if (isSold(name) || isClosed || exclusions.includes(name) || weights[i] === 0) return 0;
      return Math.floor(((Math.min(1, weights[i]! + 0.05) - (held[i]! * PRICE) / value) * value) / PRICE + 1e-9);
    });
    for (let a = 0; a <= Math.max(0, buyMax[0]!); a++)
      for (let b = 0; b <= Math.max(0, buyMax[1]!); b++)
        for (let c = 0; c <= Math.max(0, buyMax[2]!); c++) {
          const after = [a, b, c].map((bought, i) => ((held[i]! + bought) * PRICE) / value);
          const rest = 1 - after.reduce((sum, weight) => sum + weight, 0);
          if (rest < objective.cash_minimum - 1e-9 || rest > objective.cash_maximum + 1e-9) continue;
          const variance = after.reduce((sum, weight, i) => sum + 0.04 * (weight - weights[i]!) ** 2, 0);
          least = Math.min(least, objective.risk_aversion * variance + tax);
        }
  }
  return least;
}

describe('the trades of an account whose sales affect each other', () => {
  test.each(SEEDS)('have the lowest objective of all permitted trades (%i)', (seed) => {
    const own = createCase(seed);
    const { account, weights, objective } = own;
    const common = createSmallBatch(weights, { whole_shares: true, search_nodes: 500, objective });
    const result = solveOutcome(common, account, 'accounts[0]') as SolvedResult;
    const optimum = findOptimum(own);
    expect(verifyResult(common, account, result)).toEqual([]);
    expect(result.certificate.gap).toBeGreaterThanOrEqual(-1e-12);
    expect(result.certificate.bound).toBeLessThanOrEqual(optimum + 1e-9);
    expect(result.status === 'infeasible').toBe(optimum === Infinity);
    if (optimum < Infinity) expect(result.certificate.objective).toBeCloseTo(optimum, 8);
    else
      for (const amount of Object.values(result.conflict_amounts)) expect(amount === null || amount > 1e-7).toBe(true);
  });
});

/** Everything is sold at a price of 100. */
const sellAll = createSmallBatch([0, 0.5, 0.5], { objective: { cash_minimum: 1, cash_maximum: 1 } });
const recent = { identifier: 'A', acquired: '2024-06-15' } as const;

describe('the sale of everything', () => {
  test.each([
    {
      name: 'two recent lots at a loss of one security',
      lots: [
        { ...recent, shares: 40, cost: 107 },
        { ...recent, shares: 20, cost: 112, acquired: '2024-06-20' },
      ],
      gain: -40 * 7 - 20 * 12,
    },
    {
      name: 'recent lots of substitutes',
      lots: [
        { ...recent, shares: 100, cost: 122, acquired: '2024-01-03' },
        { ...recent, identifier: 'B', shares: 60, cost: 102 },
      ],
      substitutes: [['A', 'B']],
      gain: -100 * 22 - 60 * 2,
    },
    {
      name: 'recent lots of three substitutes and an excluded one',
      lots: [
        { ...recent, shares: 10, cost: 122 },
        { ...recent, identifier: 'B', shares: 20, cost: 102 },
        { ...recent, identifier: 'C', shares: 30, cost: 103 },
      ],
      substitutes: [['A', 'B', 'C']],
      exclusions: ['C'],
      gain: -10 * 22 - 20 * 2 - 30 * 3,
    },
  ])('leaves nothing that would replace $name', ({ gain, lots, exclusions = [], substitutes = [] }) => {
    for (const wash_sales of ['disallow', 'forbid'])
      for (const lot_method of ['specific', 'hifo', 'fifo']) {
        const account = { account_id: 'X', lots, exclusions, substitutes };
        const own = Account.parse({ ...account, tax: { wash_sales, lot_method } });
        const result = solveOutcome(sellAll, own, 'accounts[0]') as SolvedResult;
        expect([result.status, result.short_gain, result.disallowed_loss]).toEqual([
          'optimal',
          expect.closeTo(gain, 6),
          0,
        ]);
        expect(result.lots_after).toEqual([]);
        expect(result.avoided_wash_sales.filter(({ prevented }) => prevented === 'sale')).toEqual([]);
        expect(verifyResult(sellAll, own, result)).toEqual([]);
      }
  });

  test('is not possible where shares bought outside the account would replace a lot', () => {
    const own = Account.parse({
      account_id: 'X',
      lots: [{ ...recent, shares: 40, cost: 107 }],
      recent: [{ identifier: 'A', date: '2024-06-10', shares: 5, price: 100 }],
      tax: { wash_sales: 'forbid' },
    });
    const result = solveOutcome(sellAll, own, 'accounts[0]') as SolvedResult;
    expect(result).toMatchObject({ status: 'infeasible', trades: [], short_gain: 0, certificate: { gap: 0 } });
    expect(result.conflicts.toSorted()).toEqual(['cash_minimum', 'tax.wash_sales']);
    expect(result.conflict_amounts['cash_minimum']).toBeCloseTo(1, 5);
  });
});

describe('the sale of part of a substitute', () => {
  test.each([
    [0.1, 100],
    [0.5, 100],
    [1, 40],
  ])('has a gap of at most 1e-8 with fractions of shares at a risk aversion of %f', (risk_aversion, shares) => {
    const common = createSmallBatch([0.1, 0.3, 0.6], { objective: { risk_aversion, cash_maximum: 1 } });
    const own = Account.parse({
      account_id: 'X',
      lots: [
        { ...recent, shares: 100, cost: 122, acquired: '2024-01-03' },
        { ...recent, identifier: 'B', shares, cost: 102 },
        { ...recent, identifier: 'C', shares: 50, cost: 60, acquired: '2024-02-01' },
      ],
      substitutes: [['A', 'B']],
    });
    const result = solveOutcome(common, own, 'accounts[0]') as SolvedResult;
    expect(result.certificate.gap).toBeGreaterThanOrEqual(-1e-12);
    expect(result.certificate.gap).toBeLessThanOrEqual(1e-8);
    expect(verifyResult(common, own, result)).toEqual([]);
  });
});
