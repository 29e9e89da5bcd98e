import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { createOrders, type PackSecurity, roundHalfEven } from '#domain/studies/rebalance-pack.js';

test.each([
  [0.5, 0],
  [1.5, 2],
  [2.5, 2],
  [-0.5, 0],
  [-1.5, -2],
  [2.4999, 2],
  [7, 7],
])('%d rounds to %d', (value, rounded) => expect(roundHalfEven(value)).toBe(rounded));

/** Computes the value that remains after the costs of trading fractional shares. It iterates to a fixed point. */
function computeNetByHand(names: readonly PackSecurity[], heldShares: Float64Array, value: number): number {
  let net = value;
  for (let n = 0; n < 1000; n++)
    net =
      value -
      names.reduce(
        (sum, name, i) => sum + computeCostByHand(name, (name.weight * net) / name.price - heldShares[i]!),
        0,
      );
  return net;
}

function computeCostByHand({ price, adv, spreadBps, impactBps }: PackSecurity, traded: number): number {
  const shares = Math.abs(traded);
  return (shares * price * (spreadBps / 2 + impactBps * Math.sqrt(shares / adv!))) / 10_000;
}

/**
 * Applies the rounding rule of the guide lot by lot.
 * @returns target shares, filled shares, and the cash left after one more lot
 */
function fillOrdersByHand(names: readonly PackSecurity[], heldShares: Float64Array, cash: number) {
  const value = names.reduce((sum, { price }, i) => sum + heldShares[i]! * price, cash);
  const net = computeNetByHand(names, heldShares, value);
  const first = names.map(({ weight, price, lot }) => roundHalfEven((weight * net) / (price * lot)) * lot);
  const after = [...first];
  const sumCash = () =>
    names.reduce((sum, name, i) => {
      const tradedShares = after[i]! - heldShares[i]!;
      return sum - tradedShares * name.price - computeCostByHand(name, tradedShares);
    }, cash);
  const computeChange = (i: number) => (first[i]! - after[i]! + names[i]!.lot) / (first[i]! - heldShares[i]!);
  const reduceLargestOrder = (among: readonly number[]): boolean => {
    const leastChange = among.reduce((best, i) => (best < 0 || computeChange(i) < computeChange(best) ? i : best), -1);
    if (leastChange >= 0)
      after[leastChange] = Math.max(heldShares[leastChange]!, after[leastChange]! - names[leastChange]!.lot);
    return leastChange >= 0;
  };
  const listPurchases = () => names.flatMap((_, i) => (after[i]! > heldShares[i]! ? [i] : []));
  const listAboveTarget = () => listPurchases().filter((i) => after[i]! > (names[i]!.weight * net) / names[i]!.price);
  while (sumCash() < 0 && reduceLargestOrder(listAboveTarget().filter((i) => after[i] === first[i])));
  while (sumCash() < 0 && reduceLargestOrder(listPurchases()));
  const computeShortfall = (i: number) => names[i]!.weight * net - after[i]! * names[i]!.price;
  /**
   * Returns the holding after one more lot is bought. It is the smallest larger holding that consists of whole lots or
   * is below one lot.
   */
  const addLot = (i: number): number => {
    const { lot } = names[i]!;
    for (let lots = 0; ; lots++) if (first[i]! - (lots + 1) * lot <= after[i]!) return first[i]! - lots * lot;
  };
  /** Returns the cash left after buying one more lot. */
  const computeCashLeft = (i: number): number => {
    const sharesAfter = after[i]!;
    after[i] = addLot(i);
    const remainingCash = sumCash();
    after[i] = sharesAfter;
    return remainingCash;
  };
  const isOpen = (i: number) => first[i]! > heldShares[i]! && after[i]! < first[i]! && computeCashLeft(i) >= 0;
  const listOpen = () => names.flatMap((_, i) => (isOpen(i) ? [i] : []));
  for (let openPositions = listOpen(); openPositions.length > 0; openPositions = listOpen()) {
    const next = openPositions.reduce((best, i) => (computeShortfall(i) > computeShortfall(best) ? i : best));
    after[next] = addLot(next);
  }
  return { wanted: first, after, leftWith: computeCashLeft };
}

