import { describe, expect, test } from 'vitest';
import { createHistory } from '#domain/personal/account-backtest.js';
import {
  addDisallowedLosses,
  computeTaxedSales,
  createWashRule,
  listSecurityLots,
  readWashWindow,
} from '#domain/personal/lots.js';
import { Account } from '#domain/personal/account.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { countDraws } from '../../draws.js';
import { seeded } from '../../seeded.js';
import { sellShares, type Share } from './wash-sale-law.js';

const AS_OF = parseValidDay('2024-06-28');
const SEEDS = Array.from({ length: countDraws(400) }, (_, seed) => seed);
const SUBSTITUTES = [['A', 'B']];
const areAlike = (a: string, b: string): boolean => a === b || [a, b].every((name) => 'AB'.includes(name));

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

/** Returns an account of one to six lots, about half of which were bought within 30 days. */
function createRandomAccount(random: () => number, names: readonly string[]): Account {
  const draw = (count: number): number => Math.floor(random() * count);
  const lots = Array.from({ length: 1 + draw(6) }, () => ({
    identifier: names[draw(names.length)]!,
    shares: 1 + draw(8),
    cost: 60 + draw(80),
    acquired: formatDay(AS_OF - (random() < 0.5 ? draw(36) : 20 + draw(700))),
  }));
  return Account.parse({ account_id: 'X', lots, substitutes: SUBSTITUTES });
}

const listShares = ({ lots }: Account): Share[][] =>
  lots.map(({ identifier, shares, cost, acquired }, purchase) =>
    Array.from({ length: shares }, () => {
      const day = parseValidDay(acquired);
      return { identifier, purchase, bought: day, acquired: day, cost, hasReplaced: false };
    }),
  );

describe('the wash sale rule, against a computation share by share', () => {
  test.each(SEEDS)('gives the gains and the basis of account %i', (seed) => {
    const random = seeded(seed);
    const account = createRandomAccount(random, ['A', 'A', 'B', 'C']);
    const prices: Readonly<Record<string, number>> = { A: 80, B: 95, C: 90 };
    const shares = listShares(account);
    const sold = new Map(
      account.lots.flatMap((lot, at) => {
        const count = Math.floor(random() * (lot.shares + 1));
        return count > 0 ? [[at, random() < 0.4 ? lot.shares : count] as const] : [];
      }),
    );
    const soldShares = [...sold].flatMap(([lot, count]) => shares[lot]!.slice(0, count));
    const paid = sum(shares.flat().map(({ cost }) => cost));
    const gains = sellShares(shares.flat(), { shares: soldShares, day: AS_OF, prices }, areAlike);
    const rule = createWashRule(account, AS_OF, readWashWindow(account, AS_OF));
    const priceOf = (identifier: string): number => prices[identifier]!;
    const taxed = computeTaxedSales(rule, sold, priceOf);
    for (const lot of sold.keys()) {
      const own = sum(taxed.sales.filter((sale) => sale.lot === lot).map(({ gain }) => gain));
      expect(own).toBeCloseTo(sum(shares[lot]!.map((share) => gains.get(share) ?? 0)), 9);
    }
    const remaining = account.lots.flatMap((lot, at) => {
      const left = lot.shares - (sold.get(at) ?? 0);
      return left > 0 ? [{ ...lot, lot: at, shares: left }] : [];
    });
    const kept = addDisallowedLosses(remaining, taxed.replacements);
    const proceeds = sum(soldShares.map(({ identifier }) => prices[identifier]!));
    const basis = sum(kept.map(({ shares: count, cost }) => count * cost));
    expect(basis).toBeCloseTo(paid - proceeds + sum(gains.values()), 8);
    const days = kept.map(({ shares: count, acquired }) => count * parseValidDay(acquired));
    expect(sum(days)).toBe(sum(shares.flat().flatMap((share) => (soldShares.includes(share) ? [] : [share.acquired]))));
    for (const { sold: lot, fresh, shares: count, loss } of taxed.replacements) {
      expect(loss).toBe(account.lots[lot]!.cost - priceOf(account.lots[lot]!.identifier));
      expect(count).toBeLessThanOrEqual(account.lots[fresh.lot!]!.shares - (sold.get(fresh.lot!) ?? 0));
    }
  });

  test.each(SEEDS)('gives the gains of every number of shares that account %i sells in its order', (seed) => {
    const random = seeded(1000 + seed);
    const drawn = createRandomAccount(random, ['A']);
    const lot_method = (['specific', 'hifo', 'fifo'] as const)[seed % 3]!;
    const wash_sales = seed % 4 === 3 ? 'forbid' : 'disallow';
    const account = { ...drawn, tax: { ...drawn.tax, lot_method, wash_sales } as const };
    const rule = createWashRule(account, AS_OF, readWashWindow(account, AS_OF));
    const positions = account.lots.map((_, lot) => lot);
    const listed = listSecurityLots(account, positions, {
      price: 80,
      priceOf: () => 80,
      rule,
      fresh: rule.listFresh('A'),
    });
    const total = sum(listed.lots.map((piece) => piece.shares));
    expect(total + listed.blocked).toBeCloseTo(sum(account.lots.map(({ shares }) => shares)), 9);
    for (let count = 1; count <= total; count++) {
      const shares = listShares(account);
      const soldOf = new Map<number, number>();
      let [left, gain] = [count, 0];
      for (const piece of listed.lots) {
        const taken = Math.min(left, piece.shares);
        soldOf.set(piece.lot, (soldOf.get(piece.lot) ?? 0) + taken);
        gain += taken * (piece.short + piece.long);
        left -= taken;
      }
      const sale = [...soldOf].flatMap(([lot, own]) => shares[lot]!.slice(0, Math.round(own)));
      const gains = sellShares(shares.flat(), { shares: sale, day: AS_OF, prices: { A: 80 } }, areAlike);
      expect(gain).toBeCloseTo(sum(gains.values()), 9);
      if (wash_sales === 'forbid') for (const [share, own] of gains) expect(own === 0 && share.cost > 80).toBe(false);
    }
  });
});