test('purchases are reduced and increased as one lot at a time would be; cash is never negative and cannot pay for another reduced lot', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          weight: fc.integer({ min: 0, max: 20 }),
          price: fc.double({ min: 1, max: 200, noNaN: true }),
          lot: fc.constantFrom(1, 1, 5, 100),
          held: fc.integer({ min: 0, max: 300 }),
          adv: fc.integer({ min: 100, max: 100_000 }),
        }),
        { minLength: 1, maxLength: 8 },
      ),
      fc.integer({ min: 0, max: 50_000 }),
      fc.constantFrom(0, 30, 500),
      (rows, cash, spreadBps) => {
        const total = Math.max(
          1,
          rows.reduce((sum, { weight }) => sum + weight, 0),
        );
        const names = rows.map(({ weight, price, lot, adv }, i): PackSecurity => ({
          identifier: `N${i}`,
          weight: weight / total,
          price,
          lot,
          adv,
          spreadBps,
          impactBps: spreadBps,
        }));
        const heldShares = Float64Array.from(rows, ({ held: shares }) => shares);
        fc.pre(cash + rows.reduce((sum, { price, held: shares }) => sum + shares * price, 0) > 0);
        const { orders, cash: left, isShort } = createOrders(names, heldShares, cash);
        const after = [...heldShares];
        for (const order of orders) after[names.indexOf(order.name)] = order.after;
        const byLots = fillOrdersByHand(names, heldShares, cash);
        expect(after).toEqual(byLots.after);
        if (isShort) return;
        expect(left).toBeGreaterThanOrEqual(0);
        byLots.wanted.forEach((wanted, i) => {
          if (wanted > heldShares[i]! && after[i]! < wanted) expect(byLots.leftWith(i)).toBeLessThan(0);
        });
      },
    ),
    { numRuns: 200 },
  );
});

const noCosts = { adv: null, spreadBps: 0, impactBps: 0 };

test('lots that were reduced in favour of a more expensive one are bought again, by hand', () => {
  const names: PackSecurity[] = [
    { identifier: 'A', weight: 0.25, price: 7, lot: 1, ...noCosts },
    { identifier: 'B', weight: 0.5, price: 300, lot: 1, ...noCosts },
    { identifier: 'C', weight: 0.25, price: 6, lot: 1, ...noCosts },
  ];
  const { orders, cash } = createOrders(names, new Float64Array(3), 1000);
  // Targets are 36 (252), 2 (600) and 42 (252). They exceed the value by 104. If C (1 of 42), A (1 of 36) and B each
  // give up one lot, 209 are left. B is 200 short and costs 300. A is 5 short and C 4, so both are bought again for 13.
  expect(orders.map(({ name: { identifier }, after }) => [identifier, after])).toEqual([
    ['A', 36],
    ['B', 1],
    ['C', 42],
  ]);
  expect(cash).toBe(196);
});

test('millions of lots are reduced in a number of steps that grows only with the number of securities', () => {
  let reads = 0;
  const countReads = (name: Omit<PackSecurity, 'price'>, price: number): PackSecurity => ({
    ...name,
    get price() {
      reads++;
      return price;
    },
  });
  // Of 1.8e10, H should keep 0.54 lots and keeps 1. So 4.28e9 are missing. Half of each small security yields 4.14e9.
  // Then D gives up one of its two lots, and 1.86e9 are left over.
  const H = { identifier: 'H', weight: 0.3, lot: 1e9, ...noCosts };
  const D = { identifier: 'D', weight: 0.24, lot: 5e7, ...noCosts };
  const smallSecurities = Array.from({ length: 998 }, (_, i) => ({
    identifier: `N${i}`,
    weight: 0.46 / 998,
    lot: 1,
    ...noCosts,
  }));
  const names = [
    countReads(H, 10),
    countReads(D, 40),
    ...smallSecurities.map((name, i) => countReads(name, 5 + (i % 7))),
  ];
  const heldShares = new Float64Array(1000);
  heldShares[0] = 2e9;
  const { orders, cash } = createOrders(names, heldShares, -2e9);
  expect(orders.some(({ name: { identifier }, givenUp }) => identifier === 'D' && givenUp > 0)).toBe(true);
  expect(cash).toBeLessThan(5);
  expect(reads).toBeLessThan(1000 * 2000);
});