describe('the history of an account', () => {
  test.each(SEEDS)('keeps total paid - total proceeds + gains as its basis (%i)', (seed) => {
    const random = seeded(2000 + seed);
    const draw = (count: number): number => Math.floor(random() * count);
    const account = { ...createRandomAccount(random, ['A', 'B', 'C']), cash: 1e6 };
    const start = AS_OF;
    const history = createHistory(account, { start, dividendRate: 0 });
    let held = listShares(account).flat();
    let purchases = account.lots.length;
    const gainsByYear = new Map<number, number>();
    let paid = sum(held.map(({ cost }) => cost));
    let day = start;
    for (let turn = 0; turn < 12; turn++) {
      day += draw(25);
      history.payTaxes(day);
      const prices = { A: 60 + draw(60), B: 60 + draw(60), C: 60 + draw(60) };
      const sales = history.lots.flatMap((lot, at) =>
        random() < 0.4 ? [{ lot: at, own: lot, count: 1 + draw(lot.shares) }] : [],
      );
      const sold = sales.flatMap(({ own, count }) => {
        const isSame = (share: Share): boolean =>
          share.identifier === own.identifier &&
          share.acquired === own.acquired &&
          Math.abs(share.cost - own.cost) < 1e-6 &&
          share.hasReplaced === (own.bought !== undefined) &&
          share.bought === (own.bought ?? own.acquired);
        const matching = held.filter(isSame);
        expect(matching.length).toBeGreaterThanOrEqual(count);
        return matching.map((share) => ({ share, isSame })).slice(0, count);
      });
      // Lots that are alike may have several positions: take each share once.
      const soldShares = [...new Set(sold.map(({ share }) => share))];
      if (soldShares.length < sold.length) continue;
      const identifier = 'ABC'[draw(3)]!;
      const isBuying = random() < 0.5 && !sales.some(({ own }) => areAlike(own.identifier, identifier));
      const gains = sellShares(held, { shares: soldShares, day, prices }, areAlike);
      const year = Number(formatDay(day).slice(0, 4));
      gainsByYear.set(year, (gainsByYear.get(year) ?? 0) + sum(gains.values()));
      paid -= sum(soldShares.map((share) => prices[share.identifier as 'A']));
      held = held.filter((share) => !soldShares.includes(share));
      const price = prices[identifier as 'A'];
      const bought = isBuying ? 1 + draw(8) : 0;
      for (let count = 0; count < bought; count++)
        held.push({ identifier, purchase: purchases, bought: day, acquired: day, cost: price, hasReplaced: false });
      purchases++;
      paid += bought * price;
      history.trade(
        day,
        [
          ...sales.map(({ lot, own, count }) => ({
            identifier: own.identifier,
            side: 'sell' as const,
            shares: count,
            price: prices[own.identifier as 'A'],
            lot,
          })),
          ...(isBuying ? [{ identifier, side: 'buy' as const, shares: bought, price }] : []),
        ],
        0,
      );
      const basis = sum(history.lots.map(({ shares, cost }) => shares * cost));
      expect(basis).toBeCloseTo(sum(held.map(({ cost }) => cost)), 6);
      expect(basis).toBeCloseTo(paid + sum(gainsByYear.values()), 6);
    }
    for (const { year, short_gain, long_gain } of history.years)
      expect(short_gain + long_gain).toBeCloseTo(gainsByYear.get(year) ?? 0, 6);
  });
});
